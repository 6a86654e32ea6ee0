"""The model as it was: rebuilt from what was superseded since, on both stores."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import redis

from dradash.kinds.registry import KINDS
from dradash.scheduling.verdict import HintNote, Outcome, Verdict
from dradash.store.model import SYNC, Model, SyncState, Trimmed, Write
from dradash.store.past import BeforeHistory, Past, earlier, rebuild
from dradash.store.redis_store import RedisModel
from dradash.store.replica import Replica
from tests import build
from tests.contract.conftest import Store

NOTE = HintNote(kind="resourceclaims", key="default/c", change="ADDED", hint="QueueSkip", revision=2)


@pytest.fixture
def model(make_store: Callable[..., Store]) -> Model:
    return make_store().open()


def apply(model: Model, epoch: int, at: float, *writes: Write) -> None:
    model.apply(epoch, writes, (), at)


def past(model: Model, at: float) -> Past:
    replica = Replica(model)
    replica.load()
    return rebuild(replica, threading.Lock(), model, at)


def claim(name: str, number: int) -> build.Obj:
    return build.claim(name, annotations={"n": str(number)})


def test_any_sequence_of_changes_can_be_looked_at_at_any_time(model: Model) -> None:
    rng = random.Random(5)
    epoch = model.acquire("test", 3600.0)
    assert epoch is not None
    state: dict[str, bytes] = {}
    then: list[dict[str, bytes]] = []
    for moment in range(120):
        name = f"claim-{rng.randrange(5)}"
        obj = claim(name, moment)
        if rng.random() < 0.3:
            apply(model, epoch, 1000.0 + moment, Write("resourceclaims", build.key(obj), "DELETED", build.raw(obj)))
            state.pop(build.key(obj), None)
        else:
            apply(model, epoch, 1000.0 + moment, build.write(obj))
            state[build.key(obj)] = build.raw(obj)
        then.append(dict(state))
    for moment in (0, 1, 17, 59, 60, 118, 119):
        for offset in (0.0, 0.5):
            assert past(model, 1000.0 + moment + offset).cluster.raw["resourceclaims"] == then[moment]


def test_from_any_revision_the_changes_since_lead_to_the_present(model: Model) -> None:
    rng = random.Random(7)
    epoch = model.acquire("test", 3600.0)
    assert epoch is not None
    then: list[dict[str, bytes]] = [{}]
    for moment in range(60):
        obj = claim(f"claim-{rng.randrange(4)}", moment)
        deleted = rng.random() < 0.3
        before = model.revision()
        apply(model, epoch, 1000.0 + moment // 7, build.write(obj, "DELETED" if deleted else "ADDED"))
        if model.revision() > before:
            key = build.key(obj)
            kept = {k: raw for k, raw in then[-1].items() if k != key}
            then.append(kept if deleted else kept | {key: build.raw(obj)})
    replica = Replica(model)
    replica.load()
    for revision in (1, 2, 13, 30, len(then) - 2, len(then) - 1):
        world, changes = earlier(replica, threading.Lock(), model, revision)
        assert world.cluster.raw["resourceclaims"] == then[revision]
        assert [c.revision for c in changes] == list(range(revision + 1, len(then)))
        for change in changes:
            old = world.apply(change).old
            assert (old is not None) == (change.key in then[change.revision - 1])
            assert world.cluster.raw["resourceclaims"] == then[change.revision]
            assert (world.revision, world.at) == (change.revision, change.at)


def test_a_revision_that_changes_or_history_do_not_reach_is_no_more(make_store: Callable[..., Store]) -> None:
    model = make_store(changes_length=2).open()
    epoch = build.fill(model, claim("c", 0), at=1000.0)
    for n in range(1, 250):  # Redis trims whole nodes of a stream
        apply(model, epoch, 1000.0 + n, build.write(claim("c", n)))
    replica = Replica(model)
    replica.load()
    with pytest.raises(Trimmed):
        earlier(replica, threading.Lock(), model, 1)
    model.housekeep(epoch, 1_000_000.0)  # of the history too nothing is left but what is in force
    apply(model, epoch, 1_000_001.0, build.write(claim("c", 250)))
    replica.catch_up()
    world, changes = earlier(replica, threading.Lock(), model, 250)
    assert (len(changes), world.cluster.raw["resourceclaims"]) == (1, {"default/c": build.raw(claim("c", 249))})


def test_an_object_created_since_was_not_there(model: Model) -> None:
    epoch = build.fill(model, build.namespace("team"), at=1000.0)
    build.fill(model, build.claim("new"), at=2000.0, epoch=epoch)
    assert past(model, 1500.0).cluster.claims == {}
    assert set(past(model, 2000.0).cluster.claims) == {"default/new"}


def test_an_object_deleted_since_is_there_again(model: Model) -> None:
    epoch = build.fill(model, build.claim("old"), at=1000.0)
    old = build.claim("old")
    apply(model, epoch, 2000.0, Write("resourceclaims", "default/old", "DELETED", build.raw(old)))
    assert set(past(model, 1500.0).cluster.claims) == {"default/old"}
    assert past(model, 2500.0).cluster.claims == {}


def test_verdicts_are_those_of_then_and_name_the_nodes_of_then(model: Model) -> None:
    pod = build.pod("p")
    epoch = build.fill(model, pod, *build.nodes(3), at=1000.0)
    for at, outcome in ((1000.0, Outcome.BLOCKED), (2000.0, Outcome.WAITING)):
        raw = msgspec.json.encode(build.verdict(pod, outcome, revision=model.revision(), at=at))
        assert model.put_verdict("default/p", model.revision(), raw, {}, at)
        build.fill(model, build.claim(f"c{at}"), at=at, epoch=epoch)
    assert past(model, 1500.0).verdicts["default/p"].outcome is Outcome.BLOCKED
    assert past(model, 2500.0).verdicts["default/p"].outcome is Outcome.WAITING
    assert past(model, 1500.0).cluster.nodes.known_slots() == {"node-0": 0, "node-1": 1, "node-2": 2}


def test_a_time_before_history_names_the_earliest_one(model: Model) -> None:
    build.fill(model, build.claim("c"), at=1000.0)
    with pytest.raises(BeforeHistory) as before:
        past(model, 999.0)
    assert before.value.start == 1000.0


def test_many_states_of_one_object_are_found_far_back(model: Model) -> None:
    epoch = build.fill(model, claim("c", 0), at=1000.0)
    for n in range(1, 300):
        apply(model, epoch, 1000.0 + n, build.write(claim("c", n)))
    found: Any = past(model, 1003.5).cluster.claims["default/c"]
    assert found.metadata.annotations == {"n": "3"}


def test_when_each_state_came_the_revision_and_the_changes_are_those_of_then(model: Model) -> None:
    epoch = build.fill(model, claim("c", 0), claim("d", 0), at=1000.0)
    for n, at in ((1, 1100.0), (2, 1200.0), (3, 1300.0)):
        apply(model, epoch, at, build.write(claim("c", n)))
    found = past(model, 1250.0)
    assert found.times["resourceclaims"] == {"default/c": 1200.0, "default/d": 1000.0}
    assert found.revision == 4
    assert [(c.revision, c.key, c.at) for c in found.recent][-2:] == [
        (3, "default/c", 1100.0),
        (4, "default/c", 1200.0),
    ]


def test_a_moment_that_the_change_stream_no_longer_reaches_has_no_recent_changes(
    make_store: Callable[..., Store],
) -> None:
    model = make_store(changes_length=2).open()
    epoch = build.fill(model, claim("c", 0), at=1000.0)
    for n in range(1, 250):  # Redis trims whole nodes of a stream
        apply(model, epoch, 1000.0 + n, build.write(claim("c", n)))
    found = past(model, 1000.5)
    assert (found.revision, list(found.recent)) == (0, [])
    assert set(found.cluster.claims) == {"default/c"}


def test_looking_back_leaves_the_present_as_it_is(model: Model) -> None:
    epoch = build.fill(model, *build.nodes(3), build.claim("c"), build.pod("p", claims={"a": "c"}), at=1000.0)
    apply(model, epoch, 2000.0, build.write(build.node("node-1", labels={"zone": "a"})))
    apply(model, epoch, 2000.0, build.write(build.claim("c", resource_class="other")))
    apply(model, epoch, 2000.0, build.write(build.pod("p"), "DELETED"))
    replica = Replica(model)
    replica.load()
    before = rebuild(replica, threading.Lock(), model, 1500.0).cluster
    now = replica.cluster
    assert before.claims_by_class.members("gpu") == {"default/c"}
    assert now.claims_by_class.members("other") == {"default/c"}
    assert (set(before.pods_by_claim.members("default/c")), set(now.pods_by_claim.members("default/c"))) == (
        {"default/p"},
        set(),
    )
    assert (before.nodes.with_labels({"zone": "a"}), now.nodes.with_labels({"zone": "a"})) == (0, 0b010)
    assert before.nodes.by_name["node-0"] is now.nodes.by_name["node-0"]  # nothing unchanged is decoded again


def test_a_verdict_that_says_the_same_again_can_be_read_with_its_newest_hints(model: Model) -> None:
    pod = build.pod("p")
    epoch = build.fill(model, pod, at=1000.0)
    verdict = build.verdict(pod, revision=model.revision())
    assert model.verdict("default/p") is None
    model.put_verdict("default/p", verdict.revision, msgspec.json.encode(verdict), {}, 1000.0)
    build.fill(model, build.claim("c"), epoch=epoch)
    again = msgspec.structs.replace(verdict, revision=model.revision(), hints=(NOTE,))
    before = model.revision()
    model.put_verdict("default/p", again.revision, msgspec.json.encode(again), {}, 1001.0)
    assert model.revision() == before
    stored = model.verdict("default/p")
    assert stored is not None
    assert msgspec.json.decode(stored, type=Verdict).hints == (NOTE,)


def test_when_a_verdict_was_judged_is_never_later_than_the_moment_that_is_shown(model: Model) -> None:
    pod = build.pod("p")
    epoch = build.fill(model, pod, at=1000.0)
    first = build.verdict(pod, revision=model.revision(), at=1000.0)
    model.put_verdict("default/p", first.revision, msgspec.json.encode(first), {}, 1000.0)
    then = model.revision()
    build.fill(model, build.claim("c"), at=3000.0, epoch=epoch)
    again = msgspec.structs.replace(first, revision=model.revision(), judged_at=3000.0)  # since: of the first one
    model.put_verdict("default/p", again.revision, msgspec.json.encode(again), {}, 3000.0)
    shown = past(model, 2000.0).verdicts["default/p"]
    assert (shown.judged_at, shown.revision) == (1000.0, then)
    assert past(model, 3500.0).verdicts["default/p"].judged_at == 3000.0


def test_the_states_of_the_watch_are_those_of_then(model: Model) -> None:
    epoch = build.fill(model, claim("c", 0), at=1000.0)
    model.set_sync(epoch, SyncState("resourceclaims", "synced", since=1000.0, events=1), 1000.0)
    replica = Replica(model)
    replica.load()
    model.set_sync(epoch, SyncState("resourceclaims", "synced", since=1000.0, events=2), 1500.0)
    model.set_sync(epoch, SyncState("resourceclaims", "forbidden", since=2000.0, error="no"), 2000.0)
    model.set_sync(epoch, SyncState("pods", "synced", since=1200.0), 1200.0)
    apply(model, epoch, 2000.0, build.write(claim("c", 1)))
    replica.catch_up()
    for at, claims, pods in (
        (1100.0, "synced", "notKept"),
        (1999.0, "synced", "synced"),
        (2000.0, "forbidden", "synced"),
    ):
        found = rebuild(replica, threading.Lock(), model, at)
        assert (found.sync["resourceclaims"].state, found.sync["pods"].state) == (claims, pods)
        assert set(found.sync) == set(KINDS)
        assert found.sync["resourceclaims"].events == 0, "how many there had been is not kept"
    now = rebuild(replica, threading.Lock(), model, 2000.0).sync["resourceclaims"]
    assert now == SyncState("resourceclaims", "forbidden", since=2000.0, error="no")
    assert replica.sync["pods"].state == "synced"
    times = rebuild(replica, threading.Lock(), model, 1500.0).times
    assert SYNC not in times
    assert times["resourceclaims"] == {"default/c": 1000.0}


def test_a_history_without_states_of_the_watch_says_so(redis_url: str) -> None:
    """As an older dradash wrote it: the state in force alone, and no record of it."""
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
        model = RedisModel(redis_url, cluster="test")
        epoch = build.fill(model, claim("c", 0), at=1000.0)
        model.set_sync(epoch, SyncState("resourceclaims", "synced", since=900.0), 1000.0)
        client.delete("dradash:{test}:objects:sync")
        assert model.load().sync["resourceclaims"].state == "synced"
        assert past(model, 1500.0).sync["resourceclaims"] == SyncState("resourceclaims", "notKept")
        model.set_sync(epoch, SyncState("resourceclaims", "stale", since=2000.0), 2000.0)
        assert past(model, 1500.0).sync["resourceclaims"].state == "notKept"
        assert past(model, 2500.0).sync["resourceclaims"].state == "stale"
        model.close()
