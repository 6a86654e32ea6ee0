"""Where upstream lets a Go map or the scores decide: the choice is a function of a seed here.

The same seed makes the same choice for the same options, so a verdict can be computed again; what else upstream might
have chosen is listed beside it (verdict.Choice).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, TypeVar

from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE
from dradash.scheduling import nodeset
from dradash.scheduling.nodetable import NodeTable

T = TypeVar("T")


# A small Go map keeps its entries in eight places, in the order they were put in; iterating begins at a random place.
_GO_MAP_PLACES: Final = 8


class Seed:
    """number: any whole number; `of` makes one from text."""

    def __init__(self, number: int) -> None:
        self._number = number

    @property
    def number(self) -> int:
        return self._number

    @classmethod
    def of(cls, text: str) -> Seed:
        return cls(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"))

    def map_order(self, entries: Sequence[T]) -> list[T]:
        """The entries (in the order they were put in) as Go might iterate over a map of them.

        The first one comes first seven times out of eight for two entries, as with a real map: a choice that people
        see in the cluster is as likely here.
        """
        start = self._number % max(_GO_MAP_PLACES, len(entries))
        return [*entries[start:], *entries[:start]]

    def node(self, nodes: NodeTable, feasible: int) -> str:
        """One of the feasible nodes (there must be one)."""
        upper = feasible >> self._start(feasible)
        low = upper or feasible
        first = (low & -low).bit_length() - 1
        return nodes.name(first + self._start(feasible) if upper else first)

    def nodes(self, nodes: NodeTable, feasible: int) -> list[str]:
        """All feasible nodes, or NODE_LIST_MAX_SIZE of them: a run of slots that begins at a place of the seed's."""
        if feasible.bit_count() <= NODE_LIST_MAX_SIZE:
            return nodes.names(feasible)
        return nodes.slot_names(self._run(feasible, NODE_LIST_MAX_SIZE))

    def _start(self, nodes: int) -> int:
        return self._number % max(nodes.bit_length(), 1)

    def _run(self, nodes: int, count: int) -> list[int]:
        """Up to `count` slots of the set, from the seed's place upwards and then around."""
        start = self._start(nodes)
        slots = [start + slot for slot in nodeset.slots(nodes >> start, count)]
        if len(slots) < count:
            slots += nodeset.slots(nodes & ((1 << start) - 1), count - len(slots))
        return slots
