"""Reading the model from Redis: everything at once, what changed since, what was before. Runs no script."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from dradash.store.encoding import unpack
from dradash.store.history import before, in_force, select
from dradash.store.keys import Keys, text, untext
from dradash.store.model import SYNC, VERDICTS, Change, HistoryEntry, Lease, Loaded, Queue, SyncState, Trimmed
from dradash.store.records import change_of, entry_of, revision_of, time_of

SCAN: Final = 1000
PAGE: Final = 100
NAMES: Final = 200  # objects asked for at once
RECENT: Final = 8  # entries of each: most objects change seldom
LONGEST_BLOCK: Final = 2.0  # short: who waits on a Redis that hangs finds that out so much later
LEASED: Final = 200  # pods being judged that are looked at: some batches


class Commands(Protocol):
    """What the reader needs of a connection. All raise StoreUnavailable."""

    def call(self, *command: Any) -> Any: ...

    def call_patiently(self, *command: Any) -> Any:
        """For a part of something long that begins anew when a part of it fails."""

    def pipe(self, *commands: tuple[Any, ...]) -> list[Any]:
        """One transaction: the answers belong to one moment."""

    def wait(self, *command: Any) -> Any:
        """A command that may block for LONGEST_BLOCK seconds."""

    def refusal(self, key: str) -> str:
        """Why Redis takes no writes now, "" if it does. Changes nothing; `key` is that of a string."""


class RedisReader:
    """model.ReadModel over one Redis."""

    def __init__(self, commands: Commands, cluster: str) -> None:
        self._redis = commands
        self._keys = Keys(cluster)
        self._read = ""  # the instance last loaded: put_verdict names it

    def load(self) -> Loaded:
        while True:
            instance, revision = self._position()
            kinds = sorted(kind.decode() for kind in self._redis.call("SMEMBERS", self._keys.kinds))
            changed_at: dict[str, dict[str, float]] = {kind: {} for kind in (*kinds, VERDICTS)}
            objects = {kind: self._bodies(kind, changed_at[kind]) for kind in kinds}
            verdicts = self._bodies(VERDICTS, changed_at[VERDICTS])
            sync, slots = self._redis.pipe(("HGETALL", self._keys.sync), ("HGETALL", self._keys.node_slots))
            if self._position()[0] == instance:  # else everything was lost meanwhile
                break
        self._read = instance
        return Loaded(
            instance=instance,
            revision=revision,
            objects=objects,
            verdicts=verdicts,
            sync={kind.decode(): msgspec.json.decode(raw, type=SyncState) for kind, raw in sync.items()},
            node_slots={untext(name): int(slot) for name, slot in slots.items()},
            changed_at=changed_at,
        )

    def revision(self) -> int:
        return self._position()[1]

    def changes(self, instance: str, after: int, limit: int, block: float) -> list[Change]:
        found = self._changes_now(instance, after, limit)
        if found or block <= 0:
            return found
        wait = milliseconds(min(block, LONGEST_BLOCK))
        self._redis.wait("XREAD", "COUNT", 1, "BLOCK", wait, "STREAMS", self._keys.changes, f"{after}-0")
        return self._changes_now(instance, after, limit)

    def changes_before(self, revision: int, limit: int) -> list[Change]:
        if limit <= 0 or revision <= 0:
            return []
        entries = self._redis.call("XREVRANGE", self._keys.changes, f"({revision}-0", "-", "COUNT", limit)
        return [change_of(*entry) for entry in entries]

    def states_before(self, changes: Sequence[Change]) -> list[bytes | None]:
        states: list[bytes | None] = []
        for begin in range(0, len(changes), NAMES):
            part = changes[begin : begin + NAMES]
            # What a change superseded is in the history, never the state in force.
            answers = self._redis.pipe(*(("LRANGE", self._keys.history(c.kind, c.key), -RECENT, -1) for c in part))
            for change, recent in zip(part, answers, strict=True):
                if change.kind == SYNC:
                    states.append(None)
                    continue
                older = [r for r in reversed(recent) if revision_of(r) < change.revision]
                if older or len(recent) < RECENT:
                    states.append(before(map(entry_of, older[:1]), change.revision))
                else:
                    states.append(before(self._newest_first(change.kind, change.key), change.revision))
        return states

    def node_slots(self, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        slots = self._redis.call("HMGET", self._keys.node_slots, *map(text, names))
        return {name: int(slot) for name, slot in zip(names, slots, strict=True) if slot is not None}

    def verdict(self, pod: str) -> bytes | None:
        record = self._redis.call("HGET", self._keys.verdicts, text(pod))
        return None if record is None else entry_of(record).object

    def node_sets(self, digests: Sequence[str]) -> dict[str, bytes]:
        if not digests:
            return {}
        found = self._redis.call("HMGET", self._keys.node_sets, *map(text, digests))
        return {d: unpack(packed) for d, packed in zip(digests, found, strict=True) if packed is not None}

    def history(self, kind: str, key: str, start: float, end: float, limit: int) -> list[HistoryEntry]:
        return select(self._newest_first(kind, key), start, end, limit)

    def histories(
        self, names: Sequence[tuple[str, str]], start: float, end: float, limit: int
    ) -> list[list[HistoryEntry]]:
        if not names or limit <= 0:
            return [[] for _ in names]
        commands: list[tuple[Any, ...]] = [("HGET", self._keys.current(kind), text(key)) for kind, key in names]
        commands += [("LRANGE", self._keys.history(kind, key), -limit, -1) for kind, key in names]
        answers = self._redis.pipe(*commands)
        found = []
        for (kind, key), current, recent in zip(names, answers, answers[len(names) :], strict=False):
            newest_first = [*([] if current is None else [current]), *reversed(recent)]
            # Bodies of what is too new are not unpacked.
            entries = select((entry_of(r) for r in newest_first if time_of(r) <= end), start, end, limit)
            if len(recent) == limit and len(entries) < limit and not (entries and entries[0].at <= start):
                entries = self.history(kind, key, start, end, limit)
            found.append(entries)
        return found

    def states_at(self, at: float, also: Collection[tuple[str, str]]) -> dict[tuple[str, str], HistoryEntry | None]:
        names = sorted({*self.superseded_since(at), *also})
        states: dict[tuple[str, str], HistoryEntry | None] = {}
        for begin in range(0, len(names), NAMES):
            part = names[begin : begin + NAMES]
            commands: list[tuple[Any, ...]] = [("HGET", self._keys.current(kind), text(key)) for kind, key in part]
            commands += [("LRANGE", self._keys.history(kind, key), -RECENT, -1) for kind, key in part]
            answers = self._redis.pipe(*commands)
            for (kind, key), current, recent in zip(part, answers, answers[len(part) :], strict=False):
                records = [*([] if current is None else [current]), *reversed(recent)]
                known = next((r for r in records if time_of(r) <= at), None)
                if known is None and len(recent) == RECENT:
                    states[kind, key] = in_force(self._newest_first(kind, key), at)
                else:
                    states[kind, key] = None if known is None else in_force([entry_of(known)], at)
        return states

    def superseded_since(self, at: float) -> list[tuple[str, str]]:
        names: dict[tuple[str, str], None] = {}
        taken = 0  # from the end of the index
        while page := self._redis.call("LRANGE", self._keys.history_index, -taken - SCAN, -taken - 1):
            taken += len(page)
            for line in reversed(page):
                superseded_at, _, name = line.split(b" ", 2)
                if float(superseded_at) <= at:
                    return list(names)
                kind, _, key = name.partition(b":")
                names.setdefault((kind.decode(), untext(key)))
        return list(names)

    def history_start(self) -> float | None:
        start = self._redis.call("HGET", self._keys.meta, "history_start")
        return None if start is None else float(start)

    def lease(self) -> Lease | None:
        holder, left, epoch = self._redis.pipe(
            ("GET", self._keys.lease), ("PTTL", self._keys.lease), ("HGET", self._keys.meta, "epoch")
        )
        if holder is None or epoch is None:
            return None
        return Lease(untext(holder), int(epoch), max(left, 0) / 1000)

    def refuses_writes(self) -> str:
        return self._redis.refusal(self._keys.lease)

    def queue(self) -> Queue:
        count, due, leased = self._redis.pipe(
            ("HLEN", self._keys.due_info),
            ("ZRANGE", self._keys.due, 0, 0, "WITHSCORES"),
            ("ZRANGE", self._keys.leased, 0, LEASED - 1),
        )
        since = [float(score) for score in due[1:]]
        if leased:  # ordered by when their lease ends: since when they wait stands in their line
            lines = self._redis.call("HMGET", self._keys.due_info, *leased)
            since += [float(line.split(b"\n", 1)[0].split()[1]) for line in lines if line]
        # 0.0 with a count: between the two reads a judge finished all that was leased; nobody waits for long.
        return Queue(int(count), min(since, default=0.0))

    def figures(self) -> dict[str, float]:
        return {untext(name): float(value) for name, value in self._redis.call("HGETALL", self._keys.figures).items()}

    def memory(self) -> dict[str, int]:
        objects = [self._keys.current(kind.decode()) for kind in self._redis.call("SMEMBERS", self._keys.kinds)]
        names = (self._keys.changes, self._keys.verdicts, self._keys.node_sets, *objects)
        sizes = self._redis.pipe(
            ("HGET", self._keys.meta, "history_bytes"), *(("MEMORY USAGE", name, "SAMPLES", 20) for name in names)
        )
        history, changes, verdicts, node_sets, *rest = (int(size or 0) for size in sizes)
        return {
            "objects": sum(rest),
            "changes": changes,
            "history": history,
            "verdicts": verdicts,
            "nodesets": node_sets,
        }

    def _position(self) -> tuple[str, int]:
        instance, revision = self._redis.call("HMGET", self._keys.meta, "instance", "rev")
        return (instance or b"").decode(), int(revision or 0)

    def _bodies(self, kind: str, changed_at: dict[str, float]) -> dict[str, bytes]:
        """In steps, so that Redis answers others in between; what changes meanwhile is also in the change stream."""
        bodies: dict[str, bytes] = {}
        cursor = 0
        while True:
            cursor, records = self._redis.call_patiently("HSCAN", self._keys.current(kind), cursor, "COUNT", SCAN)
            for key, record in records.items():
                line, _, packed = record.partition(b"\n")
                bodies[untext(key)] = unpack(packed)
                changed_at[untext(key)] = float(line.split(b" ", 2)[1])
            if cursor == 0:
                return bodies

    def _changes_now(self, instance: str, after: int, limit: int) -> list[Change]:
        meta, entries = self._redis.pipe(
            ("HMGET", self._keys.meta, "instance", "rev"),
            ("XRANGE", self._keys.changes, f"({after}-0", "+", "COUNT", max(limit, 1)),
        )
        if (meta[0] or b"").decode() != instance:
            raise Trimmed("the model in Redis is a new one")
        # Revisions have no gaps, so the first one after `after` is missing only if it was trimmed.
        newest = int(meta[1] or 0)
        first = int(entries[0][0].split(b"-")[0]) if entries else newest + 1
        if first != after + 1:
            raise Trimmed(f"asked for changes after revision {after}; the next one kept is {first}, newest {newest}")
        return [change_of(*entry) for entry in entries]

    def _newest_first(self, kind: str, key: str) -> Iterator[HistoryEntry]:
        name = self._keys.history(kind, key)
        current, page = self._redis.pipe(("HGET", self._keys.current(kind), text(key)), ("LRANGE", name, -PAGE, -1))
        last = -1
        if current is not None:
            last = revision_of(current)
            yield entry_of(current)
        taken = 0
        while page:
            taken += len(page)
            for record in reversed(page):
                # An entry that arrives between two pages shifts them: skip what was seen.
                if last == -1 or revision_of(record) < last:
                    last = revision_of(record)
                    yield entry_of(record)
            page = self._redis.call("LRANGE", name, -taken - PAGE, -taken - 1)


def milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))  # 0 would mean "for ever" or be refused
