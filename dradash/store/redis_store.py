"""The model in Redis (or Valkey). The only module that imports redis.

Whatever must move together is one script (lua/): it runs alone in Redis, so readers see all of it or nothing. Scripts
are safe to send again when the answer got lost: what is already there is no change.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
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
from dradash.store.history import ENTRY_OVERHEAD, HINTS_KEPT, NODE_SET_GRACE
from dradash.store.keys import Keys, text, untext
from dradash.store.model import (
    VERDICTS,
    Change,
    DuePod,
    StaleEpoch,
    StoreUnavailable,
    SyncState,
    Write,
)
from dradash.store.records import TYPES, parts
from dradash.store.redis_reader import LONGEST_BLOCK, RedisReader, milliseconds

DUE_PER_SCRIPT: Final = 1000
STEPS_PER_SCRIPT: Final = 1000
# An answer that takes longer is a hang; blocking reads get this on top of what they wait at most.
ANSWER_WITHIN: Final = 10.0


class Connection:
    """One Redis, its errors and its scripts. Thread-safe and fork-safe; connects when first used."""

    def __init__(self, url: str, prefix: str) -> None:
        # Any: redis-py does not type execute_command, and its typed methods answer "an awaitable or the value".
        self._client: Any = _client(url, ANSWER_WITHIN)
        # redis-py would cut a waiting read after its default 5 s; no limit at all would wait for ever on a dead peer.
        self._waiting: Any = _client(url, LONGEST_BLOCK + ANSWER_WITHIN)
        self._where = _where(self._client)
        self._prefix = prefix
        self._scripts: dict[str, tuple[str, bytes]] = {}

    def close(self) -> None:
        self._client.close()
        self._waiting.close()

    def call(self, *command: Any) -> Any:
        with self._errors():
            return self._client.execute_command(*command)

    def pipe(self, *commands: tuple[Any, ...]) -> list[Any]:
        with self._errors():
            pipe = self._client.pipeline(transaction=True)
            for command in commands:
                pipe.execute_command(*command)
            return list(pipe.execute())

    def wait(self, *command: Any) -> Any:
        with self._errors():
            return self._waiting.execute_command(*command)

    def refusal(self, key: str) -> str:
        try:
            self._client.execute_command("SETRANGE", key, 0, b"")  # a write by its name, which writes nothing
        except RedisError as error:
            if isinstance(error, OutOfMemoryError) or any(word in str(error) for word in ("OOM ", "MISCONF")):
                return _advice(error, self._where)
            # What a reader alone may meet (a replica, a user who may only read) says nothing of the leader.
        return ""

    def run(self, name: str, *args: Any) -> Any:
        """Run lua/<name>.lua."""
        if name not in self._scripts:
            body = _script(name)
            self._scripts[name] = (hashlib.sha1(body, usedforsecurity=False).hexdigest(), body)
        digest, body = self._scripts[name]
        with self._errors():
            try:
                return self._client.execute_command("EVALSHA", digest, 1, self._prefix, *args)
            except NoScriptError:  # a new Redis, or one that restarted
                return self._client.execute_command("EVAL", body, 1, self._prefix, *args)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            raise StoreUnavailable(_advice(error, self._where)) from error


class RedisModel(RedisReader):
    """model.Model over one Redis (redis:// or unix:// URL)."""

    def __init__(
        self,
        url: str,
        *,
        cluster: str = "default",
        changes_length: int = 20_000,
        history_seconds: float = 24 * 3600.0,
        history_bytes: int = 256 * 1024 * 1024,
    ) -> None:
        self._connection = Connection(url, Keys(cluster).prefix)
        super().__init__(self._connection, cluster)
        self._run = self._connection.run
        self._changes_length = changes_length
        self._history_seconds = history_seconds
        self._history_bytes = history_bytes
        self._led = ""  # the instance that this object stood for election in: every write of the leader names it
        self._highest_epoch = 0

    def close(self) -> None:
        self._connection.close()

    # --- the leader

    def acquire(self, holder: str, ttl: float) -> int | None:
        reply = self._run("acquire", text(holder), milliseconds(ttl), uuid.uuid4().hex, self._highest_epoch + 1)
        if not reply:
            return None
        self._highest_epoch, self._led = int(reply[0]), reply[1].decode()
        return self._highest_epoch

    def renew(self, holder: str, epoch: int, ttl: float) -> bool:
        return bool(self._run("renew", text(holder), epoch, self._led, milliseconds(ttl)))

    def release(self, holder: str, epoch: int) -> None:
        self._run("release", text(holder), epoch, self._led)

    def apply(self, epoch: int, writes: Sequence[Write], due: Sequence[DuePod], at: float) -> list[Change]:
        changes: list[Change] = []
        batches = list(parts(writes))
        # Every part marks the pods, for a leader that dies between two parts must leave no change unjudged.
        unexplained = [(text(d.pod), d.revision, b"") for d in due]
        explained = _with_hints(due)
        for part in batches[:-1]:
            changes += self._apply_part(epoch, part, unexplained, at)
        return changes + self._apply_part(epoch, batches[-1] if batches else [], explained, at)

    def mark_due(self, epoch: int, due: Sequence[DuePod]) -> None:
        explained = _with_hints(due)
        for first in range(0, max(len(due), 1), DUE_PER_SCRIPT):
            self._apply_part(epoch, [], explained[first : first + DUE_PER_SCRIPT], time.time())

    def _apply_part(
        self, epoch: int, part: Sequence[tuple[Write, bytes]], due: Sequence[tuple[bytes, int, bytes]], at: float
    ) -> list[Change]:
        args: list[Any] = [epoch, self._led, repr(at), self._changes_length, ENTRY_OVERHEAD, HINTS_KEPT, len(part)]
        for write, packed in part:
            args += (write.kind, text(write.key), write.type, packed)
        args.append(len(due))
        for pod in due:
            args += pod
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
        body, lasting = msgspec.json.encode(state), msgspec.json.encode(state.lasting())
        args = (state.kind, body, pack(body), pack(lasting), ENTRY_OVERHEAD)
        if not self._run("set_sync", epoch, self._led, repr(at), self._changes_length, *args):
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
        return int(self._redis.call("HLEN", self._keys.due_info))

    def put_verdict(self, pod: str, revision: int, verdict: bytes, node_sets: dict[str, bytes], at: float) -> bool:
        if bad := [digest for digest in node_sets if not digest.isalnum()]:
            raise ValueError(f"no digest of a node set: {bad[0]!r}")
        args: list[Any] = [self._read, text(pod), revision, repr(at), self._changes_length, ENTRY_OVERHEAD]
        args += (fingerprint(verdict), ",".join(node_sets) or "-", pack(verdict))
        for digest, nodes in node_sets.items():
            args += (digest, pack(nodes))
        return bool(self._run("put_verdict", *args))

    def add_figures(self, figures: Mapping[str, float]) -> None:
        if figures:
            commands = [("HINCRBYFLOAT", self._keys.figures, name, repr(value)) for name, value in figures.items()]
            self._redis.pipe(*commands)


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


def _with_hints(due: Sequence[DuePod]) -> list[tuple[bytes, int, bytes]]:
    """As the script takes them, one hint a line."""
    return [(text(d.pod), d.revision, b"\n".join(split_hints(d.hints)[-HINTS_KEPT:])) for d in due]


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
