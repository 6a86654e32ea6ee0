"""How changes, objects and history entries look in Redis, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dradash.store.encoding import pack, unpack
from dradash.store.keys import untext
from dradash.store.model import Change, HistoryEntry, Write

TYPES: Final = {b"A": "ADDED", b"M": "MODIFIED", b"D": "DELETED"}
# One script must stay short: Redis answers nobody else while it runs (500 writes take about 15 ms).
WRITES_PER_SCRIPT: Final = 500
BYTES_PER_SCRIPT: Final = 4 * 1024 * 1024


def parts(writes: Sequence[Write]) -> Iterator[list[tuple[Write, bytes]]]:
    """The writes with their packed bodies, in batches that one script may hold."""
    part: list[tuple[Write, bytes]] = []
    size = 0
    for write in writes:
        packed = pack(write.object)
        if part and (len(part) >= WRITES_PER_SCRIPT or size + len(packed) > BYTES_PER_SCRIPT):
            yield part
            part, size = [], 0
        part.append((write, packed))
        size += len(packed)
    if part:
        yield part


def revision_of(record: bytes) -> int:
    return int(record[: record.index(b" ")])


def time_of(record: bytes) -> float:
    return float(record.split(b" ", 2)[1])


def entry_of(record: bytes) -> HistoryEntry:
    line, _, packed = record.partition(b"\n")
    revision, at, letter = line.split(b" ", 3)[:3]
    return HistoryEntry(int(revision), float(at), TYPES[letter], unpack(packed))


def change_of(entry_id: bytes, fields: dict[bytes, bytes]) -> Change:
    return Change(
        revision=int(entry_id.split(b"-")[0]),
        kind=fields[b"k"].decode(),
        key=untext(fields[b"y"]),
        type=fields[b"t"].decode(),
        object=unpack(fields[b"o"]),
        at=float(fields[b"a"]),
    )
