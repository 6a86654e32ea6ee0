"""ResourceClasses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.schemas import Json, Shape, page, time_of, url
from dradash.kinds.resourceclass import ResourceClass
from dradash.reader.world import World
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.classic.claimstate import claim_state
from dradash.scheduling.nodetable import InvalidSelector
from dradash.store.model import Change

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
    object: Json


class ClassItem(msgspec.Struct, frozen=True):
    name: str
    of: ResourceClass
    nodes: int | None
    claims: Mapping[str, int]
    waiting: int


def class_items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[ClassItem]:
    classes, waiting = world.cluster.classes, _waiting(world)
    text, driver = ask.get("q").casefold(), ask.get("driver")
    for name in classes if keys is None else [k for k in keys if k in classes]:
        of = classes[name]
        if (driver and of.driver_name != driver) or (text and text not in f"{name} {of.driver_name}".casefold()):
            continue
        yield ClassItem(name, of, _leaves(of, world), _claims_of(name, world), waiting[name])


def _claims_of(name: str, world: World) -> dict[str, int]:
    """Claims of the class, by state."""
    claims = world.cluster.claims
    return Counter(str(claim_state(claims[key])) for key in world.cluster.claims_by_class.members(name))


def _waiting(world: World) -> Counter[str]:
    counts: Counter[str] = Counter()
    for key, pod in world.cluster.pods.items():
        verdict = world.verdicts.get(key) if pod.is_pending else None
        counts.update({n for c in verdict.claims for n in classes_in(c.resource_class)} if verdict else ())
    return counts


def _leaves(of: ResourceClass, world: World) -> int | None:
    if of.suitable_nodes is None:
        return len(world.cluster.nodes)
    try:
        return world.cluster.nodes.matching(of.suitable_nodes).bit_count()
    except InvalidSelector:
        return None


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
    name, gone = ask.key, 0.0
    with ask.world() as world:
        item = next(iter(class_items(ask, world, (name,))), None)
        raw = world.cluster.raw[KIND].get(name, b"{}")
        waiting = _waiting(world)[name] if item is None else 0
        claims = _claims_of(name, world) if item is None else {}
    if item is None:
        last, entry = ask.last(KIND, name)
        item, raw, gone = ClassItem(name, last, None, claims, waiting), entry.object, entry.at
    found = ClassDetail(resource_class=class_row(item), gone=time_of(gone), object=msgspec.json.decode(raw))
    return projected(found, ask)


def _class_touched(change: Change, world: World) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    return (change.key,) if change.kind == KIND else ()


CLASSES: Final = Listing(
    row_type=ClassRow,
    items=class_items,
    identity=lambda i: i.name,
    sortings={
        "class": lambda i: i.name,
        "driver": lambda i: i.of.driver_name,
        "nodes": lambda i: -1 if i.nodes is None else i.nodes,
        "claims": lambda i: -sum(i.claims.values()),
        "waiting": lambda i: -i.waiting,
    },
    row=lambda ask, world, item: class_row(item),  # noqa: ARG005 - as every resource's
    touched=_class_touched,
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
    Endpoint("class", "/classes/{name}", "classes", "One class, also one that is gone", ClassDetail, class_detail),
)
