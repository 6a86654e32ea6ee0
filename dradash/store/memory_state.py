"""What the memory store holds: the counterpart of the Redis keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

import msgspec

from dradash.store.history import ENTRY_OVERHEAD
from dradash.store.model import SYNC, VERDICTS, Change, HistoryEntry, SyncState


class Record(msgspec.Struct):
    """A state in force. created: revision of its first ADDED; the rest is for verdicts only."""

    entry: HistoryEntry
    created: int = 0
    judged: int = 0
    fingerprint: str = ""
    sets: tuple[str, ...] = ()


class Due(msgspec.Struct):
    since: float
    revision: int
    notes: list[bytes]
    leased_until: float | None = None


class State:
    """All that is lost when Redis is emptied."""

    def __init__(self, changes_length: int) -> None:
        self.instance = ""
        self.epoch = 0
        self.revision = 0
        self.holder = ""
        self.held_until = 0.0  # time.monotonic()
        self.changes: deque[Change] = deque(maxlen=changes_length)
        self.current: dict[str, dict[str, Record]] = {VERDICTS: {}, SYNC: {}}  # of SYNC what lasts
        self.sync: dict[str, SyncState] = {}
        self.node_slots: dict[str, int] = {}
        self.due: dict[str, Due] = {}
        self.figures: dict[str, float] = {}
        self.node_sets: dict[str, bytes] = {}
        self.uses: dict[str, int] = {}
        self.unused: dict[str, float] = {}  # digest -> since when
        self.history: dict[tuple[str, str], deque[HistoryEntry]] = {}
        self.index: deque[tuple[float, int, tuple[str, str]]] = deque()  # superseded at, size, whose
        self.history_bytes = 0
        self.history_start: float | None = None

    def archive(self, kind: str, key: str, entry: HistoryEntry, at: float) -> None:
        """A superseded entry goes to the history of its object. at: when it was superseded."""
        size = len(entry.object) + len(kind) + len(key) + ENTRY_OVERHEAD
        self.history.setdefault((kind, key), deque()).append(entry)
        self.index.append((at, size, (kind, key)))
        self.history_bytes += size

    def trim(self, oldest: float, limit: int, unused_before: float) -> None:
        """Drop what was superseded until `oldest` or is beyond `limit` bytes, then node sets that nothing names."""
        while self.index and (self.index[0][0] <= oldest or self.history_bytes > limit):
            at, size, whose = self.index.popleft()
            self.history[whose].popleft()
            if not self.history[whose]:
                del self.history[whose]
            self.history_bytes -= size
            self.history_start = max(at, self.history_start or at)
        before = min([unused_before, *(at for at, _, _ in islice(self.index, 1))])
        for digest in [d for d, since in self.unused.items() if since < before]:
            del self.unused[digest], self.node_sets[digest]

    def newest_first(self, kind: str, key: str) -> Iterator[HistoryEntry]:
        if record := self.current.get(kind, {}).get(key):
            yield record.entry
        yield from reversed(self.history.get((kind, key), ()))

    def superseded_since(self, at: float) -> list[tuple[str, str]]:
        names: dict[tuple[str, str], None] = {}
        for superseded_at, _, whose in reversed(self.index):
            if superseded_at <= at:
                break
            names.setdefault(whose)
        return list(names)

    def hold_sets(self, node_sets: dict[str, bytes]) -> None:
        for digest, nodes in node_sets.items():
            self.node_sets.setdefault(digest, nodes)
            self.uses[digest] = self.uses.get(digest, 0) + 1
            self.unused.pop(digest, None)

    def release_sets(self, digests: tuple[str, ...], at: float) -> None:
        for digest in digests:
            self.uses[digest] -= 1
            if not self.uses[digest]:
                del self.uses[digest]
                self.unused[digest] = at
