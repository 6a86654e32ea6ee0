"""Devices as rows: who holds them, their taints and capacity. Shared by the pages of devices, pools and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.reader.world import World
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.devices import AllocationError, DeviceID
from dradash.scheduling.structured.ledger import CounterUse, PoolState, Published
from dradash.scheduling.structured.ledgerpages import Found, Wanted
from dradash.web.presenters.deviceclaim import attributes_of, device_taint_text, pod_of
from dradash.web.presenters.words import Chip, claim_href, device_href, node_href, pool_href, row_id

HOLDERS: Final = 5  # of one device that a row names
ATTRIBUTES: Final = 4
ON_NODE: Final = 100
OTHERS: Final = 20  # pools that reach a node

HOLDS: Final = {
    ledger.FREE: Chip("Free", "good", "check", "No claim holds it"),
    ledger.BLOCKED: Chip(
        "Blocked by counters",
        "busy",
        "stop",
        "No claim holds it, but its pool has too little left of a counter that it takes of",
    ),
    ledger.HELD: Chip("Held", "busy", "lock", "A claim holds the whole of it"),
    ledger.SHARED: Chip("Shared", "busy", "turns", "Claims hold shares of it"),
    ledger.TWICE: Chip("Held twice", "bad", "alert", "More than one claim has it, and one of them the whole"),
}
POOLS: Final = {
    ledger.USABLE: Chip("Usable", "good", "check", "Complete and valid: its devices can be allocated"),
    ledger.INCOMPLETE: Chip(
        "Incomplete", "warn", "clock", "Slices of its newest generation are missing: no device of it is allocated"
    ),
    ledger.INVALID: Chip("Invalid", "bad", "alert", "Its slices contradict each other: no device of it is allocated"),
}


class Gone(msgspec.Struct, frozen=True):
    """What no slice publishes any more. at: since when, Unix seconds; then: link to the page of just before."""

    at: float
    then: str


class Holder(msgspec.Struct, frozen=True):
    """A claim that holds a device, with the pods that the claim is reserved for."""

    claim: str
    href: str
    pods: tuple[tuple[str, str], ...]  # name, href ("" where the pod is not known)
    since: str  # RFC 3339 of the allocation, "" where the claim does not say


class Bar(msgspec.Struct, frozen=True):
    """A counter or a capacity as a bar. width: per cent."""

    name: str
    used: str
    total: str
    width: float
    wrong: str


class DeviceRow(msgspec.Struct, frozen=True):
    id: str
    href: str
    driver: str
    pool: str
    pool_href: str
    name: str
    chip: Chip
    usable: Chip  # of its pool
    nodes: tuple[tuple[str, str], ...]
    where: str  # in words, where no node is named
    holders: tuple[Holder, ...]
    more_holders: int
    taints: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]  # first ones
    more_attributes: int
    unwell: tuple[str, ...]  # conditions that its driver reports and that are not true


class PoolRow(msgspec.Struct, frozen=True):
    id: str
    href: str
    driver: str
    name: str
    chip: Chip
    why: str
    generation: int
    slices: int
    expected: int
    outdated: int
    devices: int
    taken: int
    width: float  # per cent of its devices that are held
    nodes: tuple[tuple[str, str], ...]
    more_nodes: int
    where: str  # in words, where no node is named


def bars(uses: Iterable[CounterUse]) -> tuple[Bar, ...]:
    return tuple(
        Bar(
            f"{u.counter_set}: {u.name}" if u.counter_set else u.name, u.used, u.total, round(100 * u.share, 1), u.wrong
        )
        for u in uses
    )


def holder(cluster: Cluster, key: str) -> Holder:
    claim = cluster.device_claims.get(key)
    if claim is None:
        return Holder(key, claim_href(key), (), "")
    allocation = claim.status.allocation
    since = allocation.allocation_timestamp if allocation else None
    return Holder(key, claim_href(key), tuple(pod_of(r, cluster) for r in claim.status.reserved_for), since or "")


def nodes_of(one: Published) -> tuple[tuple[tuple[str, str], ...], str]:
    """The node that it is on, or in words which nodes reach it."""
    spec, device = one.slice.spec, one.device
    at: tuple[str | None, bool | None, object] = (spec.node_name, spec.all_nodes, spec.node_selector)
    if spec.per_device_node_selection:
        at = (device.node_name, device.all_nodes, device.node_selector)
    name, everywhere, selector = at
    if name:
        return ((name, node_href(name)),), ""
    if everywhere:
        return (), "all nodes"
    return (), "nodes by label" if selector is not None else "no node"


def device_row(world: World, one: Published, state: PoolState) -> DeviceRow:
    cluster = world.cluster
    keys = cluster.inventory.holders(one.id)
    nodes, where = nodes_of(one)
    attributes = attributes_of(one.device)
    return DeviceRow(
        id=row_id("device", str(one.id)),
        href=device_href(one.id),
        driver=one.id.driver,
        pool=one.id.pool,
        pool_href=pool_href(one.id.driver, one.id.pool),
        name=one.id.device,
        chip=HOLDS[ledger.hold_of(cluster.inventory, one.id)],
        usable=POOLS[state.state],
        nodes=nodes,
        where=where,
        holders=tuple(holder(cluster, key) for key in keys[:HOLDERS]),
        more_holders=max(0, len(keys) - HOLDERS),
        taints=tuple(device_taint_text(t) for t in one.device.taints),
        attributes=attributes[:ATTRIBUTES],
        more_attributes=max(0, len(attributes) - ATTRIBUTES),
        unwell=tuple(
            f"{c.type} is {c.status or 'not said'}" for _, c in reported(cluster, one.id, keys) if c.status != "True"
        ),
    )


def reported(cluster: Cluster, device: DeviceID, holders: Iterable[str]) -> Iterator[tuple[str, deviceclaim.Condition]]:
    """What its driver reports of an allocated device: key of the claim, and the condition."""
    for key in holders:
        claim = cluster.device_claims.get(key)
        for status in claim.status.devices if claim is not None else ():
            if (status.driver, status.pool, status.device) == device:
                yield from ((key, condition) for condition in status.conditions)


class NodeDevices(msgspec.Struct, frozen=True):
    """Devices of the node's own pools. others: pools that reach it by a selector or reach all nodes. served: there are
    slices at all, or there may be."""

    name: str
    rows: tuple[DeviceRow, ...]
    total: int
    taken: int
    served: bool
    others: tuple[PoolRow, ...] = ()
    more_others: int = 0


def has_slices(world: World) -> bool:
    """Whether there are slices, or may be."""
    known = getattr(world.sync.get("resourceslices"), "state", "") == "synced"
    return known or bool(world.cluster.inventory.slices)


def devices_of_node(world: World, name: str) -> NodeDevices:
    inventory = world.cluster.inventory
    found = Found(inventory, Wanted(node=name))
    rows = found.rows(0, found.count)
    others = _others(world, name)
    return NodeDevices(
        name=name,
        rows=tuple(device_row(world, one, state) for state, one in rows[:ON_NODE]),
        total=len(rows),
        taken=sum(one.id in inventory.held_devices for _, one in rows),
        served=has_slices(world),
        others=tuple(pool_row(world, s) for s in others[:OTHERS]),
        more_others=max(0, len(others) - OTHERS),
    )


def _others(world: World, name: str) -> list[PoolState]:
    """Pools with devices for the node in a slice that does not name it."""
    inventory, node = world.cluster.inventory, world.cluster.nodes.by_name.get(name)
    if node is None:
        return []
    try:
        seen = inventory.seen_from(node)
    except AllocationError:
        return []  # the verdicts say what is wrong with the selector
    near = sorted(id_ for id_, of in seen.items() if any(s.spec.devices and s.spec.node_name != name for s in of))
    states = (ledger.state_of_pool(inventory, id_) for id_ in near)
    return [state for state in states if state is not None]


def pool_row(world: World, state: PoolState) -> PoolRow:
    inventory = world.cluster.inventory
    devices, taken, nodes = state.devices, ledger.taken_in(inventory, state), state.nodes
    return PoolRow(
        id=row_id("pool", str(state.id)),
        href=pool_href(state.id.driver, state.id.pool),
        driver=state.id.driver,
        name=state.id.pool,
        chip=POOLS[state.state],
        why=why(state),
        generation=state.generation,
        slices=len(state.slices),
        expected=state.expected,
        outdated=len(state.outdated),
        devices=devices,
        taken=taken,
        width=round(100 * taken / devices, 1) if devices else 0.0,
        nodes=tuple((n, node_href(n)) for n in nodes[:2]),
        more_nodes=max(0, len(nodes) - 2),
        where=_where(state),
    )


def _where(state: PoolState) -> str:
    if any(s.spec.per_device_node_selection for s in state.slices):
        return "each device has its own"
    return "all nodes" if any(s.spec.all_nodes for s in state.slices) else "nodes by label"


def why(state: PoolState) -> str:
    """Why no device of the pool can be allocated; "" where they can."""
    if state.state == ledger.INCOMPLETE:
        return f"{len(state.slices)} of {state.expected} slices of generation {state.generation}"
    return state.invalid


def published(cluster: Cluster, id_: DeviceID) -> Published | None:
    return ledger.find(cluster.inventory, id_)
