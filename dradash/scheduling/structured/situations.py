"""Which nodes have the same devices with the same ones taken, as far as a reading can tell.

Most nodes of a cluster do: Filter asks one node of each situation. Moving a node costs its own devices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final

from dradash.kinds.node import Node
from dradash.kinds.resourceslice import Device, ResourceSlice
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.structured.devices import AllocatedState, AllocationError, DeviceID
from dradash.scheduling.structured.pools import Pool, node_matches
from dradash.scheduling.structured.reading import Reading, seen

Situation = Hashable

_UNREADABLE: Final = "unreadable selector"


class Situations:
    def __init__(self, reading: Reading, pools: Callable[[Node], list[Pool]], taken: AllocatedState) -> None:
        self._reading, self._pools, self._taken = reading, pools, taken
        self._situation: dict[str, Situation] = {}
        self._nodes: dict[Situation, int] = {}
        self._stale: set[str] | None = None  # None: nothing was looked at yet
        self._seen: dict[Hashable, int] = {}  # what is seen of a device -> a number for it

    def outdate(self, node: str) -> None:
        if self._stale is not None:
            self._stale.add(node)

    def nodes(self, table: NodeTable) -> Mapping[Situation, int]:
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
            pools = self._pools(node)
        except AllocationError as error:
            return (node.name, str(error))
        if any(pool.counter_sets for pool in pools):
            return (node.name,)  # counters are kept by pool name over all nodes of an attempt: no two nodes are alike
        return tuple(self._of_pool(pool, node) for pool in pools)

    def _of_pool(self, pool: Pool, node: Node) -> Hashable:
        if not pool.is_usable:
            return (pool.id.driver, pool.is_incomplete, pool.invalid_reason)
        return (pool.id.driver, *(self._of_slice(item, node) for item in pool.here))

    def _of_slice(self, item: ResourceSlice, node: Node) -> Hashable:
        if not item.spec.node_name:
            # The same slice seen from several nodes: what is taken of it is the same for all of them.
            if not item.spec.per_device_node_selection:
                return item.name
            return (item.name, tuple(_reaches(device, node) for device in item.spec.devices))
        driver, pool = item.spec.driver, item.spec.pool.name
        return tuple(self._of_device(DeviceID(driver, pool, d.name), d) for d in item.spec.devices)

    def _of_device(self, id_: DeviceID, device: Device) -> Hashable:
        what = seen(id_.driver, device, self._reading)
        number = self._seen.setdefault(what, len(self._seen))
        if id_ in self._taken.devices:
            return -1 - number
        if id_ not in self._taken.shared:
            return number
        capacity = self._taken.capacity.get(id_, {})
        return (number, tuple(sorted((name, str(amount)) for name, amount in capacity.items())))


def _reaches(device: Device, node: Node) -> bool | str:
    try:
        return node_matches(node, device.node_name, device.all_nodes, device.node_selector)
    except AllocationError:
        return _UNREADABLE
