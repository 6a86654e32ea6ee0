"""The devices of the cluster and what is taken of them, adjusted change by change.

How it grows: a change of a slice or of an allocation costs the nodes that have devices of that pool, which is one for
devices of a node, all for a slice that no node owns (its allocations cost nothing: they are the same seen from
everywhere).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable, KeysView, Mapping
from typing import Any, Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.devicetaintrule import DeviceTaintRule, names
from dradash.kinds.node import Node
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.structured.columns import Columns
from dradash.scheduling.structured.counterpools import CounterPools
from dradash.scheduling.structured.devices import (
    AllocatedState,
    AllocationError,
    Capacities,
    DeviceID,
    add_capacity,
    amount,
    remove_capacity,
)
from dradash.scheduling.structured.pools import Pool, PoolID, concerning, gathered, in_order
from dradash.scheduling.structured.reading import Reading
from dradash.scheduling.structured.situations import Near, Situation, Situations
from dradash.scheduling.structured.taintrules import tainted

READINGS: Final = 64  # of which the situations are kept; each costs a small object a node


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
        self._columns = Columns(self.taken)
        self.slices: dict[str, ResourceSlice] = {}  # with the taints of the rules
        self.rules: dict[str, DeviceTaintRule] = {}
        self.classes: dict[str, DeviceClass] = {}  # which rules may name
        self._published: dict[str, ResourceSlice] = {}  # without
        self.faults: dict[str, AllocationError] = {}  # claim key -> why what it takes is not known
        # Worked out of slices by others, forgotten when one changes: of a pool, of all pools.
        self.of_pool: dict[PoolID, dict[Hashable, Any]] = {}
        self.of_all: dict[Hashable, Any] = {}
        # The same of a pool's slices and of what is taken of it; of all pools.
        self.of_taken: dict[PoolID, dict[Hashable, Any]] = {}
        self.of_all_taken: dict[Hashable, Any] = {}
        self._by_pool: dict[PoolID, dict[str, ResourceSlice]] = {}
        self._on_node: dict[str, dict[str, ResourceSlice]] = {}
        self._label_keys: frozenset[str] | None = None
        self._shared: dict[str, ResourceSlice] = {}  # with devices, and no node owns them
        self._counters = CounterPools(self.slices_of)
        self._held: dict[str, list[Held]] = {}
        self._holders: dict[DeviceID, dict[str, None]] = {}  # claim keys; more than one: shared, or a fault
        self._near: dict[str, tuple[Node, Near]] = {}
        self._situations: OrderedDict[Reading, Situations] = OrderedDict()
        for item in slices:
            self.put_slice(item.name, item)
        for key, claim in (claims or {}).items():
            self.put_claim(key, claim)

    def copy(self) -> Inventory:
        """An inventory of its own with the same contents; what was found out about nodes is left behind."""
        other = Inventory()
        taken = self.taken
        capacity = {device: dict(amounts) for device, amounts in taken.capacity.items()}
        other.taken = AllocatedState(set(taken.devices), set(taken.shared), capacity)
        other.rules, other.classes, other._published = dict(self.rules), dict(self.classes), dict(self._published)
        other._columns = Columns(other.taken)
        other.slices, other.faults, other._shared = dict(self.slices), dict(self.faults), dict(self._shared)
        other._counters = self._counters.copy(other.slices_of)
        other._by_pool = {pool: dict(slices) for pool, slices in self._by_pool.items()}
        other._on_node = {node: dict(slices) for node, slices in self._on_node.items()}
        other._held = dict(self._held)  # its lists are replaced, never changed
        other._holders = {device: dict(keys) for device, keys in self._holders.items()}
        return other

    # --- changes ---------------------------------------------------------------------------------------------------

    def put_slice(self, key: str, new: ResourceSlice | None) -> None:
        """Add or replace a slice; None removes it."""
        self._published.pop(key, None)
        if new is not None:
            self._published[key] = new
            new = tainted(new, (self.rules[name] for name in sorted(self.rules)), self.classes)
        old = self.slices.pop(key, None)
        self._label_keys = None
        self.of_all.clear()
        self.of_all_taken.clear()
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

    def put_rule(self, key: str, new: DeviceTaintRule | None) -> None:
        """Add or replace a DeviceTaintRule; None removes it."""
        rules = [r for r in (self.rules.pop(key, None), new) if r is not None]
        if new is not None:
            self.rules[key] = new
        self._taint_anew(rules)

    def put_class(self, key: str, new: DeviceClass | None) -> None:
        """Add or replace a DeviceClass; None removes it."""
        self.classes.pop(key, None)
        if new is not None:
            self.classes[key] = new
        self._taint_anew(self.rules_by_class(key))

    def rules_by_class(self, name: str) -> list[DeviceTaintRule]:
        """DeviceTaintRules that select the devices of the DeviceClass."""
        chosen = ((r, r.spec.device_selector) for r in self.rules.values())
        return [rule for rule, selector in chosen if selector is not None and selector.device_class_name == name]

    def _taint_anew(self, rules: Collection[DeviceTaintRule]) -> None:
        for name, item in list(self._published.items()) if rules else ():
            if any(names(r.spec.device_selector, item.spec.driver, item.spec.pool.name) for r in rules):
                self.put_slice(name, item)

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
        """The node, or what it sees of its pools."""
        self._near.pop(name, None)
        self._devices_changed(name)

    def _devices_changed(self, node: str) -> None:
        for situations in self._situations.values():
            situations.outdate(node)

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
        self.of_taken.pop(PoolID(device.driver, device.pool), None)
        self.of_all_taken.clear()
        for item in self._by_pool.get(PoolID(device.driver, device.pool), {}).values():
            if is_local(item):
                self._columns.forget_taken(item)
                self._devices_changed(item.spec.node_name or "")

    def _outdate(self, item: ResourceSlice) -> None:
        """Look again at the nodes that have devices of the slice's pool, or share its counters."""
        slices = (item, *self._by_pool.get(_pool_of(item), {}).values())
        owners = {other.spec.node_name for other in slices if is_local(other)}
        owners |= set(self._counters.consumers(item.spec.pool.name))
        if None in owners or not all(is_local(other) or other.spec.shared_counters for other in slices):
            self._near.clear()
            self._situations.clear()
        for name in owners:
            self.node_changed(name or "")

    def _link(self, key: str, item: ResourceSlice) -> None:
        self.of_pool.pop(_pool_of(item), None)
        self.of_taken.pop(_pool_of(item), None)
        self._by_pool.setdefault(_pool_of(item), {})[key] = item
        self._counters.link(key, item)
        if is_local(item):
            self._on_node.setdefault(item.spec.node_name or "", {})[key] = item
        elif not item.spec.shared_counters:
            self._shared[key] = item

    def _unlink(self, key: str, item: ResourceSlice) -> None:
        self.of_pool.pop(_pool_of(item), None)
        self.of_taken.pop(_pool_of(item), None)
        pool = self._by_pool[_pool_of(item)]
        pool.pop(key, None)
        if not pool:
            del self._by_pool[_pool_of(item)]
        self._counters.unlink(key, item)
        self._columns.forget(item)
        self._on_node.get(item.spec.node_name or "", {}).pop(key, None)
        self._shared.pop(key, None)

    # --- questions -------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> Columns:
        if self._columns.is_full:
            self._columns = Columns(self.taken)
            self._situations.clear()
        return self._columns

    def label_keys(self) -> frozenset[str]:
        """Labels of nodes that decide which slices and devices a node reaches."""
        if self._label_keys is None:
            specs = [s.spec for s in self._shared.values()]
            selectors = [s.node_selector for s in specs] + [d.node_selector for s in specs for d in s.devices]
            terms = (t for selector in selectors if selector is not None for t in selector.node_selector_terms)
            self._label_keys = frozenset(r.key for t in terms for r in t.match_expressions)
        return self._label_keys

    def pools(self, node: Node) -> list[Pool]:
        """GatherPools for the node, less pools that can be used and have none of their devices here.

        Raises AllocationError, which ends the attempt.
        """
        near = self.near(node)
        elsewhere = self._counters.unusable_besides(near.ids)
        return in_order([*near.pools, *elsewhere]) if elsewhere else near.pools

    def near(self, node: Node) -> Near:
        """Raises AllocationError."""
        known = self._near.get(node.name)
        if known is None or known[0] is not node:
            seen = self._seen_near(node)
            near = Near(gathered(seen, self.slices_of), frozenset(seen))
            known = self._near[node.name] = (node, near)
        return known[1]

    def situations(self, reading: Reading, nodes: NodeTable) -> Mapping[Situation, int]:
        """Situation -> the set of nodes that are in it. Always ask with the same table."""
        columns = self.columns
        known = self._situations.get(reading)
        if known is None:
            known = self._situations[reading] = Situations(reading, self.near, self._counters, columns)
            if len(self._situations) > READINGS:
                self._situations.popitem(last=False)
        self._situations.move_to_end(reading)
        return known.nodes(nodes)

    def seen_from(self, node: Node) -> dict[PoolID, list[ResourceSlice]]:
        """Of each pool of `pools`, and of those with a newer generation elsewhere, the slices that concern the node.

        Raises AllocationError.
        """
        seen = self._seen_near(node)
        for pool in self._counters.unusable_besides(list(seen)):
            seen[pool.id] = self._counters.seen_of(pool.id)
        return seen

    def _seen_near(self, node: Node) -> dict[PoolID, list[ResourceSlice]]:
        seen = concerning((*self._on_node.get(node.name, {}).values(), *self._shared.values()), node)
        self._counters.complete(seen)
        return seen

    @property
    def pool_ids(self) -> Collection[PoolID]:
        return self._by_pool.keys()

    @property
    def held_devices(self) -> KeysView[DeviceID]:
        """Devices that a claim holds, published or not; admin access holds nothing."""
        return self._holders.keys()

    def slices_naming(self, node: str) -> Collection[ResourceSlice]:
        """Slices whose spec.nodeName is the node."""
        counters = [s for s in self._counters.slices if s.spec.node_name == node]
        return [*self._on_node.get(node, {}).values(), *counters]

    def holds_whole(self, key: str, device: DeviceID) -> bool:
        """Whether the claim takes the whole device, not a share of it."""
        return any(h.device == device and h.consumed is None for h in self._held.get(key, ()))

    def consumed(self, key: str, device: DeviceID) -> Capacities:
        """What the claim takes of the device's capacity, in shares of it."""
        of_device: dict[DeviceID, Capacities] = {}
        for held in self._held.get(key, ()):
            if held.device == device and held.consumed:
                add_capacity(of_device, device, held.consumed)
        return of_device.get(device, {})

    def slices_of(self, id_: PoolID) -> Iterable[ResourceSlice]:
        """All slices of the pool, of all generations and nodes."""
        return self._by_pool.get(id_, {}).values()


def is_local(item: ResourceSlice) -> bool:
    """Whether only the slice's own node sees it."""
    return bool(item.spec.node_name) and not item.spec.shared_counters


def _pool_of(item: ResourceSlice) -> PoolID:
    return PoolID(item.spec.driver, item.spec.pool.name)
