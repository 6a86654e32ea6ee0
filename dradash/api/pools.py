"""Pools of devices, as their slices make them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.published import DRIVER, NAMED, Use, address, now_or_last, use
from dradash.api.schemas import ROOT, Ref, Shape, ref
from dradash.reader.world import World
from dradash.scheduling.doctor import finding
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.ledger import PoolState
from dradash.scheduling.structured.pools import PoolID

_SLICES: Final = "resourceslices"
_STATES: Final = (ledger.USABLE, ledger.INCOMPLETE, ledger.INVALID)


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
    """duplicates: names that more than one of its devices has. gone: since when no slice is of it, null: some are.

    The rest is then its last state.
    """

    pool: PoolRow
    gone: str | None
    duplicates: tuple[str, ...]
    counters: tuple[Use, ...]
    slices: tuple[Ref, ...]
    outdated: tuple[Ref, ...]
    findings: tuple[FindingRow, ...] = ()


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
        url=ROOT + address("pools", id_),
        page=address("pools", id_),
    )


def pool_detail(ask: Ask) -> Any:
    id_ = PoolID(ask.where["driver"], ask.where["pool"])
    words = f"no slice is of the pool {id_}, now or in the history"
    found = now_or_last(ask, id_, "", partial(_pool_detail, id_), words)
    return projected(msgspec.structs.replace(found, findings=about(ask, finding.POOLS, str(id_))), ask)


def _pool_detail(id_: PoolID, world: World) -> PoolDetail | None:
    inventory = world.cluster.inventory
    state = ledger.state_of_pool(inventory, id_)
    if state is None:
        return None
    return PoolDetail(
        pool=pool_row(state, world),
        gone=None,
        duplicates=state.duplicates,
        counters=tuple(use(u) for u in ledger.counters(inventory, state)),
        slices=tuple(ref(_SLICES, s.name) for s in state.slices),
        outdated=tuple(ref(_SLICES, s.name) for s in state.outdated),
    )


POOLS: Final = Listing(
    row_type=PoolRow,
    items=pools,
    identity=lambda s: str(s.id),
    sortings={
        "pool": lambda s: s.id.pool,
        "driver": lambda s: s.id.driver,
        "state": lambda s: _STATES.index(s.state),
        "generation": lambda s: s.generation,
        "slices": lambda s: -len(s.slices),
        "devices": lambda s: -s.devices,
    },
    row=lambda ask, world, state: pool_row(state, world),  # noqa: ARG005 - as every resource's
)
ENDPOINTS: Final = (
    listed(
        "pools",
        "/pools",
        "devices",
        "Pools of devices, as their slices make them",
        POOLS,
        DRIVER,
        params.choice("state", "Only pools in this state.", _STATES),
        params.text("q", "Only pools whose name, or a node of which, contains this text.", "node-1"),
    ),
    Endpoint(
        "pool",
        "/pools/{driver}/{pool}",
        "devices",
        "One pool, also one that is gone",
        PoolDetail,
        pool_detail,
        varies="findings",
    ),
)
