"""What only the Redis store has to do: say clearly what is wrong with Redis, and leave nothing behind in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from dradash.store.model import DuePod, StoreUnavailable, SyncState, Write
from dradash.store.redis_store import RedisModel


@pytest.fixture
def admin(redis_url: str) -> Iterator[Any]:
    """A bare client on an emptied Redis; what it configures is put back."""
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)
        client.replicaof("NO", "ONE")


@pytest.fixture
def model(redis_url: str, admin: Any) -> Iterator[RedisModel]:
    model = RedisModel(redis_url, cluster="test", history_seconds=10.0)
    yield model
    model.close()


def lead(model: RedisModel) -> int:
    epoch = model.acquire("a", 60.0)
    assert epoch is not None
    return epoch


def test_a_redis_that_is_not_there_is_named_with_what_to_do_and_without_the_password() -> None:
    model = RedisModel("redis://user:secret@127.0.0.1:1/0")
    with pytest.raises(
        StoreUnavailable, match=r"127\.0\.0\.1:1 cannot be reached: start it, or set REDIS_URL"
    ) as failure:
        model.revision()
    assert "secret" not in str(failure.value)
    with pytest.raises(StoreUnavailable):
        model.changes("", 0, 1, 1.0)


def test_a_full_redis_says_which_settings_help(model: RedisModel, admin: Any) -> None:
    epoch = lead(model)
    admin.config_set("maxmemory", 1)
    with pytest.raises(StoreUnavailable, match="out of memory: raise its maxmemory, or lower DRADASH_HISTORY_BYTES"):
        model.apply(epoch, [Write("pods", "ns/p", "ADDED", b"{}")], [], 1.0)


def test_a_reader_finds_out_that_a_full_redis_refuses_writes_and_writes_nothing_itself(
    model: RedisModel, admin: Any
) -> None:
    assert model.refuses_writes() == ""
    assert admin.keys() == []
    admin.config_set("maxmemory", 1)
    assert "is out of memory: raise its maxmemory" in model.refuses_writes()
    admin.config_set("maxmemory", 0)
    lead(model)
    assert model.refuses_writes() == ""
    lease = model.lease()
    assert lease is not None
    assert lease.holder == "a"


def test_a_replica_to_read_from_says_nothing_of_who_writes(model: RedisModel, admin: Any) -> None:
    admin.replicaof("127.0.0.1", 1)
    assert model.refuses_writes() == ""


def test_a_read_only_replica_says_to_use_the_primary(model: RedisModel, admin: Any) -> None:
    epoch = lead(model)
    admin.replicaof("127.0.0.1", 1)
    with pytest.raises(StoreUnavailable, match="read-only replica: point REDIS_URL at the primary"):
        model.apply(epoch, [Write("pods", "ns/p", "ADDED", b"{}")], [], 1.0)


def test_a_body_of_another_version_says_so(model: RedisModel, admin: Any) -> None:
    model.apply(lead(model), [Write("pods", "ns/p", "ADDED", b"{}")], [], 1.0)
    admin.hset("dradash:{test}:objects:pods", "ns/p", b"1 1.0 A 1\n\x09???")
    with pytest.raises(StoreUnavailable, match="another version of dradash"):
        model.load()


def test_forgotten_scripts_are_sent_again(model: RedisModel, admin: Any) -> None:
    epoch = lead(model)
    model.apply(epoch, [Write("pods", "ns/p", "ADDED", b"{}")], [], 1.0)
    admin.script_flush()
    assert model.apply(epoch, [Write("pods", "ns/p", "MODIFIED", b"{ }")], [], 1.0)


def test_a_connection_that_redis_closed_is_opened_again(model: RedisModel, admin: Any) -> None:
    epoch = lead(model)
    admin.client_kill_filter(_type="normal", skipme=True)
    assert model.renew("a", epoch, 60.0)


def test_two_clusters_in_one_redis_do_not_meet(model: RedisModel, redis_url: str) -> None:
    other = RedisModel(redis_url, cluster="other")
    model.apply(lead(model), [Write("pods", "ns/p", "ADDED", b"{}")], [DuePod("ns/p")], 1.0)
    assert other.load().objects == {}
    assert other.take_due(2.0, 5, 1) == []
    other.close()


def test_every_key_carries_the_clusters_hash_tag(model: RedisModel, admin: Any) -> None:
    epoch = fill_and_clear(model)
    model.apply(epoch, [Write("pods", "ns/p", "ADDED", b"{}"), Write("pods", "ns/p", "ADDED", b"{ }")], [], 1.0)
    keys = admin.keys("*")
    assert len(keys) > 6
    assert [key for key in keys if not key.startswith(b"dradash:{test}:")] == []


def fill_and_clear(model: RedisModel) -> int:
    """Use all parts of the model, delete every object, and let the history run out."""
    epoch = lead(model)
    model.apply(epoch, [Write("pods", "ns/p", "ADDED", b"{}"), Write("nodes", "n0", "ADDED", b"{}")], [], 1.0)
    model.mark_due(epoch, [DuePod("ns/p")])
    model.take_due(2.0, 1, 60)
    model.put_verdict("ns/p", 1, b'{"a":1}', {"aa": b"1"}, 2.0)
    model.put_verdict("ns/p", 2, b'{"a":2}', {"bb": b"1"}, 3.0)
    model.mark_due(epoch, [DuePod("ns/p")])
    model.take_due(4.0, 1, 60)
    model.set_sync(epoch, SyncState("pods"), 4.0)
    deletions = [Write("pods", "ns/p", "DELETED", b"{}"), Write("nodes", "n0", "DELETED", b"{}")]
    model.apply(epoch, deletions, [], 5.0)
    model.housekeep(epoch, 1000.0)
    return epoch


def test_what_is_deleted_and_forgotten_leaves_nothing_in_redis(model: RedisModel, admin: Any) -> None:
    fill_and_clear(model)
    left = {key.decode().removeprefix("dradash:{test}:") for key in admin.keys("*")}
    assert left == {"meta", "lease", "kinds", "changes", "sync", "objects:sync", "nodeslots"}


def test_a_change_costs_the_same_in_a_large_model(model: RedisModel, admin: Any) -> None:
    """Counted in Redis commands, which no other load on the machine disturbs."""
    epoch = lead(model)

    def commands_for_one_change(n: int) -> int:
        before = admin.info("commandstats")
        model.apply(epoch, [Write("pods", "ns/p0", "MODIFIED", b"%d" % n)], [DuePod("ns/p0")], 1.0)
        after = admin.info("commandstats")
        return sum(stats["calls"] - before.get(name, {"calls": 0})["calls"] for name, stats in after.items())

    model.apply(epoch, [Write("pods", "ns/p0", "ADDED", b"0")], [DuePod("ns/p0")], 1.0)
    small = commands_for_one_change(1)
    model.apply(epoch, [Write("pods", f"ns/p{i}", "ADDED", b"0") for i in range(1, 2000)], [], 1.0)
    model.mark_due(epoch, [DuePod(f"ns/p{i}") for i in range(2000)])
    assert commands_for_one_change(2) == small


def test_the_histories_of_a_page_take_one_round_trip(model: RedisModel, monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = lead(model)
    names = [("pods", f"ns/p{i}") for i in range(50)]
    for n in range(3):
        model.apply(epoch, [Write(kind, key, "MODIFIED", b'{"n":%d}' % n) for kind, key in names], [], 1.0 + n)
    asked: list[int] = []
    pipe = model._redis.pipe

    def counted(*commands: tuple[Any, ...]) -> list[Any]:
        asked.append(len(commands))
        return pipe(*commands)

    monkeypatch.setattr(model._redis, "pipe", counted)
    found = model.histories(names, 2.5, 3.5, 60)
    assert [[e.object for e in entries] for entries in found] == [[b'{"n":1}', b'{"n":2}']] * 50
    assert asked == [100]


def test_what_loses_much_by_giving_up_waits_for_a_busy_redis_and_questions_do_not(redis_url: str, admin: Any) -> None:
    model = RedisModel(redis_url, cluster="test", answer_within=0.1)
    assert model.revision() == 0
    admin.execute_command("CLIENT", "PAUSE", 1500)
    with pytest.raises(StoreUnavailable, match="Timeout"):
        model.revision()
    epoch = model.acquire("a", 60.0)  # a script
    assert epoch is not None
    assert model.renew("a", epoch, 60.0)
    assert model._connection.call_patiently("HSCAN", "nothing", 0) == (0, {})  # as the load's
    model.close()
