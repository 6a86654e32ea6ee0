"""The devices list (the ledger of who holds what) and one device."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import Condition
from dradash.kinds.resourceslice import Device
from dradash.reader.world import World
from dradash.scheduling.structured import ledger, ledgerpages
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledgerpages import TAKEN, Wanted
from dradash.scheduling.structured.pools import PoolID
from dradash.web.presenters.deviceclaim import attributes_of, device_taint_text
from dradash.web.presenters.inventory import (
    HOLDS,
    Bar,
    DeviceRow,
    Gone,
    Holder,
    bars,
    device_row,
    holder,
    published,
    reported,
)
from dradash.web.presenters.query import Column, Option, Pager, Query, options, pager_of
from dradash.web.presenters.status import can_tell
from dradash.web.presenters.words import SHOWN, Chip, claim_href, cut, device_href, slice_href

PARAMS: Final = frozenset({"driver", "pool", "node", "state", "q", "page"})
TAINTED: Final = "tainted"
STATES: Final = {state: chip.text for state, chip in HOLDS.items()} | {TAKEN: "Held in any way", TAINTED: "Tainted"}
NOT_KNOWN: Final = Chip("Not known", "idle", "question", "Slices cannot be read now: what the device is, is not known")
MISSING: Final = Chip("Not published", "bad", "question", "No slice of its pool's newest generation has it")


class DeviceFilters(msgspec.Struct, frozen=True):
    drivers: tuple[Option, ...]
    states: tuple[Option, ...]
    driver: str
    pool: str
    node: str
    text: str
    active: bool


class DevicesView(msgspec.Struct, frozen=True):
    filters: DeviceFilters
    columns: tuple[Column, ...]
    rows: tuple[DeviceRow, ...]
    pager: Pager
    known: int


class TaintRow(msgspec.Struct, frozen=True):
    text: str
    since: str


class ConditionRow(msgspec.Struct, frozen=True):
    """What the driver reports of the device for a claim."""

    claim: str
    claim_href: str
    type: str
    status: str
    words: str
    at: str


class DeviceView(msgspec.Struct, frozen=True):
    """row: None for a device that claims hold and no slice publishes."""

    driver: str
    pool: str
    name: str
    chip: Chip
    row: DeviceRow | None
    slice: str
    slice_href: str
    attributes: tuple[tuple[str, str], ...]
    capacity: tuple[Bar, ...]
    counters: tuple[Bar, ...]
    consumes: tuple[str, ...]
    taints: tuple[TaintRow, ...]
    holders: tuple[Holder, ...]
    admins: tuple[Holder, ...]  # claims with admin access to it, the first of ...
    admins_total: int
    conditions: tuple[ConditionRow, ...]
    shareable: bool
    binding: tuple[str, ...]
    href: str
    gone: Gone | None = None  # the rest is then its last state


def wanted_by(query: Query) -> Wanted:
    state = query.get("state")
    return Wanted(
        driver=query.get("driver"),
        pool=query.get("pool"),
        node=query.get("node"),
        hold=state if state in (*HOLDS, TAKEN) else "",
        tainted=state == TAINTED,
        text=query.get("q").casefold(),
    )


def present(world: World, query: Query) -> DevicesView:
    inventory, wanted = world.cluster.inventory, wanted_by(query)
    by_driver = ledger.devices_by_driver(inventory)
    found = ledgerpages.Found(inventory, wanted)
    pager = pager_of(found.count, query)
    start = max(0, pager.first - 1)
    rows = found.rows(start, pager.last - start) if pager.first else []
    return DevicesView(
        filters=DeviceFilters(
            drivers=options(by_driver, query.get("driver")),
            states=tuple(Option(s, t, -1, s == query.get("state")) for s, t in STATES.items()),
            driver=wanted.driver,
            pool=wanted.pool,
            node=wanted.node,
            text=query.get("q"),
            active=any(query.get(p) for p in ("driver", "pool", "node", "state", "q")),
        ),
        columns=tuple(
            Column(c) for c in ("Device", "Pool", "Driver", "Node", "State", "Held by", "Taints", "What it is")
        ),
        rows=_apart([device_row(world, one, state) for state, one in rows]),
        pager=pager,
        known=sum(by_driver.values()),
    )


def _apart(rows: list[DeviceRow]) -> tuple[DeviceRow, ...]:
    """A pool that is invalid may have a name twice; an element's id it must not."""
    seen: Counter[str] = Counter()
    found = []
    for row in rows:
        found.append(msgspec.structs.replace(row, id=f"{row.id}-{seen[row.id]}") if seen[row.id] else row)
        seen[row.id] += 1
    return tuple(found)


def detail(world: World, id_: DeviceID) -> DeviceView | None:
    """None for a device that no slice publishes and no claim holds."""
    cluster = world.cluster
    inventory = cluster.inventory
    one, holders = published(cluster, id_), inventory.holders(id_)
    state = ledger.state_of_pool(inventory, PoolID(id_.driver, id_.pool))
    if one is None and not holders:
        return None
    admins = ledger.with_admin_access(cluster.device_claims, id_)
    device = one.device if one else Device()
    row = device_row(world, one, state) if one and state else None
    sets = {c.counter_set for c in device.consumes_counters}
    counters = [u for u in ledger.counters(inventory, state) if u.counter_set in sets] if state and sets else []
    return DeviceView(
        driver=id_.driver,
        pool=id_.pool,
        name=id_.device,
        chip=row.chip if row else MISSING if can_tell(world, "resourceslices") else NOT_KNOWN,
        row=row,
        slice=one.slice.name if one else "",
        slice_href=slice_href(one.slice.name) if one else "",
        attributes=attributes_of(device),
        capacity=bars(ledger.capacities(inventory, one)) if one else (),
        counters=bars(counters),
        consumes=tuple(
            f"{c.value} of {name} ({of.counter_set})"
            for of in device.consumes_counters
            for name, c in of.counters.items()
        ),
        taints=tuple(TaintRow(device_taint_text(t), t.time_added or "") for t in device.taints),
        holders=tuple(holder(cluster, key) for key in holders),
        admins=tuple(holder(cluster, key) for key in admins[:SHOWN]),
        admins_total=len(admins),
        conditions=tuple(_condition(key, c) for key, c in reported(cluster, id_, holders)),
        shareable=bool(device.allow_multiple_allocations),
        binding=device.binding_conditions,
        href=device_href(id_),
    )


def _condition(key: str, said: Condition) -> ConditionRow:
    words = cut(": ".join(w for w in (said.reason, said.message) if w), 300)
    return ConditionRow(key, claim_href(key), said.type, said.status, words, said.last_transition_time or "")
