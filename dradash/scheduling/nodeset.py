"""A set of nodes is a Python integer used as a bit set: bit n is the node in slot n.

Slots are handed out by the model (store) when a node is first seen and are never given to another name, so a set in
an old verdict still means the same nodes. See docs/decisions/0002-node-sets.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import compress, count, islice
from typing import Final

_START: Final = (1 << 2048) - 1
_FLAGS: Final = bytes.maketrans(b"01", b"\x00\x01")


def slots(nodes: int, limit: int | None = None) -> list[int]:
    """Slots in the set, ascending; the first `limit` of them if that is given."""
    if limit is None:
        return _slots(nodes, None)
    # The first ones of a large set are mostly near its start: look there first.
    found = _slots(nodes & _START, limit)
    return found if len(found) == limit else _slots(nodes, limit)


def _slots(nodes: int, limit: int | None) -> list[int]:
    # Clearing the lowest bit again and again would copy the whole set for each member; this walks it once, in C.
    flags = bin(nodes)[:1:-1].encode().translate(_FLAGS)
    return list(islice(compress(count(), flags), limit))


def of_slots(members: Iterable[int]) -> int:
    """The set with these slots."""
    slots_in = members if isinstance(members, (set, list, tuple)) else list(members)
    if len(slots_in) <= 1:
        return sum(1 << slot for slot in slots_in)
    # A byte array is filled in one step a member; or-ing integers would copy the whole set each time.
    bits = bytearray(max(slots_in) // 8 + 1)
    for slot in slots_in:
        bits[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(bits, "little")


def to_bytes(nodes: int) -> bytes:
    return nodes.to_bytes((nodes.bit_length() + 7) // 8, "little")


def from_bytes(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def digest(nodes: int) -> str:
    """Content address of the set: 24 hex digits."""
    return hashlib.blake2b(to_bytes(nodes), digest_size=12).hexdigest()
