"""Devices that no claim holds and nobody gets: those that are held use up the counters which they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dradash.kinds.quantity import Quantity
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.structured.counters import consumption_of
from dradash.scheduling.structured.devices import AllocationError, DeviceID, amount
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import PoolID

_NONE: Final[frozenset[DeviceID]] = frozenset()
_Counter = tuple[str, str]  # counter set, counter


def blocked_in(inventory: Inventory, id_: PoolID, slices: Sequence[ResourceSlice]) -> frozenset[DeviceID]:
    """Of a pool, by the slices of its newest generation. Worked out once for what is taken of it as it is now.

    As checkAvailableCounters compares, but over the whole pool. Quantities that cannot be read block nothing.
    """
    if not any(item.spec.shared_counters for item in slices):
        return _NONE
    known = inventory.of_taken.setdefault(id_, {})
    if "blocked" not in known:
        try:
            known["blocked"] = _blocked(inventory, slices)
        except AllocationError:
            known["blocked"] = _NONE
    found: frozenset[DeviceID] = known["blocked"]
    return found


def _blocked(inventory: Inventory, slices: Sequence[ResourceSlice]) -> frozenset[DeviceID]:
    """Raises AllocationError."""
    left = {
        (of.name, name): amount(counter.value)
        for item in slices
        for of in item.spec.shared_counters
        for name, counter in of.counters.items()
    }
    others: list[tuple[DeviceID, dict[_Counter, Quantity]]] = []
    for item in slices:
        for device in item.spec.devices:
            if not device.consumes_counters:
                continue
            id_, wanted = DeviceID(item.spec.driver, item.spec.pool.name, device.name), consumption_of(device)
            if not inventory.taken.holds(id_):
                others.append((id_, wanted))
                continue
            for of, value in wanted.items():
                if of in left:
                    left[of] = left[of] - value
    return frozenset(id_ for id_, wanted in others if _is_short(wanted, left))


def _is_short(wanted: dict[_Counter, Quantity], left: dict[_Counter, Quantity]) -> bool:
    return any(of in left and left[of].compare(value) < 0 for of, value in wanted.items())
