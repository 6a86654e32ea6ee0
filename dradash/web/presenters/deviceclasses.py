"""The device classes list and one class: its selectors with what each leaves, its claims, the pods that wait for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.reader.series import Sample, device_class
from dradash.reader.world import World
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.structured import matching
from dradash.scheduling.structured.claimstate import device_claim_state
from dradash.scheduling.structured.matching import Left
from dradash.scheduling.verdict import Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters.charts import Spark
from dradash.web.presenters.classes import PodRow, StateCount, states, waiting_pods, waiting_spark
from dradash.web.presenters.nodelist import pending_verdicts
from dradash.web.presenters.query import Column, Pager, Query, Sorting, columns, page_of, sorted_by
from dradash.web.presenters.status import can_tell
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import bench_href, device_class_href, row_id

KIND: Final = "deviceclasses"
PARAMS: Final = frozenset({"q", "sort", "page"})


class DeviceClassRow(msgspec.Struct, frozen=True):
    """left: devices that the selectors leave, of all (`of`) in usable pools. Of them no claim holds those that are free
    or tainted, and counters do not block them."""

    id: str
    name: str
    href: str
    selectors: tuple[Left, ...]
    left: int
    free: int
    tainted: int
    of: int
    error: str
    extended: str  # resource that pods may ask for instead of a claim
    claims: int
    states: tuple[StateCount, ...]
    waiting: int
    waiting_href: str
    spark: Spark | None
    slices_known: bool = True  # or seen at least once

    @property
    def none(self) -> bool:
        return not self.left


class DeviceClassesView(msgspec.Struct, frozen=True):
    text: str
    active: bool
    sort: str
    columns: tuple[Column, ...]
    rows: tuple[DeviceClassRow, ...]
    pager: Pager
    known: int
    missing: tuple[tuple[str, int], ...]  # classes that claims name and that are not there, with how many claims


class ConfigView(msgspec.Struct, frozen=True):
    driver: str
    parameters: str


class DeviceClassView(msgspec.Struct, frozen=True):
    row: DeviceClassRow
    created: str
    gone: float
    config: tuple[ConfigView, ...]
    pods: tuple[PodRow, ...]
    command: str
    describe: str
    yaml: str

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def bench_href(self) -> str:
        return bench_href(device_class=self.row.name)


class _Item(msgspec.Struct, frozen=True):
    name: str
    of: DeviceClass
    states: Mapping[str, int]
    waiting: int


SORTINGS: Final = (
    Sorting("class", "Class", lambda i: i.name),
    Sorting("claims", "Claims", lambda i: -sum(i.states.values()), "", True),
    Sorting("waiting", "Pods waiting", lambda i: -i.waiting, "num", True),
)


def expressions(of: DeviceClass) -> tuple[str, ...]:
    """Of its selectors; "" for a kind of selector that is not known, which no device passes."""
    return tuple(s.cel.expression if s.cel else "" for s in of.spec.selectors)


def present(world: World, query: Query, samples: Sequence[Sample]) -> DeviceClassesView:
    cluster = world.cluster
    waiting = _waiting(world)
    items = [_item(world, name, of, waiting) for name, of in cluster.device_classes.items()]
    text = query.get("q").casefold()
    matching_items = [
        i for i in items if text in i.name.casefold() or any(text in e.casefold() for e in expressions(i.of))
    ]
    shown, pager = page_of(sorted_by(matching_items, query, SORTINGS, lambda i: i.name), query)
    heads = columns(query, SORTINGS)
    return DeviceClassesView(
        text=query.get("q"),
        active=bool(text),
        sort=query.get("sort"),
        columns=(
            heads[0],
            Column("Selectors"),
            Column("Devices that match", css="num"),
            *heads[1:],
            Column("Waiting, over time"),
        ),
        rows=tuple(_row(world, i, samples) for i in shown),
        pager=pager,
        known=len(items),
        missing=_missing(world),
    )


def _missing(world: World) -> tuple[tuple[str, int], ...]:
    cluster = world.cluster
    named = cluster.claims_by_device_class
    return tuple((name, len(named.members(name))) for name in sorted(named.groups()) if name not in cluster.raw[KIND])


def _waiting(world: World) -> Counter[str]:
    return Counter(name for _, v in pending_verdicts(world) for name in _classes_of(v))


def _classes_of(verdict: Verdict | None) -> set[str]:
    if verdict is None or verdict.generation != "structured":
        return set()
    return {n for c in verdict.claims for n in classes_in(c.resource_class)}


def _item(world: World, name: str, of: DeviceClass, waiting: Counter[str]) -> _Item:
    claims = world.cluster.device_claims
    keys = world.cluster.claims_by_device_class.members(name)
    return _Item(name, of, Counter(device_claim_state(claims[k]) for k in keys if k in claims), waiting[name])


def _row(world: World, item: _Item, samples: Sequence[Sample]) -> DeviceClassRow:
    seen, left = matching.leaves(world.cluster.inventory, expressions(item.of))
    free = matching.free(world.cluster.inventory, expressions(item.of))
    return DeviceClassRow(
        id=row_id("class", item.name),
        name=item.name,
        href=device_class_href(item.name),
        selectors=tuple(left),
        left=left[-1].devices if left else seen,
        free=free.free,
        tainted=free.tainted,
        of=seen,
        error=next((one.error for one in left if one.error), ""),
        extended=item.of.spec.extended_resource_name or "",
        claims=sum(item.states.values()),
        states=states(item.states, {"class": item.name}),
        waiting=item.waiting,
        waiting_href="/pods?" + urlencode({"class": item.name}),
        spark=waiting_spark(samples, device_class(item.name)),
        slices_known=bool(world.cluster.inventory.slices) or can_tell(world, "resourceslices"),
    )


def detail(
    world: World, name: str, samples: Sequence[Sample], last: HistoryEntry | None = None
) -> DeviceClassView | None:
    """None when there is no such class. last: the last state of one that is gone."""
    cluster = world.cluster
    of, raw, gone = cluster.device_classes.get(name), cluster.raw[KIND].get(name, b""), 0.0
    if of is None and last is not None:
        try:
            found = read_object(KINDS[KIND], last.object)
        except MalformedObject:
            return None
        of, raw, gone = found if isinstance(found, DeviceClass) else None, last.object, last.at
    if of is None:
        return None
    return DeviceClassView(
        row=_row(world, _item(world, name, of, _waiting(world)), samples),
        created=of.metadata.creation_timestamp or "",
        gone=gone,
        config=tuple(_config(c.opaque or {}) for c in of.spec.config),
        pods=tuple(waiting_pods(world, lambda verdict: name in _classes_of(verdict))),
        command=kubectl.get(KIND, "", name),
        describe=kubectl.describe(KIND, "", name),
        yaml=as_yaml(msgspec.json.decode(raw)),
    )


def _config(opaque: Mapping[str, Any]) -> ConfigView:
    return ConfigView(str(opaque.get("driver", "")), as_yaml(opaque.get("parameters") or {}))
