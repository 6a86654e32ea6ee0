"""The model in Redis (or Valkey).

Whatever must move together is one script (lua/): it runs alone in Redis, so readers see all of it or nothing. Scripts
are safe to send again when the answer got lost: what is already there is no change.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dradash.store.encoding import fingerprint, join_hints, pack, split_hints, unpack
from dradash.store.history import ENTRY_OVERHEAD, HINTS_KEPT, NODE_SET_GRACE
from dradash.store.keys import Keys, text, untext
from dradash.store.model import (
    VERDICTS,
    Change,
    DuePod,
    StaleEpoch,
    SyncState,
    Write,
)
from dradash.store.records import TYPES, parts
from dradash.store.redis_connection import ANSWER_WITHIN, Connection
from dradash.store.redis_reader import RedisReader, milliseconds

DUE_PER_SCRIPT: Final = 1000
STEPS_PER_SCRIPT: Final = 1000


class RedisModel(RedisReader):
    """model.Model over one Redis (redis:// or unix:// URL).

    answer_within: as Connection's; less than it has unless given is for who only reads.
    """

    def __init__(
        self,
        url: str,
        *,
        cluster: str = "default",
        changes_length: int = 20_000,
        history_seconds: float = 24 * 3600.0,
        history_bytes: int = 256 * 1024 * 1024,
        answer_within: float = ANSWER_WITHIN,
    ) -> None:
        self._connection = Connection(url, Keys(cluster).prefix, answer_within)
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


def _with_hints(due: Sequence[DuePod]) -> list[tuple[bytes, int, bytes]]:
    """As the script takes them, one hint a line."""
    return [(text(d.pod), d.revision, b"\n".join(split_hints(d.hints)[-HINTS_KEPT:])) for d in due]


def _stale(epoch: int) -> StaleEpoch:
    return StaleEpoch(f"epoch {epoch} is over: another informer leads, or Redis was emptied")
