"""A part of the devices in their order, without making the rest: there may be tens of thousands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import msgspec

from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState, Published
from dradash.scheduling.structured.pools import PoolID

TAKEN: Final = "taken"

Row = tuple[PoolState, Published]


class Place(NamedTuple):
    """Of a device in the order of a walk. Names should be unique within a pool, and drivers make mistakes.

    number: among devices of this name in this slice, as text that sorts.
    """

    driver: str
    pool: str
    device: str
    slice: str
    number: str


class Placed(NamedTuple):
    place: Place
    pool: PoolState
    one: Published


class Wanted(msgspec.Struct, frozen=True):
    """Empty values ask for nothing. hold: as `ledger.hold_of` has them, or TAKEN for any that a claim holds. text: part
    of a device's or a pool's name, in lower case."""

    driver: str = ""
    pool: str = ""
    node: str = ""
    hold: str = ""
    tainted: bool = False
    text: str = ""

    @property
    def is_whole_pools(self) -> bool:
        """Whether the devices of a pool are wanted all or none."""
        return not (self.hold or self.tainted or self.text or self.node)


class Found:
    """What is wanted, of the inventory as it is now. count: how many devices that is."""

    def __init__(self, inventory: Inventory, wanted: Wanted) -> None:
        self._inventory, self._wanted = inventory, wanted
        self._pools = _pools(inventory, wanted)
        self._chosen: dict[PoolID, list[Published]] = {}
        if not wanted.is_whole_pools:
            self._chosen = {s.id: chosen for s in self._pools if (chosen := self._choose(s))}
            self._pools = [s for s in self._pools if s.id in self._chosen]

    @property
    def count(self) -> int:
        return sum(map(self._size, self._pools))

    def rows(self, start: int, rows: int) -> list[Row]:
        """By driver, pool, slice and place in the slice."""
        found: list[Row] = []
        for state in self._pools:
            size = self._size(state)
            if start >= size:
                start -= size
                continue
            found += self._devices(state)[start : start + rows - len(found)]
            start = 0
            if len(found) == rows:
                break
        return found

    def after(self, last: Place | None, rows: int, *, descends: bool = False) -> list[Placed]:
        """The first rows behind a place: what comes and goes before it moves nothing."""
        found: list[Placed] = []
        pool = PoolID(last.driver, last.pool) if last else None
        for state in reversed(self._pools) if descends else self._pools:
            if pool is not None and (state.id > pool if descends else state.id < pool):
                continue
            placed = sorted(self._placed(state), key=lambda row: row.place, reverse=descends)
            if last is not None and state.id == pool:
                placed = [row for row in placed if (row.place < last if descends else row.place > last)]
            found += placed[: rows - len(found)]
            if len(found) == rows:
                break
        return found

    def _placed(self, state: PoolState) -> Iterator[Placed]:
        met: Counter[tuple[str, str]] = Counter()
        for _, one in self._devices(state):
            name = (one.id.device, one.slice.name)
            yield Placed(Place(*one.id, one.slice.name, f"{met[name]:06}"), state, one)
            met[name] += 1

    def _size(self, state: PoolState) -> int:
        return state.devices if self._wanted.is_whole_pools else len(self._chosen[state.id])

    def _devices(self, state: PoolState) -> list[Row]:
        if self._wanted.is_whole_pools:
            return [(state, one) for one in ledger.published_in(self._inventory, state)]
        return [(state, one) for one in self._chosen[state.id]]

    def _choose(self, state: PoolState) -> list[Published]:
        wanted = self._wanted
        left = ledger.published_in(self._inventory, state)
        if wanted.node:
            left = [one for one in left if (one.device.node_name or one.slice.spec.node_name) == wanted.node]
        if wanted.text and wanted.text not in state.id.pool.casefold():
            left = [one for one in left if wanted.text in one.device.name.casefold()]
        if wanted.tainted:
            left = [one for one in left if one.device.taints]
        if wanted.hold == ledger.FREE:
            held, blocked = self._inventory.held_devices, ledger.blocked_devices(self._inventory, state)
            return [one for one in left if one.id not in held and one.id not in blocked]
        if wanted.hold == ledger.BLOCKED:
            blocked = ledger.blocked_devices(self._inventory, state)
            return [one for one in left if one.id in blocked]
        return [one for one in left if self._is_held_so(one.id)] if wanted.hold else left

    def _is_held_so(self, device: DeviceID) -> bool:
        """As `ledger.hold_of` has it, in one look at most devices."""
        inventory, hold = self._inventory, self._wanted.hold
        if device not in inventory.held_devices or hold == TAKEN:
            return hold == TAKEN and device in inventory.held_devices
        if device not in inventory.taken.devices:
            return hold == ledger.SHARED
        return hold == (ledger.TWICE if len(inventory.holders(device)) > 1 else ledger.HELD)


def held_of_all(inventory: Inventory) -> tuple[int, int]:
    """How many devices that slices publish are held, wholly or in part, and how many there are."""
    published: frozenset[DeviceID] | None = inventory.of_all.get("published")
    if published is None:
        all_of = (ledger.devices_in(s.slices) for s in ledger.pool_states(inventory))
        published = inventory.of_all["published"] = frozenset(one.id for found in all_of for one in found)
    return sum(device in published for device in inventory.held_devices), len(published)


def held_on(inventory: Inventory, nodes: Collection[str]) -> dict[str, tuple[int, int]]:
    """How many of each node's own devices are held, and how many there are; those that selectors bring do not count."""
    near = {PoolID(s.spec.driver, s.spec.pool.name) for name in nodes for s in inventory.slices_naming(name)}
    near |= {s.id for s in ledger.pool_states(inventory) if _names_nodes(s)}
    held, found = inventory.held_devices, dict.fromkeys(nodes, (0, 0))
    for state in filter(None, (ledger.state_of_pool(inventory, id_) for id_ in near)):
        for one in ledger.published_in(inventory, state):
            name = one.device.node_name or one.slice.spec.node_name or ""
            if name in found:
                taken, known = found[name]
                found[name] = taken + (one.id in held), known + 1
    return found


def _names_nodes(state: PoolState) -> bool:
    """Whether devices of it say themselves which nodes they are on."""
    return any(item.spec.per_device_node_selection for item in state.slices)


def _pools(inventory: Inventory, wanted: Wanted) -> list[PoolState]:
    states = ledger.pool_states(inventory)
    if wanted.node:
        near = {PoolID(s.spec.driver, s.spec.pool.name) for s in inventory.slices_naming(wanted.node)}
        near |= {s.id for s in states if _names_nodes(s)}
        states = [s for s in states if s.id in near]
    if wanted.pool or wanted.driver:
        states = [s for s in states if wanted.pool in ("", s.id.pool) and wanted.driver in ("", s.id.driver)]
    return states
