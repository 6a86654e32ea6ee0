"""A part of the devices in their order, without making the rest: there may be tens of thousands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState, Published
from dradash.scheduling.structured.pools import PoolID


class Wanted(msgspec.Struct, frozen=True):
    """Empty values ask for nothing. hold: as `ledger.hold_of` has them, or TAKEN for any but free. text: part of a
    name, in lower case."""

    driver: str = ""
    pool: str = ""
    node: str = ""
    hold: str = ""
    tainted: bool = False
    text: str = ""

    @property
    def any_device(self) -> bool:
        """Whether all devices of a pool are wanted, or none."""
        return not (self.hold or self.tainted or self.text)


TAKEN = "taken"

Row = tuple[PoolState, Published]


def pools_wanted(inventory: Inventory, wanted: Wanted) -> list[PoolState]:
    if wanted.node:
        ids = {PoolID(s.spec.driver, s.spec.pool.name) for s in inventory.slices_naming(wanted.node)}
        found = (ledger.state_of_pool(inventory, id_) for id_ in sorted(ids))
        states = [s for s in found if s is not None]
    else:
        states = ledger.pool_states(inventory)
    return [
        s
        for s in states
        if (not wanted.driver or s.id.driver == wanted.driver) and (not wanted.pool or s.id.pool == wanted.pool)
    ]


def count(inventory: Inventory, wanted: Wanted) -> int:
    states = pools_wanted(inventory, wanted)
    if wanted.any_device and not wanted.node:
        return sum(s.devices for s in states)
    return sum(1 for s in states for _ in _devices(inventory, s, wanted))


def page(inventory: Inventory, wanted: Wanted, start: int, rows: int) -> list[Row]:
    """Rows `start` and on, by driver, pool, slice and place in the slice."""
    found: list[Row] = []
    for state in pools_wanted(inventory, wanted):
        if wanted.any_device and not wanted.node and start >= state.devices:
            start -= state.devices
            continue
        for one in _devices(inventory, state, wanted):
            if start:
                start -= 1
                continue
            found.append((state, one))
            if len(found) == rows:
                return found
    return found


def after(inventory: Inventory, wanted: Wanted, last: DeviceID | None, rows: int) -> list[Row]:
    """The first rows behind a device, by driver, pool and name: what comes and goes before it moves nothing."""
    found: list[Row] = []
    for state in pools_wanted(inventory, wanted):
        if last is not None and state.id < PoolID(last.driver, last.pool):
            continue
        same = last is not None and state.id == PoolID(last.driver, last.pool)
        for one in sorted(_devices(inventory, state, wanted), key=lambda one: one.id.device):
            if last is None or not same or one.id.device > last.device:
                found.append((state, one))
                if len(found) == rows:
                    return found
    return found


def _devices(inventory: Inventory, state: PoolState, wanted: Wanted) -> Iterator[Published]:
    tests = _tests(inventory, wanted)
    for item in state.slices:
        if wanted.node and item.spec.node_name not in (None, "", wanted.node):
            continue
        spec = item.spec
        for device in spec.devices:
            one = Published(DeviceID(spec.driver, spec.pool.name, device.name), device, item)
            if all(test(one) for test in tests):
                yield one


def _tests(inventory: Inventory, wanted: Wanted) -> list[Callable[[Published], bool]]:
    tests: list[Callable[[Published], bool]] = []
    held = inventory.held_devices
    if wanted.text:
        tests.append(lambda one: wanted.text in one.id.device.casefold() or wanted.text in one.id.pool.casefold())
    if wanted.tainted:
        tests.append(lambda one: bool(one.device.taints))
    if wanted.hold == ledger.FREE:
        tests.append(lambda one: one.id not in held)
    elif wanted.hold:
        tests.append(lambda one: one.id in held and wanted.hold in (TAKEN, ledger.hold_of(inventory, one.id)))
    if wanted.node:
        tests.append(lambda one: (one.device.node_name or one.slice.spec.node_name) == wanted.node)
    return tests
