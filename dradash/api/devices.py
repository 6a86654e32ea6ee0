"""Devices that slices publish, and who holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.paging import Cursor, decode, encode
from dradash.api.published import DRIVER, NAMED, Use, address, now_or_last, use
from dradash.api.schemas import ROOT, Json, Ref, Rows, Shape, Total, ref
from dradash.kinds.devicetaintrule import RuleTaint
from dradash.kinds.resourceslice import DeviceTaint
from dradash.problems import BAD_CURSOR, Refusal
from dradash.reader.world import World
from dradash.scheduling.doctor import finding
from dradash.scheduling.structured import ledger, ledgerpages
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledger import PoolState, Published
from dradash.scheduling.structured.ledgerpages import Place, Wanted
from dradash.scheduling.structured.pools import PoolID

_SLICES: Final = "resourceslices"
TAINTED: Final = "tainted"
_BY: Final = "device"
_HOLDS: Final = (ledger.FREE, ledger.BLOCKED, ledger.HELD, ledger.SHARED, ledger.TWICE, ledgerpages.TAKEN, TAINTED)


class HolderBody(Shape, frozen=True):
    """since: when the claim was allocated, null where it does not say. pods: keys of those it is reserved for."""

    claim: Ref
    since: str | None
    pods: tuple[str, ...]


class DeviceTaintBody(Shape, frozen=True):
    """rule: the DeviceTaintRule that gives it, null where the driver publishes it."""

    key: str
    value: str
    effect: str
    since: str | None
    rule: str | None


class DeviceRow(Shape, frozen=True):
    """state: free, "blocked by counters" (that held devices use up), held, shared (by claims that have shares of it),
    "held twice". poolState: "usable" ones give any.

    node: that has it, null where a selector says which nodes reach it.
    """

    driver: str
    pool: str
    device: str
    state: str
    pool_state: str
    node: str | None
    holders: tuple[HolderBody, ...]
    taints: tuple[DeviceTaintBody, ...]
    attributes: dict[str, str]
    slice: Ref
    url: str
    page: str


class DeviceDetail(Shape, frozen=True):
    """device: null where claims hold it and no slice publishes it. counters: those of its pool that it takes of.

    gone: since when no slice publishes it and no claim holds it, or null; the rest is then its last state.

    adminAccess: the first claims that have it for administration, which takes nothing of it; adminAccessTotal: of all.
    """

    device: DeviceRow | None
    gone: str | None
    holders: tuple[HolderBody, ...]
    capacity: tuple[Use, ...]
    counters: tuple[Use, ...]
    object: Json | None
    admin_access: tuple[HolderBody, ...] = ()
    admin_access_total: int = 0
    findings: tuple[FindingRow, ...] = ()


def _wanted(ask: Ask) -> Wanted:
    state = ask.get("state")
    return Wanted(
        driver=ask.get("driver"),
        pool=ask.get("pool"),
        node=ask.get("node"),
        hold="" if state == TAINTED else state,
        tainted=state == TAINTED,
        text=ask.get("q").casefold(),
    )


def device_row(one: Published, state: PoolState, world: World) -> DeviceRow:
    inventory, spec = world.cluster.inventory, one.slice.spec
    return DeviceRow(
        driver=one.id.driver,
        pool=one.id.pool,
        device=one.id.device,
        state=ledger.hold_of(inventory, one.id),
        pool_state=state.state,
        node=(one.device.node_name if spec.per_device_node_selection else spec.node_name) or None,
        holders=holders(one.id, world),
        taints=tuple(taint_body(t) for t in one.device.taints),
        attributes={name: ledger.attribute_text(value) for name, value in one.device.attributes.items()},
        slice=ref(_SLICES, one.slice.name),
        url=ROOT + address("devices", one.id),
        page=address("devices", one.id),
    )


def taint_body(taint: DeviceTaint) -> DeviceTaintBody:
    rule = taint.rule if isinstance(taint, RuleTaint) else None
    return DeviceTaintBody(key=taint.key, value=taint.value, effect=taint.effect, since=taint.time_added, rule=rule)


def holders(id_: DeviceID, world: World) -> tuple[HolderBody, ...]:
    return tuple(_holder(key, world) for key in world.cluster.inventory.holders(id_)[:NAMED])


def _holder(key: str, world: World) -> HolderBody:
    claim = world.cluster.device_claims.get(key)
    allocation = claim.status.allocation if claim else None
    reserved = claim.status.reserved_for if claim else ()
    return HolderBody(
        claim=ref("resourceclaims", key),
        since=allocation.allocation_timestamp if allocation else None,
        pods=tuple(f"{key.partition('/')[0]}/{r.name}" for r in reserved[:NAMED]),
    )


def device_detail(ask: Ask) -> Any:
    id_ = DeviceID(ask.where["driver"], ask.where["pool"], ask.where["device"])
    pool = PoolID(id_.driver, id_.pool)
    words = f"no slice publishes the device {id_}, now or in the history, and no claim holds it"
    found = now_or_last(ask, pool, id_.device, partial(_device_detail, id_), words)
    return projected(msgspec.structs.replace(found, findings=about(ask, finding.DEVICES, str(id_))), ask)


def _device_detail(id_: DeviceID, world: World) -> DeviceDetail | None:
    inventory = world.cluster.inventory
    one, state = ledger.find(inventory, id_), ledger.state_of_pool(inventory, PoolID(id_.driver, id_.pool))
    held = holders(id_, world)
    if one is None and not held:
        return None
    admins = ledger.with_admin_access(world.cluster.device_claims, id_)
    sets = {c.counter_set for c in one.device.consumes_counters} if one else set()
    uses = ledger.counters(inventory, state) if state and sets else []
    return DeviceDetail(
        device=device_row(one, state, world) if one and state else None,
        gone=None,
        holders=held,
        capacity=tuple(use(u) for u in ledger.capacities(inventory, one)) if one else (),
        counters=tuple(use(u) for u in uses if u.counter_set in sets),
        object=msgspec.to_builtins(one.device) if one else None,
        admin_access=tuple(_holder(key, world) for key in admins[:NAMED]),
        admin_access_total=len(admins),
    )


@dataclass(frozen=True)
class _Devices(Listing[Published]):
    """A page of tens of thousands, without making the others."""

    def page(self, ask: Ask) -> Rows[Any]:
        sort = ask.get("sort") or _BY
        limit, wanted, question = ask.params.get("limit", params.ROWS), _wanted(ask), ask.question("DeviceRow")
        with ask.world() as world:
            chosen = ledgerpages.Found(world.cluster.inventory, wanted)
            found = chosen.after(_last(ask, sort, question), limit + 1, descends=sort.startswith("-"))
            rows = tuple(projected(device_row(row.one, row.pool, world), ask) for row in found[:limit])
            more = len(found) > limit
            following = encode(Cursor(sort, "", "\n".join(found[limit - 1].place), question)) if more else None
            return Rows(
                items=rows,
                total=Total(count=chosen.count, exact=True),
                next=following,
                revision=world.revision,
                instance=world.instance,
            )


def _last(ask: Ask, sort: str, question: str) -> Place | None:
    text = ask.params.get("cursor")
    if not text:
        return None
    parts = decode(text, sort, question).identity.split("\n")
    if len(parts) != len(Place._fields):
        raise Refusal(BAD_CURSOR, "this cursor was not handed out here")
    return Place(*parts)


def _all_devices(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Published]:  # noqa: ARG001 - no watch
    found = ledgerpages.Found(world.cluster.inventory, _wanted(ask))
    return (one for _, one in found.rows(0, found.count))


def _row(ask: Ask, world: World, one: Published) -> DeviceRow:  # noqa: ARG001 - as every resource's
    pool = PoolID(one.id.driver, one.id.pool)
    state = ledger.state_of_pool(world.cluster.inventory, pool)
    return device_row(one, state or PoolState(pool, 0, 0, (), (), "", ()), world)


DEVICES: Final = _Devices(
    row_type=DeviceRow,
    items=_all_devices,
    identity=lambda one: str(one.id),
    sortings={_BY: lambda one: str(one.id)},
    row=_row,
)
ENDPOINTS: Final = (
    listed(
        "devices",
        "/devices",
        "devices",
        "Devices, and who holds them",
        DEVICES,
        DRIVER,
        params.text("pool", "Only devices of this pool.", "node-1"),
        params.text("node", "Only devices of this node.", "node-1"),
        params.choice("state", "Only devices in this state; taken: held in any way.", _HOLDS),
        params.text("q", "Only devices whose name or pool contains this text.", "gpu-0"),
    ),
    Endpoint(
        "device",
        "/devices/{driver}/{pool}/{device}",
        "devices",
        "One device, also one that is gone",
        DeviceDetail,
        device_detail,
        varies="findings",
    ),
)
