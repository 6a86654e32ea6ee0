"""ResourceSlices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.published import DRIVER, absent
from dradash.api.schemas import Json, Shape, page, time_of, url
from dradash.kinds.resourceslice import ResourceSlice
from dradash.reader.before import world_before
from dradash.reader.world import World
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.pools import PoolID
from dradash.store.replica import Applied

KIND: Final = "resourceslices"


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
    findings: tuple[FindingRow, ...]
    object: Json


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
        newest=state is None or state.generation <= spec.pool.generation,
        node=spec.node_name or None,
        devices=len(spec.devices),
        created=item.metadata.creation_timestamp,
        url=url(KIND, item.name) or "",
        page=page(KIND, item.name) or "",
    )


def slice_detail(ask: Ask) -> Any:
    with ask.world() as world:
        there = ask.key in world.cluster.inventory.slices
    if not there and not ask.history(KIND, ask.key):
        never = ask.never(KIND, ask.key).problem.detail
        with ask.world() as world:
            raise absent(world, never)
    found = ask.found(KIND)
    if found.gone:
        with world_before(ask.here, found.gone, ask.at) as (before, _):
            row = slice_row(found.of, before)
    else:
        with ask.world() as world:
            row = slice_row(found.of, world)
    told = SliceDetail(
        slice=row,
        gone=time_of(found.gone),
        findings=about(ask, KIND, ask.key),
        object=msgspec.json.decode(found.raw),
    )
    return projected(told, ask)


def touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    """Every slice of the pool: which generation is the newest may have changed."""
    if applied.change.kind != KIND:
        return ()
    specs = [of.spec for of in (applied.old, applied.new) if of is not None]
    pools = {PoolID(spec.driver, spec.pool.name) for spec in specs}
    return {applied.change.key, *(s.name for id_ in pools for s in world.cluster.inventory.slices_of(id_))}


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
    touched=touched,
    decided_by=frozenset({KIND}),
)
ENDPOINTS: Final = (
    listed(
        "slices",
        "/slices",
        "devices",
        "ResourceSlices",
        SLICES,
        DRIVER,
        params.text("node", "Only slices of this node.", "node-1"),
        params.text("q", "Only slices whose name or pool contains this text.", "node-1"),
    ),
    Endpoint(
        "slice",
        "/slices/{name}",
        "devices",
        "One slice, also one that is gone",
        SliceDetail,
        slice_detail,
        varies="findings",
    ),
)
