"""The classes list and one class: which nodes it leaves, its claims, the pods that wait for it, its driver."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.resourceclass import ResourceClass
from dradash.reader.series import Sample
from dradash.reader.world import World
from dradash.scheduling import nodeset
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.classic.claimstate import ClaimState, claim_state
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodetable import InvalidSelector
from dradash.scheduling.verdict import Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters.charts import Spark, spark
from dradash.web.presenters.filterwords import words
from dradash.web.presenters.nodelist import pending_verdicts
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import (
    Actor,
    Chip,
    actor,
    claim_chip,
    class_href,
    cut,
    driver_href,
    node_href,
    outcome_chip,
    pod_href,
    row_id,
)

PARAMS: Final = frozenset({"driver", "q", "sort", "page"})
KIND: Final = "resourceclasses"
NODES: Final = 60
PODS: Final = 50
SPARK: Final = 40  # samples in a row's line


class Leaves(msgspec.Struct, frozen=True):
    """Nodes that a class's filter leaves. error: the filter is invalid."""

    count: int
    total: int
    error: str = ""

    @property
    def none(self) -> bool:
        return not self.count and self.total > 0


class StateCount(msgspec.Struct, frozen=True):
    chip: Chip
    count: int
    href: str


class ClassRow(msgspec.Struct, frozen=True):
    id: str
    name: str
    href: str
    driver: str
    driver_href: str
    heard: bool  # the driver made a move, or claims show that it did
    filter: tuple[str, ...]
    leaves: Leaves
    claims: int
    states: tuple[StateCount, ...]
    waiting: int
    waiting_href: str
    spark: Spark | None


class ClassFilters(msgspec.Struct, frozen=True):
    drivers: tuple[Option, ...]
    text: str
    sort: str
    active: bool


class ClassesView(msgspec.Struct, frozen=True):
    filters: ClassFilters
    columns: tuple[Column, ...]
    rows: tuple[ClassRow, ...]
    pager: Pager
    known: int
    missing: tuple[tuple[str, int], ...]  # classes that claims name and that are not there, with how many claims


class PodRow(msgspec.Struct, frozen=True):
    key: str
    href: str
    chip: Chip
    sentence: str
    actor: Actor | None
    since: float = 0.0  # Unix seconds that the verdict stands since, 0.0: none yet


class ClassView(msgspec.Struct, frozen=True):
    row: ClassRow
    created: str
    gone: float
    parameters: str
    nodes: tuple[tuple[str, str], ...]  # name, href: the first ones
    nodes_href: str
    pods: tuple[PodRow, ...]
    command: str
    describe: str
    yaml: str

    @property
    def name(self) -> str:
        return self.row.name


class Item(msgspec.Struct, frozen=True):
    name: str
    of: ResourceClass
    leaves: Leaves
    states: Mapping[str, int]
    waiting: int

    @property
    def claims(self) -> int:
        return sum(self.states.values())


SORTINGS: Final = (
    Sorting("class", "Class", lambda i: i.name),
    Sorting("driver", "Driver", lambda i: i.of.driver_name),
    Sorting("nodes", "Nodes left", lambda i: i.leaves.count, "num"),
    Sorting("claims", "Claims", lambda i: -i.claims, "", True),
    Sorting("waiting", "Pods waiting", lambda i: -i.waiting, "num", True),
)


class _Counts(msgspec.Struct, frozen=True):
    """claims: class -> state -> claims. waiting: class -> pending pods. proven: drivers that allocated something."""

    claims: Mapping[str, Counter[str]]
    waiting: Counter[str]
    proven: frozenset[str]


def count(world: World) -> _Counts:
    claims: defaultdict[str, Counter[str]] = defaultdict(Counter)
    proven = set()
    for claim in world.cluster.claims.values():
        claims[claim.spec.resource_class_name][claim_state(claim)] += 1
        if claim.status.allocation is not None:
            proven.add(claim.status.driver_name)
    waiting = Counter(c for _, v in pending_verdicts(world) for c in _classes_of(v))
    return _Counts(claims, waiting, frozenset(proven))


def _classes_of(verdict: Verdict | None) -> set[str]:
    return {n for c in verdict.claims for n in classes_in(c.resource_class)} if verdict else set()


def present(world: World, query: Query, heard: frozenset[str], samples: Sequence[Sample]) -> ClassesView:
    """heard: drivers that made a move while this process watched."""
    cluster, counts = world.cluster, count(world)
    items = [_item(cluster, name, of, counts) for name, of in cluster.classes.items()]
    matching = [i for i in items if _matches(i, query)]
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda i: i.name), query)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    missing = sorted((n, c.total()) for n, c in counts.claims.items() if n and n not in cluster.raw[KIND])
    return ClassesView(
        filters=ClassFilters(
            drivers=options(
                Counter(i.of.driver_name for i in items if _matches(i, query, "driver")), query.get("driver")
            ),
            text=query.get("q"),
            sort=query.get("sort"),
            active=any(query.get(p) for p in ("driver", "q")),
        ),
        columns=(
            heads["class"],
            heads["driver"],
            Column("Asks of a node"),
            *(heads[n] for n in ("nodes", "claims", "waiting")),
            Column("Waiting, over time"),
        ),
        rows=tuple(_row(i, heard | counts.proven, samples) for i in shown),
        pager=pager,
        known=len(items),
        missing=tuple(missing),
    )


def _item(cluster: Cluster, name: str, of: ResourceClass, counts: _Counts) -> Item:
    return Item(name, of, _leaves(cluster, of), counts.claims.get(name, Counter()), counts.waiting[name])


def _leaves(cluster: Cluster, of: ResourceClass) -> Leaves:
    total = len(cluster.nodes)
    if of.suitable_nodes is None:
        return Leaves(total, total)
    try:
        return Leaves(cluster.nodes.matching(of.suitable_nodes).bit_count(), total)
    except InvalidSelector as error:
        return Leaves(0, total, str(error))


def _matches(item: Item, query: Query, without: str = "") -> bool:
    driver, text = query.get("driver"), query.get("q").casefold()
    if driver and without != "driver" and item.of.driver_name != driver:
        return False
    return not text or text in f"{item.name} {item.of.driver_name} {' '.join(words(item.of.suitable_nodes))}".casefold()


def _row(item: Item, heard: frozenset[str], samples: Sequence[Sample]) -> ClassRow:
    return ClassRow(
        id=row_id("class", item.name),
        name=item.name,
        href=class_href(item.name),
        driver=item.of.driver_name,
        driver_href=driver_href(item.of.driver_name),
        heard=item.of.driver_name in heard,
        filter=words(item.of.suitable_nodes),
        leaves=item.leaves,
        claims=item.claims,
        states=states(item.states, {"class": item.name}),
        waiting=item.waiting,
        waiting_href="/pods?" + urlencode({"class": item.name}),
        spark=waiting_spark(samples, item.name),
    )


def waiting_spark(samples: Sequence[Sample], name: str) -> Spark | None:
    """name: as in Sample.waiting. None where nobody has waited."""
    waiting = [float(s.waiting.get(name, 0)) for s in samples[-SPARK:]]
    return spark(waiting, "Pods waiting") if any(waiting) else None


def states(counts: Mapping[str, int], where: Mapping[str, str]) -> tuple[StateCount, ...]:
    """Claims by state, each with a link to them. where: the filter that the link begins with."""
    return tuple(
        StateCount(claim_chip(s), counts[s], "/claims?" + urlencode({**where, "state": str(s)}))
        for s in ClaimState
        if counts.get(s)
    )


# --- one class -------------------------------------------------------------------------------------------------------


def detail(
    world: World, name: str, heard: frozenset[str], samples: Sequence[Sample], last: HistoryEntry | None = None
) -> ClassView | None:
    """None when there is no such class. last: the last state of one that is gone."""
    cluster = world.cluster
    of, raw, gone = cluster.classes.get(name), cluster.raw[KIND].get(name, b""), 0.0
    if of is None and last is not None:
        try:
            of, raw, gone = decode(ResourceClass, last.object), last.object, last.at
        except MalformedObject:
            return None
    if of is None:
        return None
    counts = count(world)
    reference = of.parameters_ref
    return ClassView(
        row=_row(_item(cluster, name, of, counts), heard | counts.proven, samples),
        created=of.metadata.creation_timestamp or "",
        gone=gone,
        parameters=f"{reference.kind} {reference.name} ({reference.api_group})" if reference else "",
        nodes=tuple((n, node_href(n)) for n in _node_names(cluster, of)),
        nodes_href="/nodes?" + urlencode({"class": name}),
        pods=tuple(waiting_pods(world, lambda verdict: name in _classes_of(verdict))),
        command=kubectl.get(KIND, "", name),
        describe=kubectl.describe(KIND, "", name),
        yaml=as_yaml(msgspec.json.decode(raw)),
    )


def _node_names(cluster: Cluster, of: ResourceClass) -> list[str]:
    if of.suitable_nodes is None:
        return []
    try:
        nodes = cluster.nodes.matching(of.suitable_nodes)
    except InvalidSelector:
        return []
    return cluster.nodes.slot_names(nodeset.slots(nodes, NODES))


def waiting_pods(world: World, concerns: Callable[[Verdict | None], bool]) -> list[PodRow]:
    """The first pending pods of those whose verdict it is, the longest wait first."""
    found = [(v.since if v else 0.0, k, v) for k, v in pending_verdicts(world) if concerns(v)]
    return [
        PodRow(
            key=key,
            href=pod_href(key),
            chip=outcome_chip(verdict.outcome if verdict else None),
            sentence=cut(verdict.sentence) if verdict else "",
            actor=actor(verdict.acts_next) if verdict else None,
            since=since,
        )
        for since, key, verdict in sorted(found, key=lambda f: f[:2])[:PODS]
    ]
