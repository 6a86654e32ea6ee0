"""Which nodes have the same devices with the same ones taken, as far as a reading can tell.

Most nodes of a cluster do: Filter asks one node of each situation. Moving a node costs its own devices.

Upstream keeps what is left of counters by the pool's name, over all nodes of an attempt. Where only one node has
devices that consume counters of pools of a name, no other node can have a part in that; else the node is like no other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple

import msgspec

from dradash.kinds.node import Node
from dradash.kinds.resourceslice import Device, ResourceSlice
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.structured.columns import Columns
from dradash.scheduling.structured.counterpools import CounterPools, Unusable
from dradash.scheduling.structured.devices import AllocationError
from dradash.scheduling.structured.pools import Pool, PoolID, node_matches
from dradash.scheduling.structured.reading import Reading

Situation = Hashable


class Near(NamedTuple):
    """What a node has devices of. pools: in the order in which they are tried; ids: also of those that are passed over
    because a newer generation is elsewhere."""

    pools: list[Pool]
    ids: frozenset[PoolID]


_UNREADABLE: Final = "unreadable selector"


class Situations:
    def __init__(
        self, reading: Reading, near: Callable[[Node], Near], counters: CounterPools, columns: Columns
    ) -> None:
        self._reading, self._near, self._counters, self._columns = reading, near, counters, columns
        self._unusable: frozenset[Unusable] = frozenset()  # when the nodes were looked at
        self._situation: dict[str, Situation] = {}
        self._nodes: dict[Situation, int] = {}
        self._stale: set[str] | None = None  # None: nothing was looked at yet

    def outdate(self, node: str) -> None:
        if self._stale is not None:
            self._stale.add(node)

    def nodes(self, table: NodeTable) -> Mapping[Situation, int]:
        unusable = self._counters.unusable()
        if unusable is not self._unusable:
            self._unusable = unusable
            if self._stale is not None:
                self._stale |= table.by_name.keys()
        for name in table.by_name if self._stale is None else self._stale:
            self._move(name, table)
        self._stale = set()
        return self._nodes

    def _move(self, name: str, table: NodeTable) -> None:
        bit = table.bit(name)
        old = self._situation.pop(name, None)
        if old is not None:
            left = self._nodes[old] & ~bit
            if left:
                self._nodes[old] = left
            else:
                del self._nodes[old]
        node = table.by_name.get(name)
        if node is not None:
            new = self._situation[name] = self._of(node)
            self._nodes[new] = self._nodes.get(new, 0) | bit

    def _of(self, node: Node) -> Situation:
        try:
            near = self._near(node)
        except AllocationError as error:
            return (node.name, str(error))
        if any(self._shares_counters(pool, node) for pool in near.pools):
            return (node.name,)
        places = {pool.id.pool: place for place, pool in reversed(list(enumerate(near.pools)))}
        own: tuple[Hashable, ...] = tuple(self._of_pool(pool, node, places[pool.id.pool]) for pool in near.pools)
        if len(near.ids) > len(near.pools):
            own = (*own, "passed over")  # no device of these is given, but a report tells of them (apart.py)
        return (own, *self._elsewhere(near)) if self._unusable else own

    def _elsewhere(self, near: Near) -> tuple[bool, bool]:
        """Whether some pool cannot be used, and whether one is invalid, of which the node has no device.

        Which ones they are is only in the words of errors.
        """
        return (
            any(id_ not in near.ids for id_, _, _ in self._unusable),
            any(invalid and id_ not in near.ids for id_, _, invalid in self._unusable),
        )

    def _shares_counters(self, pool: Pool, node: Node) -> bool:
        """Whether another node may take of the pool's counters, or of those of a pool with the same name."""
        if not pool.counter_sets or not any(d.consumes_counters for s in pool.here for d in s.spec.devices):
            return False
        return set(self._counters.consumers(pool.id.pool)) != {node.name}

    def _of_pool(self, pool: Pool, node: Node, place: int) -> Hashable:
        """place: of the node's first pool of that name; pools of one name have their counters in common."""
        if not pool.is_usable:  # what is in it is only told: apart.py
            return (pool.id.driver, pool.is_incomplete, pool.invalid_reason)
        slices = tuple(self._of_slice(item, node) for item in pool.here)
        if not pool.counter_sets:
            return (pool.id.driver, *slices)
        return (pool.id.driver, place, msgspec.json.encode(pool.counter_sets), slices)

    def _of_slice(self, item: ResourceSlice, node: Node) -> Hashable:
        if not item.spec.node_name:
            # The same slice seen from several nodes: what is taken of it is the same for all of them.
            if not item.spec.per_device_node_selection:
                return item.name
            return (item.name, tuple(_reaches(device, node) for device in item.spec.devices))
        columns = self._columns
        return (len(item.spec.devices), columns.taken(item), columns.signature(item, self._reading))


def _reaches(device: Device, node: Node) -> bool | str:
    try:
        return node_matches(node, device.node_name, device.all_nodes, device.node_selector)
    except AllocationError:
        return _UNREADABLE
