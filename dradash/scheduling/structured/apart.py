"""Nodes that are alike but for pools which give no devices, told apart by what is in these pools.

A verdict needs no such difference: no device of them can be allocated. A report tells how many they are and why, and
what would be if the pool were usable.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, NamedTuple

from dradash.kinds.node import Node
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling import nodeset
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.structured.columns import Columns
from dradash.scheduling.structured.devices import AllocationError
from dradash.scheduling.structured.inventory import Inventory, is_local
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.reading import Reading

MANY: Final = 32  # sets out of one: then those that differ in what is taken only stay together


class Apart(NamedTuple):
    """Sets of nodes, and the nodes that were not looked at."""

    sets: list[int]
    rest: int


def apart(sets: list[int], nodes: NodeTable, inventory: Inventory, reading: Reading, most: int) -> Apart:
    """most: nodes that are looked at, of those with devices in pools which give none."""
    found: list[int] = []
    rest = 0
    for members in sets:
        if members.bit_count() == 1 or not _unusable(nodes.first(members), inventory):
            found.append(members)
            continue
        slots = list(nodeset.slots(members))
        rest |= sum(1 << slot for slot in slots[most:])
        slots, most = slots[:most], max(0, most - len(slots))
        contents = [(slot, _contents(nodes.by_name[nodes.name(slot)], inventory, reading)) for slot in slots]
        by_contents = _grouped(contents)
        if len(by_contents) > MANY:
            by_contents = _grouped([(slot, seen) for slot, (seen, _) in contents])
        found += by_contents.values()
    return Apart(found, rest)


def _grouped(contents: Iterable[tuple[int, Hashable]]) -> dict[Hashable, int]:
    found: dict[Hashable, int] = {}
    for slot, content in contents:
        found[content] = found.get(content, 0) | 1 << slot
    return found


def _unusable(node: Node, inventory: Inventory) -> frozenset[PoolID]:
    """Pools with devices for the node of which it can be given none."""
    try:
        near = inventory.near(node)
    except AllocationError:
        return frozenset()
    return near.ids - {pool.id for pool in near.pools if pool.is_usable}


def _contents(node: Node, inventory: Inventory, reading: Reading) -> tuple[Hashable, Hashable]:
    """What is in them, in the order of the pools' names but without these; what of it is taken."""
    unusable = sorted(_unusable(node, inventory))
    reasons = {pool.id: (pool.is_incomplete, pool.invalid_reason) for pool in inventory.near(node).pools}
    seen = inventory.seen_from(node)
    slices = [item for id_ in unusable for item in seen.get(id_, [])]
    why = tuple((id_.driver, reasons.get(id_)) for id_ in unusable)
    columns = inventory.columns
    devices = tuple(_devices(columns, item, reading) for item in slices)
    return (why, devices), tuple(columns.taken(item) for item in slices if is_local(item))


def _devices(columns: Columns, item: ResourceSlice, reading: Reading) -> Hashable:
    return (len(item.spec.devices), columns.signature(item, reading)) if is_local(item) else item.name
