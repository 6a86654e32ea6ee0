"""The drivers list and one driver: how it answers, what it owes, and since when it is silent.

Their record is what this process has seen (reader/driverstats.py), up to the moment that the page shows.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.reader.debts import Debt
from dradash.reader.drivers import DriverItem, driver_item, driver_items
from dradash.reader.driverstats import DriverStats, Refused, Summary
from dradash.reader.talks import LATE
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.generation import Generation
from dradash.scheduling.verdict import Verdict
from dradash.web.presenters.charts import Histogram, Spark, histogram, per_slot, spark
from dradash.web.presenters.classes import PodRow, StateCount, states, waiting_pods
from dradash.web.presenters.driverdevices import DeviceCounts, DriverDevices, counts
from dradash.web.presenters.driverdevices import present as driver_devices
from dradash.web.presenters.query import Column, Pager, Query, Sorting, columns, page_of, sorted_by
from dradash.web.presenters.words import (
    Chip,
    claim_href,
    class_href,
    device_class_href,
    driver_href,
    negotiation_href,
    node_href,
    pool_href,
    row_id,
)

PARAMS: Final = frozenset({"q", "sort", "page"})
REFUSED: Final = 20
OWED: Final = 50
SPARK_SLOTS: Final = 30
SPARK_SPAN: Final = 1800.0  # seconds

NEVER: Final = Chip("Never heard of", "bad", "question", "It has neither answered nor allocated, as far as is known")
SILENT: Final = Chip("Owes a move", "busy", "clock", "A negotiation, a claim or a pool of devices waits for it to move")
REFUSES: Final = Chip("Refuses all nodes", "bad", "cross", "It finds every node unsuitable that a pod could go to")
ANSWERS: Final = Chip("Owes nothing", "good", "check", "No negotiation, no claim and no pool waits for it")


class DebtRow(msgspec.Struct, frozen=True):
    """A move that a driver owes: who waits for it (a pod's negotiation, a claim alone, or a pool of devices)."""

    title: str
    href: str
    claim: str
    what: str
    since: float
    refuses: bool  # it has answered: no node is suitable


class DriverRow(msgspec.Struct, frozen=True):
    """silent: Unix seconds since which it owes the oldest move that it has not made, 0.0: none."""

    id: str
    name: str
    href: str
    chip: Chip
    classes: tuple[tuple[str, str], ...]  # name, href
    claims: int
    owed: int
    silent: float
    record: Summary
    spark: Spark | None
    devices: DeviceCounts | None  # None: it publishes none


class DriversView(msgspec.Struct, frozen=True):
    columns: tuple[Column, ...]
    rows: tuple[DriverRow, ...]
    pager: Pager
    known: int
    since: float  # of the record
    text: str
    sort: str


class RefusedNode(msgspec.Struct, frozen=True):
    node: str
    href: str
    count: int
    last: float
    pod: str
    pod_href: str


class DriverView(msgspec.Struct, frozen=True):
    row: DriverRow
    negotiates: bool  # or did: the older generation's words are about it
    devices: DriverDevices
    states: tuple[StateCount, ...]
    debts: tuple[DebtRow, ...]
    debts_total: int  # with those that it refuses: row.owed counts the others
    refused: tuple[RefusedNode, ...]
    durations: Histogram
    pods: tuple[PodRow, ...]
    since: float

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def refusing(self) -> int:
        return self.debts_total - self.row.owed


SORTINGS: Final = (
    Sorting("silent", "Silent for", lambda i: i.silent or LATE, "num", True),
    Sorting("driver", "Driver", lambda i: i.name),
    Sorting("owed", "Owed", lambda i: -i.owed, "num", True),
    Sorting("p50", "p50", lambda i: -(i.record.p50 or 0.0), "num", True),
    Sorting("p95", "p95", lambda i: -(i.record.p95 or 0.0), "num", True),
    Sorting("last", "Last", lambda i: -(i.record.last_took or 0.0), "num off-wall", True),
    Sorting("refusals", "Refusals", lambda i: -i.record.refusals, "num", True),
    Sorting("rate", "Allocations a minute", lambda i: -i.record.per_minute, "num", True),
    Sorting("claims", "Claims", lambda i: -sum(i.claims.values()), "num off-wall", True),
)
_SHOWN: Final = ("driver", "silent", "owed", "p50", "p95", "last", "refusals", "rate", "claims")


def _debt(debt: Debt) -> DebtRow:
    title, link = (debt.pod, negotiation_href(debt.pod)) if debt.pod else (debt.claim, claim_href(debt.claim))
    if debt.pool:
        title, link = debt.pool.removeprefix(f"{debt.driver}/"), pool_href(*debt.pool.split("/", 1))
    return DebtRow(title, link, debt.claim if debt.pod else "", debt.what, debt.since, debt.refuses)


def present(world: World, stats: DriverStats, query: Query, now: float, waits: Since) -> DriversView:
    known = driver_items(world, stats, now, waits)
    text = query.get("q").casefold()
    matching = [
        i for i in known if not text or text in f"{i.name} {' '.join((*i.classes, *i.device_classes))}".casefold()
    ]
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda i: i.name), query)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    first, *others = (heads[n] for n in _SHOWN)
    return DriversView(
        columns=(
            first,
            Column("State"),
            Column("Classes", css="off-wall"),
            Column("Devices held", css="num"),
            *others,
            Column("Allocations, 30 min"),
        ),
        rows=tuple(_row(i, stats, now) for i in shown),
        pager=pager,
        known=len(known),
        since=stats.since,
        text=query.get("q"),
        sort=query.get("sort"),
    )


def _row(item: DriverItem, stats: DriverStats, now: float) -> DriverRow:
    times = per_slot(stats.allocation_times(item.name, now), now - SPARK_SPAN, now, SPARK_SLOTS)
    return DriverRow(
        id=row_id("driver", item.name),
        name=item.name,
        href=driver_href(item.name),
        chip=_chip(item),
        classes=(
            *((c, class_href(c)) for c in item.classes),
            *((c, device_class_href(c)) for c in item.device_classes),
        ),
        claims=sum(item.claims.values()),
        owed=item.owed,
        silent=item.silent,
        record=item.record,
        spark=spark(times, "Allocations a minute") if any(times) else None,
        devices=counts(item.name, item.devices),
    )


def _chip(item: DriverItem) -> Chip:
    if not item.record.heard and not item.proven:
        return NEVER
    if item.owed:
        return SILENT
    return REFUSES if item.debts else ANSWERS


def detail(world: World, stats: DriverStats, name: str, now: float, waits: Since) -> DriverView | None:
    """None when neither a class nor a claim names it and nobody heard of it."""
    item = driver_item(world, stats, name, now, waits)
    if item is None:
        return None
    record, asking = item.record, set(item.device_classes)
    return DriverView(
        row=_row(item, stats, now),
        negotiates=bool(item.classes or record.responses or record.refusals) or not item.devices.pools,
        devices=driver_devices(world, name),
        states=states(item.claims, {"driver": name}),
        debts=tuple(_debt(d) for d in item.debts[:OWED]),
        debts_total=len(item.debts),
        refused=tuple(_refused(r) for r in stats.refused_most(name, REFUSED, now)),
        durations=histogram("durations", "From the first question to the allocation", record.durations),
        pods=tuple(waiting_pods(world, lambda v: v is not None and _waits_for(v, name, asking))),
        since=stats.since,
    )


def _waits_for(verdict: Verdict, driver: str, asking: set[str]) -> bool:
    """asking: DeviceClasses that want devices of the driver; which driver will serve a claim is not known before."""
    is_structured = verdict.generation == Generation.STRUCTURED
    return any(
        driver in classes_in(c.driver) or (is_structured and asking & set(classes_in(c.resource_class)))
        for c in verdict.claims
    )


def _refused(refused: Refused) -> RefusedNode:
    last = refused.last
    return RefusedNode(
        refused.node, node_href(refused.node), refused.count, last.at, last.pod, negotiation_href(last.pod)
    )
