"""What is learnt by watching: the drivers' record, and counts over time."""

from __future__ import annotations

from typing import Any

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.registry import KINDS
from dradash.reader import driverstats
from dradash.reader.driverstats import DriverStats, percentile
from dradash.reader.observations import Observations
from dradash.reader.series import KEPT, NO_REASON, STEP, Sample, Series, main_reason, rewind, take
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import Step, Verdict
from dradash.store.model import Change, HistoryEntry
from dradash.store.replica import Applied
from tests import build
from tests.scene import Scene

DRIVER = "gpu.example.com"
POD = build.pod("p", "ml", claims={"gpu": "c"})
OPEN = build.claim("c", "ml")
TAKEN = build.claim("c", "ml", allocation=build.allocation("a"))


class Watch:
    """Changes one after the other, as the follower hands them over."""

    def __init__(self, *objects: build.Obj) -> None:
        self.cluster: Cluster = build.cluster(*objects)
        self.seen = Observations()

    def put(self, at: float, obj: build.Obj, *, deleted: bool = False) -> None:
        kind, key = build.plural(obj), build.key(obj)
        old: Any
        new: Any
        if deleted:
            old, new = self.cluster.remove(kind, key), None
        else:
            old, new = self.cluster.put(kind, key, build.raw(obj))
        self.seen.feed(Applied(Change(1, kind, key, "MODIFIED", b"", at), old, new), self.cluster)


def watch() -> Watch:
    return Watch(POD, OPEN, build.resource_class(), *build.nodes(2))


def test_a_driver_is_timed_from_the_question_to_the_answer_and_from_the_selection_to_the_allocation() -> None:
    seen = watch()
    seen.put(10.0, build.context(POD, potential=["a", "b"]))
    assert seen.seen.drivers.owed_since("ml/p", "gpu") == 10.0
    seen.put(12.0, build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["b"]}))
    assert seen.seen.drivers.owed_since("ml/p", "gpu") == 0.0
    seen.put(20.0, build.context(POD, potential=["a", "b"], selected="a", unsuitable={"gpu": ["b"]}))
    seen.put(25.0, TAKEN)
    summary = seen.seen.drivers.summary(DRIVER, 30.0)
    assert (summary.responses, summary.p50, summary.p95, summary.last_took) == (2, 2.0, 5.0, 5.0)
    assert (summary.allocations, summary.per_minute, summary.heard) == (1, 2.0, 25.0)
    assert summary.durations == (15.0,), "from the first question to the allocation"
    assert seen.seen.drivers.owed_since("ml/p", "gpu") == 0.0


def test_allocations_a_minute_are_of_the_time_that_was_watched() -> None:
    stats = DriverStats(since=1000.0)
    free, taken = (build.struct(o) for o in (OPEN, TAKEN))
    assert isinstance(free, ResourceClaim)
    assert isinstance(taken, ResourceClaim)
    for at in (500.0, 990.0):  # what histories tell is not all of what happened then
        stats.claim_changed(at, free, taken, DRIVER, {})
    stats.claim_changed(1001.0, free, taken, DRIVER, {})
    assert stats.summary(DRIVER, 1001.5).per_minute == 6.0, "of 10 s at least"
    for at in range(1002, 1017):
        stats.claim_changed(float(at), free, taken, DRIVER, {})
    rates = {now: stats.summary(DRIVER, now).per_minute for now in (1022.0, 1240.0, 1300.0, 1310.0, 1400.0)}
    assert rates == {1022.0: 16 * 60 / 22, 1240.0: 4.0, 1300.0: 16 / 5, 1310.0: 6 / 5, 1400.0: 0.0}
    assert stats.summary(DRIVER, 995.0).per_minute == 1 * 60 / 300, "before it watched: what is known"


def test_a_second_question_does_not_stop_the_clock() -> None:
    seen = watch()
    seen.put(10.0, build.context(POD, potential=["a"]))
    seen.put(14.0, build.context(POD, potential=["a", "b"]))
    assert seen.seen.drivers.owed_since("ml/p", "gpu") == 10.0


def test_refusals_are_counted_by_node_once_for_each_time_they_are_new() -> None:
    seen = watch()
    seen.put(1.0, build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["b"]}))
    seen.put(2.0, build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["a", "b"]}))
    seen.put(3.0, build.context(POD, potential=["a", "b"], unsuitable={"gpu": []}))
    seen.put(4.0, build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["b"]}))
    drivers = seen.seen.drivers
    (refused,) = drivers.refused("b")
    assert (refused.driver, refused.count, refused.last.at, refused.last.pod) == (DRIVER, 2, 4.0, "ml/p")
    assert [(r.node, r.count) for r in drivers.refused_most(DRIVER, 10)] == [("b", 2), ("a", 1)]
    assert drivers.refusals_by_node() == {"a": 1, "b": 2}
    assert drivers.refused("never seen") == []


def test_the_record_can_be_told_as_of_an_earlier_moment() -> None:
    seen = watch()
    seen.put(1.0, build.context(POD, potential=["b"]))
    seen.put(2.0, build.context(POD, potential=["b"], unsuitable={"gpu": ["b"]}))
    seen.put(3.0, build.context(POD, potential=["b"], unsuitable={"gpu": []}))
    seen.put(9.0, build.context(POD, potential=["b"], unsuitable={"gpu": ["b"]}))
    drivers = seen.seen.drivers
    assert [r.count for r in drivers.refused("b", 5.0)] == [1]
    assert drivers.refused("b", 1.5) == []
    assert drivers.summary(DRIVER, 5.0).refusals == 1
    assert drivers.summary(DRIVER, 0.5) == driverstats.Summary()


def test_what_was_allocated_before_anybody_looked_is_no_move() -> None:
    seen = Watch(POD, build.resource_class())
    seen.put(5.0, TAKEN)
    assert seen.seen.drivers.summary(DRIVER, 9.0).allocations == 0


def test_a_deallocation_is_a_move_and_the_end_of_a_context_forgets_what_was_owed() -> None:
    seen = watch()
    seen.put(1.0, TAKEN)
    seen.put(5.0, OPEN)
    seen.put(6.0, build.context(POD, potential=["a"]))
    seen.put(7.0, build.context(POD), deleted=True)
    summary = seen.seen.drivers.summary(DRIVER, 9.0)
    assert (summary.deallocations, summary.heard) == (1, 5.0)
    assert seen.seen.drivers.owed_since("ml/p", "gpu") == 0.0


def test_the_pairs_that_are_kept_are_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(driverstats, "PAIRS", 2)
    seen = watch()
    for i, node in enumerate("abc"):
        seen.put(float(i), build.context(POD, potential=[node], unsuitable={"gpu": [node]}))
    assert sorted(seen.seen.drivers.refusals_by_node()) == ["b", "c"]
    assert seen.seen.drivers.refused("a") == []


def test_the_record_begins_with_what_history_says() -> None:
    seen = watch()
    first = build.context(POD, potential=["a", "b"])
    second = build.context(POD, potential=["a", "b"], unsuitable={"gpu": ["b"]})
    seen.cluster.put("podschedulingcontexts", "ml/p", build.raw(second))

    def history(kind: str, key: str) -> list[HistoryEntry]:
        assert key in ("ml/p", "ml/c")
        if kind == "resourceclaims":
            return [HistoryEntry(9, 9.0, "MODIFIED", b"not JSON")]
        return [HistoryEntry(i, float(i), "MODIFIED", build.raw(o)) for i, o in enumerate((first, second), start=1)]

    class World:
        instance = "test"
        cluster = seen.cluster
        verdicts: dict[str, Verdict] = {}
        times = {"podschedulingcontexts": {"ml/p": 2.0}}

    seen.seen.restart(World(), history, now=100.0)  # type: ignore[arg-type]  # all that it reads
    summary = seen.seen.drivers.summary(DRIVER, 100.0)
    assert (summary.responses, summary.last_took, summary.refusals) == (1, 1.0, 1)
    assert seen.seen.drivers.since == 100.0


def test_percentiles_are_numbers_that_were_measured() -> None:
    numbers = [float(n) for n in range(1, 101)]
    assert (percentile(numbers, 50), percentile(numbers, 95), percentile([7.0], 95)) == (50.0, 95.0, 7.0)
    assert percentile([], 50) is None


# --- counts over time ------------------------------------------------------------------------------------------------


def sample(at: float) -> Sample:
    return Sample(at, {}, {}, {})


def test_samples_are_bounded_and_in_order() -> None:
    series = Series()
    assert series.is_due(0.0)
    for i in range(KEPT + 5):
        series.add(sample(i * STEP))
    series.add(sample(3.0))
    samples = series.until(float("inf"))
    assert (len(samples), samples[0].at) == (KEPT, 5 * STEP)
    assert not series.is_due(samples[-1].at + STEP - 1)
    assert series.until(samples[3].at) == samples[:4]


def test_the_past_goes_before_what_is_there() -> None:
    series = Series()
    series.add(sample(100.0))
    series.prepend([sample(10.0), sample(50.0), sample(100.0)])
    assert [s.at for s in series.until(1e9)] == [10.0, 50.0, 100.0]


def test_the_follower_feeds_what_it_applies_and_takes_samples() -> None:
    scene = Scene(POD, OPEN, build.resource_class(), *build.nodes(2))
    scene.look()
    scene.put(build.context(POD, potential=["node-0", "node-1"]))
    scene.put(build.context(POD, potential=["node-0", "node-1"], unsuitable={"gpu": ["node-1"]}))
    scene.look()
    seen = scene.web.follower.observations
    assert seen.drivers.summary(DRIVER, scene.now).last_took == 1.0
    *_, taken = seen.series.until(float("inf"))
    assert taken.claims == {"Pending": 1}
    assert taken.waiting == {"gpu": 1}
    assert sum(taken.pending.values()) == 1


def test_every_kind_of_a_change_may_come() -> None:
    seen = Observations()
    for kind in KINDS:
        seen.feed(Applied(Change(1, kind, "a/b", "MODIFIED", b"", 1.0), None, None), build.cluster())
    assert seen.drivers.names() == frozenset()


def test_the_past_is_counted_by_taking_changes_back() -> None:
    scene = Scene(build.resource_class(), *build.nodes(2))
    scene.look()
    expected = []
    for change in (
        [POD, OPEN],
        [build.pod("q", "ml", claims={"gpu": "missing"}), build.claim("other", "ml")],
        [TAKEN],
        [POD | {"spec": POD["spec"] | {"nodeName": "node-0"}}],
    ):
        scene.now += 2 * STEP
        scene.put(*change)
        scene.look()
        with scene.web.follower.world() as world:
            expected.append(take(world, scene.now))
    scene.now += 2 * STEP
    scene.delete(build.claim("other", "ml"))
    scene.look()
    changes = scene.model.changes_before(scene.model.revision() + 1, 100)
    undone = list(zip(changes, scene.model.states_before(changes), strict=True))
    with scene.web.follower.world() as world:
        samples = rewind(world, scene.now + 1.0, undone)
    assert [s.at for s in samples] == sorted(s.at for s in samples)
    for then in expected:
        found = [s for s in samples if then.at <= s.at < then.at + 2 * STEP]
        assert found, then
        for one in found:
            assert (one.claims, one.pending, one.waiting) == (then.claims, then.pending, then.waiting)


def test_a_process_that_starts_late_has_pictures_of_before() -> None:
    scene = Scene(POD, OPEN, build.resource_class())
    scene.now += 10 * STEP
    scene.put(TAKEN)
    scene.look()
    samples = scene.web.follower.observations.series.until(float("inf"))
    assert {"Pending": 1} in [s.claims for s in samples]
    assert samples[-1].claims == {"Allocated": 1}


def test_a_pod_counts_under_the_refusal_about_claims_of_most_nodes() -> None:
    cluster = build.cluster(*build.nodes(6))
    groups = (
        build.group(cluster, ["node-0", "node-1", "node-2"], "node(s) were unschedulable", plugin="NodeUnschedulable"),
        build.group(cluster, ["node-3"], "few"),
        build.group(cluster, ["node-4", "node-5"], "many"),
    )
    assert main_reason(build.verdict(POD, ran=[Step(point="Filter", groups=groups)])) == "many"
    early = Step(point="PreFilter", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons=("resourceclaim in use",))
    assert main_reason(build.verdict(POD, ran=[early])) == "resourceclaim in use"
    assert main_reason(build.verdict(POD)) == main_reason(None) == NO_REASON


def test_what_cannot_be_read_is_passed_over_when_changes_are_taken_back() -> None:
    scene = Scene(POD, OPEN, build.resource_class())
    scene.look()
    undone = [(Change(9, kind, "ml/p", "MODIFIED", b"", 1.0), b"[]") for kind in ("pods", "resourceclaims", "verdicts")]
    with scene.web.follower.world() as world:
        now = take(world, 100.0)
        assert [s.claims for s in rewind(world, 100.0, undone)] == [now.claims] * 6


def test_pictures_outlive_a_model_that_has_to_be_loaded_anew() -> None:
    scene = Scene(POD, OPEN, build.resource_class())
    scene.look()
    series = scene.web.follower.observations.series
    series.prepend([sample(1.0)])
    scene.model.wipe()
    build.fill(scene.model, build.pod("fresh", "ml"))
    scene.look()
    assert scene.web.follower.observations.series.until(2.0) == [sample(1.0)]
