"""The model's contract, sentence by sentence, on both stores."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from dradash.store.model import (
    SYNC,
    VERDICTS,
    DuePod,
    Model,
    StaleEpoch,
    SyncState,
    Trimmed,
    Write,
)
from tests.contract.conftest import Store
from tests.patience import PATIENCE

MakeStore = Callable[..., Store]
TTL = 60.0


def body(name: str, **fields: object) -> bytes:
    return json.dumps({"metadata": {"name": name}, **fields}, separators=(",", ":")).encode()


def put(kind: str, key: str, **fields: object) -> Write:
    return Write(kind, key, "MODIFIED", body(key, **fields))


def delete(kind: str, key: str, **fields: object) -> Write:
    return Write(kind, key, "DELETED", body(key, **fields))


def verdict(sentence: str, **fields: object) -> bytes:
    return json.dumps({"sentence": sentence, **fields}).encode()


def lead(model: Model, holder: str = "a") -> int:
    epoch = model.acquire(holder, TTL)
    assert epoch is not None
    return epoch


def follow(model: Model, instance: str, after: int, limit: int = 1000) -> list[tuple[int, str, str, str]]:
    return [(c.revision, c.kind, c.key, c.type) for c in model.changes(instance, after, limit, 0)]


def with_pod(model: Model, pod: str = "ns/p") -> int:
    epoch = lead(model)
    model.apply(epoch, [put("pods", pod)], [], 10.0)
    return epoch


class TestLease:
    def test_the_first_to_ask_leads_and_another_does_not(self, store: Store) -> None:
        first, second = store.open(), store.open()
        assert first.acquire("a", TTL) is not None
        assert second.acquire("b", TTL) is None

    def test_asking_again_while_leading_keeps_the_epoch(self, model: Model) -> None:
        assert model.acquire("a", TTL) == model.acquire("a", TTL)

    def test_readers_see_who_leads_and_until_when(self, model: Model) -> None:
        assert model.lease() is None
        epoch = lead(model)
        lease = model.lease()
        assert lease is not None
        assert (lease.holder, lease.epoch) == ("a", epoch)
        assert 0 < lease.expires_in <= TTL

    def test_after_release_the_next_leads_with_a_higher_epoch(self, store: Store) -> None:
        first, second = store.open(), store.open()
        old = lead(first)
        first.release("a", old)
        assert lead(second, "b") > old

    def test_who_released_cannot_write_any_more(self, model: Model) -> None:
        epoch = lead(model)
        model.release("a", epoch)
        with pytest.raises(StaleEpoch):
            model.apply(epoch, [put("pods", "ns/p")], [], 1.0)

    def test_a_release_with_an_old_epoch_takes_nothing_from_the_new_leader(self, model: Model) -> None:
        old = lead(model)
        model.release("a", old)
        new = lead(model, "b")
        model.release("a", old)
        assert model.renew("b", new, TTL)

    def test_after_expiry_another_leads_and_the_old_one_cannot_renew(self, store: Store) -> None:
        first, second = store.open(), store.open()
        old = first.acquire("a", 0.02)
        assert old is not None
        new = _until(lambda: second.acquire("b", TTL))
        assert new > old
        assert not first.renew("a", old, TTL)
        assert second.renew("b", new, TTL)

    def test_an_expired_lease_that_nobody_took_is_renewed(self, model: Model) -> None:
        epoch = model.acquire("a", 0.02)
        assert epoch is not None
        _until(lambda: model.lease() is None)
        assert model.renew("a", epoch, TTL)
        assert model.acquire("b", TTL) is None

    def test_an_expired_lease_that_is_taken_again_has_a_new_epoch(self, model: Model) -> None:
        epoch = model.acquire("a", 0.02)
        assert epoch is not None
        _until(lambda: model.lease() is None)
        assert lead(model, "a") > epoch


def _until(answer: Callable[[], object]) -> int:
    """Wait for time itself (an expiry), which nothing announces."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := answer():
            assert isinstance(found, int)
            return found
        time.sleep(0.005)
    raise AssertionError("it did not happen in time")


class TestFencing:
    def test_a_stale_epoch_is_refused_for_every_write(self, store: Store) -> None:
        old, new = store.open(), store.open()
        stale = lead(old)
        old.release("a", stale)
        epoch = lead(new, "b")
        for write in (
            lambda: old.apply(stale, [put("pods", "ns/p")], [DuePod("ns/p")], 1.0),
            lambda: old.mark_due(stale, [DuePod("ns/p")]),
            lambda: old.set_sync(stale, SyncState("pods"), 1.0),
            lambda: old.housekeep(stale, 1.0),
        ):
            with pytest.raises(StaleEpoch):
                write()
        assert new.count_due() == 0
        assert new.load().objects == {}
        assert new.apply(epoch, [put("pods", "ns/p")], [], 1.0)

    def test_nobody_writes_before_an_election(self, model: Model) -> None:
        with pytest.raises(StaleEpoch):
            model.apply(0, [put("pods", "ns/p")], [], 1.0)

    def test_when_everything_is_lost_the_leader_is_told(self, store: Store) -> None:
        model = store.open()
        epoch = with_pod(model)
        store.wipe()
        with pytest.raises(StaleEpoch):
            model.apply(epoch, [put("pods", "ns/p")], [], 1.0)
        assert not model.renew("a", epoch, TTL)

    def test_after_a_loss_the_old_leader_stays_refused_and_epochs_grow(self, store: Store) -> None:
        old, new = store.open(), store.open()
        stale = with_pod(old)
        store.wipe()
        epoch = lead(new, "b")
        assert epoch >= stale
        with pytest.raises(StaleEpoch):
            old.apply(stale, [put("pods", "ns/p")], [], 1.0)
        assert new.apply(epoch, [put("pods", "ns/q")], [], 1.0)[0].revision == 1

    def test_after_a_loss_the_same_leader_gets_a_higher_epoch(self, store: Store) -> None:
        model = store.open()
        stale = lead(model)
        store.wipe()
        assert lead(model) > stale

    def test_after_a_loss_the_model_is_a_new_instance(self, store: Store) -> None:
        model = store.open()
        with_pod(model)
        before = model.load()
        store.wipe()
        with_pod(model, "ns/q")
        after = model.load()
        assert after.instance != before.instance
        assert set(after.objects["pods"]) == {"ns/q"}


class TestApply:
    def test_what_was_applied_is_loaded(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p", n=1), put("nodes", "n0"), put("pods", "ns/q")], [], 1.0)
        model.apply(epoch, [put("pods", "ns/p", n=2), delete("pods", "ns/q")], [], 2.0)
        loaded = model.load()
        assert loaded.objects["pods"] == {"ns/p": body("ns/p", n=2)}
        assert loaded.objects["nodes"] == {"n0": body("n0")}
        assert loaded.revision == model.revision() == 5

    def test_changes_have_revisions_without_gaps_and_the_type_that_it_was(self, model: Model) -> None:
        epoch = lead(model)
        changes = model.apply(
            epoch, [put("pods", "ns/p"), put("pods", "ns/p", n=2), delete("pods", "ns/p", n=3)], [], 7.5
        )
        assert [(c.revision, c.type, c.at) for c in changes] == [
            (1, "ADDED", 7.5),
            (2, "MODIFIED", 7.5),
            (3, "DELETED", 7.5),
        ]
        assert changes[2].object == body("ns/p", n=3)

    def test_the_answer_is_what_followers_read(self, model: Model) -> None:
        epoch = lead(model)
        instance = model.load().instance
        changes = model.apply(epoch, [put("pods", "ns/p"), put("nodes", "n0"), delete("pods", "ns/p")], [], 7.123456)
        assert model.changes(instance, 0, 10, 0) == changes

    def test_an_identical_object_is_no_change(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p")], [], 1.0)
        assert model.apply(epoch, [put("pods", "ns/p")], [], 2.0) == []
        assert model.revision() == 1

    def test_deleting_what_is_absent_is_no_change(self, model: Model) -> None:
        assert model.apply(lead(model), [delete("pods", "ns/p")], [], 1.0) == []
        assert model.revision() == 0

    def test_bytes_that_are_no_json_and_names_of_any_text_come_back_as_they_were(self, model: Model) -> None:
        epoch = lead(model)
        raw = bytes(range(256)) * 3
        keys = ["ns/with space", "ns/new\nline", "ns/ünï", "ns/\ud800", "", "a:b {c}"]
        model.apply(epoch, [Write("pods", key, "ADDED", raw) for key in keys], [DuePod(key) for key in keys], 1.0)
        model.apply(epoch, [Write("pods", key, "MODIFIED", b"") for key in keys], [], 2.0)
        assert model.load().objects["pods"] == dict.fromkeys(keys, b"")
        assert {d.pod for d in model.take_due(3.0, 10, 1)} == set(keys)
        for key in keys:
            assert [e.object for e in model.history("pods", key, 0, 9, 9)] == [raw, b""]

    def test_many_writes_keep_their_order_and_every_due_pod(self, model: Model) -> None:
        epoch = lead(model)
        instance = model.load().instance
        writes = [put("resourceclaims", f"ns/c{i}") for i in range(1201)]
        changes = model.apply(epoch, writes, [DuePod("ns/p", 0, b'[{"n":1}]')], 1.0)
        assert [c.key for c in changes] == [w.key for w in writes]
        assert model.changes(instance, 0, 2000, 0) == changes
        assert model.take_due(2.0, 5, 1) == [DuePod("ns/p", 1201, b'[{"n":1}]')]

    def test_a_change_and_its_due_pods_become_visible_together(self, store: Store) -> None:
        leader, judge = store.open(), store.open()
        epoch = lead(leader)
        instance = judge.load().instance
        rounds, missed = 100, []

        def watch() -> None:
            after = 0
            while after < rounds:
                for change in judge.changes(instance, after, 1, 2.0):
                    after = change.revision
                    # Due entries only grow in this test: once seen, the change's pod must be there.
                    if judge.count_due() < after:
                        missed.append(after)

        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(watch)
            for i in range(rounds):
                leader.apply(epoch, [put("resourceclaims", "ns/c", n=i)], [DuePod(f"ns/p{i}")], 1.0)
            watching.result(30)
        assert missed == []


class TestNodeSlots:
    def test_nodes_get_slots_from_zero_and_keep_them_for_ever(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("nodes", f"n{i}") for i in range(3)], [], 1.0)
        model.apply(epoch, [delete("nodes", "n1"), put("nodes", "n3"), put("nodes", "n1", n=2)], [], 2.0)
        assert model.load().node_slots == {"n0": 0, "n1": 1, "n2": 2, "n3": 3}

    def test_a_slot_of_a_deleted_node_is_not_given_away(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("nodes", "n0"), delete("nodes", "n0"), put("nodes", "n1")], [], 1.0)
        assert model.node_slots(["n0", "n1", "never"]) == {"n0": 0, "n1": 1}
        assert model.node_slots([]) == {}


class TestDue:
    def test_the_oldest_comes_first_and_only_as_many_as_asked(self, model: Model) -> None:
        epoch = lead(model)
        for at, pod in ((3.0, "ns/c"), (1.0, "ns/a"), (2.0, "ns/b")):
            model.apply(epoch, [], [DuePod(pod)], at)
        assert [d.pod for d in model.take_due(9.0, 2, 60)] == ["ns/a", "ns/b"]
        assert [d.pod for d in model.take_due(9.0, 2, 60)] == ["ns/c"]
        assert model.take_due(9.0, 2, 60) == []
        assert model.take_due(9.0, 0, 60) == []
        assert model.count_due() == 3

    def test_a_leased_pod_is_due_again_when_the_lease_ends(self, model: Model) -> None:
        model.mark_due(lead(model), [DuePod("ns/p", 0, b'[{"n":1}]')])
        assert model.take_due(100.0, 5, 30)
        assert model.take_due(129.0, 5, 30) == []
        assert model.take_due(130.0, 5, 30) == [DuePod("ns/p", 0, b'[{"n":1}]')]

    def test_of_ended_leases_those_that_ended_first_are_given_first(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [], [DuePod("ns/a", 0, b"[]")], 1.0)
        model.apply(epoch, [], [DuePod("ns/b", 0, b"[]")], 2.0)
        assert [d.pod for d in model.take_due(10.0, 1, 50)] == ["ns/a"]
        assert [d.pod for d in model.take_due(10.0, 1, 5)] == ["ns/b"]
        assert [d.pod for d in model.take_due(100.0, 1, 5)] == ["ns/b"]
        assert [d.pod for d in model.take_due(100.0, 1, 5)] == ["ns/a"]

    def test_a_pod_due_twice_keeps_the_highest_revision_and_the_newest_twenty_hints(self, model: Model) -> None:
        epoch = lead(model)
        hints = [json.dumps([{"n": i}, {"n": -i}]).encode() for i in range(15)]
        for i, note in enumerate(hints):
            model.mark_due(epoch, [DuePod("ns/p", 100 - i, note)])
        (due,) = model.take_due(time.time(), 5, 1)
        assert due.revision == 100
        assert json.loads(due.hints) == [{"n": n} for i in range(5, 15) for n in (i, -i)]

    def test_hints_that_are_no_array_are_refused_and_nothing_is_applied(self, model: Model) -> None:
        epoch = lead(model)
        with pytest.raises(ValueError, match="JSON array"):
            model.apply(epoch, [put("pods", "ns/p")], [DuePod("ns/p", 0, b'{"a":')], 1.0)
        assert model.revision() == 0

    def test_a_pod_is_due_at_least_because_of_the_changes_it_came_with(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p"), put("nodes", "n0")], [DuePod("ns/p")], 1.0)
        assert model.take_due(2.0, 5, 1) == [DuePod("ns/p", 2)]

    def test_a_deleted_pod_is_not_due(self, model: Model) -> None:
        epoch = with_pod(model)
        model.mark_due(epoch, [DuePod("ns/p")])
        model.apply(epoch, [delete("pods", "ns/p")], [], 2.0)
        assert model.count_due() == 0
        assert model.take_due(time.time(), 5, 1) == []

    def test_many_threads_never_get_the_same_pod(self, store: Store) -> None:
        model = store.open()
        pods = [f"ns/p{i}" for i in range(300)]
        model.mark_due(lead(model), [DuePod(pod) for pod in pods])
        judges = [store.open() for _ in range(6)]
        begin = threading.Barrier(len(judges))

        def take(judge: Model) -> list[str]:
            begin.wait(PATIENCE)
            taken: list[str] = []
            while batch := judge.take_due(time.time(), 7, 600):
                taken += [d.pod for d in batch]
            return taken

        with ThreadPoolExecutor(len(judges)) as pool:
            taken = [pod for pods_of_one in pool.map(take, judges) for pod in pods_of_one]
        assert sorted(taken) == sorted(pods)


class TestVerdicts:
    def test_a_verdict_is_stored_announced_and_clears_the_due_entry(self, model: Model) -> None:
        epoch = with_pod(model)
        model.apply(epoch, [], [DuePod("ns/p", 1)], 11.0)
        instance = model.load().instance
        model.take_due(12.0, 1, 60)
        assert model.put_verdict("ns/p", 1, verdict("waits"), {}, 13.0)
        assert model.load().verdicts == {"ns/p": verdict("waits")}
        assert model.count_due() == 0
        (change,) = model.changes(instance, 1, 10, 0)
        assert (change.kind, change.key, change.type, change.object, change.at) == (
            VERDICTS,
            "ns/p",
            "ADDED",
            verdict("waits"),
            13.0,
        )

    def test_an_older_or_equal_verdict_does_not_replace(self, model: Model) -> None:
        epoch = with_pod(model)
        model.apply(epoch, [put("nodes", "n0")], [], 11.0)
        assert model.put_verdict("ns/p", 2, verdict("new"), {}, 12.0)
        assert not model.put_verdict("ns/p", 1, verdict("old"), {}, 13.0)
        assert not model.put_verdict("ns/p", 2, verdict("same"), {}, 13.0)
        assert model.load().verdicts == {"ns/p": verdict("new")}

    def test_a_verdict_that_was_refused_as_not_newer_still_clears_the_due_entry(self, model: Model) -> None:
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("v"), {}, 12.0)
        model.mark_due(epoch, [DuePod("ns/p")])
        assert not model.put_verdict("ns/p", 1, verdict("v"), {}, 13.0)
        assert model.count_due() == 0

    def test_a_pod_due_again_while_being_judged_stays_due_and_is_free_at_once(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p")], [DuePod("ns/p")], 10.0)
        model.take_due(11.0, 1, 600)
        model.apply(epoch, [put("nodes", "n0")], [DuePod("ns/p")], 12.0)
        assert model.take_due(12.5, 1, 600) == []
        assert model.put_verdict("ns/p", 1, verdict("v"), {}, 13.0)
        assert model.take_due(13.5, 1, 600) == [DuePod("ns/p", 2)]

    def test_there_is_no_verdict_on_a_pod_that_is_gone(self, model: Model) -> None:
        epoch = with_pod(model)
        model.apply(epoch, [delete("pods", "ns/p")], [], 11.0)
        assert not model.put_verdict("ns/p", 2, verdict("v"), {}, 12.0)
        assert model.load().verdicts == {}

    def test_a_verdict_on_a_deleted_pod_is_not_given_to_its_successor(self, model: Model) -> None:
        epoch = with_pod(model)
        model.apply(epoch, [delete("pods", "ns/p"), put("pods", "ns/p", n=2)], [], 11.0)
        model.apply(epoch, [put("pods", "ns/p", n=3)], [], 11.0)
        assert not model.put_verdict("ns/p", 1, verdict("on the old one"), {}, 12.0)
        assert model.put_verdict("ns/p", 3, verdict("on the new one"), {}, 12.0)

    def test_a_verdict_on_a_lost_model_is_refused(self, store: Store) -> None:
        leader, judge = store.open(), store.open()
        with_pod(judge)
        judge.load()
        store.wipe()
        with_pod(leader)
        leader.mark_due(lead(leader), [DuePod("ns/p")])
        assert not judge.put_verdict("ns/p", 1, verdict("v"), {}, 12.0)
        assert not judge.put_verdict("ns/p", 99, verdict("v"), {}, 12.0)
        assert leader.count_due() == 1
        judge.load()
        assert judge.put_verdict("ns/p", 1, verdict("v"), {}, 12.0)

    def test_a_verdict_that_says_the_same_is_stored_but_not_announced(self, model: Model) -> None:
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("v", revision=1, judgedAt=1.5, hints=[]), {}, 12.0)
        model.apply(epoch, [put("nodes", "n0")], [], 13.0)
        before = model.revision()
        again = verdict("v", revision=3, judgedAt=2.5, hints=[{"kind": "nodes"}])
        assert model.put_verdict("ns/p", 3, again, {}, 14.0)
        assert model.revision() == before
        assert model.load().verdicts == {"ns/p": again}
        assert [(e.at, e.object) for e in model.history(VERDICTS, "ns/p", 0, 99, 99)] == [(12.0, again)]

    def test_a_deleted_pod_takes_its_verdict_along(self, model: Model) -> None:
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("v"), {}, 12.0)
        changes = model.apply(epoch, [delete("pods", "ns/p")], [], 13.0)
        assert [(c.revision, c.kind, c.key, c.type, c.object) for c in changes] == [
            (3, "pods", "ns/p", "DELETED", body("ns/p")),
            (4, VERDICTS, "ns/p", "DELETED", verdict("v")),
        ]
        assert model.changes(model.load().instance, 2, 10, 0) == changes
        assert model.load().verdicts == {}

    def test_what_is_no_verdict_is_refused(self, model: Model) -> None:
        with_pod(model)
        with pytest.raises(ValueError, match="JSON object"):
            model.put_verdict("ns/p", 1, b"[1]", {}, 1.0)
        with pytest.raises(ValueError, match="digest"):
            model.put_verdict("ns/p", 1, verdict("v"), {"a,b": b""}, 1.0)


class TestNodeSets:
    def test_a_set_is_read_by_its_digest(self, model: Model) -> None:
        with_pod(model)
        sets = {"aa": b"\xff" * 700, "bb": b""}
        model.put_verdict("ns/p", 1, verdict("v"), sets, 12.0)
        assert model.node_sets([*sets, "cc"]) == sets
        assert model.node_sets([]) == {}

    def test_a_set_stays_while_a_verdict_in_force_names_it(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p"), put("pods", "ns/q")], [], 10.0)
        model.put_verdict("ns/p", 2, verdict("v"), {"aa": b"1"}, 12.0)
        model.put_verdict("ns/q", 2, verdict("v"), {"aa": b"1"}, 12.0)
        model.apply(epoch, [delete("pods", "ns/p")], [], 13.0)
        model.housekeep(epoch, 1e9)
        assert model.node_sets(["aa"]) == {"aa": b"1"}

    def test_a_set_goes_when_verdicts_and_history_have_forgotten_it(self, make_store: MakeStore) -> None:
        model = make_store(history_seconds=1000.0).open()
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("v"), {"aa": b"1", "bb": b"2"}, 100.0)
        assert model.put_verdict("ns/p", 2, verdict("w"), {"bb": b"2"}, 200.0)
        model.housekeep(epoch, 1199.0)
        assert model.node_sets(["aa"]) == {"aa": b"1"}, "the history still names it"
        model.housekeep(epoch, 1201.0)
        assert "aa" not in model.node_sets(["aa"])
        assert model.node_sets(["bb"]) == {"bb": b"2"}

    def test_a_set_is_kept_for_a_while_after_the_last_word_of_it(self, make_store: MakeStore) -> None:
        model = make_store(history_seconds=10.0).open()
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("v"), {"aa": b"1"}, 100.0)
        model.apply(epoch, [delete("pods", "ns/p")], [], 200.0)
        model.housekeep(epoch, 230.0)
        assert model.history(VERDICTS, "ns/p", 0, 999, 9) == []
        assert model.node_sets(["aa"]) == {"aa": b"1"}
        model.housekeep(epoch, 261.0)
        assert "aa" not in model.node_sets(["aa"])

    def test_a_set_named_again_is_not_swept(self, make_store: MakeStore) -> None:
        model = make_store(history_seconds=10.0).open()
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("v"), {"aa": b"1"}, 100.0)
        model.put_verdict("ns/p", 2, verdict("w"), {}, 101.0)
        model.put_verdict("ns/p", 3, verdict("v"), {"aa": b"1"}, 102.0)
        model.housekeep(epoch, 900.0)
        assert model.node_sets(["aa"]) == {"aa": b"1"}


class TestSync:
    def test_a_sync_state_is_loaded_and_announced_once(self, model: Model) -> None:
        epoch = lead(model)
        state = SyncState("pods", "synced", "v1", "12", 1.5, 2.5)
        instance = model.load().instance
        model.set_sync(epoch, state, 3.0)
        model.set_sync(epoch, state, 4.0)
        assert model.load().sync == {"pods": state}
        assert follow(model, instance, 0) == [(1, SYNC, "pods", "ADDED")]
        model.set_sync(epoch, SyncState("pods", "stale"), 5.0)
        assert follow(model, instance, 1) == [(2, SYNC, "pods", "MODIFIED")]

    def test_the_history_keeps_states_but_no_counters(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p")], [], 0.5)
        for at, state in (
            (1.0, SyncState("pods", "syncing", "v1", since=1.0)),
            (2.0, SyncState("pods", "synced", "v1", "12", since=2.0, seen=2.0, events=3)),
            (3.0, SyncState("pods", "synced", "v1", "13", since=2.0, seen=3.0, events=5, relists=1)),
            (4.0, SyncState("pods", "stale", "v1", "13", since=4.0, seen=3.0, error="gone away")),
        ):
            model.set_sync(epoch, state, at)
        kept = [(e.at, e.type, json.loads(e.object)) for e in model.history(SYNC, "pods", 0, 99, 9)]
        assert kept == [
            (1.0, "ADDED", {"kind": "pods", "state": "syncing", "version": "v1", "since": 1.0}),
            (2.0, "MODIFIED", {"kind": "pods", "state": "synced", "version": "v1", "since": 2.0}),
            (4.0, "MODIFIED", {"kind": "pods", "state": "stale", "version": "v1", "since": 4.0, "error": "gone away"}),
        ]
        then = model.states_at(3.5, [(SYNC, "pods"), (SYNC, "nodes")])
        (of_pods, of_nodes) = then[SYNC, "pods"], then[SYNC, "nodes"]
        assert of_pods is not None
        assert (of_pods.at, of_nodes) == (2.0, None)
        loaded = model.load()
        assert set(loaded.objects) == {"pods"}, "a sync state is no object"
        assert set(loaded.changed_at) == {"pods", VERDICTS}
        assert [model.states_before([c]) for c in model.changes_before(9, 9) if c.kind == SYNC] == [[None]] * 4
        model.housekeep(epoch, 10.0**6)
        assert len(model.history(SYNC, "pods", 0, 99, 9)) == 1, "what is in force stays"


class TestChanges:
    def test_a_follower_far_behind_gets_as_many_as_it_asked(self, model: Model) -> None:
        epoch = lead(model)
        instance = model.load().instance
        model.apply(epoch, [put("pods", f"ns/p{i}") for i in range(10)], [], 1.0)
        assert [c.revision for c in model.changes(instance, 3, 4, 5.0)] == [4, 5, 6, 7]

    def test_nothing_new_is_an_empty_answer_after_the_wait(self, model: Model) -> None:
        with_pod(model)
        instance = model.load().instance
        assert model.changes(instance, 1, 10, 0) == []
        assert model.changes(instance, 1, 10, 0.02) == []

    def test_a_waiting_follower_is_woken_by_the_change(self, store: Store) -> None:
        leader, follower = store.open(), store.open()
        epoch = with_pod(leader)
        instance = follower.load().instance
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(follower.changes, instance, 1, 10, 2 * PATIENCE)
            leader.apply(epoch, [put("pods", "ns/q")], [], 2.0)
            assert [c.key for c in waiting.result(PATIENCE)] == ["ns/q"]

    def test_who_is_behind_the_trimmed_stream_is_told(self, make_store: MakeStore) -> None:
        model = make_store(changes_length=100).open()
        epoch = lead(model)
        instance = model.load().instance
        for i in range(1000):
            model.apply(epoch, [put("pods", "ns/p", n=i)], [], 1.0)
        with pytest.raises(Trimmed):
            model.changes(instance, 0, 10, 0)
        assert [c.revision for c in model.changes(instance, 950, 1000, 0)] == list(range(951, 1001))

    def test_a_follower_of_a_lost_model_is_told(self, store: Store) -> None:
        model = store.open()
        with_pod(model)
        instance = model.load().instance
        store.wipe()
        with pytest.raises(Trimmed):
            model.changes(instance, 1, 10, 0)
        with_pod(model)
        with pytest.raises(Trimmed):
            model.changes(instance, 0, 10, 0)

    def test_a_revision_that_never_was_is_told(self, model: Model) -> None:
        with_pod(model)
        with pytest.raises(Trimmed):
            model.changes(model.load().instance, 7, 10, 0)

    def test_before_the_first_election_there_is_an_empty_model_to_follow(self, model: Model) -> None:
        loaded = model.load()
        assert (loaded.revision, loaded.objects, loaded.verdicts) == (0, {}, {})
        assert model.changes(loaded.instance, 0, 10, 0) == []
        with_pod(model)
        with pytest.raises(Trimmed):
            model.changes(loaded.instance, 0, 10, 0)

    def test_a_load_amid_writes_and_what_follows_make_the_model(self, store: Store) -> None:
        leader, reader = store.open(), store.open()
        epoch = lead(leader)
        rng = random.Random(7)

        def write() -> None:
            for i in range(150):
                key = f"ns/p{rng.randrange(40)}"
                leader.apply(epoch, [delete("pods", key) if rng.random() < 0.3 else put("pods", key, n=i)], [], 1.0)

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            loaded = reader.load()
            writing.result(30)
        pods = dict(loaded.objects.get("pods", {}))
        for change in reader.changes(loaded.instance, loaded.revision, 1000, 0):
            if change.type == "DELETED":
                pods.pop(change.key, None)
            else:
                pods[change.key] = change.object
        assert pods == reader.load().objects["pods"]


class TestChangesBefore:
    def test_they_come_newest_first_from_below_a_revision(self, model: Model) -> None:
        epoch = lead(model)
        for number in range(1, 6):
            model.apply(epoch, [put("pods", f"ns/p{number}")], [], float(number))
        assert [c.key for c in model.changes_before(6, 2)] == ["ns/p5", "ns/p4"]
        assert [c.key for c in model.changes_before(3, 10)] == ["ns/p2", "ns/p1"]
        assert [(c.revision, c.kind, c.type, c.at) for c in model.changes_before(2, 1)] == [(1, "pods", "ADDED", 1.0)]
        assert model.changes_before(1, 10) == []
        assert model.changes_before(999, 1)[0].revision == 5
        assert model.changes_before(3, 0) == []

    def test_of_a_model_that_nobody_ever_led_there_are_none(self, model: Model) -> None:
        assert model.changes_before(10, 10) == []

    def test_they_end_where_the_stream_is_trimmed(self, make_store: Callable[..., Store]) -> None:
        model = make_store(changes_length=3).open()
        epoch = lead(model)
        for number in range(400):
            model.apply(epoch, [put("pods", f"ns/p{number}")], [], float(number))
        kept = model.changes_before(10**6, 1000)
        assert 3 <= len(kept) < 400
        assert [c.revision for c in kept] == list(range(400, 400 - len(kept), -1))
        assert model.changes_before(kept[-1].revision, 10) == []

    def test_each_is_given_the_state_that_it_superseded(self, model: Model) -> None:
        epoch = lead(model)
        for number in range(30):
            model.apply(epoch, [put("pods", "ns/p", n=number)], [], float(number))
        model.apply(epoch, [delete("pods", "ns/p", n=29)], [], 30.0)
        model.apply(epoch, [put("pods", "ns/p", n=31)], [], 31.0)
        changes = model.changes_before(10**6, 100)
        assert [c.type for c in changes[:3]] == ["ADDED", "DELETED", "MODIFIED"]
        states = model.states_before(changes)
        superseded = [body("ns/p", n=n) for n in range(28, -1, -1)]
        expected: list[bytes | None] = [None, body("ns/p", n=29), *superseded, None]
        assert states == expected
        assert model.states_before([]) == []

    def test_an_object_without_a_past_had_no_state_before(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/p")], [], 1.0)
        model.set_sync(epoch, SyncState("pods", "synced"), 2.0)
        assert model.states_before(model.changes_before(10, 10)) == [None, None]


class TestSuperseded:
    def test_what_was_superseded_last_comes_first_and_once(self, model: Model) -> None:
        epoch = lead(model)
        model.apply(epoch, [put("pods", "ns/a"), put("pods", "ns/b"), put("nodes", "n")], [], 1.0)
        for at, key in ((2.0, "ns/a"), (3.0, "ns/b"), (4.0, "ns/a")):
            model.apply(epoch, [put("pods", key, n=at)], [], at)
        assert model.superseded_since(0.0) == [("pods", "ns/a"), ("pods", "ns/b")]
        assert model.superseded_since(3.0) == [("pods", "ns/a")]
        assert model.superseded_since(4.0) == []
        model.apply(epoch, [delete("nodes", "n")], [], 5.0)
        assert model.superseded_since(3.5)[0] == ("nodes", "n")


class TestHistory:
    def states(self, model: Model, start: float, end: float, limit: int = 99) -> list[tuple[int, float, str]]:
        return [(e.revision, e.at, e.type) for e in model.history("pods", "ns/p", start, end, limit)]

    def filled(self, model: Model) -> int:
        epoch = lead(model)
        for at in (10.0, 20.0, 30.0):
            model.apply(epoch, [put("pods", "ns/p", n=at)], [], at)
        return epoch

    def test_the_state_in_force_at_the_start_comes_first(self, model: Model) -> None:
        self.filled(model)
        assert self.states(model, 25, 99) == [(2, 20.0, "MODIFIED"), (3, 30.0, "MODIFIED")]
        assert self.states(model, 20, 29) == [(2, 20.0, "MODIFIED")]
        assert self.states(model, 5, 15) == [(1, 10.0, "ADDED")]
        assert self.states(model, 0, 9) == []
        assert self.states(model, 31, 31) == [(3, 30.0, "MODIFIED")]

    def test_the_newest_are_given_when_there_are_more_than_asked(self, model: Model) -> None:
        self.filled(model)
        assert self.states(model, 0, 99, 2) == [(2, 20.0, "MODIFIED"), (3, 30.0, "MODIFIED")]
        assert self.states(model, 0, 99, 0) == []

    def test_long_histories_are_whole(self, model: Model) -> None:
        epoch = lead(model)
        for i in range(450):
            model.apply(epoch, [put("pods", "ns/p", n=i)], [], float(i))
        assert [e.revision for e in model.history("pods", "ns/p", 0, 999, 999)] == list(range(1, 451))

    def test_a_deleted_object_keeps_its_history_and_last_state(self, model: Model) -> None:
        epoch = self.filled(model)
        model.apply(epoch, [delete("pods", "ns/p", last=True)], [], 40.0)
        assert self.states(model, 35, 99) == [(3, 30.0, "MODIFIED"), (4, 40.0, "DELETED")]
        assert model.history("pods", "ns/p", 50, 50, 1)[0].object == body("ns/p", last=True)

    def test_an_object_that_came_again_has_both_lives(self, model: Model) -> None:
        epoch = self.filled(model)
        model.apply(epoch, [delete("pods", "ns/p")], [], 40.0)
        model.apply(epoch, [put("pods", "ns/p")], [], 50.0)
        assert self.states(model, 35, 99) == [(3, 30.0, "MODIFIED"), (4, 40.0, "DELETED"), (5, 50.0, "ADDED")]

    def test_many_histories_at_once_are_what_each_is_by_itself(self, model: Model) -> None:
        epoch = lead(model)
        rng = random.Random(11)
        names = [("pods", f"ns/p{i}") for i in range(6)]
        for moment in range(1, 60):
            pod = f"ns/p{rng.randrange(4)}"  # two never are
            write = delete("pods", pod) if rng.random() < 0.2 else put("pods", pod, n=moment)
            model.apply(epoch, [write], [], float(moment))
        names.append((VERDICTS, "ns/p0"))
        for start, end, limit in (
            (0, 99, 99),
            (20, 40, 99),
            (20, 40, 3),
            (55, 55, 1),
            (5, 8, 2),
            (0, 99, 1),
            (0, 0, 5),
        ):
            each = [model.history(kind, key, start, end, limit) for kind, key in names]
            assert model.histories(names, start, end, limit) == each
        assert any(len(h) > 5 for h in model.histories(names, 0, 99, 99))
        assert model.histories([], 0, 99, 9) == []
        assert model.histories(names[:2], 0, 99, 0) == [[], []]

    def test_verdicts_have_a_history(self, model: Model) -> None:
        epoch = with_pod(model)
        model.put_verdict("ns/p", 1, verdict("one"), {}, 20.0)
        model.put_verdict("ns/p", 2, verdict("two"), {}, 30.0)
        model.apply(epoch, [delete("pods", "ns/p")], [], 40.0)
        entries = model.history(VERDICTS, "ns/p", 0, 99, 99)
        assert [(e.at, e.type, e.object) for e in entries] == [
            (20.0, "ADDED", verdict("one")),
            (30.0, "MODIFIED", verdict("two")),
            (40.0, "DELETED", verdict("two")),
        ]

    def test_old_states_go_but_never_the_one_in_force(self, make_store: MakeStore) -> None:
        model = make_store(history_seconds=100.0).open()
        epoch = self.filled(model)
        model.housekeep(epoch, 125.0)
        assert self.states(model, 0, 999) == [(2, 20.0, "MODIFIED"), (3, 30.0, "MODIFIED")]
        assert model.history_start() == 20.0
        model.housekeep(epoch, 5000.0)
        assert self.states(model, 4900, 5000) == [(3, 30.0, "MODIFIED")]

    def test_a_deleted_object_is_forgotten_in_the_end(self, make_store: MakeStore) -> None:
        model = make_store(history_seconds=100.0).open()
        epoch = self.filled(model)
        model.apply(epoch, [delete("pods", "ns/p")], [], 40.0)
        model.housekeep(epoch, 139.0)
        assert self.states(model, 39, 999) == [(3, 30.0, "MODIFIED"), (4, 40.0, "DELETED")]
        model.housekeep(epoch, 140.0)
        assert self.states(model, 0, 999) == []
        assert model.memory()["history"] == 0

    def test_too_many_bytes_push_out_the_oldest_of_all(self, make_store: MakeStore) -> None:
        model = make_store(history_bytes=20_000).open()
        epoch = lead(model)
        noise = random.Random(3)
        for at in range(1, 101):
            pod = f"ns/p{at % 2}"
            model.apply(epoch, [Write("pods", pod, "MODIFIED", noise.randbytes(1000))], [], float(at))
        model.housekeep(epoch, 101.0)
        assert 15_000 < model.memory()["history"] <= 20_000
        left = [e.at for pod in ("ns/p0", "ns/p1") for e in model.history("pods", pod, 0, 999, 999)]
        assert sorted(left) == [float(at) for at in range(101 - len(left), 101)]
        assert 15 < len(left) <= 20
        # The oldest kept superseded state was in force before this time; from here on nothing is missing.
        assert model.history_start() == min(left) + 1

    def test_trimming_in_many_steps_does_all_of_it(self, make_store: MakeStore) -> None:
        model = make_store(history_seconds=1.0).open()
        epoch = lead(model)
        for i in range(6):
            model.apply(epoch, [put("pods", f"ns/p{k}", n=i) for k in range(400)], [], float(i))
        model.housekeep(epoch, 1000.0)
        assert model.memory()["history"] == 0

    def test_there_is_no_history_before_the_first_change(self, model: Model) -> None:
        assert model.history_start() is None
        self.filled(model)
        assert model.history_start() == 10.0


def test_memory_is_told_by_part(model: Model) -> None:
    epoch = with_pod(model)
    model.put_verdict("ns/p", 1, verdict("v"), {"aa": b"1" * 10}, 12.0)
    model.apply(epoch, [put("pods", "ns/p", n=2)], [], 13.0)
    sizes = model.memory()
    assert set(sizes) == {"objects", "changes", "history", "verdicts", "nodesets"}
    assert all(size > 0 for size in sizes.values())


def test_the_queue_tells_how_many_pods_wait_and_since_when_the_oldest_does(store: Store) -> None:
    model = store.open()
    assert (model.queue().count, model.queue().since) == (0, 0.0)
    epoch = lead(model)
    model.apply(epoch, [put("pods", "ns/a")], [DuePod("ns/a")], 10.0)
    model.apply(epoch, [put("pods", "ns/b")], [DuePod("ns/b")], 12.0)
    assert (model.queue().count, model.queue().since) == (2, 10.0)
    model.apply(epoch, [put("pods", "ns/a", again=1)], [DuePod("ns/a")], 20.0)
    assert model.queue().since == 10.0, "a pod that is due again waits as long as before"


def test_a_pod_that_is_being_judged_still_waits(store: Store) -> None:
    model = store.open()
    epoch = lead(model)
    model.apply(epoch, [put("pods", "ns/a")], [DuePod("ns/a")], 10.0)
    model.load()
    (taken,) = model.take_due(100.0, 5, 30.0)
    assert (model.queue().count, model.queue().since) == (1, 10.0)
    model.put_verdict("ns/a", taken.revision, verdict("ok"), {}, 101.0)
    assert (model.queue().count, model.queue().since) == (0, 0.0)


def test_figures_of_all_processes_add_up_until_the_model_is_lost(store: Store) -> None:
    one, two = store.open(), store.open()
    lead(one)
    revision = one.revision()
    one.add_figures({"judged": 2, "seconds": 0.25})
    two.add_figures({"judged": 1})
    two.add_figures({})
    assert one.figures() == two.figures() == {"judged": 3.0, "seconds": 0.25}
    assert one.revision() == revision, "counting is no change of the model"
    store.wipe()
    assert one.figures() == {}
