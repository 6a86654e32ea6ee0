"""ResourceClasses, and how many nodes each leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.classitems import ClassItem, class_item, class_items, class_touched
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.schemas import Json, Shape, page, time_of, url
from dradash.kinds.resourceclass import ResourceClass
from dradash.reader.world import World
from dradash.scheduling.nodetable import InvalidSelector
from dradash.store.replica import Applied

KIND: Final = "resourceclasses"


class ClassRow(Shape, frozen=True):
    """nodes: how many its suitableNodes leave, null where the selector is invalid. claims: by state."""

    name: str
    driver: str
    nodes: int | None
    claims: dict[str, int]
    pods_waiting: int
    created: str | None
    url: str
    page: str


class ClassDetail(Shape, frozen=True):
    resource_class: ClassRow
    gone: str | None
    findings: tuple[FindingRow, ...]
    object: Json


def _keeps(ask: Ask, of: ResourceClass) -> bool:
    text, driver = ask.get("q").casefold(), ask.get("driver")
    if driver and of.driver_name != driver:
        return False
    return not text or text in f"{of.name} {of.driver_name}".casefold()


def _leaves(of: ResourceClass, world: World) -> int | None:
    if of.suitable_nodes is None:
        return len(world.cluster.nodes)
    try:
        return world.cluster.nodes.matching(of.suitable_nodes).bit_count()
    except InvalidSelector:
        return None


_of_kind: Final = class_items(KIND, _keeps)


def _items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[ClassItem]:
    return (_with_nodes(item, world) for item in _of_kind(ask, world, keys))


def _with_nodes(item: ClassItem, world: World) -> ClassItem:
    return msgspec.structs.replace(item, nodes=_leaves(item.of, world))


def class_row(item: ClassItem) -> ClassRow:
    return ClassRow(
        name=item.name,
        driver=item.of.driver_name,
        nodes=item.nodes,
        claims=dict(item.claims),
        pods_waiting=item.waiting,
        created=item.of.metadata.creation_timestamp,
        url=url(KIND, item.name) or "",
        page=page(KIND, item.name) or "",
    )


def class_detail(ask: Ask) -> Any:
    found = ask.found(KIND)
    with ask.world() as world:
        item = class_item(KIND, found.of, ask.tallies(world))
        row = class_row(item if found.gone else _with_nodes(item, world))
    detail = ClassDetail(
        resource_class=row,
        gone=time_of(found.gone),
        findings=about(ask, KIND, ask.key),
        object=msgspec.json.decode(found.raw),
    )
    return projected(detail, ask)


def _nodes_moved(applied: Applied) -> bool:
    """Whether other nodes may match a selector."""
    old, new = applied.old, applied.new
    if applied.change.kind != "nodes":
        return False
    return old is None or new is None or bool(old.metadata.labels != new.metadata.labels)


CLASSES: Final = Listing(
    row_type=ClassRow,
    items=_items,
    identity=lambda i: i.name,
    sortings={
        "class": lambda i: i.name,
        "driver": lambda i: i.of.driver_name,
        "nodes": lambda i: -1 if i.nodes is None else i.nodes,
        "claims": lambda i: -sum(i.claims.values()),
        "waiting": lambda i: -i.waiting,
    },
    row=lambda ask, world, item: class_row(item),  # noqa: ARG005 - as every resource's
    touched=class_touched(KIND, _nodes_moved),
    decided_by=frozenset({KIND}),
)
ENDPOINTS: Final = (
    listed(
        "classes",
        "/classes",
        "classes",
        "ResourceClasses",
        CLASSES,
        params.text("driver", "Only classes of this driver.", "gpu.example.com"),
        params.text("q", "Only classes whose name or driver contains this text.", "gpu"),
    ),
    Endpoint(
        "class",
        "/classes/{name}",
        "classes",
        "One class, also one that is gone",
        ClassDetail,
        class_detail,
        varies="findings",
    ),
)
