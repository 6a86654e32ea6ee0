"""From watch events to verdicts in one process: ingest, due pods, judge, and leading with a twin of the informer."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.informer.sink import KindState, ObjectEvent, Sink
from dradash.kinds.pod import Pod
from dradash.pipeline.ingest import JUDGED_BY, Ingest
from dradash.pipeline.judge import Judge
from dradash.pipeline.leader import Leader
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.generation import Generation
from dradash.scheduling.verdict import Agreement, Evaluation, Outcome, Verdict
from dradash.store.memory import MemoryModel
from dradash.store.model import StaleEpoch
from dradash.store.replica import Replica, decode_verdict
from tests import build
from tests.patience import PATIENCE
from tests.unit.test_dependencies import KINDS, random_object


class Bench:
    """A memory model with an ingest as its leader, and a judge."""

    def __init__(self) -> None:
        self.now = build.NOW
        self.model = MemoryModel()
        epoch = self.model.acquire("test", 3600.0)
        assert epoch is not None
        self.epoch = epoch
        self.woken = 0
        self.fetched: list[str] = []
        self.ingest = Ingest(
            self.model,
            epoch,
            self.model.load(),
            clock=lambda: self.now,
            on_due=self._wake,
            fetch=lambda _kind, key: self.fetched.append(key),
        )
        self.judge = Judge(self.model, lambda: self.now)

    def _wake(self) -> None:
        self.woken += 1

    def synced(self, *kinds: str, state: str = "synced") -> None:
        if not kinds:
            self.without_structured()
        for kind in kinds or JUDGED_BY[Generation.CLASSIC]:
            self.ingest.sync(KindState(kind, state=state))

    def without_structured(self) -> None:
        """What the API server of a cluster with classic DRA says of the other generation's kinds."""
        for kind in ("deviceclasses", "resourceslices"):
            self.ingest.sync(KindState(kind, state="notServed"))

    def put(self, *objects: build.Obj) -> None:
        for obj in objects:
            self.ingest.events(build.plural(obj), [ObjectEvent("MODIFIED", build.key(obj), build.raw(obj))], "1")

    def delete(self, obj: build.Obj) -> None:
        self.ingest.events(build.plural(obj), [ObjectEvent("DELETED", build.key(obj), build.raw(obj))], "1")

    def work(self) -> list[str]:
        judged: list[str] = []
        while due := self.model.take_due(self.now, 10, 30.0):
            self.judge.judge(due)
            judged += [d.pod for d in due]
        return judged

    def verdict(self, pod: str = "default/p") -> Verdict:
        return decode_verdict(self.model.load().verdicts[pod])


@pytest.fixture
def bench() -> Bench:
    return Bench()


POD = build.pod("p", claims={"gpu": "claim"})


def test_a_pod_is_unknown_until_all_kinds_that_it_depends_on_are_read(bench: Bench) -> None:
    bench.put(POD, build.claim("claim"))
    bench.work()
    assert bench.verdict().outcome is Outcome.UNKNOWN
    assert "nodes unknown" in bench.verdict().sentence
    bench.without_structured()
    bench.synced(*JUDGED_BY[Generation.CLASSIC][:-1])
    assert bench.work() == []
    bench.synced(JUDGED_BY[Generation.CLASSIC][-1])
    assert bench.work() == ["default/p"]
    assert bench.verdict().sentence == "no nodes available to schedule pods"


def test_nothing_is_judged_before_the_kinds_of_the_other_generation_were_asked_for(bench: Bench) -> None:
    bench.put(POD, build.claim("claim"))
    bench.work()
    bench.synced(*JUDGED_BY[Generation.CLASSIC])
    assert bench.work() == []
    bench.without_structured()
    assert bench.work() == ["default/p"]
    assert bench.verdict().sentence == "no nodes available to schedule pods"


def test_a_kind_that_is_not_served_is_named_in_the_verdict(bench: Bench) -> None:
    bench.put(POD)
    bench.synced()
    bench.synced("resourceclaims", state="notServed")
    bench.work()
    assert bench.verdict().sentence == "cannot be judged: resourceclaims notServed"


def test_a_stale_kind_is_judged_by_what_was_read_last(bench: Bench) -> None:
    bench.put(POD)
    bench.synced()
    bench.synced("nodes", state="stale")
    bench.work()
    assert bench.verdict().outcome is Outcome.BLOCKED


def test_a_change_makes_only_the_pods_due_that_it_concerns(bench: Bench) -> None:
    bench.synced()
    bench.put(POD, build.pod("q", claims={"gpu": "other"}), build.claim("claim"), build.claim("other"))
    bench.work()
    bench.put(build.claim("claim", allocation=build.allocation("node-0")))
    assert bench.work() == ["default/p"]


def test_an_identical_object_is_no_change(bench: Bench) -> None:
    bench.put(POD)
    revision = bench.model.revision()
    bench.put(POD)
    assert bench.model.revision() == revision


def test_the_hint_for_the_change_is_kept_with_the_verdict(bench: Bench) -> None:
    bench.synced()
    bench.put(POD, build.claim("claim"), build.resource_class(), build.node("node-0"))
    bench.work()
    bench.put(build.claim("claim", allocation=build.allocation("node-0")))
    bench.work()
    (hint,) = bench.verdict().hints
    assert (hint.kind, hint.key, hint.hint) == ("resourceclaims", "default/claim", "Queue")
    assert hint.revision > 0


def test_since_stays_while_the_verdict_says_the_same(bench: Bench) -> None:
    bench.synced()
    bench.put(POD)
    bench.work()
    bench.now += 60
    bench.put(POD | {"metadata": POD["metadata"] | {"labels": {"a": "b"}}})
    bench.work()
    assert (bench.verdict().since, bench.verdict().judged_at) == (build.NOW, build.NOW + 60)
    bench.put(build.claim("claim"), build.node("node-0"))
    bench.work()
    assert bench.verdict().since == build.NOW + 60


def test_a_pod_whose_judging_raises_gets_an_error_and_the_others_go_on(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(pod: Pod, cluster: Cluster, revision: int, *, now: float) -> Evaluation:
        if pod.name == "p":
            raise ZeroDivisionError("a bug")
        return evaluate(pod, cluster, revision, now=now)

    bench.judge = Judge(bench.model, lambda: bench.now, broken)
    bench.synced()
    bench.put(POD, build.pod("q", claims={"gpu": "claim"}))
    assert sorted(bench.work()) == ["default/p", "default/q"]
    assert bench.verdict().sentence == "dradash could not judge this pod: ZeroDivisionError: a bug"
    assert bench.verdict("default/q").outcome is Outcome.BLOCKED
    assert "judging default/p failed" in caplog.text
    assert bench.model.count_due() == 0


def test_a_fault_while_comparing_words_spoils_one_pod_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(pod: Pod, events: object) -> object:
        if pod.name == "p":
            raise RuntimeError("words")
        return Agreement()

    monkeypatch.setattr("dradash.pipeline.judge.last_words", broken)
    bench.synced()
    bench.put(POD, build.pod("q", claims={"gpu": "claim"}))
    bench.work()
    assert bench.verdict().outcome is Outcome.ERROR
    assert bench.verdict("default/q").outcome is Outcome.BLOCKED
    assert bench.model.count_due() == 0


def test_an_object_nested_beyond_all_measure_is_malformed_everywhere(bench: Bench) -> None:
    bench.synced()
    deep = build.raw(build.claim("claim"))[:-1] + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}"
    bench.ingest.events("resourceclaims", [ObjectEvent("ADDED", "default/claim", deep)], "1")
    bench.put(POD)
    bench.work()
    told = "cannot be judged: ResourceClaim default/claim cannot be read: nested too deeply"
    assert bench.verdict().sentence == told


def test_a_driver_that_stays_silent_is_waited_for_since_it_was_first_asked(bench: Bench) -> None:
    bench.synced()
    nodes = ["node-0", "node-1"]
    bench.put(build.claim("claim"), build.resource_class(), *build.nodes(2), POD)
    bench.put(build.context(POD, potential=nodes, selected="node-0"))
    bench.work()
    asked = bench.verdict().since
    bench.now += 60
    bench.put(build.context(POD, potential=nodes, selected="node-1"))
    bench.work()
    assert bench.verdict().acts_next.what == "allocate for node node-1"
    assert bench.verdict().since == asked


def test_a_malformed_pod_is_told_and_not_due_for_ever(bench: Bench) -> None:
    bench.synced()
    bench.ingest.events("pods", [ObjectEvent("ADDED", "default/p", b'{"metadata":{"name":"p","namespace":3}}')], "1")
    bench.ingest.begin()
    bench.work()
    assert bench.verdict().outcome is Outcome.ERROR
    assert "not a valid Pod" in bench.verdict().sentence
    assert bench.model.count_due() == 0


def test_a_list_replaces_and_what_it_lacks_is_deleted(bench: Bench) -> None:
    bench.put(build.claim("a"), build.claim("b"))
    kept = build.claim("b")
    bench.ingest.replace("resourceclaims", {build.key(kept): build.raw(kept)}, "9")
    loaded = bench.model.load()
    assert set(loaded.objects["resourceclaims"]) == {"default/b"}


def test_a_pod_for_which_a_claim_is_reserved_begins_to_matter_and_is_fetched(bench: Bench) -> None:
    holder = build.pod("holder")
    assert not bench.ingest.wanted("default/holder")
    bench.put(build.claim("claim", allocation=build.allocation("n"), reserved_for=[holder]))
    assert bench.ingest.wanted("default/holder")
    assert bench.fetched == ["default/holder"]


def test_a_write_of_a_leader_that_was_replaced_is_refused(bench: Bench) -> None:
    bench.model.release("test", bench.epoch)
    assert bench.model.acquire("other", 10.0)
    with pytest.raises(StaleEpoch):
        bench.put(POD)


def test_the_schedulers_words_are_kept_with_the_verdict(bench: Bench) -> None:
    bench.synced()
    bench.put(build.claim("claim"), build.resource_class(), build.node("node-0"), POD)
    bench.work()
    bench.put(build.event(POD, "waiting for resource driver"))
    bench.work()
    assert bench.verdict().agreement.agrees is True
    bench.put(build.event(POD, "0/1 nodes are available: 1 node(s) were unschedulable.", at="2026-11-30T04:00:01Z"))
    bench.work()
    assert bench.verdict().agreement.agrees is False


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 40))
def test_a_random_sequence_through_the_pipeline_gives_the_model_and_verdicts_of_its_final_state(
    seed: int, length: int
) -> None:
    rng = random.Random(seed)
    step_by_step, at_once = Bench(), Bench()
    step_by_step.synced()
    final: dict[tuple[str, str], build.Obj] = {}
    for _ in range(length):
        kind, number = rng.choice(KINDS), rng.randrange(3)
        obj = random_object(rng, kind, number)
        if rng.random() < 0.2:
            step_by_step.delete(obj)
            final.pop((kind, build.key(obj)), None)
        else:
            step_by_step.put(obj)
            final[kind, build.key(obj)] = obj
        if rng.random() < 0.5:
            step_by_step.work()
    step_by_step.work()
    at_once.put(*final.values())
    at_once.synced()
    at_once.work()
    assert objects_of(step_by_step) == objects_of(at_once)
    assert gists_of(step_by_step) == gists_of(at_once)


def objects_of(bench: Bench) -> dict[str, dict[str, bytes]]:
    return {kind: dict(items) for kind, items in bench.model.load().objects.items() if items}


def gists_of(bench: Bench) -> dict[str, Any]:
    """Verdicts without what depends on the way there: revisions, times, hints, and slots of nodes (so digests)."""
    replica = Replica(bench.model)
    replica.load()
    return {
        key: (v.outcome, v.sentence, v.acts_next, [(g.reason, g.count) for s in v.steps for g in s.groups])
        for key, v in replica.verdicts.items()
        if v.outcome is not Outcome.WAITING and v.outcome is not Outcome.SCHEDULABLE  # these name a node by its slot
    }


# --- leading ---------------------------------------------------------------------------------------------------------


class InformerTwin:
    """Delivers what it is given when started; fails on demand."""

    def __init__(self, sink: Sink, objects: list[build.Obj]) -> None:
        self.failure: BaseException | None = None
        self.started = threading.Event()
        self.stopped = threading.Event()
        self._sink, self._objects = sink, objects

    def start(self) -> None:
        for kind in JUDGED_BY[Generation.CLASSIC]:
            items = {build.key(o): build.raw(o) for o in self._objects if build.plural(o) == kind}
            self._sink.replace(kind, items, "1")
            self._sink.sync(KindState(kind, state="synced"))
        self.started.set()

    def stop(self) -> None:
        self.stopped.set()

    def fetch(self, kind: str, key: str) -> None:
        pass


class Candidate:
    def __init__(self, model: MemoryModel, name: str, objects: list[build.Obj]) -> None:
        self.informers: list[InformerTwin] = []
        self.began = threading.Semaphore(0)
        self.stop = threading.Event()
        clock: Callable[[], float] = lambda: build.NOW  # noqa: E731 - a clock
        self._objects = objects
        self.leader = Leader(model, self._make, holder=name, ttl=0.4, wake=lambda: None, clock=clock)
        self.thread = threading.Thread(target=self.leader.run, args=(self.stop,), daemon=True)

    def _make(self, sink: Sink, wanted: Callable[[str], bool]) -> Any:
        twin = InformerTwin(sink, self._objects)
        self.informers.append(twin)
        self.began.release()
        return twin

    def end(self) -> None:
        self.stop.set()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def test_one_candidate_leads_and_the_other_takes_over_at_once_when_it_stops() -> None:
    model = MemoryModel()
    first, second = (Candidate(model, name, [POD]) for name in ("first", "second"))
    first.thread.start()
    assert first.began.acquire(timeout=PATIENCE)
    second.thread.start()
    assert not second.began.acquire(timeout=0.3)
    first.end()
    assert first.informers[0].stopped.is_set()
    assert second.began.acquire(timeout=PATIENCE)
    assert second.informers[0].started.wait(PATIENCE)
    second.end()
    assert model.lease() is None


def test_a_model_that_was_lost_is_whole_again_after_a_new_election() -> None:
    model = MemoryModel()
    candidate = Candidate(model, "only", [POD, build.node("node-0")])
    candidate.thread.start()
    assert candidate.began.acquire(timeout=PATIENCE)
    assert candidate.informers[0].started.wait(PATIENCE)
    model.wipe()
    assert candidate.began.acquire(timeout=PATIENCE)
    assert candidate.informers[1].started.wait(PATIENCE)
    assert set(model.load().objects["pods"]) == {"default/p"}
    candidate.end()


def test_an_informer_that_failed_by_the_store_is_replaced() -> None:
    candidate = Candidate(MemoryModel(), "only", [])
    candidate.thread.start()
    assert candidate.began.acquire(timeout=PATIENCE)
    candidate.informers[0].failure = StaleEpoch()
    assert candidate.began.acquire(timeout=PATIENCE)
    candidate.end()
