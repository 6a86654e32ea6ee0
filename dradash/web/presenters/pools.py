"""The pools list and one pool: its slices, generation, completeness, counters, and its devices."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from dradash.kinds.resourceslice import ResourceSlice
from dradash.reader.world import World
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.ledger import PoolState
from dradash.scheduling.structured.pools import PoolID
from dradash.web.presenters.inventory import POOLS, Bar, DeviceRow, Gone, PoolRow, bars, device_row, pool_row
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.words import node_href, slice_href

PARAMS: Final = frozenset({"driver", "state", "q", "sort", "page"})
DEVICES: Final = 200
SLICES: Final = 200


class PoolFilters(msgspec.Struct, frozen=True):
    drivers: tuple[Option, ...]
    states: tuple[Option, ...]
    text: str
    sort: str
    active: bool


class PoolsView(msgspec.Struct, frozen=True):
    filters: PoolFilters
    columns: tuple[Column, ...]
    rows: tuple[PoolRow, ...]
    pager: Pager
    known: int


class SliceRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    generation: int
    node: str
    node_href: str
    devices: int
    counters: int
    created: str


class PoolView(msgspec.Struct, frozen=True):
    row: PoolRow
    duplicates: tuple[str, ...]
    slices: tuple[SliceRow, ...]
    more_slices: int
    outdated: tuple[SliceRow, ...]
    counters: tuple[Bar, ...]
    capacity: tuple[Bar, ...]  # of all its devices together
    devices: tuple[DeviceRow, ...]
    more_devices: int
    gone: Gone | None = None  # the rest is then its last state


SORTINGS: Final = (
    Sorting("pool", "Pool", lambda s: (s.id.pool, s.id.driver)),
    Sorting("driver", "Driver", lambda s: s.id),
    Sorting("state", "State", lambda s: list(POOLS).index(s.state)),
    Sorting("generation", "Generation", lambda s: s.generation, "num"),
    Sorting("slices", "Slices", lambda s: -len(s.slices), "num", True),
    Sorting("devices", "Devices", lambda s: -s.devices, "num", True),
)


def present(world: World, query: Query) -> PoolsView:
    states = ledger.pool_states(world.cluster.inventory)
    matching = [s for s in states if _matches(s, query)]
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda s: s.id), query)
    labels = {state: chip.text for state, chip in POOLS.items()}
    by_driver = Counter(s.id.driver for s in states if _matches(s, query, "driver"))
    by_state = Counter(s.state for s in states if _matches(s, query, "state"))
    return PoolsView(
        filters=PoolFilters(
            drivers=options(by_driver, query.get("driver")),
            states=options(by_state, query.get("state"), labels),
            text=query.get("q"),
            sort=query.get("sort"),
            active=any(query.get(p) for p in ("driver", "state", "q")),
        ),
        columns=(*columns(query, SORTINGS), Column("Nodes")),
        rows=tuple(pool_row(world, s) for s in shown),
        pager=pager,
        known=len(states),
    )


def _matches(state: PoolState, query: Query, without: str = "") -> bool:
    driver, wanted, text = query.get("driver"), query.get("state"), query.get("q").casefold()
    if driver and without != "driver" and state.id.driver != driver:
        return False
    if wanted and without != "state" and state.state != wanted:
        return False
    return not text or text in state.id.pool.casefold() or any(text in n.casefold() for n in state.nodes)


def detail(world: World, driver: str, name: str) -> PoolView | None:
    """None when no slice is of the pool."""
    inventory = world.cluster.inventory
    state = ledger.state_of_pool(inventory, PoolID(driver, name))
    if state is None:
        return None
    devices = list(ledger.devices_in(state.slices))
    return PoolView(
        row=pool_row(world, state),
        duplicates=state.duplicates,
        slices=tuple(slice_row(s) for s in state.slices[:SLICES]),
        more_slices=max(0, len(state.slices) - SLICES),
        outdated=tuple(slice_row(s) for s in state.outdated[:SLICES]),
        counters=bars(ledger.counters(inventory, state)),
        capacity=bars(ledger.capacities_of(inventory, devices)),
        devices=tuple(device_row(world, d, state) for d in devices[:DEVICES]),
        more_devices=max(0, len(devices) - DEVICES),
    )


def slice_row(item: ResourceSlice) -> SliceRow:
    node = item.spec.node_name or ""
    return SliceRow(
        name=item.name,
        href=slice_href(item.name),
        generation=item.spec.pool.generation,
        node=node,
        node_href=node_href(node) if node else "",
        devices=len(item.spec.devices),
        counters=sum(len(c.counters) for c in item.spec.shared_counters),
        created=item.metadata.creation_timestamp or "",
    )
