"""Memory and Redis store do the same, whatever is asked of them in whatever order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from dradash.store.memory import MemoryModel
from dradash.store.model import SYNC, VERDICTS, DuePod, Model, StaleEpoch, SyncState, Trimmed, Write
from dradash.store.redis_store import RedisModel

PODS = st.sampled_from([f"ns/p{i}" for i in range(4)])
KINDS = st.sampled_from(["pods", "nodes", "resourceclaims"])
TYPES = st.sampled_from(["ADDED", "MODIFIED", "DELETED"])
SMALL = st.integers(0, 3)
WRITES = st.builds(
    lambda kind, key, type_, n: Write(kind, key, type_, json.dumps({"key": key, "n": n, "pad": "x" * 80 * n}).encode()),
    KINDS,
    PODS,
    TYPES,
    SMALL,
)
DUE = st.builds(
    lambda pod, back, n: (pod, back, json.dumps([{"n": n}]).encode()),
    PODS,
    st.integers(0, 5),
    SMALL,
)
HISTORY_SECONDS = 100.0


class Twins(RuleBasedStateMachine):
    """Each rule asks both; whatever they answer must be equal (epochs and instances aside, which are their own)."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        with redis.Redis.from_url(self.url) as client:
            client.flushall()
        self.memory = MemoryModel(history_seconds=HISTORY_SECONDS)
        self.redis = RedisModel(self.url, cluster="twins", history_seconds=HISTORY_SECONDS)
        self.models: tuple[Model, Model] = (self.memory, self.redis)
        self.now = 1000.0
        self.epochs: tuple[int, int] = (0, 0)
        self.instances: tuple[str, str] = ("", "")

    def teardown(self) -> None:
        self.redis.close()

    def both(self, ask: Callable[[Model, int, str], Any]) -> Any:
        answers = []
        for model, epoch, instance in zip(self.models, self.epochs, self.instances, strict=True):
            try:
                answers.append(ask(model, epoch, instance))
            except (StaleEpoch, Trimmed) as error:
                answers.append(type(error))
        assert answers[0] == answers[1]
        return answers[0]

    @initialize()
    def begin(self) -> None:
        self.elect()

    def elect(self) -> None:
        first, second = (model.acquire("a", 600.0) or 0 for model in self.models)
        self.epochs = (first, second)
        self.look()

    def look(self) -> None:
        first, second = (model.load().instance for model in self.models)
        self.instances = (first, second)

    @rule(seconds=st.sampled_from([0.5, 1.0, 30.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(writes=st.lists(WRITES, max_size=6), due=st.lists(DUE, max_size=3))
    def apply(self, writes: list[Write], due: list[tuple[str, int, bytes]]) -> None:
        revision = self.memory.revision()
        pods = [DuePod(pod, max(revision - back, 0), hints) for pod, back, hints in due]
        self.both(lambda model, epoch, _: model.apply(epoch, writes, pods, self.now))

    @rule(limit=SMALL, lease=st.sampled_from([5.0, 50.0]))
    def take_due(self, limit: int, lease: float) -> None:
        self.both(lambda model, _, __: model.take_due(self.now, limit, lease))

    @rule(pod=PODS, back=st.integers(-1, 6), n=SMALL, sets=st.sets(st.sampled_from(["aa", "bb", "cc"])))
    def put_verdict(self, pod: str, back: int, n: int, sets: set[str]) -> None:
        revision = max(self.memory.revision() - back, 0)
        body = json.dumps({"revision": revision, "sentence": f"says {n}"}).encode()
        node_sets = {digest: digest.encode() * 50 for digest in sorted(sets)}
        self.both(lambda model, _, __: model.put_verdict(pod, revision, body, node_sets, self.now))

    @rule(kind=KINDS, state=st.sampled_from(["synced", "stale"]), n=SMALL)
    def set_sync(self, kind: str, state: str, n: int) -> None:
        self.both(lambda model, epoch, _: model.set_sync(epoch, SyncState(kind, state, events=n), self.now))

    @rule(kind=KINDS, back=st.floats(0, 150), limit=SMALL)
    def history_of_sync(self, kind: str, back: float, limit: int) -> None:
        self.both(lambda model, _, __: model.history(SYNC, kind, self.now - back, self.now, limit))

    @rule(kind=KINDS, back=st.floats(0, 150))
    def look_back(self, kind: str, back: float) -> None:
        at = self.now - back
        self.both(lambda model, _, __: model.states_at(at, [(SYNC, kind), (VERDICTS, "ns/p0")]))
        self.both(lambda model, _, __: model.superseded_since(at))

    @rule()
    def housekeep(self) -> None:
        self.both(lambda model, epoch, _: model.housekeep(epoch, self.now))

    @rule()
    def hand_over(self) -> None:
        for model, epoch in zip(self.models, self.epochs, strict=True):
            model.release("a", epoch)
        self.both(lambda model, epoch, _: model.apply(epoch, [], [], self.now))  # stale, for both
        self.elect()

    @rule(again=st.booleans())
    def lose_everything(self, again: bool) -> None:
        self.memory.wipe()
        with redis.Redis.from_url(self.url) as client:
            client.flushall()
        if again:
            self.elect()

    @rule()
    def stand_for_election(self) -> None:
        self.elect()

    @rule(back=st.integers(0, 8), limit=st.integers(1, 9))
    def follow(self, back: int, limit: int) -> None:
        after = max(self.memory.revision() - back, 0)
        self.both(lambda model, _, instance: model.changes(instance, after, limit, 0.0))

    @rule(kind=KINDS | st.just(VERDICTS), key=PODS, back=st.floats(0, 150), span=st.floats(0, 150), limit=SMALL)
    def history(self, kind: str, key: str, back: float, span: float, limit: int) -> None:
        start = self.now - back
        one = self.both(lambda model, _, __: model.history(kind, key, start, start + span, limit))
        names = [(kind, key), (SYNC, "pods")]
        many = self.both(lambda model, _, __: model.histories(names, start, start + span, limit))
        assert many[0] == one

    @invariant()
    def they_are_the_same(self) -> None:
        def all_of_it(model: Model, _: int, __: str) -> Any:
            loaded = model.load()
            objects = {kind: keys for kind, keys in loaded.objects.items() if keys}
            sets = model.node_sets(["aa", "bb", "cc"])
            rest = (loaded.revision, loaded.verdicts, loaded.sync, loaded.node_slots)
            return objects, sets, rest, model.count_due(), model.history_start(), bool(loaded.instance)

        self.both(all_of_it)


@pytest.mark.timeout(300)
def test_memory_and_redis_answer_alike(redis_url: str) -> None:
    machine = type("Machine", (Twins,), {"url": redis_url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
