"""Pools and devices as the cluster publishes them, whoever looks: what pages, the REST API and the doctor tell of them.

A node may see a part of a pool only (see pools.gathered); here a pool is all its slices.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.quantity import Quantity
from dradash.kinds.resourceslice import Counter, Device, DeviceAttribute, ResourceSlice
from dradash.scheduling.structured.blocked import blocked_in
from dradash.scheduling.structured.devices import AllocationError, DeviceID, amount
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import PoolID, built

USABLE: Final = "usable"
INCOMPLETE: Final = "incomplete"
INVALID: Final = "invalid"
FREE: Final = "free"
BLOCKED: Final = "blocked by counters"  # no claim holds it; held devices use up what it shares with them
HELD: Final = "held"
SHARED: Final = "shared"
TWICE: Final = "held twice"
_NONE: Final = Quantity(0)
_KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})


class PoolState(msgspec.Struct, frozen=True):
    """A pool's newest generation. expected: slices that it should have; slices: those there are, by name; outdated:
    those of older generations, whose devices nobody gets. duplicates: names that more than one device has."""

    id: PoolID
    generation: int
    expected: int
    slices: tuple[ResourceSlice, ...]
    outdated: tuple[ResourceSlice, ...]
    invalid: str
    duplicates: tuple[str, ...]

    @property
    def state(self) -> str:
        """What GatherPools makes of it; incomplete comes first, as there."""
        if len(self.slices) != self.expected:
            return INCOMPLETE
        return INVALID if self.invalid else USABLE

    @property
    def devices(self) -> int:
        return sum(len(s.spec.devices) for s in self.slices)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes that the slices name; () where they select nodes in another way."""
        return tuple(sorted({s.spec.node_name for s in self.slices if s.spec.node_name}))


class Published(msgspec.Struct, frozen=True):
    """A device in the slice that publishes it."""

    id: DeviceID
    device: Device
    slice: ResourceSlice


def pool_state(id_: PoolID, slices: Iterable[ResourceSlice]) -> PoolState | None:
    """None for a pool without slices."""
    found = sorted(slices, key=lambda s: s.name)
    if not found:
        return None
    generation = max(s.spec.pool.generation for s in found)
    newest = [s for s in found if s.spec.pool.generation == generation]
    expected = newest[0].spec.pool.resource_slice_count
    pool = built(id_, newest, newest)
    names = collections.Counter(d.name for s in newest for d in s.spec.devices)
    return PoolState(
        id=id_,
        generation=generation,
        expected=expected,
        slices=tuple(newest),
        outdated=tuple(s for s in found if s.spec.pool.generation != generation),
        invalid=pool.invalid_reason,
        duplicates=tuple(n for n, count in names.items() if count > 1) if len(names) < names.total() else (),
    )


def state_of_pool(inventory: Inventory, id_: PoolID) -> PoolState | None:
    """Worked out once for the slices as they are."""
    if id_ not in inventory.pool_ids:
        return None
    known = inventory.of_pool.setdefault(id_, {})
    if "state" not in known:
        known["state"] = pool_state(id_, inventory.slices_of(id_))
    state: PoolState | None = known["state"]
    return state


def pool_states(inventory: Inventory) -> list[PoolState]:
    """All pools, by driver and name. Not to be changed."""
    known: list[PoolState] | None = inventory.of_all.get("states")
    if known is None:
        found = (state_of_pool(inventory, id_) for id_ in sorted(inventory.pool_ids))
        known = inventory.of_all["states"] = [state for state in found if state is not None]
    return known


def devices_by_driver(inventory: Inventory) -> Mapping[str, int]:
    known: collections.Counter[str] | None = inventory.of_all.get("devices")
    if known is None:
        known = inventory.of_all["devices"] = collections.Counter()
        for state in pool_states(inventory):
            known[state.id.driver] += state.devices
    return known


def hold_of(inventory: Inventory, device: DeviceID) -> str:
    """FREE, BLOCKED, HELD, SHARED (by shares of it), or TWICE: two claims have it, and one of them the whole."""
    holders = inventory.holders(device)
    if not holders:
        return BLOCKED if device in _blocked_beside(inventory, device) else FREE
    whole = any(inventory.holds_whole(key, device) for key in holders)
    if whole:
        return TWICE if len(holders) > 1 else HELD
    return SHARED


def _blocked_beside(inventory: Inventory, device: DeviceID) -> frozenset[DeviceID]:
    state = state_of_pool(inventory, PoolID(device.driver, device.pool))
    return blocked_devices(inventory, state) if state is not None else frozenset()


def blocked_devices(inventory: Inventory, state: PoolState) -> frozenset[DeviceID]:
    """Of the pool, those of which `hold_of` says BLOCKED."""
    return blocked_in(inventory, state.id, state.slices)


def all_blocked(inventory: Inventory) -> frozenset[DeviceID]:
    """The same of all pools; only those of which something changed are looked at again."""
    known: frozenset[DeviceID] | None = inventory.of_all_taken.get("blocked")
    if known is None:
        known = frozenset().union(*(blocked_devices(inventory, state) for state in _with_counters(inventory)))
        inventory.of_all_taken["blocked"] = known
    return known


def _with_counters(inventory: Inventory) -> list[PoolState]:
    known: list[PoolState] | None = inventory.of_all.get("with counters")
    if known is None:
        known = [s for s in pool_states(inventory) if any(item.spec.shared_counters for item in s.slices)]
        inventory.of_all["with counters"] = known
    return known


def taken_in(inventory: Inventory, state: PoolState) -> int:
    """How many of its devices are held, wholly or in part."""
    known = inventory.of_taken.setdefault(state.id, {})
    if "count" not in known:
        driver, pool = state.id.driver, state.id.pool
        held = inventory.held_devices
        known["count"] = sum(DeviceID(driver, pool, d.name) in held for s in state.slices for d in s.spec.devices)
    count: int = known["count"]
    return count


def is_tainted(device: Device) -> bool:
    """Whether a taint keeps away who does not tolerate it."""
    return any(taint.effect in _KEEPS_AWAY for taint in device.taints)


def tainted_in(inventory: Inventory, state: PoolState) -> int:
    """How many of its devices are tainted, held or not."""
    known = inventory.of_pool.setdefault(state.id, {})
    if "tainted" not in known:
        known["tainted"] = sum(is_tainted(d) for s in state.slices for d in s.spec.devices)
    count: int = known["tainted"]
    return count


class CounterUse(msgspec.Struct, frozen=True):
    """A counter that devices of a pool share. used: by the devices that are held. share: of it, from 0 to 1.

    wrong: why it cannot be told, "" else.
    """

    counter_set: str
    name: str
    used: str
    total: str
    share: float
    wrong: str = ""


def counters(inventory: Inventory, state: PoolState) -> list[CounterUse]:
    """As AvailableCounters has them, over the whole pool."""
    sets = {c.name: c.counters for s in state.slices for c in s.spec.shared_counters}
    used: dict[tuple[str, str], Quantity] = {}
    try:
        for one in devices_in(state.slices):
            if not inventory.taken.holds(one.id):
                continue
            for consumption in one.device.consumes_counters:
                for name, counter in consumption.counters.items():
                    of = (consumption.counter_set, name)
                    used[of] = used.get(of, _NONE) + amount(counter.value)
        return [
            _use(set_name, name, used.get((set_name, name), _NONE), counter)
            for set_name, of in sorted(sets.items())
            for name, counter in sorted(of.items())
        ]
    except AllocationError as error:
        return [CounterUse(s, n, "?", str(c.value), 0.0, str(error)) for s, of in sets.items() for n, c in of.items()]


def _use(counter_set: str, name: str, used: Quantity, counter: Counter) -> CounterUse:
    total = amount(counter.value)
    return CounterUse(counter_set, name, str(used), str(total), share_of(used, total))


def capacities(inventory: Inventory, one: Published) -> list[CounterUse]:
    """The capacity of a device: what shares of it take. All of it where the device is held whole."""
    taken = inventory.taken.capacity.get(one.id, {})
    whole = one.id in inventory.taken.devices
    found = []
    for name, held in sorted(one.device.capacity.items()):
        try:
            total = amount(held.value)
        except AllocationError as error:
            found.append(CounterUse("", name, "?", str(held.value), 0.0, str(error)))
            continue
        used = total if whole else taken.get(name, _NONE)
        found.append(CounterUse("", name, str(used), str(total), share_of(used, total)))
    return found


def capacities_of(inventory: Inventory, devices: Iterable[Published]) -> list[CounterUse]:
    """The same of several devices together; a quantity that cannot be read leaves its name without a sum."""
    totals: dict[str, list[Quantity]] = {}
    wrong: dict[str, str] = {}
    for one in devices:
        whole, taken = one.id in inventory.taken.devices, inventory.taken.capacity.get(one.id, {})
        for name, held in one.device.capacity.items():
            try:
                total = amount(held.value)
            except AllocationError as error:
                wrong[name] = str(error)
                continue
            sums = totals.setdefault(name, [_NONE, _NONE])
            sums[0] = sums[0] + (total if whole else taken.get(name, _NONE))
            sums[1] = sums[1] + total
    return [
        CounterUse("", name, "?", "?", 0.0, wrong[name])
        if name in wrong
        else CounterUse("", name, str(totals[name][0]), str(totals[name][1]), share_of(*totals[name]))
        for name in sorted({*totals, *wrong})
    ]


def share_of(used: Quantity, total: Quantity) -> float:
    whole = total.as_approximate_float()
    return min(1.0, max(0.0, used.as_approximate_float() / whole)) if whole else 0.0


def devices_in(slices: Iterable[ResourceSlice]) -> Iterator[Published]:
    for item in slices:
        spec = item.spec
        for device in spec.devices:
            yield Published(DeviceID(spec.driver, spec.pool.name, device.name), device, item)


def published_in(inventory: Inventory, state: PoolState) -> list[Published]:
    """The devices of a pool, made once for the slices as they are. Not to be changed."""
    memo = inventory.of_pool.setdefault(state.id, {})
    known: list[Published] | None = memo.get("published")
    if known is None:
        known = memo["published"] = list(devices_in(state.slices))
    return known


def find(inventory: Inventory, id_: DeviceID) -> Published | None:
    """The device in its pool's newest generation; the first where its name is there twice."""
    slices = list(inventory.slices_of(PoolID(id_.driver, id_.pool)))
    newest = max((s.spec.pool.generation for s in slices), default=0)
    for item in sorted(slices, key=lambda s: s.name):
        if item.spec.pool.generation == newest:
            for device in item.spec.devices:
                if device.name == id_.device:
                    return Published(id_, device, item)
    return None


def attribute_text(attribute: DeviceAttribute) -> str:
    """The value as people write it; "" for a type that is not known."""
    values = (attribute.string_value, attribute.version_value, attribute.int_value, attribute.bool_value)
    value = next((v for v in values if v is not None), "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def node_of(one: Published) -> str:
    """The one node that has it; "" where all have it, or those that a selector chooses."""
    spec = one.slice.spec
    return (one.device.node_name if spec.per_device_node_selection else spec.node_name) or ""


def with_admin_access(claims: Mapping[str, ResourceClaim], id_: DeviceID) -> list[str]:
    """Keys of the claims that were given the device for administration, which takes nothing of it.

    Looks at all claims: they are rare, and only one device's page asks.
    """
    return sorted(
        key
        for key, claim in claims.items()
        if claim.status.allocation is not None
        for r in claim.status.allocation.devices.results
        if r.admin_access and (r.driver, r.pool, r.device) == (id_.driver, id_.pool, id_.device)
    )
