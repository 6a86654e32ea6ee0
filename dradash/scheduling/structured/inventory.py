"""The devices of the cluster, what is taken of them, and which nodes have the same of both. Adjusted change by change.

Most nodes of a cluster offer the same devices with the same ones taken: Filter asks one node of each such situation.
How it grows: a change of a slice or an allocation costs the nodes that see that pool, which is one for devices of a
node, all for a slice that no node owns (its allocations cost nothing: they are the same seen from everywhere).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.node import Node
from dradash.kinds.resourceslice import Device, ResourceSlice
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.structured.devices import (
    AllocatedState,
    AllocationError,
    Capacities,
    DeviceID,
    add_capacity,
    amount,
    remove_capacity,
)
from dradash.scheduling.structured.pools import Pool, PoolID, gather_pools, node_matches

Situation = Hashable


class Held(msgspec.Struct, frozen=True):
    """A device that a claim takes; `consumed` is None where it takes the whole of it."""

    device: DeviceID
    consumed: Capacities | None


def holdings(claim: ResourceClaim) -> list[Held]:
    """GatherAllocatedState for one claim; admin access takes nothing. Raises AllocationError for a broken quantity."""
    if claim.status.allocation is None:
        return []
    return [
        Held(
            DeviceID(r.driver, r.pool, r.device),
            None if r.share_id is None else {n: amount(q) for n, q in r.consumed_capacity.items()},
        )
        for r in claim.status.allocation.devices.results
        if not r.admin_access
    ]


class Inventory:
    def __init__(self, slices: Iterable[ResourceSlice] = (), claims: Mapping[str, ResourceClaim] | None = None) -> None:
        self.taken = AllocatedState(set(), set(), {})
        self.slices: dict[str, ResourceSlice] = {}
        self.faults: dict[str, AllocationError] = {}  # claim key -> why what it takes is not known
        self._by_pool: dict[PoolID, dict[str, ResourceSlice]] = {}
        self._on_node: dict[str, dict[str, ResourceSlice]] = {}
        self._label_keys: frozenset[str] | None = None
        self._shared: dict[str, ResourceSlice] = {}  # no node owns them, or their counters concern all
        self._held: dict[str, list[Held]] = {}
        self._holders: dict[DeviceID, dict[str, None]] = {}  # claim keys; more than one: shared, or a fault
        self._contents: dict[bytes, int] = {}
        self._content: dict[str, tuple[int, ...]] = {}  # slice -> its devices' contents, the same number for the same
        self._situation: dict[str, Situation] = {}  # of each node that was asked about
        self._nodes: dict[Situation, int] = {}
        self._stale: set[str] | None = None  # nodes to look at again, None: all
        for item in slices:
            self.put_slice(item.name, item)
        for key, claim in (claims or {}).items():
            self.put_claim(key, claim)

    def copy(self) -> Inventory:
        return Inventory(self.slices.values(), {}).with_holdings(self._held, self.faults)

    def with_holdings(self, held: Mapping[str, list[Held]], faults: Mapping[str, AllocationError]) -> Inventory:
        for key, each in held.items():
            self._hold(key, each)
        self.faults = dict(faults)
        return self

    # --- changes ---------------------------------------------------------------------------------------------------

    def put_slice(self, key: str, new: ResourceSlice | None) -> None:
        """Add or replace a slice; None removes it."""
        old = self.slices.pop(key, None)
        self._label_keys = None
        for item in (old, new):
            if item is not None:
                self._outdate(item)
        if old is not None:
            self._unlink(key, old)
        if new is not None:
            self.slices[key] = new
            self._link(key, new)
        for item in (old, new):
            if item is not None:
                self._outdate(item)

    def put_claim(self, key: str, claim: ResourceClaim | None) -> None:
        """What the claim takes now; None: it is gone."""
        for held in self._held.pop(key, ()):
            self._release(key, held)
        self.faults.pop(key, None)
        try:
            self._hold(key, holdings(claim) if claim is not None else [])
        except AllocationError as error:
            self.faults[key] = error

    def node_changed(self, name: str) -> None:
        if self._stale is not None:
            self._stale.add(name)

    def holders(self, device: DeviceID) -> tuple[str, ...]:
        """Keys of the claims that hold the device, wholly or in part."""
        return tuple(self._holders.get(device, ()))

    def _hold(self, key: str, held: list[Held]) -> None:
        if not held:
            return
        self._held[key] = held
        for each in held:
            self._holders.setdefault(each.device, {})[key] = None
            if each.consumed is None:
                self.taken.devices.add(each.device)
            else:
                self.taken.shared.add(each.device)
                if each.consumed:
                    add_capacity(self.taken.capacity, each.device, each.consumed)
            self._taken_changed(each.device)

    def _release(self, key: str, held: Held) -> None:
        device = held.device
        holders = self._holders.get(device, {})
        holders.pop(key, None)
        others = [h for k in holders for h in self._held.get(k, ()) if h.device == device]
        if held.consumed is None and all(h.consumed is not None for h in others):
            self.taken.devices.discard(device)
        if held.consumed is not None:
            if all(h.consumed is None for h in others):
                self.taken.shared.discard(device)
            remove_capacity(self.taken.capacity, device, held.consumed)
        if not holders:
            self._holders.pop(device, None)
        self._taken_changed(device)

    def _taken_changed(self, device: DeviceID) -> None:
        for item in self._by_pool.get(PoolID(device.driver, device.pool), {}).values():
            if self._is_local(item):
                self.node_changed(item.spec.node_name or "")

    def _outdate(self, item: ResourceSlice) -> None:
        """Look again at the nodes that see the slice's pool."""
        pool = self._by_pool.get(_pool_of(item), {}).values()
        if all(self._is_local(other) for other in (item, *pool)):
            for other in (item, *pool):
                self.node_changed(other.spec.node_name or "")
        else:
            self._stale = None

    @staticmethod
    def _is_local(item: ResourceSlice) -> bool:
        return bool(item.spec.node_name) and not item.spec.shared_counters

    def _link(self, key: str, item: ResourceSlice) -> None:
        self._by_pool.setdefault(_pool_of(item), {})[key] = item
        if self._is_local(item):
            self._on_node.setdefault(item.spec.node_name or "", {})[key] = item
        else:
            self._shared[key] = item
        self._content[key] = tuple(self._content_of(d) for d in item.spec.devices)

    def _unlink(self, key: str, item: ResourceSlice) -> None:
        pool = self._by_pool[_pool_of(item)]
        pool.pop(key, None)
        if not pool:
            del self._by_pool[_pool_of(item)]
        self._on_node.get(item.spec.node_name or "", {}).pop(key, None)
        self._shared.pop(key, None)
        self._content.pop(key, None)

    def _content_of(self, device: Device) -> int:
        """A number for everything but the device's name, which no selector sees."""
        content = msgspec.json.encode(msgspec.structs.replace(device, name="", taints=device.taints))
        return self._contents.setdefault(content, len(self._contents))

    # --- questions -------------------------------------------------------------------------------------------------

    def label_keys(self) -> frozenset[str]:
        """Labels of nodes that decide which slices and devices a node reaches."""
        if self._label_keys is None:
            specs = [s.spec for s in self._shared.values()]
            selectors = [s.node_selector for s in specs] + [d.node_selector for s in specs for d in s.devices]
            terms = (t for selector in selectors if selector is not None for t in selector.node_selector_terms)
            self._label_keys = frozenset(r.key for t in terms for r in t.match_expressions)
        return self._label_keys

    def pools(self, node: Node) -> list[Pool]:
        """GatherPools for the node. Raises AllocationError, which ends the attempt."""
        on_node = self._on_node.get(node.name, {}).values()
        return gather_pools((*on_node, *self._shared.values()), node, self._whole)

    def _whole(self, id_: PoolID) -> Iterable[ResourceSlice]:
        return self._by_pool.get(id_, {}).values()

    def situations(self, nodes: NodeTable) -> Mapping[Situation, int]:
        """Situation -> the set of nodes that are in it. Always ask with the same table."""
        stale = set(nodes.by_name) | set(self._situation) if self._stale is None else self._stale
        for name in stale:
            self._move(name, nodes)
        self._stale = set()
        return self._nodes

    def _move(self, name: str, nodes: NodeTable) -> None:
        bit = nodes.bit(name)
        old = self._situation.pop(name, None)
        if old is not None and bit:
            left = self._nodes[old] & ~bit
            if left:
                self._nodes[old] = left
            else:
                del self._nodes[old]
        node = nodes.by_name.get(name)
        if node is not None:
            new = self._situation[name] = self._situation_of(node)
            self._nodes[new] = self._nodes.get(new, 0) | bit

    def _situation_of(self, node: Node) -> Situation:
        try:
            pools = self.pools(node)
        except AllocationError as error:
            return (node.name, str(error))
        if any(pool.counter_sets for pool in pools):
            return (node.name,)  # counters are kept by pool name over all nodes of an attempt: no two nodes are alike
        return tuple(self._pool_seen(pool, node) for pool in pools)

    def _pool_seen(self, pool: Pool, node: Node) -> Hashable:
        if not pool.is_usable:
            return (pool.id.driver, pool.is_incomplete, pool.invalid_reason)
        return (pool.id.driver, tuple(self._slice_seen(item, node) for item in pool.here))

    def _slice_seen(self, item: ResourceSlice, node: Node) -> Hashable:
        if not self._is_local(item):
            if not item.spec.per_device_node_selection:
                return item.name
            return (item.name, tuple(_reaches(device, node) for device in item.spec.devices))
        driver, pool = item.spec.driver, item.spec.pool.name
        taken = tuple(self._taken_of(DeviceID(driver, pool, d.name)) for d in item.spec.devices)
        return (self._content.get(item.name), taken)

    def _taken_of(self, device: DeviceID) -> Hashable:
        if device in self.taken.devices:
            return True
        if device not in self.taken.shared:
            return False
        return tuple(sorted((n, str(q)) for n, q in self.taken.capacity.get(device, {}).items()))


_UNREADABLE: Final = "unreadable selector"


def _reaches(device: Device, node: Node) -> bool | str:
    try:
        return node_matches(node, device.node_name, device.all_nodes, device.node_selector)
    except AllocationError:
        return _UNREADABLE


def _pool_of(item: ResourceSlice) -> PoolID:
    return PoolID(item.spec.driver, item.spec.pool.name)
