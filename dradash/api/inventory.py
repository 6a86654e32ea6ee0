"""What structured parameters publish: pools, slices and devices, with who holds what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.paging import Cursor, decode, encode
from dradash.api.schemas import ROOT, Json, Ref, Rows, Shape, Total, page, ref, time_of, url
from dradash.kinds.resourceslice import ResourceSlice
from dradash.problems import BAD_CURSOR, NOT_FOUND, NOT_KNOWN, Refusal
from dradash.reader.world import World
from dradash.scheduling.structured import ledger, ledgerpages
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledger import CounterUse, PoolState, Published
from dradash.scheduling.structured.ledgerpages import Place, Wanted
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import Change, SyncState

KIND: Final = "resourceslices"
NAMED: Final = 20  # nodes, holders and pods that a row names
TAINTED: Final = "tainted"
_BY: Final = "device"


class Use(Shape, frozen=True):
    """A shared counter (of a counterSet) or a device's capacity (counterSet is ""). share: from 0 to 1.

    error: why it cannot be told, null else.
    """

    counter_set: str
    name: str
    used: str
    total: str
    share: float
    error: str | None


class PoolRow(Shape, frozen=True):
    """The newest generation of a pool. why: no device of it is allocated, null while it is usable.

    slices: those there are, of expectedSlices; outdated: slices of older generations. taken: devices that are held.
    """

    driver: str
    pool: str
    state: str
    why: str | None
    generation: int
    slices: int
    expected_slices: int
    outdated: int
    devices: int
    taken: int
    nodes: tuple[str, ...]
    nodes_total: int
    url: str
    page: str


class PoolDetail(Shape, frozen=True):
    """duplicates: names that more than one of its devices has."""

    pool: PoolRow
    duplicates: tuple[str, ...]
    counters: tuple[Use, ...]
    slices: tuple[Ref, ...]
    outdated: tuple[Ref, ...]


class SliceRow(Shape, frozen=True):
    """newest: whether its generation is the newest of its pool; devices of older ones do not count."""

    name: str
    driver: str
    pool: str
    generation: int
    newest: bool
    node: str | None
    devices: int
    created: str | None
    url: str
    page: str


class SliceDetail(Shape, frozen=True):
    slice: SliceRow
    gone: str | None
    object: Json


class HolderBody(Shape, frozen=True):
    """since: when the claim was allocated, null where it does not say. pods: keys of those it is reserved for."""

    claim: Ref
    since: str | None
    pods: tuple[str, ...]


class DeviceTaintBody(Shape, frozen=True):
    key: str
    value: str
    effect: str
    since: str | None


class DeviceRow(Shape, frozen=True):
    """state: free, held, shared (by claims that have shares of it), "held twice". poolState: "usable" ones give any.

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
    """device: null where claims hold it and no slice publishes it. counters: those of its pool that it takes of."""

    device: DeviceRow | None
    holders: tuple[HolderBody, ...]
    capacity: tuple[Use, ...]
    counters: tuple[Use, ...]
    object: Json | None


def _use(of: CounterUse) -> Use:
    return Use(
        counter_set=of.counter_set,
        name=of.name,
        used=of.used,
        total=of.total,
        share=round(of.share, 4),
        error=of.wrong or None,
    )


# --- pools -----------------------------------------------------------------------------------------------------------


def _address(section: str, id_: tuple[str, ...]) -> str:
    """A pool's name may have slashes; they stay."""
    driver, pool, *device = id_
    return f"/{section}/{quote(driver, '')}/{quote(pool)}" + "".join(f"/{quote(d, '')}" for d in device)


def device_address(id_: DeviceID) -> str:
    return _address("devices", id_)


def _absent(world: World, words: str) -> Refusal:
    """While slices cannot be read, nothing is called absent; a cluster that does not serve them has none."""
    state = (world.sync.get(KIND) or SyncState(KIND)).state
    if state in ("synced", "notServed"):
        return Refusal(NOT_FOUND, words)
    return Refusal(NOT_KNOWN, f"{words} as far as is known: {KIND} are {state}")


def pool_url(driver: str, pool: str) -> str:
    return ROOT + _address("pools", (driver, pool))


def _pool_id(state: PoolState) -> tuple[str, str]:
    return state.id.driver, state.id.pool


def pools(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[PoolState]:  # noqa: ARG001 - no watch
    driver, wanted, text = ask.get("driver"), ask.get("state"), ask.get("q").casefold()
    for state in ledger.pool_states(world.cluster.inventory):
        if (driver and state.id.driver != driver) or (wanted and state.state != wanted):
            continue
        if not text or text in state.id.pool.casefold() or any(text in n.casefold() for n in state.nodes):
            yield state


def pool_row(state: PoolState, world: World) -> PoolRow:
    nodes, id_ = state.nodes, _pool_id(state)
    incomplete = f"{len(state.slices)} of {state.expected} slices of generation {state.generation}"
    return PoolRow(
        driver=state.id.driver,
        pool=state.id.pool,
        state=state.state,
        why=incomplete if state.state == ledger.INCOMPLETE else state.invalid or None,
        generation=state.generation,
        slices=len(state.slices),
        expected_slices=state.expected,
        outdated=len(state.outdated),
        devices=state.devices,
        taken=ledger.taken_in(world.cluster.inventory, state),
        nodes=nodes[:NAMED],
        nodes_total=len(nodes),
        url=ROOT + _address("pools", id_),
        page=_address("pools", id_),
    )


def pool_detail(ask: Ask) -> Any:
    id_ = PoolID(ask.where["driver"], ask.where["pool"])
    with ask.world() as world:
        inventory = world.cluster.inventory
        state = ledger.state_of_pool(inventory, id_)
        if state is None:
            raise _absent(world, f"no slice is of the pool {id_}")
        found = PoolDetail(
            pool=pool_row(state, world),
            duplicates=state.duplicates,
            counters=tuple(_use(u) for u in ledger.counters(inventory, state)),
            slices=tuple(ref(KIND, s.name) for s in state.slices),
            outdated=tuple(ref(KIND, s.name) for s in state.outdated),
        )
    return projected(found, ask)


POOLS: Final = Listing(
    row_type=PoolRow,
    items=pools,
    identity=lambda s: str(s.id),
    sortings={
        "pool": lambda s: s.id.pool,
        "driver": lambda s: s.id.driver,
        "state": lambda s: (ledger.USABLE, ledger.INCOMPLETE, ledger.INVALID).index(s.state),
        "generation": lambda s: s.generation,
        "slices": lambda s: -len(s.slices),
        "devices": lambda s: -s.devices,
    },
    row=lambda ask, world, state: pool_row(state, world),  # noqa: ARG005 - as every resource's
)


# --- slices ----------------------------------------------------------------------------------------------------------


def slices(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[ResourceSlice]:
    known = world.cluster.inventory.slices
    driver, node, text = ask.get("driver"), ask.get("node"), ask.get("q").casefold()
    for item in known.values() if keys is None else [known[k] for k in keys if k in known]:
        if (driver and item.spec.driver != driver) or (node and item.spec.node_name != node):
            continue
        if not text or text in item.name.casefold() or text in item.spec.pool.name.casefold():
            yield item


def slice_row(item: ResourceSlice, world: World) -> SliceRow:
    spec = item.spec
    state = ledger.state_of_pool(world.cluster.inventory, PoolID(spec.driver, spec.pool.name))
    return SliceRow(
        name=item.name,
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        newest=state is not None and state.generation <= spec.pool.generation,
        node=spec.node_name or None,
        devices=len(spec.devices),
        created=item.metadata.creation_timestamp,
        url=url(KIND, item.name) or "",
        page=page(KIND, item.name) or "",
    )


def slice_detail(ask: Ask) -> Any:
    name, gone = ask.key, 0.0
    with ask.world() as world:
        item, raw = world.cluster.inventory.slices.get(name), world.cluster.raw[KIND].get(name, b"{}")
    if item is None:
        if not ask.history(KIND, name):
            with ask.world() as world:
                raise _absent(world, f"there is no ResourceSlice {name}, now or in the history")
        item, entry = ask.last(KIND, name)
        raw, gone = entry.object, entry.at
    with ask.world() as world:
        row = slice_row(item, world)
    return projected(SliceDetail(slice=row, gone=time_of(gone), object=msgspec.json.decode(raw)), ask)


def _slice_touched(change: Change, world: World) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    return (change.key,) if change.kind == KIND else ()


SLICES: Final = Listing(
    row_type=SliceRow,
    items=slices,
    identity=lambda s: s.name,
    sortings={
        "slice": lambda s: s.name,
        "driver": lambda s: s.spec.driver,
        "pool": lambda s: s.spec.pool.name,
        "generation": lambda s: s.spec.pool.generation,
        "node": lambda s: s.spec.node_name or "",
        "devices": lambda s: -len(s.spec.devices),
        "created": lambda s: s.metadata.creation_timestamp or "",
    },
    row=lambda ask, world, item: slice_row(item, world),  # noqa: ARG005 - as every resource's
    touched=_slice_touched,
)


# --- devices ---------------------------------------------------------------------------------------------------------


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
        taints=tuple(
            DeviceTaintBody(key=t.key, value=t.value, effect=t.effect, since=t.time_added) for t in one.device.taints
        ),
        attributes={name: ledger.attribute_text(value) for name, value in one.device.attributes.items()},
        slice=ref(KIND, one.slice.name),
        url=ROOT + _address("devices", one.id),
        page=_address("devices", one.id),
    )


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
    with ask.world() as world:
        inventory = world.cluster.inventory
        one, state = ledger.find(inventory, id_), ledger.state_of_pool(inventory, PoolID(id_.driver, id_.pool))
        held = holders(id_, world)
        if one is None and not held:
            raise _absent(world, f"no slice publishes the device {id_}, and no claim holds it")
        sets = {c.counter_set for c in one.device.consumes_counters} if one else set()
        uses = ledger.counters(inventory, state) if state and sets else []
        found = DeviceDetail(
            device=device_row(one, state, world) if one and state else None,
            holders=held,
            capacity=tuple(_use(u) for u in ledger.capacities(inventory, one)) if one else (),
            counters=tuple(_use(u) for u in uses if u.counter_set in sets),
            object=msgspec.to_builtins(one.device) if one else None,
        )
    return projected(found, ask)


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


_STATES: Final = (ledger.USABLE, ledger.INCOMPLETE, ledger.INVALID)
_HOLDS: Final = (ledger.FREE, ledger.HELD, ledger.SHARED, ledger.TWICE, ledgerpages.TAKEN, TAINTED)
_DRIVER: Final = params.text("driver", "Only of this driver.", "gpu.example.com")

ENDPOINTS: Final = (
    listed(
        "pools",
        "/pools",
        "devices",
        "Pools of devices, as their slices make them",
        POOLS,
        _DRIVER,
        params.choice("state", "Only pools in this state.", _STATES),
        params.text("q", "Only pools whose name, or a node of which, contains this text.", "node-1"),
    ),
    Endpoint("pool", "/pools/{driver}/{pool}", "devices", "One pool", PoolDetail, pool_detail),
    listed(
        "slices",
        "/slices",
        "devices",
        "ResourceSlices",
        SLICES,
        _DRIVER,
        params.text("node", "Only slices of this node.", "node-1"),
        params.text("q", "Only slices whose name or pool contains this text.", "node-1"),
    ),
    Endpoint("slice", "/slices/{name}", "devices", "One slice, also one that is gone", SliceDetail, slice_detail),
    listed(
        "devices",
        "/devices",
        "devices",
        "Devices, and who holds them",
        DEVICES,
        _DRIVER,
        params.text("pool", "Only devices of this pool.", "node-1"),
        params.text("node", "Only devices of this node.", "node-1"),
        params.choice("state", "Only devices in this state; taken: held in any way.", _HOLDS),
        params.text("q", "Only devices whose name or pool contains this text.", "gpu-0"),
    ),
    Endpoint("device", "/devices/{driver}/{pool}/{device}", "devices", "One device", DeviceDetail, device_detail),
)
