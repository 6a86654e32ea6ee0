"""Pools and devices as the cluster publishes them, whoever looks: what pages, the REST API and the doctor tell of them.

A node may see a part of a pool only (see pools.gather_pools); here a pool is all its slices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dradash.kinds.resourceslice import Device, DeviceAttribute, ResourceSlice
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import PoolID, built

USABLE: Final = "usable"
INCOMPLETE: Final = "incomplete"
INVALID: Final = "invalid"


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
    names = Counter(d.name for s in newest for d in s.spec.devices)
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
    return pool_state(id_, inventory.slices_of(id_))


def devices_in(slices: Iterable[ResourceSlice]) -> Iterator[Published]:
    for item in slices:
        spec = item.spec
        for device in spec.devices:
            yield Published(DeviceID(spec.driver, spec.pool.name, device.name), device, item)


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
