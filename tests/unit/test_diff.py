"""One change in words."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.scheduling.verdict import ActsNext, Agreement, ClaimRef, HintNote, Outcome, Verdict
from dradash.store.model import SYNC, VERDICTS, SyncState
from dradash.web.presenters.diff import LONGEST, named, words
from tests import build
from tests.unit.test_dependencies import KINDS, random_object

P = build.pod("p", claims={"gpu": "c"})
C = build.claim("c")


def said(before: build.Obj | None, after: build.Obj) -> tuple[str, ...]:
    type_ = "ADDED" if before is None else "MODIFIED"
    return words(build.plural(after), type_, None if before is None else build.raw(before), build.raw(after))


def with_meta(obj: build.Obj, **more: Any) -> build.Obj:
    return obj | {"metadata": obj["metadata"] | more}


ANOTHER = build.pod("p", claims={"gpu": "c"}, uid="new")
SELECTED = build.context(P, potential=["a", "b"], selected="a")
CASES: tuple[tuple[build.Obj | None, build.Obj, tuple[str, ...]], ...] = (
    (None, P, ("with claims gpu",)),
    (None, C, ("class gpu",)),
    (None, build.node("n"), ()),
    (C, build.claim("c", allocation=build.allocation("node-3")), ("allocation set on node-3",)),
    (C, build.claim("c", allocation=build.allocation()), ("allocation set on every node",)),
    (
        C,
        build.claim("c", allocation=build.allocation() | {"availableOnNodes": build.with_labels(rack="7")}),
        ("allocation set on nodes where label rack is 7",),
    ),
    (build.claim("c", allocation=build.allocation("n")), C, ("allocation taken back",)),
    (
        build.claim("c", allocation=build.allocation("n")),
        build.claim("c", allocation=build.allocation("m"), reserved_for=[P]),
        ("allocation changed on m", "reserved for p"),
    ),
    (build.claim("c", reserved_for=[P]), C, ("no longer reserved for p",)),
    (C, build.claim("c", deallocation_requested=True), ("asks for deallocation",)),
    (build.claim("c", deallocation_requested=True), C, ("no longer asks for deallocation",)),
    (C, with_meta(C, deletionTimestamp="2026-11-30T04:00:00Z"), ("deletion asked for",)),
    (with_meta(C, finalizers=["x/y"]), C, ("finalizer x/y removed",)),
    (None, SELECTED, ("selectedNode none → a", "potentialNodes: 2 (2 added, 0 removed)")),
    (SELECTED, build.context(P, potential=["a", "b"], selected="b"), ("selectedNode a → b",)),
    (SELECTED, build.context(P, potential=["b", "c"], selected="a"), ("potentialNodes: 2 (1 added, 1 removed)",)),
    (
        SELECTED,
        build.context(P, potential=["a", "b"], selected="a", unsuitable={"gpu": ["a"]}),
        ("claim gpu: unsuitable on a",),
    ),
    (
        SELECTED,
        build.context(P, potential=["a", "b"], selected="a", unsuitable={"gpu": []}),
        ("claim gpu: every node suits",),
    ),
    (P, build.pod("p", claims={"gpu": "c"}, node="n", phase="Running"), ("bound to n", "phase Pending → Running")),
    (
        P,
        build.pod("p", claims={"gpu": "c"}, conditions=[build.unschedulable("0/3 nodes")]),
        ("Unschedulable: 0/3 nodes",),
    ),
    (
        build.pod("p", templates={"gpu": "t"}),
        build.pod("p", templates={"gpu": "t"}, generated={"gpu": "p-gpu-x"}),
        ("claim generated for gpu none → p-gpu-x",),
    ),
    (build.node("n"), build.node("n", unschedulable=True), ("cordoned",)),
    (build.node("n"), build.node("n", labels={"zone": "a"}), ("label zone none → a",)),
    (build.node("n"), build.node("n", taints=[{"key": "k", "effect": "NoSchedule"}]), ("taint k:NoSchedule added",)),
    (build.resource_class(), build.resource_class(driver="d"), ("driver gpu.example.com → d",)),
    (build.resource_class(), build.resource_class(suitable=build.with_labels(a="b")), ("suitableNodes set",)),
    (build.event(P, "no"), build.event(P, "no", count=4), ("FailedScheduling: no (seen 4 times)",)),
    (P, ANOTHER, ("replaced by another object of the same name", "with claims gpu")),
    (build.template("t"), build.template("t", resource_class="h100"), ("spec.spec.resourceClassName: gpu → h100",)),
)  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), CASES)
def test_a_change_in_words(before: build.Obj | None, after: build.Obj, expected: tuple[str, ...]) -> None:
    assert said(before, after) == expected


def test_a_verdict_says_what_became_of_it() -> None:
    old = build.verdict(P, Outcome.WAITING, "waiting", acts_next=ActsNext(who="driver", names=("d",)))
    new = build.verdict(
        P,
        Outcome.SCHEDULABLE,
        "fits",
        acts_next=ActsNext(who="scheduler"),
        nodes_fit=1,
        nodes_total=3,
        agreement=Agreement(said="other", source="event", agrees=False),
    )
    raw = [msgspec.json.encode(v) for v in (old, new)]
    assert words(VERDICTS, "MODIFIED", raw[0], raw[1]) == (
        "verdict Waiting → Schedulable",
        "fits",
        "acts next: driver d → scheduler",
        "nodes that fit 0/0 → 1/3",
        "the scheduler says something else: other",
    )
    assert words(VERDICTS, "ADDED", None, raw[0]) == ("verdict Waiting: waiting",)
    assert words(VERDICTS, "DELETED", raw[0], raw[0]) == ("with its pod",)


def test_the_same_actor_with_another_task_is_told_by_the_task() -> None:
    old = build.verdict(P, acts_next=ActsNext(who="scheduler", what="publish"))
    new = build.verdict(P, acts_next=ActsNext(who="scheduler", what="select a node"))
    raw = [msgspec.json.encode(v) for v in (old, new)]
    assert words(VERDICTS, "MODIFIED", raw[0], raw[1]) == ("scheduler must now select a node",)


def test_the_state_of_the_watch_is_told_with_its_error() -> None:
    raw = msgspec.json.encode(SyncState("pods", "stale", "v1", error="refused", malformed=2))
    assert words(SYNC, "MODIFIED", None, raw) == ("stale (v1)", "2 malformed", "refused")


def test_what_was_before_and_is_not_kept_is_said() -> None:
    assert words("pods", "MODIFIED", None, build.raw(P))[0] == "changed; what it was before is not kept any more"


def test_what_cannot_be_read_is_said_and_long_words_are_cut() -> None:
    assert words("pods", "ADDED", None, b"[]")[0].startswith("cannot be read: ")
    assert words(VERDICTS, "ADDED", None, b"\xff")[0].startswith("cannot be read: ")
    long = build.pod("p", conditions=[build.unschedulable("x" * 5000)])
    (text,) = said(build.pod("p"), long)
    assert len(text) == LONGEST + 1


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_any_two_states_of_any_object_have_words(seed: int) -> None:
    rng = random.Random(seed)
    kind, number = rng.choice(KINDS), rng.randrange(3)
    before, after = random_object(rng, kind, number), random_object(rng, kind, number)
    told = said(before, after)
    assert (not told or told == ("nothing that is shown",)) or before != after
    assert all(told)
    assert before == after or told


def test_a_verdict_that_says_the_same_tells_nothing_of_how_it_was_judged() -> None:
    hint = HintNote(kind="resourceclaims", key="default/tape", change="MODIFIED", hint="Queue", revision=7)
    old = Verdict(pod="default/p", uid="u", revision=6, outcome=Outcome.WAITING, sentence="waiting")
    again = msgspec.structs.replace(old, revision=8, judged_at=1.5, since=1.0, hints=(hint,))
    assert of_verdicts(old, again) == ("judged again, with the same result",)
    held = msgspec.structs.replace(again, claims=(ClaimRef(name="tape", claim="tape", state="Allocated"),))
    assert of_verdicts(old, held) == ("claim tape: not set → Allocated",)


def of_verdicts(old: Verdict, new: Verdict) -> tuple[str, ...]:
    return words(VERDICTS, "MODIFIED", msgspec.json.encode(old), msgspec.json.encode(new))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("status.allocation.resourceHandles", "allocation"),
        ("status.reservedFor[u].name", "reserved for"),
        ("metadata.finalizers", "finalizers"),
        ("status.allocationMode", "status.allocationMode"),
    ],
)
def test_fields_with_a_known_meaning_are_named_by_it(path: str, name: str) -> None:
    assert named(path) == name
