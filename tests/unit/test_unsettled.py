"""Kinds come in any order: the drivers' record must not depend on it, nor lose what was there at first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest

from dradash.reader import unsettled
from dradash.reader.observations import Observations
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.rfc3339 import seconds
from dradash.store.model import Change, HistoryEntry
from dradash.store.replica import Applied
from tests import build
from tests import builddevices as make

GPU, NIC = "gpu.example.com", "nic.example.com"
CREATED = seconds(build.CREATED)
LATER = CREATED + 3600.0
END = LATER + 7200.0

Lists = Mapping[str, Sequence[build.Obj]]


class Told:
    """Changes as the follower hands them over, and what the model keeps of them."""

    def __init__(self, since: float) -> None:
        self.cluster, self.seen = Cluster(), Observations()
        self.instance, self.verdicts = "one", dict[str, Any]()
        self.times: dict[str, dict[str, float]] = {}
        self.kept: dict[tuple[str, str], list[HistoryEntry]] = {}
        self.seen.drivers.since = since

    def put(self, at: float, obj: build.Obj) -> None:
        kind, key, raw = build.plural(obj), build.key(obj), build.raw(obj)
        old, new = self.cluster.put(kind, key, raw)
        self.times.setdefault(kind, {})[key] = at
        self.kept.setdefault((kind, key), []).append(HistoryEntry(1, at, "MODIFIED", raw))
        self.seen.feed(Applied(Change(1, kind, key, "MODIFIED", b"", at), old, new), self.cluster)

    def restarted(self) -> Observations:
        fresh = Observations()
        fresh.restart(self, lambda kind, key: self.kept.get((kind, key), []), END)  # type: ignore[arg-type]  # as World
        fresh.drivers.since = self.seen.drivers.since
        return fresh


def record(of: Observations) -> dict[str, Any]:
    """All that is told of drivers."""
    stats = of.drivers
    return {
        "summaries": {name: stats.summary(name, END) for name in (GPU, NIC)},
        "refused": {node: stats.refused(node) for node in ("a", "b", "c")},
        "then": {node: stats.refused(node, LATER + 2.5) for node in ("a", "b", "c")},
        "most": {name: stats.refused_most(name, 9) for name in (GPU, NIC)},
        "owed": {name: stats.owed_since("ml/p", name) for name in ("gpu", "nic")},
    }


def interleavings(lists: Lists) -> Iterator[list[build.Obj]]:
    """All orders in which each kind's states follow each other."""
    if not any(lists.values()):
        yield []
    for kind, states in lists.items():
        if states:
            for rest in interleavings({**lists, kind: states[1:]}):
                yield [states[0], *rest]


POD = build.pod("p", "ml", claims={"gpu": "c", "nic": "n"})
CLASSES = [build.resource_class(), build.resource_class("nic", driver=NIC)]
OPEN = build.claim("c", "ml")
TAKEN = build.claim("c", "ml", allocation=build.allocation("a"))
OTHER = build.claim("n", "ml", resource_class="nic")
ASKED = build.context(POD, potential=["a", "b"])
ANSWERED = build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["b"]})
FOUND = build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["a", "b"], "nic": []}, selected="a")


@pytest.mark.parametrize(
    "order", list(permutations(["pods", "resourceclaims", "resourceclasses", "contexts"])), ids=str
)
def test_refusals_that_are_there_at_the_start_count_in_whatever_order_the_kinds_come(order: tuple[str, ...]) -> None:
    lists: Lists = {
        "pods": [POD],
        "resourceclaims": [OPEN, OTHER],
        "resourceclasses": CLASSES,
        "contexts": [FOUND],
    }
    told = Told(LATER)
    for number, kind in enumerate(order):
        for obj in lists[kind]:
            told.put(LATER + number, obj)
    sight = LATER + order.index("contexts")
    drivers = told.seen.drivers
    assert drivers.summary(GPU, END).refusals == 2
    assert drivers.summary(GPU, END).heard == drivers.summary(NIC, END).heard == sight
    assert [(r.driver, r.count, r.last.at, r.last.pod) for r in drivers.refused("a")] == [(GPU, 1, sight, "ml/p")]
    assert record(told.seen) == record(told.restarted())


@pytest.mark.parametrize("begin", [CREATED, LATER], ids=["seen from the beginning", "found as it was"])
@pytest.mark.parametrize(
    "lists",
    [
        {"pods": [POD], "claims": [OPEN, TAKEN], "classes": CLASSES[:1], "contexts": [ASKED, ANSWERED, FOUND]},
        {"pods": [POD], "claims": [TAKEN, OPEN], "classes": CLASSES[:1], "contexts": [ASKED, FOUND]},
        {"pods": [POD], "claims": [TAKEN], "others": [OTHER], "classes": CLASSES, "contexts": [FOUND]},
    ],
    ids=["allocated", "given back", "allocated before anybody looked"],
)
def test_every_order_of_changes_makes_the_record_that_a_restart_reads_from_the_histories(
    lists: Lists, begin: float
) -> None:
    orders = list(interleavings(lists))
    assert len(orders) > 100
    for order in orders:
        told = Told(begin)
        for step, obj in enumerate(order):
            told.put(begin + 1 + step / 4, obj)
        assert record(told.seen) == record(told.restarted()), [build.key(o) for o in order]


def test_a_driver_is_timed_though_its_pod_claim_and_class_come_after_the_question() -> None:
    told = Told(CREATED)
    for at, obj in ((1.0, ASKED), (1.5, POD), (1.75, OPEN), (2.0, CLASSES[0]), (4.0, ANSWERED), (9.0, TAKEN)):
        told.put(CREATED + at, obj)
    summary = told.seen.drivers.summary(GPU, END)
    assert (summary.responses, summary.last_took, summary.durations) == (1, 3.0, (8.0,))


def test_an_allocation_before_the_pod_is_there_ends_what_was_asked() -> None:
    told = Told(CREATED)
    for at, obj in ((1.0, ASKED), (1.5, OPEN), (2.0, CLASSES[0]), (6.0, TAKEN), (7.0, POD)):
        told.put(CREATED + at, obj)
    summary = told.seen.drivers.summary(GPU, END)
    assert (summary.responses, summary.last_took, summary.durations, summary.allocations) == (1, 5.0, (5.0,), 1)
    assert told.seen.drivers.owed_since("ml/p", "gpu") == 0.0


def test_a_claim_that_is_generated_late_gets_what_was_held_for_it() -> None:
    pod = build.pod("p", "ml", templates={"gpu": "t"})
    named = build.pod("p", "ml", templates={"gpu": "t"}, generated={"gpu": "c"})
    told = Told(LATER)
    for number, obj in enumerate((CLASSES[0], pod, build.context(pod, potential=["a"], unsuitable={"gpu": ["a"]}))):
        told.put(LATER + number, obj)
    assert told.seen.drivers.summary(GPU, END).refusals == 0
    told.put(LATER + 5, named)
    told.put(LATER + 6, OPEN)
    assert [r.last.at for r in told.seen.drivers.refused("a")] == [LATER + 2]


def test_what_is_held_is_bounded_and_goes_with_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsettled, "NEGOTIATIONS", 2)
    monkeypatch.setattr(unsettled, "CLAIMS", 1)
    told = Told(LATER)
    pods = [build.pod(name, "ml", claims={"gpu": f"c-{name}"}) for name in ("one", "two", "three", "four")]
    told.put(LATER, CLASSES[0])
    for pod in pods[:3]:
        told.put(LATER, build.context(pod, potential=["a"], unsuitable={"gpu": ["a"]}))
    gone = build.key(pods[1])
    old = told.cluster.remove("podschedulingcontexts", gone)
    change = Change(1, "podschedulingcontexts", gone, "DELETED", b"", LATER)
    told.seen.feed(Applied(change, old, None), told.cluster)
    for pod in pods[:3]:
        told.put(LATER + 1, pod)
        told.put(LATER + 1, build.claim(f"c-{build.key(pod)[3:]}", "ml"))
    assert [r.last.pod for r in told.seen.drivers.refused("a")] == ["ml/three"]
    assert told.seen.drivers.summary(GPU, END).refusals == 1


def test_a_change_costs_what_waits_for_its_object_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(LATER)
    told.put(LATER, CLASSES[0])
    pods = [build.pod(f"p-{i}", "ml", claims={"gpu": f"c-{i}"}) for i in range(50)]
    for pod in pods:
        told.put(LATER, build.context(pod, potential=["a"], unsuitable={"gpu": ["a"]}))
    settled: list[str] = []
    settle = Observations._settle

    def counted(of: Observations, key: str, cluster: Cluster) -> set[str]:
        settled.append(key)
        return settle(of, key, cluster)

    monkeypatch.setattr(Observations, "_settle", counted)
    told.put(LATER + 1, pods[7])
    told.put(LATER + 2, build.claim("c-7", "ml"))
    told.put(LATER + 3, build.claim("c-7", "ml", allocation=build.allocation("a")))
    told.put(LATER + 4, CLASSES[0])
    assert settled == ["ml/p-7", "ml/p-7"], "its pod, and its claim; then nothing waits"


def test_a_driver_that_publishes_was_last_heard_when_its_slice_changed_also_after_a_restart() -> None:
    told = Told(LATER)
    told.put(LATER + 3, make.resource_slice(make.device("gpu-0")))
    assert told.seen.drivers.summary(GPU, END).heard == LATER + 3
    assert told.restarted().drivers.summary(GPU, END).heard == LATER + 3
