"""Names of devices, and which devices the claims of the cluster hold (structured/internal/allocatedstate.go)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from dradash.kinds import quantity as quantities
from dradash.kinds.quantity import InvalidQuantity, Quantity

Capacities = dict[str, Quantity]


class AllocationError(Exception):
    """Allocation cannot go on. `on_node` tells a failure of one node from one that ends the whole attempt."""

    def __init__(self, message: str, *, on_node: bool = False) -> None:
        super().__init__(message)
        self.on_node = on_node


class DeviceID(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Quantity:
    return quantities.decoded(text)


def amount(text: Any) -> Quantity:
    """The quantity in an object. The API server lets no other text in; one that comes anyway stops the allocation."""
    try:
        return _parsed(str(text))
    except InvalidQuantity as error:
        raise AllocationError(f"quantity {text!r}: {error}") from error


class AllocatedState(msgspec.Struct):
    """What is taken: whole devices, devices with at least one share taken, and capacity taken of these."""

    devices: set[DeviceID] = set()
    shared: set[DeviceID] = set()
    capacity: dict[DeviceID, Capacities] = {}

    def holds(self, device: DeviceID) -> bool:
        """IsDeviceAllocated."""
        return device in self.devices or device in self.shared


def add_capacity(collection: dict[DeviceID, Capacities], device: DeviceID, consumed: Capacities) -> None:
    """ConsumedCapacityCollection.Insert."""
    have = collection.setdefault(device, {})
    for name, quantity in consumed.items():
        have[name] = have[name] + quantity if name in have else quantity


def remove_capacity(collection: dict[DeviceID, Capacities], device: DeviceID, consumed: Capacities) -> None:
    """ConsumedCapacityCollection.Remove: a device whose capacity is all zero is forgotten."""
    have = collection.get(device)
    if have is None:
        return
    for name, quantity in consumed.items():
        if name in have:
            have[name] = have[name] - quantity
    if all(q.is_zero for q in have.values()):
        del collection[device]
