"""The model in Redis (or Valkey). The only module that imports redis.

Whatever must move together is one script (lua/): it runs alone in Redis, so readers see all of it or nothing. Scripts
are safe to send again when the answer got lost: what is already there is no change.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final

import msgspec
import redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ConnectionError,  # noqa: A004  redis' own name; the builtin is not used here
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    TimeoutError,  # noqa: A004
)
from redis.retry import Retry

from dradash.store import keys
from dradash.store.encoding import fingerprint, join_hints, pack, split_hints, unpack
from dradash.store.history import ENTRY_OVERHEAD, HINTS_KEPT, NODE_SET_GRACE, select
from dradash.store.keys import Keys, text, untext
from dradash.store.model import (
    SYNC,
    VERDICTS,
    Change,
    DuePod,
    HistoryEntry,
    Lease,
    Loaded,
    StaleEpoch,
    StoreUnavailable,
    SyncState,
    Trimmed,
    Write,
)
from dradash.store.records import TYPES, change_of, entry_of, parts, revision_of

DUE_PER_SCRIPT: Final = 1000
STEPS_PER_SCRIPT: Final = 1000
SCAN: Final = 1000
PAGE: Final = 100
# An answer that takes longer is a hang; blocking reads get this on top of what they wait at most.
ANSWER_WITHIN: Final = 10.0
LONGEST_BLOCK: Final = 30.0


class RedisModel:
    """model.Model over one Redis. Thread-safe and fork-safe; connects when first used."""

    def __init__(
        self,
        url: str,
        *,
        cluster: str = "default",
        changes_length: int = 20_000,
        history_seconds: float = 24 * 3600.0,
        history_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._keys = Keys(cluster)
        self._changes_length = changes_length
        self._history_seconds = history_seconds
        self._history_bytes = history_bytes
        # Any: redis-py does not type execute_command, and its typed methods answer "an awaitable or the value".
        self._redis: Any = _client(url, ANSWER_WITHIN)
        # redis-py would cut a waiting read after its default 5 s; no limit at all would wait for ever on a dead peer.
        self._waiting: Any = _client(url, LONGEST_BLOCK + ANSWER_WITHIN)
        self._where = _where(self._redis)
        self._scripts: dict[str, tuple[str, bytes]] = {}
        # The model that this object stood for election in, and the one it last loaded: see `acquire`, `put_verdict`.
        self._led = ""
        self._highest_epoch = 0
        self._read = ""

    def close(self) -> None:
        self._redis.close()
        self._waiting.close()

    # --- the leader

    def acquire(self, holder: str, ttl: float) -> int | None:
        reply = self._run("acquire", text(holder), _milliseconds(ttl), uuid.uuid4().hex, self._highest_epoch + 1)
        if not reply:
            return None
        self._highest_epoch, self._led = int(reply[0]), reply[1].decode()
        return self._highest_epoch

    def renew(self, holder: str, epoch: int, ttl: float) -> bool:
        return bool(self._run("renew", text(holder), epoch, self._led, _milliseconds(ttl)))

    def release(self, holder: str, epoch: int) -> None:
        self._run("release", text(holder), epoch, self._led)

    def apply(self, epoch: int, writes: Sequence[Write], due: Sequence[DuePod], at: float) -> list[Change]:
        changes: list[Change] = []
        batches = list(parts(writes))
        # Every part marks the pods, for a leader that dies between two parts must leave no change unjudged.
        unexplained = [DuePod(d.pod, d.revision) for d in due]
        for part in batches[:-1]:
            changes += self._apply_part(epoch, part, unexplained, at)
        return changes + self._apply_part(epoch, batches[-1] if batches else [], due, at)

    def mark_due(self, epoch: int, due: Sequence[DuePod]) -> None:
        for first in range(0, len(due), DUE_PER_SCRIPT):
            self._apply_part(epoch, [], due[first : first + DUE_PER_SCRIPT], time.time())

    def _apply_part(
        self, epoch: int, part: Sequence[tuple[Write, bytes]], due: Sequence[DuePod], at: float
    ) -> list[Change]:
        args: list[Any] = [epoch, self._led, repr(at), self._changes_length, ENTRY_OVERHEAD, HINTS_KEPT, len(part)]
        for write, packed in part:
            args += (write.kind, text(write.key), write.type, packed)
        args.append(len(due))
        for pod in due:
            args += (text(pod.pod), pod.revision, b"\n".join(split_hints(pod.hints)[-HINTS_KEPT:]))
        reply = self._run("apply", *args)
        if reply is None:
            raise _stale(epoch)
        changes = []
        for number, revision, letter, *verdict in reply:
            write = part[number - 1][0]
            kind, body = (VERDICTS, unpack(verdict[0])) if verdict else (write.kind, write.object)
            changes.append(Change(revision, kind, write.key, TYPES[letter], body, at))
        return changes

    def set_sync(self, epoch: int, state: SyncState, at: float) -> None:
        body = msgspec.json.encode(state)
        if not self._run("set_sync", epoch, self._led, repr(at), self._changes_length, state.kind, body, pack(body)):
            raise _stale(epoch)

    def housekeep(self, epoch: int, now: float) -> None:
        keep = (repr(now - self._history_seconds), self._history_bytes, repr(now - NODE_SET_GRACE), STEPS_PER_SCRIPT)
        more: int | None = 1
        while more:
            more = self._run("housekeep", epoch, self._led, *keep)
        if more is None:
            raise _stale(epoch)

    # --- the judges

    def take_due(self, now: float, limit: int, lease: float) -> list[DuePod]:
        if limit <= 0:
            return []
        reply = self._run("take_due", repr(now), limit, repr(now + lease))
        taken = []
        for pod, info in zip(reply[::2], reply[1::2], strict=True):
            line, *notes = info.split(b"\n")
            taken.append(DuePod(untext(pod), int(line.split()[0]), join_hints([n for n in notes if n])))
        return taken

    def count_due(self) -> int:
        return int(self._call("HLEN", self._keys.due_info))

    def put_verdict(self, pod: str, revision: int, verdict: bytes, node_sets: dict[str, bytes], at: float) -> bool:
        if bad := [digest for digest in node_sets if not digest.isalnum()]:
            raise ValueError(f"no digest of a node set: {bad[0]!r}")
        args: list[Any] = [self._read, text(pod), revision, repr(at), self._changes_length, ENTRY_OVERHEAD]
        args += (fingerprint(verdict), ",".join(node_sets) or "-", pack(verdict))
        for digest, nodes in node_sets.items():
            args += (digest, pack(nodes))
        return bool(self._run("put_verdict", *args))

    # --- the readers

    def load(self) -> Loaded:
        while True:
            instance, revision = self._position()
            kinds = sorted(kind.decode() for kind in self._call("SMEMBERS", self._keys.kinds))
            objects = {kind: self._bodies(kind) for kind in kinds}
            verdicts = self._bodies(VERDICTS)
            sync, slots = self._pipe(("HGETALL", self._keys.sync), ("HGETALL", self._keys.node_slots))
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
        )

    def revision(self) -> int:
        return self._position()[1]

    def changes(self, instance: str, after: int, limit: int, block: float) -> list[Change]:
        found = self._changes_now(instance, after, limit)
        if found or block <= 0:
            return found
        wait = _milliseconds(min(block, LONGEST_BLOCK))
        with self._errors():
            self._waiting.execute_command(
                "XREAD", "COUNT", 1, "BLOCK", wait, "STREAMS", self._keys.changes, f"{after}-0"
            )
        return self._changes_now(instance, after, limit)

    def node_slots(self, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        slots = self._call("HMGET", self._keys.node_slots, *map(text, names))
        return {name: int(slot) for name, slot in zip(names, slots, strict=True) if slot is not None}

    def node_set(self, digest: str) -> bytes | None:
        packed = self._call("HGET", self._keys.node_sets, text(digest))
        return None if packed is None else unpack(packed)

    def history(self, kind: str, key: str, start: float, end: float, limit: int) -> list[HistoryEntry]:
        return [] if kind == SYNC else select(self._newest_first(kind, key), start, end, limit)

    def history_start(self) -> float | None:
        start = self._call("HGET", self._keys.meta, "history_start")
        return None if start is None else float(start)

    def lease(self) -> Lease | None:
        holder, left, epoch = self._pipe(
            ("GET", self._keys.lease), ("PTTL", self._keys.lease), ("HGET", self._keys.meta, "epoch")
        )
        if holder is None or epoch is None:
            return None
        return Lease(untext(holder), int(epoch), max(left, 0) / 1000)

    def memory(self) -> dict[str, int]:
        objects = [self._keys.current(kind.decode()) for kind in self._call("SMEMBERS", self._keys.kinds)]
        names = (self._keys.changes, self._keys.verdicts, self._keys.node_sets, *objects)
        sizes = self._pipe(
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

    # --- reading, in parts

    def _position(self) -> tuple[str, int]:
        instance, revision = self._call("HMGET", self._keys.meta, "instance", "rev")
        return (instance or b"").decode(), int(revision or 0)

    def _bodies(self, kind: str) -> dict[str, bytes]:
        """In steps, so that Redis answers others in between; what changes meanwhile is also in the change stream."""
        bodies: dict[str, bytes] = {}
        cursor = 0
        while True:
            cursor, records = self._call("HSCAN", self._keys.current(kind), cursor, "COUNT", SCAN)
            for key, record in records.items():
                bodies[untext(key)] = unpack(record[record.index(b"\n") + 1 :])
            if cursor == 0:
                return bodies

    def _changes_now(self, instance: str, after: int, limit: int) -> list[Change]:
        meta, entries = self._pipe(
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
        current, page = self._pipe(("HGET", self._keys.current(kind), text(key)), ("LRANGE", name, -PAGE, -1))
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
            page = self._call("LRANGE", name, -taken - PAGE, -taken - 1)

    # --- talking to Redis

    def _call(self, *command: Any) -> Any:
        with self._errors():
            return self._redis.execute_command(*command)

    def _pipe(self, *commands: tuple[Any, ...]) -> list[Any]:
        """One transaction: the answers belong to one moment."""
        with self._errors():
            pipe = self._redis.pipeline(transaction=True)
            for command in commands:
                pipe.execute_command(*command)
            return list(pipe.execute())

    def _run(self, name: str, *args: Any) -> Any:
        if name not in self._scripts:
            body = _script(name)
            self._scripts[name] = (hashlib.sha1(body, usedforsecurity=False).hexdigest(), body)
        digest, body = self._scripts[name]
        with self._errors():
            try:
                return self._redis.execute_command("EVALSHA", digest, 1, self._keys.prefix, *args)
            except NoScriptError:  # a new Redis, or one that restarted
                return self._redis.execute_command("EVAL", body, 1, self._keys.prefix, *args)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            raise StoreUnavailable(_advice(error, self._where)) from error


def _client(url: str, timeout: float) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        protocol=2,
        decode_responses=False,
        socket_timeout=timeout,
        socket_connect_timeout=3.0,
        health_check_interval=30,
        # For a connection that Redis closed while it was idle. The caller has the backoff for the rest.
        retry=Retry(ExponentialBackoff(cap=0.1, base=0.01), 1),
    )


def _script(name: str) -> bytes:
    folder = files("dradash.store") / "lua"
    parts = (keys.lua_prelude(), *((folder / f"{part}.lua").read_text() for part in ("shared", name)))
    return "\n".join(parts).encode()


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))  # 0 would mean "for ever" or be refused


def _stale(epoch: int) -> StaleEpoch:
    return StaleEpoch(f"epoch {epoch} is over: another informer leads, or Redis was emptied")


def _where(client: redis.Redis) -> str:
    """Where Redis is, without the password that a URL may carry."""
    kwargs = client.connection_pool.connection_kwargs
    return str(kwargs.get("path") or f"{kwargs.get('host', 'localhost')}:{kwargs.get('port', 6379)}")


# What kind of error, or what its text says -> what to do. The first that fits counts.
_ADVICE: Final[tuple[tuple[tuple[type[RedisError], ...], str, str], ...]] = (
    ((BusyLoadingError,), "LOADING", "is still loading its data: wait"),
    (
        (AuthenticationError, NoPermissionError),
        "NOAUTH",
        "refuses the user: put the right user and password into REDIS_URL",
    ),
    ((ReadOnlyError,), "READONLY", "is a read-only replica: point REDIS_URL at the primary"),
    (
        (OutOfMemoryError,),
        "OOM ",
        "is out of memory: raise its maxmemory, or lower DRADASH_HISTORY_BYTES or DRADASH_CHANGES_LENGTH",
    ),
    ((), "MISCONF", "cannot write to its disk and therefore refuses changes: mend that"),
    ((ConnectionError, TimeoutError), "CLUSTERDOWN", "cannot be reached: start it, or set REDIS_URL"),
)


def _advice(error: RedisError, where: str) -> str:
    says = str(error)
    for types, word, advice in _ADVICE:
        if isinstance(error, types) or word in says:
            return f"Redis at {where} {advice} ({says})"
    return f"Redis at {where} refuses: {says}"
