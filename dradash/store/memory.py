"""The model in this process: the twin of redis_store.py for tests and tools. Same contract, same suite."""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from dradash.store.encoding import fingerprint, join_hints, split_hints
from dradash.store.history import ENTRY_OVERHEAD, HINTS_KEPT, NODE_SET_GRACE, select
from dradash.store.model import (
    SYNC,
    VERDICTS,
    Change,
    DuePod,
    HistoryEntry,
    Lease,
    Loaded,
    StaleEpoch,
    SyncState,
    Trimmed,
    Write,
)

PODS: Final = "pods"
NODES: Final = "nodes"


class _Record(msgspec.Struct):
    """A state in force. created: revision of its first ADDED; the rest is for verdicts only."""

    entry: HistoryEntry
    created: int = 0
    judged: int = 0
    fingerprint: str = ""
    sets: tuple[str, ...] = ()


class _Due(msgspec.Struct):
    since: float
    revision: int
    notes: list[bytes]
    leased_until: float | None = None


class _State:
    """All that is lost when Redis is emptied."""

    def __init__(self, changes_length: int) -> None:
        self.instance = ""
        self.epoch = 0
        self.revision = 0
        self.holder = ""
        self.held_until = 0.0  # time.monotonic()
        self.changes: deque[Change] = deque(maxlen=changes_length)
        self.current: dict[str, dict[str, _Record]] = {VERDICTS: {}}
        self.sync: dict[str, SyncState] = {}
        self.node_slots: dict[str, int] = {}
        self.due: dict[str, _Due] = {}
        self.node_sets: dict[str, bytes] = {}
        self.uses: dict[str, int] = {}
        self.unused: dict[str, float] = {}  # digest -> since when
        self.history: dict[tuple[str, str], deque[HistoryEntry]] = {}
        self.index: deque[tuple[float, int, tuple[str, str]]] = deque()  # superseded at, size, whose
        self.history_bytes = 0
        self.history_start: float | None = None


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
        self._state = _State(changes_length)
        self._highest_epoch = 0
        self._read = ""  # the instance last loaded: a verdict on another one is refused

    def wipe(self) -> None:
        """Lose everything, as an emptied Redis does."""
        with self._changed:
            self._state = _State(self._changes_length)
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
            self._archive(write.kind, write.key, old.entry, at)
        elif write.kind == NODES:
            self._state.node_slots.setdefault(write.key, len(self._state.node_slots))
        records[write.key] = _Record(_entry(change), created=old.created if old else change.revision)
        return [change]

    def _delete(self, write: Write, at: float) -> list[Change]:
        changes = self._remove(write.kind, write.key, write.object, at)
        if changes and write.kind == PODS:
            self._state.due.pop(write.key, None)
            if verdict := self._state.current[VERDICTS].get(write.key):
                changes += self._remove(VERDICTS, write.key, verdict.entry.object, at)
                self._release_sets(verdict.sets, at)
        return changes

    def _remove(self, kind: str, key: str, body: bytes, at: float) -> list[Change]:
        old = self._state.current.get(kind, {}).pop(key, None)
        if old is None:
            return []
        change = self._append(kind, key, "DELETED", body, at)
        self._archive(kind, key, old.entry, at)
        self._archive(kind, key, _entry(change), at)
        return [change]

    def _mark(self, pod: str, revision: int, notes: list[bytes], at: float) -> None:
        known = self._state.due.setdefault(pod, _Due(at, revision, []))
        known.revision = max(known.revision, revision)
        known.notes = [*known.notes, *notes][-HINTS_KEPT:]

    def set_sync(self, epoch: int, state: SyncState, at: float) -> None:
        with self._changed:
            self._check(epoch)
            old = self._state.sync.get(state.kind)
            if old != state:
                self._state.sync[state.kind] = state
                self._append(SYNC, state.kind, "MODIFIED" if old else "ADDED", msgspec.json.encode(state), at)

    def _archive(self, kind: str, key: str, entry: HistoryEntry, at: float) -> None:
        state = self._state
        size = len(entry.object) + len(kind) + len(key) + ENTRY_OVERHEAD
        state.history.setdefault((kind, key), deque()).append(entry)
        state.index.append((at, size, (kind, key)))
        state.history_bytes += size

    def housekeep(self, epoch: int, now: float) -> None:
        with self._changed:
            self._check(epoch)
            state, oldest = self._state, now - self._history_seconds
            while state.index and (state.index[0][0] <= oldest or state.history_bytes > self._history_bytes):
                at, size, whose = state.index.popleft()
                state.history[whose].popleft()
                if not state.history[whose]:
                    del state.history[whose]
                state.history_bytes -= size
                state.history_start = max(at, state.history_start or at)
            before = min([now - NODE_SET_GRACE, *(at for at, _, _ in list(state.index)[:1])])
            for digest in [d for d, since in state.unused.items() if since < before]:
                del state.unused[digest], state.node_sets[digest]

    # --- the judges

    def take_due(self, now: float, limit: int, lease: float) -> list[DuePod]:
        with self._changed:
            free = [
                (due.since, pod)
                for pod, due in self._state.due.items()
                if due.leased_until is None or due.leased_until <= now
            ]
            taken = []
            for _, pod in sorted(free)[: max(limit, 0)]:
                due = self._state.due[pod]
                due.leased_until = now + lease
                taken.append(DuePod(pod, due.revision, join_hints(due.notes)))
            return taken

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
                    self._archive(VERDICTS, pod, old.entry, at)
            state.current[VERDICTS][pod] = _Record(entry, 0, revision, mark, tuple(node_sets))
            for digest, nodes in node_sets.items():
                state.node_sets.setdefault(digest, nodes)
                state.uses[digest] = state.uses.get(digest, 0) + 1
                state.unused.pop(digest, None)
            if old:
                self._release_sets(old.sets, at)
            return True

    def _judged(self, pod: str, revision: int, at: float) -> None:
        due = self._state.due.get(pod)
        if due is None:
            return
        if due.revision <= revision:
            del self._state.due[pod]
        elif due.leased_until is not None:
            due.leased_until, due.since = None, at

    def _release_sets(self, digests: tuple[str, ...], at: float) -> None:
        for digest in digests:
            self._state.uses[digest] -= 1
            if not self._state.uses[digest]:
                del self._state.uses[digest]
                self._state.unused[digest] = at

    # --- the readers

    def load(self) -> Loaded:
        with self._changed:
            state = self._state
            self._read = state.instance
            bodies = {
                kind: {key: record.entry.object for key, record in records.items()}
                for kind, records in state.current.items()
            }
            verdicts = bodies.pop(VERDICTS)
            return Loaded(state.instance, state.revision, bodies, verdicts, dict(state.sync), dict(state.node_slots))

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

    def node_slots(self, names: Sequence[str]) -> dict[str, int]:
        with self._changed:
            return {name: self._state.node_slots[name] for name in names if name in self._state.node_slots}

    def node_set(self, digest: str) -> bytes | None:
        return self._state.node_sets.get(digest)

    def history(self, kind: str, key: str, start: float, end: float, limit: int) -> list[HistoryEntry]:
        with self._changed:
            return select(self._newest_first(kind, key), start, end, limit)

    def _newest_first(self, kind: str, key: str) -> Iterator[HistoryEntry]:
        if record := self._state.current.get(kind, {}).get(key):
            yield record.entry
        yield from reversed(self._state.history.get((kind, key), ()))

    def history_start(self) -> float | None:
        return self._state.history_start

    def lease(self) -> Lease | None:
        with self._changed:
            left = self._state.held_until - time.monotonic()
            return Lease(self._state.holder, self._state.epoch, left) if left > 0 else None

    def memory(self) -> dict[str, int]:
        with self._changed:
            state = self._state
            sizes = {
                kind: sum(len(record.entry.object) for record in records.values())
                for kind, records in state.current.items()
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
