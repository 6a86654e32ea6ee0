"""What an object shows when it is first seen had happened before: no instant is told that nobody knows."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from django.template.loader import render_to_string

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.driverstats import DriverStats
from dradash.reader.histories import claim_life
from dradash.scheduling.classic.negotiation import SeenClaim, SeenContext, negotiate
from dradash.scheduling.classic.turns import Turn, TurnKind, claim_turns, context_turns
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured.life import device_claim_turns
from dradash.store.model import HistoryEntry
from tests import build, builddevices

MADE = "2026-11-30T06:56:46Z"
CREATED = seconds(MADE)
LATER = CREATED + 7 * 3600  # when dradash starts
POD = build.pod(claims={"gpu": "gpu-claim"})
GPU = "gpu.example.com"
NODES = ("node-0", "node-1")


def claim(**more: Any) -> ResourceClaim:
    return msgspec.convert(build.claim("gpu-claim", created=MADE, **more), ResourceClaim)


def context(created: str = MADE, **state: Any) -> PodSchedulingContext:
    return msgspec.convert(build.context(POD, created=created, **state), PodSchedulingContext)


def device_claim(allocation: dict[str, Any], conditions: list[dict[str, Any]], **more: Any) -> build.Obj:
    device = {"driver": builddevices.DRIVER, "pool": "node-0", "device": "gpu-0"}
    whole = {"devices": {"results": [{"request": "gpu", **device}]}, **allocation}
    status = {"allocation": whole, "devices": [{**device, "conditions": conditions}]}
    return builddevices.claim("gpu-1", created=MADE, status=status, **more)


def told(turns: Any) -> list[tuple[float, str, bool]]:
    return [(t.at, t.text, t.found) for t in turns]


def test_a_claim_is_created_when_it_says_whenever_it_is_first_seen() -> None:
    (turn,) = claim_turns(LATER, None, claim())
    assert (turn.at, turn.shown, turn.long_before, turn.found) == (CREATED, LATER, True, False)
    (fresh,) = claim_turns(CREATED + 0.7, None, claim())
    assert (fresh.at, fresh.shown, fresh.long_before) == (CREATED, CREATED + 0.7, False)


def test_a_claim_whose_clock_is_ahead_is_not_created_after_it_was_seen() -> None:
    (turn,) = claim_turns(CREATED - 5, None, claim())
    assert turn.at == CREATED - 5


@pytest.mark.parametrize("seen", [LATER, CREATED + 0.5])
def test_what_a_claim_shows_at_first_sight_had_happened_by_then(seen: float) -> None:
    whole = claim(allocation=build.allocation("node-0"), reserved_for=[POD], deallocation_requested=True)
    assert told(claim_turns(seen, None, whole)) == [
        (CREATED, "is created", False),
        (seen, "had allocated by then; when is not known", True),
        (seen, "deallocation had been asked for by then; when is not known", True),
        (seen, "had reserved for pod by then; when is not known", True),
    ]
    asked = [t for t in claim_turns(seen, None, whole) if t.kind is TurnKind.DEALLOCATION_REQUESTED]
    assert [t.actor for t in asked] == [""]


def test_a_change_that_was_seen_is_told_with_its_time() -> None:
    allocated = claim(allocation=build.allocation("node-0"))
    assert told(claim_turns(LATER + 5, claim(), allocated)) == [(LATER + 5, "allocates", False)]


def test_a_deletion_is_asked_for_when_the_claim_says() -> None:
    deleting = msgspec.convert(
        build.claim("gpu-claim", created=MADE, deletionTimestamp="2026-11-30T06:59:00Z", finalizers=["x"]),
        ResourceClaim,
    )
    turns = told(claim_turns(LATER, None, deleting))
    assert turns[1:] == [(seconds("2026-11-30T06:59:00Z"), "is being deleted", False)]


READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T06:57:00Z"}


def device_turns(**allocation: Any) -> list[tuple[float, str, bool]]:
    made = device_claim(allocation, [READY, {"type": "Warm", "status": "True"}], reserved_for=[POD])
    return told(device_claim_turns(LATER, None, msgspec.convert(made, deviceclaim.ResourceClaim)))


def test_of_devices_the_claims_own_times_are_told_where_it_has_some() -> None:
    assert device_turns() == [
        (CREATED, "is created", False),
        (LATER, "had allocated node-0/gpu-0 by then; when is not known", True),
        (LATER, "had reserved for pod by then; when is not known", True),
        (seconds("2026-11-30T06:57:00Z"), "reports Ready True for node-0/gpu-0", False),
        (LATER, "had reported Warm True for node-0/gpu-0 by then; when is not known", True),
    ]
    allocated = device_turns(allocationTimestamp="2026-11-30T06:56:50Z")[1]
    assert allocated == (seconds("2026-11-30T06:56:50Z"), "allocates node-0/gpu-0", False)


def test_a_claims_life_is_in_the_order_of_its_own_times() -> None:
    life = claim_life([HistoryEntry(1, LATER, "ADDED", build.raw(device_claim({}, [READY])))], "")
    assert [t.kind for t in life] == [TurnKind.CREATED, TurnKind.REPORTED, TurnKind.ALLOCATED]


def test_a_context_that_was_there_already_begins_when_it_was_created() -> None:
    state = context(potential=NODES, unsuitable={"gpu": ["node-1"]}, selected="node-0")
    assert told(context_turns(LATER, None, state, {"gpu": GPU})) == [
        (CREATED, "begins the negotiation: the PodSchedulingContext is created", False),
        (LATER, "had proposed 2 nodes by then; when is not known", True),
        (LATER, "had selected node-0 by then; when is not known", True),
        (LATER, "had found 1 of 2 nodes unsuitable by then; when is not known", True),
    ]


def test_a_context_that_is_seen_as_it_is_created_proposes_then() -> None:
    assert told(context_turns(CREATED + 1.2, None, context(potential=NODES), {})) == [
        (CREATED + 1.2, "proposes 2 nodes", False)
    ]


def test_an_answer_at_first_sight_was_given_before_however_young_the_context_is() -> None:
    state = context(potential=NODES, unsuitable={"gpu": []})
    assert [t.found for t in context_turns(CREATED + 1.2, None, state, {})] == [False, True, True]


def turns_of(
    *contexts: tuple[float, PodSchedulingContext], claims: tuple[tuple[float, ResourceClaim], ...]
) -> list[Turn]:
    seen = [SeenContext(at, c) for at, c in contexts]
    found = negotiate(seen, {"gpu": [SeenClaim(at, c) for at, c in claims]}, {"gpu": GPU})
    return [t for r in found.rounds for t in r.turns]


def test_an_answer_to_a_question_of_unknown_time_took_nobody_knows_how_long() -> None:
    turns = turns_of(
        (LATER, context(potential=NODES)),
        (LATER + 3, context(potential=NODES, unsuitable={"gpu": []})),
        (LATER + 4, context(potential=NODES, unsuitable={"gpu": []}, selected="node-0")),
        claims=((LATER, claim()), (LATER + 6, claim(allocation=build.allocation("node-0")))),
    )
    took = {t.kind: t.took for t in turns}
    assert took[TurnKind.ANSWERED] is None
    assert took[TurnKind.ALLOCATED] == 2.0


def test_a_round_of_a_negotiation_that_was_there_begins_with_it_not_with_an_older_claim() -> None:
    older = msgspec.convert(build.claim("gpu-claim", created="2026-11-29T00:00:00Z"), ResourceClaim)
    seen = [SeenContext(LATER, context(potential=NODES))]
    (only,) = negotiate(seen, {"gpu": [SeenClaim(LATER, older)]}, {"gpu": GPU}).rounds
    assert (only.number, only.cut, only.started) == (0, True, LATER), "earlier rounds may have been"
    assert [t.kind for t in only.turns] == [TurnKind.CREATED, TurnKind.CREATED, TurnKind.PROPOSED]


def test_a_claim_is_created_before_anything_of_it_that_was_there_at_the_start() -> None:
    turns = turns_of(
        (LATER, context(potential=NODES, unsuitable={"gpu": []}, selected="node-0")),
        claims=((LATER + 0.9, claim(allocation=build.allocation("node-0"), reserved_for=[POD])),),
    )
    assert turns[0].kind is TurnKind.CREATED
    assert [t.at for t in turns if t.kind is TurnKind.CREATED] == [CREATED, CREATED]
    assert all(t.found for t in turns if t.kind is not TurnKind.CREATED)


# --- drivers' figures ------------------------------------------------------------------------------------------------


def answered(first: float) -> DriverStats:
    """A driver that answers 3 s after the context was first seen, and 2 s after a second question."""
    stats, drivers = DriverStats(), {"gpu": GPU}
    states = [
        context(potential=NODES),
        context(potential=NODES, unsuitable={"gpu": ["node-0"]}),
        context(potential=(*NODES, "node-2"), unsuitable={"gpu": ["node-0"]}),
        context(potential=(*NODES, "node-2"), unsuitable={"gpu": ["node-0", "node-2"]}),
    ]
    old = None
    for at, state in zip((first, first + 3, first + 10, first + 12), states, strict=True):
        stats.context_changed(at, "default/pod", old, state, drivers)
        old = state
    return stats


def test_response_times_leave_out_a_question_that_was_there_at_first_sight() -> None:
    known, found = answered(CREATED + 1).summary(GPU, LATER * 2), answered(LATER).summary(GPU, LATER * 2)
    assert (known.responses, known.p50, known.p95) == (2, 2.0, 3.0)
    assert (found.responses, found.p50, found.p95) == (1, 2.0, 2.0)


def test_how_long_a_negotiation_took_leaves_out_one_that_was_there_at_first_sight() -> None:
    expected: list[tuple[float, tuple[float, ...]]] = [(CREATED + 1, (15.0,)), (LATER, ())]
    for first, durations in expected:
        stats = answered(first)
        allocated = claim(allocation=build.allocation("node-1"))
        stats.claim_changed(first + 15, claim(), allocated, GPU, {"default/pod": "gpu"})
        assert stats.summary(GPU, LATER * 2).durations == durations


# --- shown -----------------------------------------------------------------------------------------------------------


def test_the_page_says_by_when_and_links_to_moments_that_the_model_knows() -> None:
    life = claim_turns(LATER, None, claim(allocation=build.allocation("node-0")), driver=GPU)
    page = text(render_to_string("claim/_history.html", {"view": {"life": list(life)}, "moment": LATER}))
    assert "06:56:46 claim is created 7h ago" in page
    assert f"by 13:56:46 {GPU} had allocated by then; when is not known" in page
    links = render_to_string("claim/_history.html", {"view": {"life": list(claim_turns(LATER, None, claim()))}})
    assert "at=2026-11-30T13:56:46" in links
    assert "at=2026-11-30T06:56:46" not in links


def text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())
