"""Rounds of a negotiation, read from what the objects looked like one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.registry import decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.negotiation import Negotiation, SeenClaim, SeenContext, negotiate
from dradash.scheduling.classic.turns import TurnKind, claim_turns
from tests import build

POD = build.pod(claims={"gpu": "gpu-claim", "nic": "nic-claim"})
DRIVERS = {"gpu": "gpu.example.com", "nic": "nic.example.com"}


def contexts(*states: dict[str, Any] | None) -> list[SeenContext]:
    """One state a second, as keywords of build.context; None: deleted."""
    return [
        SeenContext(float(t), None if s is None else decode(PodSchedulingContext, build.raw(build.context(POD, **s))))
        for t, s in enumerate(states, 1)
    ]


def claims(**states: Sequence[tuple[float, build.Obj | None]]) -> Mapping[str, list[SeenClaim]]:
    return {
        name: [SeenClaim(t, None if c is None else decode(ResourceClaim, build.raw(c))) for t, c in seen]
        for name, seen in states.items()
    }


def kinds(negotiation: Negotiation) -> list[list[TurnKind]]:
    return [[t.kind for t in r.turns] for r in negotiation.rounds]


NODES = ("node-0", "node-1", "node-2")
PENDING = claims(gpu=[(0.0, build.claim("gpu-claim"))], nic=[(0.0, build.claim("nic-claim"))])


def test_a_whole_negotiation_is_one_round() -> None:
    gpu = build.claim("gpu-claim")
    allocated = build.claim("gpu-claim", allocation=build.allocation("node-2"))
    reserved = build.claim("gpu-claim", allocation=build.allocation("node-2"), reserved_for=[POD])
    seen = contexts(
        {"potential": NODES},
        {"potential": NODES, "unsuitable": {"gpu": ["node-1"]}},
        {"potential": NODES, "unsuitable": {"gpu": ["node-1"]}, "selected": "node-2"},
        {"potential": NODES, "unsuitable": {"gpu": ["node-1"]}, "selected": "node-2"},
        None,
    )
    result = negotiate(seen, claims(gpu=[(0.5, gpu), (3.5, allocated), (4.5, reserved)]), DRIVERS)
    assert kinds(result) == [
        [
            TurnKind.CREATED,
            TurnKind.PROPOSED,
            TurnKind.ANSWERED,
            TurnKind.SELECTED,
            TurnKind.ALLOCATED,
            TurnKind.RESERVED,
            TurnKind.DELETED,
        ]
    ]
    answered = result.rounds[0].turns[2]
    assert (answered.actor, answered.claim, answered.nodes) == ("gpu.example.com", "gpu", ("node-1",))
    assert answered.text == "finds 1 of 3 nodes unsuitable"
    assert result.awaited == ()


def test_other_nodes_begin_another_round() -> None:
    result = negotiate(contexts({"potential": NODES}, {"potential": ("node-3",)}), PENDING, DRIVERS)
    assert [r.number for r in result.rounds] == [1, 2]
    assert result.rounds[1].turns[0].nodes == ("node-3",)


def test_nodes_and_selection_of_one_write_are_one_round() -> None:
    seen = contexts({"potential": NODES, "selected": "node-0"}, {"potential": ("node-1",), "selected": "node-1"})
    proposals = [[k for k in r if k is not TurnKind.CREATED] for r in kinds(negotiate(seen, PENDING, DRIVERS))]
    assert proposals == [[TurnKind.PROPOSED, TurnKind.SELECTED]] * 2


def test_a_node_selected_again_begins_another_round() -> None:
    seen = contexts(
        {"potential": NODES, "selected": "node-0"},
        {"potential": NODES, "selected": "node-0", "unsuitable": {"gpu": ["node-0"]}},
        {"potential": NODES, "selected": "node-1", "unsuitable": {"gpu": ["node-0"]}},
    )
    assert len(negotiate(seen, PENDING, DRIVERS).rounds) == 2


def test_a_silent_driver_is_awaited_since_the_proposal() -> None:
    seen = contexts({"potential": NODES}, {"potential": NODES, "unsuitable": {"gpu": []}})
    (awaited,) = negotiate(seen, PENDING, DRIVERS).awaited
    assert (awaited.actor, awaited.claim, awaited.since) == ("nic.example.com", "nic", 1.0)


def test_when_all_have_answered_the_scheduler_is_awaited() -> None:
    seen = contexts({"potential": NODES}, {"potential": NODES, "unsuitable": {"gpu": [], "nic": ["node-0"]}})
    (awaited,) = negotiate(seen, PENDING, DRIVERS).awaited
    assert (awaited.actor, awaited.what, awaited.since) == ("scheduler", "select a node", 2.0)


def test_after_the_selection_every_driver_must_allocate() -> None:
    seen = contexts({"potential": NODES}, {"potential": NODES, "selected": "node-1"})
    awaited = negotiate(seen, PENDING, DRIVERS).awaited
    assert [(a.actor, a.what, a.since) for a in awaited] == [
        ("gpu.example.com", "allocate for node-1", 1.0),
        ("nic.example.com", "allocate for node-1", 1.0),
    ], "neither has ever answered: they are silent since they were first asked"


def test_an_unsuitable_selection_is_the_schedulers_to_change() -> None:
    seen = contexts({"potential": NODES, "selected": "node-1", "unsuitable": {"gpu": ["node-1"]}})
    result = negotiate(seen, claims(gpu=[(0.0, build.claim("gpu-claim"))]), DRIVERS)
    assert [a.actor for a in result.awaited] == ["scheduler"]


def test_a_driver_that_refuses_every_node_must_make_room() -> None:
    seen = contexts({"potential": NODES, "unsuitable": {"gpu": NODES, "nic": []}})
    result = negotiate(seen, PENDING, DRIVERS)
    assert ("gpu.example.com", "make room: it refuses every proposed node") in [
        (a.actor, a.what) for a in result.awaited
    ]


def test_a_claim_is_given_back_and_moved() -> None:
    on_a = build.claim("gpu-claim", allocation=build.allocation("node-0"))
    asked = build.claim("gpu-claim", allocation=build.allocation("node-0"), deallocation_requested=True)
    free = build.claim("gpu-claim")
    going = build.claim("gpu-claim", deletionTimestamp=build.CREATED)
    states = claims(gpu=[(1.0, on_a), (2.0, asked), (3.0, free), (4.0, going), (5.0, None)])
    (only,) = negotiate([], states, DRIVERS).rounds
    assert [t.kind for t in only.turns][2:] == [
        TurnKind.DEALLOCATION_REQUESTED,
        TurnKind.DEALLOCATED,
        TurnKind.DELETING,
        TurnKind.DELETED,
    ]


def test_without_a_context_nothing_is_awaited() -> None:
    assert negotiate([], PENDING, DRIVERS).awaited == ()
    assert negotiate(contexts({"potential": NODES}, None), PENDING, DRIVERS).awaited == ()


def test_a_proposal_tells_what_was_added_and_removed_since_the_last_one() -> None:
    result = negotiate(contexts({"potential": NODES}, {"potential": ("node-3", *NODES[1:])}), PENDING, DRIVERS)
    first, second = (next(t for t in r.turns if t.kind is TurnKind.PROPOSED) for r in result.rounds)
    assert (first.added, first.removed) == (NODES, ())
    assert (second.added, second.removed) == (("node-3",), ("node-0",))


def test_each_answer_tells_how_long_it_took() -> None:
    gpu, taken = build.claim("gpu-claim"), build.claim("gpu-claim", allocation=build.allocation("node-2"))
    asked = build.claim("gpu-claim", allocation=build.allocation("node-2"), deallocation_requested=True)
    seen = contexts(
        {"potential": NODES},
        {"potential": (*NODES, "node-3")},
        {"potential": (*NODES, "node-3"), "unsuitable": {"gpu": ["node-1"]}},
        {"potential": (*NODES, "node-3"), "unsuitable": {"gpu": ["node-1"]}, "selected": "node-2"},
    )
    states = claims(gpu=[(0.5, gpu), (6.5, taken), (7.0, asked), (10.0, gpu)])
    turns = [t for r in negotiate(seen, states, DRIVERS).rounds for t in r.turns]
    took = {t.kind: t.took for t in turns if t.took is not None}
    assert took == {TurnKind.ANSWERED: 2.0, TurnKind.ALLOCATED: 2.5, TurnKind.DEALLOCATED: 3.0}


def test_what_came_and_went_of_an_answer_is_told() -> None:
    seen = contexts(
        {"potential": NODES, "unsuitable": {"gpu": ["node-0", "node-1"]}},
        {"potential": NODES, "unsuitable": {"gpu": ["node-1", "node-2"]}},
    )
    turns = [t for r in negotiate(seen, PENDING, DRIVERS).rounds for t in r.turns if t.kind is TurnKind.ANSWERED]
    assert [(t.added, t.removed) for t in turns] == [(("node-0", "node-1"), ()), (("node-2",), ("node-0",))]


def test_a_claim_is_created_before_anything_is_said_about_it_whichever_watch_was_faster() -> None:
    pod = build.pod("p", claims={"gpu": "claim"})
    context = msgspec.convert(build.context(pod, potential=["node-0"], unsuitable={"gpu": []}), PodSchedulingContext)
    claim = msgspec.convert(build.claim("claim"), ResourceClaim)
    told = negotiate([SeenContext(10.0, context)], {"gpu": [SeenClaim(10.3, claim)]}, {"gpu": "gpu.example.com"})
    assert told.rounds[0].turns[0].kind is TurnKind.CREATED


@pytest.mark.parametrize("heard", [{"gpu": 30.0, "nic": 30.0}, {"gpu": 30.4, "nic": 30.9}, {"gpu": 30.9, "nic": 1.0}])
def test_claims_are_created_before_the_negotiation_begins_also_in_the_same_second(heard: dict[str, float]) -> None:
    created = {name: rfc3339(at) for name, at in heard.items()}
    states = claims(**{n: [(40.0, build.claim(f"{n}-claim", created=created[n]))] for n in heard})
    answered = build.context(POD, potential=NODES, unsuitable={"gpu": []}, created=rfc3339(30.0))
    context = decode(PodSchedulingContext, build.raw(answered))
    turns = negotiate([SeenContext(40.0, context)], states, DRIVERS).rounds[0].turns
    assert [(t.kind, t.claim) for t in turns[:3]] == [
        *((TurnKind.CREATED, name) for name in sorted(heard, key=lambda n: (min(heard[n], 30.0), n))),
        (TurnKind.CREATED, ""),
    ]
    assert turns[2].text == "begins the negotiation: the PodSchedulingContext is created"


def rfc3339(at: float) -> str:
    return f"1970-01-01T00:00:{at:06.3f}Z"


def test_a_claim_that_is_created_anew_comes_after_the_deletion_of_the_first() -> None:
    gpu = build.claim("gpu-claim")
    states = claims(gpu=[(0.5, gpu), (1.4, None), (1.8, gpu)])
    turns = [t for r in negotiate(contexts({"potential": NODES}), states, DRIVERS).rounds for t in r.turns]
    assert [t.kind for t in turns] == [TurnKind.CREATED, TurnKind.PROPOSED, TurnKind.DELETED, TurnKind.CREATED]


def test_a_driver_is_remembered_when_its_claim_is_gone() -> None:
    pod = build.pod("p", claims={"gpu": "claim"})
    context = msgspec.convert(build.context(pod, potential=["node-0"], unsuitable={"gpu": []}), PodSchedulingContext)
    claim = msgspec.convert(build.claim("claim", allocation=build.allocation("node-0")), ResourceClaim)
    told = negotiate([SeenContext(10.0, context)], {"gpu": [SeenClaim(9.0, claim), SeenClaim(20.0, None)]}, {"gpu": ""})
    answered = [t for r in told.rounds for t in r.turns if t.kind is TurnKind.ANSWERED]
    assert [t.actor for t in answered] == ["gpu.example.com"]


def test_who_asks_for_a_deallocation_is_left_open_where_the_object_does_not_tell() -> None:
    free = msgspec.convert(build.claim("claim", allocation=build.allocation("node-0")), ResourceClaim)
    held = msgspec.convert(
        build.claim("claim", allocation=build.allocation("node-0"), reserved_for=[build.pod("p")]), ResourceClaim
    )
    asked = msgspec.convert(
        build.claim("claim", allocation=build.allocation("node-0"), deallocation_requested=True), ResourceClaim
    )
    kinds = [TurnKind.DEALLOCATION_REQUESTED]
    assert [t.actor for t in claim_turns(1.0, free, asked) if t.kind in kinds] == ["scheduler"]
    assert [t.actor for t in claim_turns(1.0, held, asked) if t.kind in kinds] == [""]


def test_rounds_are_numbered_only_where_the_beginning_is_known() -> None:
    seen = contexts({"potential": NODES}, {"potential": ("node-3",)}, {"potential": NODES})
    whole, cut = negotiate(seen, PENDING, DRIVERS), negotiate(seen, PENDING, DRIVERS, cut=True)
    assert ([r.number for r in whole.rounds], whole.whole) == ([1, 2, 3], True)
    assert ([r.number for r in cut.rounds], cut.whole) == ([0, 0, 0], False)
    assert [r.cut for r in cut.rounds] == [True, False, False]
    assert [r.turns for r in cut.rounds] == [r.turns for r in whole.rounds]
    assert len({r.key for r in cut.rounds}) == 3
    later = negotiate(seen[1:], PENDING, DRIVERS, cut=True)
    assert later.rounds[-1].key == cut.rounds[-1].key, "the same round when an earlier one is kept no more"


def test_rounds_that_were_heard_of_at_one_moment_have_keys_of_their_own() -> None:
    seen = [SeenContext(5.0, s.context) for s in contexts(*({"potential": (f"node-{n}",)} for n in range(4)))]
    keys = [r.key for r in negotiate(seen, PENDING, DRIVERS, cut=True).rounds]
    assert len(set(keys)) == len(keys) == 4
