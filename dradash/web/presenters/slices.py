"""The slices list and one slice, as its driver published it."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.kinds.resourceslice import ResourceSlice
from dradash.reader.world import World
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters.inventory import POOLS, Bar, DeviceRow, bars, device_row
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import Chip, node_href, pool_href, row_id, slice_href

KIND: Final = "resourceslices"
PARAMS: Final = frozenset({"driver", "node", "q", "sort", "page"})
POOL_GONE: Final = Chip("The pool is gone", "idle", "trash", "No slice publishes its pool any more")
OUTDATED: Final = Chip("Outdated", "idle", "skip", "A newer generation of its pool is there: its devices do not count")


class SliceRow(msgspec.Struct, frozen=True):
    id: str
    name: str
    href: str
    driver: str
    pool: str
    pool_href: str
    generation: int
    chip: Chip  # of the pool, OUTDATED or POOL_GONE
    node: str
    node_href: str
    devices: int
    created: str


class SliceFilters(msgspec.Struct, frozen=True):
    drivers: tuple[Option, ...]
    text: str
    sort: str
    active: bool


class SlicesView(msgspec.Struct, frozen=True):
    filters: SliceFilters
    columns: tuple[Column, ...]
    rows: tuple[SliceRow, ...]
    pager: Pager
    known: int


class SliceView(msgspec.Struct, frozen=True):
    row: SliceRow
    expected: int
    gone: float
    complete: str  # how many slices of its generation its pool has, "" for an outdated or gone one
    duplicates: tuple[str, ...]  # of its pool
    counters: tuple[Bar, ...]
    capacity: tuple[Bar, ...]
    devices: tuple[DeviceRow, ...]
    command: str
    describe: str
    yaml: str

    @property
    def name(self) -> str:
        return self.row.name


SORTINGS: Final = (
    Sorting("slice", "Slice", lambda s: s.name),
    Sorting("driver", "Driver", lambda s: s.spec.driver),
    Sorting("pool", "Pool", lambda s: s.spec.pool.name),
    Sorting("generation", "Generation", lambda s: s.spec.pool.generation, "num"),
    Sorting("node", "Node", lambda s: s.spec.node_name or ""),
    Sorting("devices", "Devices", lambda s: -len(s.spec.devices), "num", True),
    Sorting("created", "Age", lambda s: s.metadata.creation_timestamp or "", "num", True),
)


def present(world: World, query: Query) -> SlicesView:
    slices = world.cluster.inventory.slices.values()
    matching = [s for s in slices if _matches(s, query)]
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda s: s.name), query)
    heads = columns(query, SORTINGS)
    return SlicesView(
        filters=SliceFilters(
            drivers=options(
                Counter(s.spec.driver for s in slices if _matches(s, query, "driver")), query.get("driver")
            ),
            text=query.get("q"),
            sort=query.get("sort"),
            active=any(query.get(p) for p in ("driver", "node", "q")),
        ),
        columns=(*heads[:4], Column("Pool's state"), *heads[4:]),
        rows=tuple(_row(world, s) for s in shown),
        pager=pager,
        known=len(slices),
    )


def _matches(item: ResourceSlice, query: Query, without: str = "") -> bool:
    driver, node, text = query.get("driver"), query.get("node"), query.get("q").casefold()
    if driver and without != "driver" and item.spec.driver != driver:
        return False
    if node and item.spec.node_name != node:
        return False
    return not text or text in item.name.casefold() or text in item.spec.pool.name.casefold()


def _row(world: World, item: ResourceSlice) -> SliceRow:
    spec = item.spec
    state = ledger.state_of_pool(world.cluster.inventory, PoolID(spec.driver, spec.pool.name))
    chip = POOL_GONE if state is None else POOLS[state.state]
    if state is not None and state.generation > spec.pool.generation:
        chip = OUTDATED
    node = spec.node_name or ""
    return SliceRow(
        id=row_id("slice", item.name),
        name=item.name,
        href=slice_href(item.name),
        driver=spec.driver,
        pool=spec.pool.name,
        pool_href=pool_href(spec.driver, spec.pool.name),
        generation=spec.pool.generation,
        chip=chip,
        node=node,
        node_href=node_href(node) if node else "",
        devices=len(spec.devices),
        created=item.metadata.creation_timestamp or "",
    )


def detail(world: World, name: str, last: HistoryEntry | None = None) -> SliceView | None:
    """None when there is no such slice. last: the last state of one that is gone; the world is best that of before."""
    cluster = world.cluster
    item, raw, gone = cluster.inventory.slices.get(name), cluster.raw[KIND].get(name, b""), last.at if last else 0.0
    if item is None and last is not None:
        try:
            found = read_object(KINDS[KIND], last.object)
        except MalformedObject:
            return None
        item, raw = found if isinstance(found, ResourceSlice) else None, last.object
    if item is None:
        return None
    id_ = PoolID(item.spec.driver, item.spec.pool.name)
    state = ledger.pool_state(id_, [item])
    inventory = cluster.inventory
    whole = ledger.state_of_pool(inventory, id_)
    counts = whole is not None and not gone and any(s.name == name for s in whole.slices)
    sets = {c.name for c in item.spec.shared_counters}
    uses = ledger.counters(inventory, whole) if whole is not None and counts and sets else []
    return SliceView(
        row=_row(world, item),
        expected=item.spec.pool.resource_slice_count,
        gone=gone,
        complete=f"{len(whole.slices)} of {whole.expected}" if whole is not None and counts else "",
        duplicates=whole.duplicates if whole is not None and counts else (),
        counters=bars(u for u in uses if u.counter_set in sets),
        capacity=bars(ledger.capacities_of(inventory, ledger.devices_in([item]))) if counts else (),
        devices=tuple(device_row(world, d, state) for d in ledger.devices_in([item])) if state else (),
        command=kubectl.get(KIND, "", name),
        describe=kubectl.describe(KIND, "", name),
        yaml=as_yaml(msgspec.json.decode(raw)),
    )
