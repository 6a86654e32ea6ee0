"""DeviceClasses, and how many devices their selectors leave."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.classitems import ClassItem, class_item, class_items, class_touched
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.schemas import Json, Shape, page, time_of, url
from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.reader.world import World
from dradash.scheduling.structured import matching
from dradash.scheduling.structured.devices import DeviceID
from dradash.store.replica import Applied

KIND: Final = "deviceclasses"


class SelectorBody(Shape, frozen=True):
    """devices: it and those before it leave so many. failed: for so many it cannot be evaluated, as in error."""

    expression: str
    devices: int
    failed: int
    error: str | None


class DeviceClassRow(Shape, frozen=True):
    """devices: that all selectors leave, of devicesTotal in usable pools. Of them no claim holds devicesFree nor
    devicesTainted, and counters do not block them; the tainted ones only who tolerates their taints gets.

    claims: by state.
    """

    name: str
    selectors: tuple[SelectorBody, ...]
    devices: int
    devices_free: int
    devices_tainted: int
    devices_total: int
    extended_resource: str | None
    claims: dict[str, int]
    pods_waiting: int
    created: str | None
    url: str
    page: str


class DeviceClassDetail(Shape, frozen=True):
    device_class: DeviceClassRow
    gone: str | None
    findings: tuple[FindingRow, ...]
    object: Json


def _expressions(of: DeviceClass) -> tuple[str, ...]:
    return tuple(s.cel.expression if s.cel else "" for s in of.spec.selectors)


def _keeps(ask: Ask, of: DeviceClass) -> bool:
    text = ask.get("q").casefold()
    return text in of.name.casefold() or any(text in e.casefold() for e in _expressions(of))


def row_of(item: ClassItem, world: World) -> DeviceClassRow:
    total, left = matching.leaves(world.cluster.inventory, _expressions(item.of))
    free = matching.free(world.cluster.inventory, _expressions(item.of))
    return DeviceClassRow(
        name=item.name,
        selectors=tuple(
            SelectorBody(expression=s.expression, devices=s.devices, failed=s.failed, error=s.error or None)
            for s in left
        ),
        devices=left[-1].devices if left else total,
        devices_free=free.free,
        devices_tainted=free.tainted,
        devices_total=total,
        extended_resource=item.of.spec.extended_resource_name,
        claims=dict(item.claims),
        pods_waiting=item.waiting,
        created=item.of.metadata.creation_timestamp,
        url=url(KIND, item.name) or "",
        page=page(KIND, item.name) or "",
    )


def detail(ask: Ask) -> Any:
    found = ask.found(KIND)
    with ask.world() as world:
        row = row_of(class_item(KIND, found.of, ask.tallies(world)), world)
    told = DeviceClassDetail(
        device_class=row,
        gone=time_of(found.gone),
        findings=about(ask, KIND, ask.key),
        object=msgspec.json.decode(found.raw),
    )
    return projected(told, ask)


def _devices_moved(applied: Applied) -> bool:
    """Whether other devices are published, or held: how many a class leaves, and how many of them are free."""
    kind = applied.change.kind
    return kind == "resourceslices" or (kind == "resourceclaims" and _held(applied.old) != _held(applied.new))


def _held(claim: Any) -> frozenset[DeviceID]:
    if not isinstance(claim, ResourceClaim) or claim.status.allocation is None:
        return frozenset()
    return frozenset(DeviceID(r.driver, r.pool, r.device) for r in claim.status.allocation.devices.results)


CLASSES: Final = Listing(
    row_type=DeviceClassRow,
    items=class_items(KIND, _keeps),
    identity=lambda i: i.name,
    sortings={
        "class": lambda i: i.name,
        "claims": lambda i: -sum(i.claims.values()),
        "waiting": lambda i: -i.waiting,
    },
    row=lambda ask, world, item: row_of(item, world),  # noqa: ARG005 - as every resource's
    touched=class_touched(KIND, _devices_moved),
    decided_by=frozenset({KIND}),
)

ENDPOINTS: Final = (
    listed(
        "deviceclasses",
        "/deviceclasses",
        "deviceclasses",
        "DeviceClasses, and how many devices each selector leaves",
        CLASSES,
        params.text("q", "Only classes whose name or a selector of which contains this text.", "gpu"),
    ),
    Endpoint(
        "deviceclass",
        "/deviceclasses/{name}",
        "deviceclasses",
        "One DeviceClass, also one that is gone",
        DeviceClassDetail,
        detail,
        varies="findings",
    ),
)
