"""Broken rules of a negotiation: named, with since when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.invariants import Invariant, InvariantCode, broken
from dradash.scheduling.classic.negotiation import SeenContext
from dradash.scheduling.classic.standing import NODES, NOTHING, stood
from tests import build

POD = build.pod("pod", claims={"gpu": "claim"})
CLAIM = build.claim("claim")


def context(
    potential: Sequence[str] = (), selected: str = "", unsuitable: Mapping[str, Sequence[str]] = {}, of: build.Obj = POD
) -> PodSchedulingContext:
    made = build.context(of, potential=potential, selected=selected, unsuitable=unsuitable)
    return cast(PodSchedulingContext, build.struct(made))


def found(
    now_is: PodSchedulingContext,
    *before: tuple[float, PodSchedulingContext | None],
    claim: build.Obj = CLAIM,
    pod: build.Obj | None = POD,
    now: float = build.NOW + 10.0,
) -> tuple[Invariant, ...]:
    return broken(
        now_is,
        cast(Pod, build.struct(pod)) if pod else None,
        {"gpu": cast(ResourceClaim, build.struct(claim))},
        stood(SeenContext(at, c) for at, c in before),
        drivers={"gpu": "gpu.example.com"},
        now=now,
    )


def codes(*args: tuple[Invariant, ...]) -> list[InvariantCode]:
    return [i.code for i in args[0]]


def test_a_sound_negotiation_breaks_nothing() -> None:
    assert found(context(["a", "b"], "a", {"gpu": ["b"]})) == ()


def test_a_selected_node_that_was_never_proposed_is_named() -> None:
    (one,) = found(context(["a", "b"], "c", {"gpu": []}))
    assert one.code is InvariantCode.SELECTED_NOT_POTENTIAL
    assert ("nodes", "c") in one.objects
    assert one.text == "The selected node c is not among the potential nodes."
    assert one.since == 0.0, "nobody knows without a history"


def test_a_selected_node_that_is_unsuitable_is_named_since_it_is() -> None:
    fine, wrong = context(["a"], "a", {"gpu": []}), context(["a"], "a", {"gpu": ["a"]})
    again = context(["a", "b"], "a", {"gpu": ["a"]})
    (one,) = found(again, (1.0, wrong), (2.0, fine), (3.0, wrong), (4.0, again))
    assert (one.code, one.since) == (InvariantCode.SELECTED_UNSUITABLE, 3.0)
    assert ("resourceclaims", "default/claim") in one.objects


def test_a_claim_for_which_every_proposed_node_is_refused_is_named_since_then() -> None:
    some, every = context(["a", "b"], "", {"gpu": ["a"]}), context(["a", "b"], "", {"gpu": ["b", "a"]})
    assert found(some, (1.0, some)) == ()
    (one,) = found(every, (1.0, some), (2.0, every), (3.0, every))
    assert (one.code, one.since, one.subject) == (InvariantCode.NOTHING_LEFT, 2.0, "gpu")
    assert one.text == "gpu.example.com finds all 2 proposed nodes unsuitable for claim gpu."
    (only,) = found(context(["a"], "", {"gpu": ["a"]}))
    assert "finds the only proposed node unsuitable" in only.text


def test_since_when_does_not_move_however_long_it_goes_on() -> None:
    standing = NOTHING
    asked, refused = context(["a"], "b", {"gpu": []}), context(["a"], "a", {"gpu": ["a"]})
    for round_ in range(5000):
        standing = standing.after(10.0 * round_, asked).after(10.0 * round_ + 5.0, refused)
    assert (standing.refused["a"].count, standing.refused["a"].since) == (5000, 5.0)
    many = NOTHING
    for number in range(2 * NODES):
        many = many.after(float(number), context([], f"n{number}", {"gpu": [f"n{number}"]}))
    assert len(many.refused) == NODES
    assert many.refused["n0"].since == 0.0


def test_an_allocated_claims_old_answer_breaks_nothing() -> None:
    allocated = build.claim("claim", allocation=build.allocation())
    assert found(context(["a"], "a", {"gpu": ["a"]}), claim=allocated) == ()


def test_a_list_of_128_nodes_may_be_cut() -> None:
    nodes = [f"node-{i}" for i in range(128)]
    assert codes(found(context(nodes, "", {"gpu": []}))) == [InvariantCode.LIST_CUT]
    assert found(context(nodes[:127], "", {"gpu": []})) == ()


def test_a_context_of_another_pod_is_named() -> None:
    earlier = build.pod("pod", uid="earlier")
    (one,) = found(context(["a"], "", {"gpu": []}, of=earlier))
    assert one.code is InvariantCode.FOREIGN_OWNER
    assert "earlier" in one.text
    assert found(context(["a"], "", {"gpu": []}, of=earlier), pod=None) == ()


def test_a_node_selected_and_refused_three_times_flaps() -> None:
    asked, refused = context(["a", "b"], "a", {"gpu": []}), context(["a", "b"], "a", {"gpu": ["a"]})
    other = context(["a", "b"], "b", {"gpu": ["a"]})
    twice = [(1.0, asked), (2.0, refused), (3.0, other), (4.0, refused), (5.0, refused)]
    assert InvariantCode.FLAPPING not in codes(found(other, *twice, (6.0, other)))
    flaps = found(other, *twice, (6.0, other), (7.0, refused), (8.0, other))
    assert [(i.subject, i.since) for i in flaps if i.code is InvariantCode.FLAPPING] == [("a", 2.0)]


def test_refusals_are_all_counted_only_where_the_negotiation_was_seen_from_its_beginning() -> None:
    refused, other = context(["a", "b"], "a", {"gpu": ["a"]}), context(["a", "b"], "b", {"gpu": ["a"]})
    for begun, words in ((build.NOW, "refused 3 times."), (build.NOW + 60.0, "refused at least 3 times.")):
        flaps = found(other, *((begun + i, (refused, other)[i % 2]) for i in range(6)))
        (text,) = (i.text for i in flaps if i.code is InvariantCode.FLAPPING)
        assert text == f"Node a was selected and {words}"


def test_an_earlier_context_of_the_name_does_not_count() -> None:
    refused, other = context(["a"], "a", {"gpu": ["a"]}), context(["a", "b"], "b", {"gpu": []})
    earlier: list[tuple[float, PodSchedulingContext | None]] = [(float(i), (refused, other)[i % 2]) for i in range(8)]
    assert found(other, *earlier, (8.0, None), (9.0, other)) == ()


def test_a_driver_that_never_answered_is_named_once_it_had_time() -> None:
    silent = context(["a"])
    assert found(silent, (build.NOW, silent)) == ()
    assert found(silent, now=build.NOW + 31.0) == (), "nobody knows since when without a history"
    (one,) = found(silent, (build.NOW, silent), now=build.NOW + 31.0)
    assert (one.code, one.since) == (InvariantCode.NEVER_ANSWERED, build.NOW)
    assert one.text == "gpu.example.com never answered for claim gpu."


def test_a_driver_that_answered_once_did_answer() -> None:
    silent, answered = context(["a"]), context(["a"], "", {"gpu": []})
    assert found(silent, (1.0, answered), (2.0, silent), now=build.NOW + 1000) == ()


def test_nobody_has_to_answer_for_an_immediate_claim() -> None:
    silent, immediate = context(["a"]), build.claim("claim", mode="Immediate")
    assert found(silent, (1.0, silent), claim=immediate, now=build.NOW + 1000) == ()
