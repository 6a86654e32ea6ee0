"""DeviceClasses, and how many devices their selectors leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.schemas import Json, Shape, page, time_of, url
from dradash.kinds.deviceclass import DeviceClass
from dradash.reader.world import World
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.structured import matching
from dradash.scheduling.structured.claimstate import device_claim_state
from dradash.store.model import Change

KIND: Final = "deviceclasses"


class SelectorBody(Shape, frozen=True):
    """devices: it and those before it leave so many. failed: for so many it cannot be evaluated, as in error."""

    expression: str
    devices: int
    failed: int
    error: str | None


class DeviceClassRow(Shape, frozen=True):
    """devices: that all selectors leave, of devicesTotal in usable pools; devicesFree: of them, that no claim holds.

    claims: by state.
    """

    name: str
    selectors: tuple[SelectorBody, ...]
    devices: int
    devices_free: int
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
    object: Json


class Item(msgspec.Struct, frozen=True):
    name: str
    of: DeviceClass
    claims: Mapping[str, int]
    waiting: int


def _expressions(of: DeviceClass) -> tuple[str, ...]:
    return tuple(s.cel.expression if s.cel else "" for s in of.spec.selectors)


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Item]:
    classes, text, waiting = world.cluster.device_classes, ask.get("q").casefold(), _waiting(world)
    for name in classes if keys is None else [k for k in keys if k in classes]:
        of = classes[name]
        if text in name.casefold() or any(text in e.casefold() for e in _expressions(of)):
            yield Item(name, of, _claims_of(name, world), waiting[name])


def _claims_of(name: str, world: World) -> dict[str, int]:
    claims = world.cluster.device_claims
    keys = world.cluster.claims_by_device_class.members(name)
    return Counter(str(device_claim_state(claims[k])) for k in keys if k in claims)


def _waiting(world: World) -> Counter[str]:
    counts: Counter[str] = Counter()
    for key, pod in world.cluster.pods.items():
        verdict = world.verdicts.get(key) if pod.is_pending else None
        if verdict is not None and verdict.generation == "structured":
            counts.update({n for c in verdict.claims for n in classes_in(c.resource_class)})
    return counts


def row_of(item: Item, world: World) -> DeviceClassRow:
    total, left = matching.leaves(world.cluster.inventory, _expressions(item.of))
    return DeviceClassRow(
        name=item.name,
        selectors=tuple(
            SelectorBody(expression=s.expression, devices=s.devices, failed=s.failed, error=s.error or None)
            for s in left
        ),
        devices=left[-1].devices if left else total,
        devices_free=matching.free(world.cluster.inventory, _expressions(item.of)),
        devices_total=total,
        extended_resource=item.of.spec.extended_resource_name,
        claims=dict(item.claims),
        pods_waiting=item.waiting,
        created=item.of.metadata.creation_timestamp,
        url=url(KIND, item.name) or "",
        page=page(KIND, item.name) or "",
    )


def detail(ask: Ask) -> Any:
    name, gone = ask.key, 0.0
    with ask.world() as world:
        item = next(iter(items(ask, world, (name,))), None)
        raw = world.cluster.raw[KIND].get(name, b"{}")
    if item is None:
        last, entry = ask.last(KIND, name)
        with ask.world() as world:
            item = Item(name, last, _claims_of(name, world), _waiting(world)[name])
        raw, gone = entry.object, entry.at
    with ask.world() as world:
        row = row_of(item, world)
    return projected(DeviceClassDetail(device_class=row, gone=time_of(gone), object=msgspec.json.decode(raw)), ask)


def _touched(change: Change, world: World) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    return (change.key,) if change.kind == KIND else ()


CLASSES: Final = Listing(
    row_type=DeviceClassRow,
    items=items,
    identity=lambda i: i.name,
    sortings={
        "class": lambda i: i.name,
        "claims": lambda i: -sum(i.claims.values()),
        "waiting": lambda i: -i.waiting,
    },
    row=lambda ask, world, item: row_of(item, world),  # noqa: ARG005 - as every resource's
    touched=_touched,
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
    ),
)
