"""The model in this process: the twin of redis_store.py for tests and tools. Same contract, same suite."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec

from dradash.store.encoding import fingerprint, join_hints, split_hints
from dradash.store.history import HINTS_KEPT, NODE_SET_GRACE, before, in_force, select
from dradash.store.memory_state import Due, Record, State
from dradash.store.model import (
    SYNC,
    VERDICTS,
    Change,
    DuePod,
    HistoryEntry,
    Lease,
    Loaded,
    Queue,
    StaleEpoch,
    SyncState,
    Trimmed,
    Write,
)

PODS: Final = "pods"
NODES: Final = "nodes"


class MemoryModel:
    """model.Model in memory. Thread-safe: one lock, held for as long as a call takes."""

    def __init__(
        self,
        *,
        changes_length: int = 20_000,
        history_seconds: float = 24 * 3600.0,
        history_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._changes_length = changes_length
        self._history_seconds = history_seconds
        self._history_bytes = history_bytes
        self._changed = threading.Condition(threading.RLock())
        self._state = State(changes_length)
        self._highest_epoch = 0
        self._read = ""  # the instance last loaded: a verdict on another one is refused

    def wipe(self) -> None:
        """Lose everything, as an emptied Redis does."""
        with self._changed:
            self._state = State(self._changes_length)
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing to close."""

    # --- the leader

    def acquire(self, holder: str, ttl: float) -> int | None:
        with self._changed:
            state, now = self._state, time.monotonic()
            held = state.held_until > now
            if held and state.holder != holder:
                return None
            if not state.instance:
                state.instance, state.epoch = uuid.uuid4().hex, max(int(time.time()), self._highest_epoch + 1)
                held = False
            if not held:
                state.epoch += 1
            state.holder, state.held_until = holder, now + ttl
            self._highest_epoch = state.epoch
            return state.epoch

    def renew(self, holder: str, epoch: int, ttl: float) -> bool:
        with self._changed:
            state, now = self._state, time.monotonic()
            if not self._leads(epoch) or (state.held_until > now and state.holder != holder):
                return False
            state.holder, state.held_until = holder, now + ttl
            return True

    def release(self, holder: str, epoch: int) -> None:
        with self._changed:
            if self._leads(epoch):
                if self._state.holder == holder:
                    self._state.held_until = 0.0
                self._state.epoch += 1

    def _leads(self, epoch: int) -> bool:
        return bool(self._state.instance) and self._state.epoch == epoch

    def _check(self, epoch: int) -> None:
        if not self._leads(epoch):
            raise StaleEpoch(f"epoch {epoch} is over: another informer leads, or everything was lost")

    def apply(self, epoch: int, writes: Sequence[Write], due: Sequence[DuePod], at: float) -> list[Change]:
        notes = [split_hints(pod.hints) for pod in due]  # before anything is changed: it may raise
        with self._changed:
            self._check(epoch)
            if self._state.history_start is None:
                self._state.history_start = at
            changes: list[Change] = []
            for write in writes:
                changes += self._delete(write, at) if write.type == "DELETED" else self._put(write, at)
            latest = changes[-1].revision if changes else 0
            for pod, hints in zip(due, notes, strict=True):
                self._mark(pod.pod, max(pod.revision, latest), hints, at)
            return changes

    def mark_due(self, epoch: int, due: Sequence[DuePod]) -> None:
        self.apply(epoch, (), due, time.time())

    def _append(self, kind: str, key: str, change_type: str, body: bytes, at: float) -> Change:
        state = self._state
        state.revision += 1
        change = Change(state.revision, kind, key, change_type, body, at)
        state.changes.append(change)
        self._changed.notify_all()
        return change

    def _put(self, write: Write, at: float) -> list[Change]:
        records = self._state.current.setdefault(write.kind, {})
        old = records.get(write.key)
        if old and old.entry.object == write.object:
            return []
        change = self._append(write.kind, write.key, "MODIFIED" if old else "ADDED", write.object, at)
        if old:
            self._state.archive(write.kind, write.key, old.entry, at)
        elif write.kind == NODES:
            self._state.node_slots.setdefault(write.key, len(self._state.node_slots))
        records[write.key] = Record(_entry(change), created=old.created if old else change.revision)
        return [change]

    def _delete(self, write: Write, at: float) -> list[Change]:
        changes = self._remove(write.kind, write.key, write.object, at)
        if changes and write.kind == PODS:
            self._state.due.pop(write.key, None)
            if verdict := self._state.current[VERDICTS].get(write.key):
                changes += self._remove(VERDICTS, write.key, verdict.entry.object, at)
                self._state.release_sets(verdict.sets, at)
        return changes

    def _remove(self, kind: str, key: str, body: bytes, at: float) -> list[Change]:
        old = self._state.current.get(kind, {}).pop(key, None)
        if old is None:
            return []
        change = self._append(kind, key, "DELETED", body, at)
        self._state.archive(kind, key, old.entry, at)
        self._state.archive(kind, key, _entry(change), at)
        return [change]

    def _mark(self, pod: str, revision: int, notes: list[bytes], at: float) -> None:
        known = self._state.due.setdefault(pod, Due(at, revision, []))
        known.revision = max(known.revision, revision)
        known.notes = [*known.notes, *notes][-HINTS_KEPT:]

    def set_sync(self, epoch: int, state: SyncState, at: float) -> None:
        with self._changed:
            self._check(epoch)
            old = self._state.sync.get(state.kind)
            if old != state:
                self._state.sync[state.kind] = state
                change = self._append(SYNC, state.kind, "MODIFIED" if old else "ADDED", msgspec.json.encode(state), at)
                self._keep_sync(change, msgspec.json.encode(state.lasting()))

    def _keep_sync(self, change: Change, lasting: bytes) -> None:
        records = self._state.current[SYNC]
        record = records.get(change.key)
        if record is None or record.entry.object != lasting:
            if record:
                self._state.archive(SYNC, change.key, record.entry, change.at)
            records[change.key] = Record(HistoryEntry(change.revision, change.at, change.type, lasting))

    def housekeep(self, epoch: int, now: float) -> None:
        with self._changed:
            self._check(epoch)
            self._state.trim(now - self._history_seconds, self._history_bytes, now - NODE_SET_GRACE)

    # --- the judges

    def take_due(self, now: float, limit: int, lease: float) -> list[DuePod]:
        with self._changed:
            self._end_leases(now, max(limit, 0))
            free = [(due.since, pod) for pod, due in self._state.due.items() if due.leased_until is None]
            taken = []
            for _, pod in sorted(free)[: max(limit, 0)]:
                due = self._state.due[pod]
                due.leased_until = now + lease
                taken.append(DuePod(pod, due.revision, join_hints(due.notes)))
            return taken

    def _end_leases(self, now: float, most: int) -> None:
        """Those that ended first, no more than are taken: the work of Redis must not grow with all leases."""
        held = ((due.leased_until, pod) for pod, due in self._state.due.items() if due.leased_until is not None)
        for _, pod in sorted(lease for lease in held if lease[0] <= now)[:most]:
            self._state.due[pod].leased_until = None

    def count_due(self) -> int:
        return len(self._state.due)

    def put_verdict(self, pod: str, revision: int, verdict: bytes, node_sets: dict[str, bytes], at: float) -> bool:
        mark = fingerprint(verdict)
        if bad := [digest for digest in node_sets if not digest.isalnum()]:
            raise ValueError(f"no digest of a node set: {bad[0]!r}")
        with self._changed:
            state = self._state
            if not state.instance or (self._read and self._read != state.instance) or revision > state.revision:
                return False
            self._judged(pod, revision, at)
            judged = state.current.get(PODS, {}).get(pod)
            old = state.current[VERDICTS].get(pod)
            if judged is None or judged.created > revision or (old and old.judged >= revision):
                return False
            if old and old.fingerprint == mark:
                entry = HistoryEntry(old.entry.revision, old.entry.at, old.entry.type, verdict)
            else:
                entry = _entry(self._append(VERDICTS, pod, "MODIFIED" if old else "ADDED", verdict, at))
                if old:
                    self._state.archive(VERDICTS, pod, old.entry, at)
            state.current[VERDICTS][pod] = Record(entry, 0, revision, mark, tuple(node_sets))
            state.hold_sets(node_sets)
            if old:
                self._state.release_sets(old.sets, at)
            return True

    def _judged(self, pod: str, revision: int, at: float) -> None:
        due = self._state.due.get(pod)
        if due is None:
            return
        if due.revision <= revision:
            del self._state.due[pod]
        elif due.leased_until is not None:
            due.leased_until, due.since = None, at

    def add_figures(self, figures: Mapping[str, float]) -> None:
        with self._changed:
            for name, value in figures.items():
                self._state.figures[name] = self._state.figures.get(name, 0.0) + value

    # --- the readers

    def load(self) -> Loaded:
        with self._changed:
            state = self._state
            self._read = state.instance
            current = {kind: records for kind, records in state.current.items() if kind != SYNC}
            bodies = {kind: {key: r.entry.object for key, r in records.items()} for kind, records in current.items()}
            verdicts = bodies.pop(VERDICTS)
            changed_at = {kind: {key: r.entry.at for key, r in records.items()} for kind, records in current.items()}
            return Loaded(
                state.instance, state.revision, bodies, verdicts, dict(state.sync), dict(state.node_slots), changed_at
            )

    def revision(self) -> int:
        return self._state.revision

    def changes(self, instance: str, after: int, limit: int, block: float) -> list[Change]:
        with self._changed:
            self._changed.wait_for(
                lambda: self._state.instance != instance or self._state.revision != after, timeout=max(block, 0.0)
            )
            state = self._state
            if state.instance != instance:
                raise Trimmed("the model is a new one")
            first = state.changes[0].revision if state.changes else state.revision + 1
            if after + 1 < first or after > state.revision:
                raise Trimmed(f"asked for changes after revision {after}; kept are {first} to {state.revision}")
            begin = after + 1 - first
            return list(islice(state.changes, begin, begin + max(limit, 1)))

    def changes_before(self, revision: int, limit: int) -> list[Change]:
        with self._changed:
            kept = self._state.changes
            newer = max(0, kept[-1].revision + 1 - revision) if kept else 0  # revisions have no gaps
            return list(islice(reversed(kept), newer, newer + max(limit, 0)))

    def states_before(self, changes: Sequence[Change]) -> list[bytes | None]:
        with self._changed:
            return [
                None if c.kind == SYNC else before(self._state.newest_first(c.kind, c.key), c.revision) for c in changes
            ]

    def node_slots(self, names: Sequence[str]) -> dict[str, int]:
        with self._changed:
            return {name: self._state.node_slots[name] for name in names if name in self._state.node_slots}

    def verdict(self, pod: str) -> bytes | None:
        with self._changed:
            record = self._state.current[VERDICTS].get(pod)
            return record.entry.object if record else None

    def node_sets(self, digests: Sequence[str]) -> dict[str, bytes]:
        with self._changed:
            return {d: self._state.node_sets[d] for d in digests if d in self._state.node_sets}

    def history(self, kind: str, key: str, start: float, end: float, limit: int) -> list[HistoryEntry]:
        with self._changed:
            return select(self._state.newest_first(kind, key), start, end, limit)

    def histories(
        self, names: Sequence[tuple[str, str]], start: float, end: float, limit: int
    ) -> list[list[HistoryEntry]]:
        with self._changed:
            return [select(self._state.newest_first(kind, key), start, end, limit) for kind, key in names]

    def states_at(self, at: float, also: Collection[tuple[str, str]]) -> dict[tuple[str, str], HistoryEntry | None]:
        with self._changed:
            names = {*self._state.superseded_since(at), *also}
            return {name: in_force(self._state.newest_first(*name), at) for name in names}

    def superseded_since(self, at: float) -> list[tuple[str, str]]:
        with self._changed:
            return self._state.superseded_since(at)

    def history_start(self) -> float | None:
        return self._state.history_start

    def refuses_writes(self) -> str:
        return ""

    def lease(self) -> Lease | None:
        with self._changed:
            left = self._state.held_until - time.monotonic()
            return Lease(self._state.holder, self._state.epoch, left) if left > 0 else None

    def queue(self) -> Queue:
        with self._changed:
            due = self._state.due.values()
            return Queue(len(due), min((d.since for d in due), default=0.0))

    def figures(self) -> dict[str, float]:
        with self._changed:
            return dict(self._state.figures)

    def memory(self) -> dict[str, int]:
        with self._changed:
            state = self._state
            sizes = {
                kind: sum(len(record.entry.object) for record in records.values())
                for kind, records in state.current.items()
                if kind != SYNC
            }
            verdicts = sizes.pop(VERDICTS)
            return {
                "objects": sum(sizes.values()),
                "changes": sum(len(change.object) for change in state.changes),
                "history": state.history_bytes,
                "verdicts": verdicts,
                "nodesets": sum(map(len, state.node_sets.values())),
            }


def _entry(change: Change) -> HistoryEntry:
    return HistoryEntry(change.revision, change.at, change.type, change.object)
