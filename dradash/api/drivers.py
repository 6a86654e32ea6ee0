"""Drivers, as classes, claims and slices name them: what they owe, publish and report, and their record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.paging import NEVER
from dradash.api.published import address
from dradash.api.schemas import ROOT, Ref, Shape, page, ref, time_of, url
from dradash.problems import NOT_FOUND, Refusal
from dradash.reader.debts import Debt as Owed
from dradash.reader.devicedrivers import Report, reports_of
from dradash.reader.drivers import DriverItem, device_claims_of, driver_item, driver_items
from dradash.reader.world import World
from dradash.scheduling.doctor import finding

KIND: Final = finding.DRIVERS
MOST: Final = 1000


class DriverRow(Shape, frozen=True):
    """Its record is what this process has seen since recordSince. Durations are in seconds, null where none is known.

    owed: moves that it has not made; where it finds no node suitable, it has answered. silentSince: since when it owes
    the oldest of them, null: it owes none. deviceClasses: those of which a selector wants devices of this driver.
    pools: of its devices, by state; devicesHeld: wholly or in part.
    """

    name: str
    classes: tuple[str, ...]
    device_classes: tuple[str, ...]
    pools: dict[str, int]
    devices: int
    devices_held: int
    devices_tainted: int
    claims: dict[str, int]
    owed: int
    silent_since: str | None
    last_heard: str | None
    responses: int
    response_p50: float | None
    response_p95: float | None
    refusals: int
    allocations: int
    allocations_per_minute: float
    deallocations: int
    record_since: str | None
    url: str
    page: str


class Debt(Shape, frozen=True):
    """Who waits for the driver: a negotiation; without a pod the claim (then a key) alone.

    stage: with "Room" it has answered, that no node is suitable; that is not owed.
    pool: "driver/pool" where it should publish devices; pod and claim are then empty.
    """

    pod: str
    claim: str
    pool: str
    stage: str
    what: str
    since: str | None
    url: str


class DeviceReport(Shape, frozen=True):
    """A condition of an allocated device (driver/pool/device), as the driver reports it for the claim."""

    claim: Ref
    device: str
    condition: str
    status: str
    reason: str
    message: str
    since: str | None


class RefusedNode(Shape, frozen=True):
    node: str
    count: int
    last: str | None
    pod: str


class DriverDetail(Shape, frozen=True):
    driver: DriverRow
    debts: tuple[Debt, ...]
    refused: tuple[RefusedNode, ...]
    reports: tuple[DeviceReport, ...]
    findings: tuple[FindingRow, ...]


def _drivers(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[DriverItem]:  # noqa: ARG001 - no watch
    stats, text = ask.here.follower.observations.drivers, ask.get("q").casefold()
    for item in driver_items(world, stats, ask.now, ask.waits()):
        if not text or text in f"{item.name} {' '.join((*item.classes, *item.device_classes))}".casefold():
            yield item


def driver_row(ask: Ask, item: DriverItem) -> DriverRow:
    record = item.record
    return DriverRow(
        name=item.name,
        classes=item.classes,
        device_classes=item.device_classes,
        pools=dict(item.devices.pools),
        devices=item.devices.devices,
        devices_held=item.devices.held,
        devices_tainted=item.devices.tainted,
        claims={str(state): count for state, count in item.claims.items()},
        owed=item.owed,
        silent_since=time_of(item.silent),
        last_heard=time_of(record.heard),
        responses=record.responses,
        response_p50=record.p50,
        response_p95=record.p95,
        refusals=record.refusals,
        allocations=record.allocations,
        allocations_per_minute=record.per_minute,
        deallocations=record.deallocations,
        record_since=time_of(ask.here.follower.observations.drivers.since),
        url=url("drivers", item.name) or "",
        page=page("drivers", item.name) or "",
    )


def driver_detail(ask: Ask) -> Any:
    name = ask.where["name"]
    with ask.world() as world, ask.here.follower.world():  # the record is of now, whatever moment is asked about
        stats = ask.here.follower.observations.drivers
        item = driver_item(world, stats, name, ask.now, ask.waits())
        refused = stats.refused_most(name, 20, ask.now)
        reports = reports_of(name, device_claims_of(name, world.cluster))
    if item is None:
        raise Refusal(NOT_FOUND, f"no class and no claim names a driver {name[:100]}, and none of that name was heard")
    found = DriverDetail(
        driver=driver_row(ask, item),
        debts=tuple(
            Debt(
                pod=d.pod,
                claim=d.claim,
                pool=d.pool,
                stage=d.stage,
                what=d.what,
                since=time_of(d.since),
                url=_debt_url(d),
            )
            for d in item.debts[:MOST]
        ),
        refused=tuple(
            RefusedNode(node=r.node, count=r.count, last=time_of(r.last.at), pod=r.last.pod) for r in refused
        ),
        reports=tuple(map(_report, reports[:MOST])),
        findings=about(ask, KIND, name),
    )
    return projected(found, ask)


def _debt_url(debt: Owed) -> str:
    if debt.pool:
        return ROOT + address("pools", tuple(debt.pool.split("/", 1)))
    return (url("podschedulingcontexts", debt.pod) if debt.pod else url("resourceclaims", debt.claim)) or ""


def _report(of: Report) -> DeviceReport:
    said = of.condition
    return DeviceReport(
        claim=ref("resourceclaims", of.claim),
        device=str(of.device),
        condition=said.type,
        status=said.status,
        reason=said.reason,
        message=said.message,
        since=said.last_transition_time,
    )


DRIVERS: Final = Listing(
    row_type=DriverRow,
    items=_drivers,
    identity=lambda i: i.name,
    sortings={
        "silent": lambda i: i.silent or NEVER,
        "driver": lambda i: i.name,
        "owed": lambda i: -i.owed,
        "p50": lambda i: -(i.record.p50 or 0.0),
        "p95": lambda i: -(i.record.p95 or 0.0),
        "last": lambda i: -(i.record.last_took or 0.0),
        "refusals": lambda i: -i.record.refusals,
        "rate": lambda i: -i.record.per_minute,
        "claims": lambda i: -sum(i.claims.values()),
    },
    row=lambda ask, world, item: driver_row(ask, item),  # noqa: ARG005 - as every resource's
)

ENDPOINTS: Final = (
    listed(
        "drivers",
        "/drivers",
        "drivers",
        "Drivers: what they owe and how soon they answer",
        DRIVERS,
        params.text("q", "Only drivers whose name or class contains this text.", "gpu"),
        varies="time",
    ),
    Endpoint("driver", "/drivers/{name}", "drivers", "One driver", DriverDetail, driver_detail, varies="time findings"),
)
