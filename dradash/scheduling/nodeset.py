"""A set of nodes is a Python integer used as a bit set: bit n is the node in slot n.

Slots are handed out by the model (store) when a node is first seen and are never given to another name, so a set in
an old verdict still means the same nodes. See docs/decisions/0002-node-sets.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator


def slots(nodes: int) -> Iterator[int]:
    """Slots in the set, ascending.

    Walks bytes: clearing the lowest bit again and again would copy the whole set for each member.
    """
    for position, byte in enumerate(to_bytes(nodes)):
        if byte:
            yield from (position * 8 + bit for bit in range(8) if byte >> bit & 1)


def to_bytes(nodes: int) -> bytes:
    return nodes.to_bytes((nodes.bit_length() + 7) // 8, "little")


def from_bytes(raw: bytes) -> int:
    return int.from_bytes(raw, "little")


def digest(nodes: int) -> str:
    """Content address of the set: 24 hex digits."""
    return hashlib.blake2b(to_bytes(nodes), digest_size=12).hexdigest()
