"""The nodes list: what each node is for the classes, the claims and the pods that wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.node import Node, Taint
from dradash.reader.nodeseries import NodeMark, NodeSample, marks_of, note
from dradash.reader.series import groups_of
from dradash.reader.world import World
from dradash.scheduling.classnodes import class_sets
from dradash.scheduling.nodecounts import NodeCounts
from dradash.scheduling.places import slots_of
from dradash.scheduling.structured.ledgerpages import held_on
from dradash.scheduling.verdict import Verdict
from dradash.web.presenters.filterwords import asked_labels
from dradash.web.presenters.inventory import has_slices
from dradash.web.presenters.lines import Line, begin_of_now, node_line, window_of
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.status import is_expected
from dradash.web.presenters.words import Chip, class_href, node_href, row_id

PARAMS: Final = frozenset({"label", "class", "state", "q", "sort", "page"})
READY: Final = "schedulable"
CORDONED: Final = "cordoned"
LABEL_OPTIONS: Final = 200
CLASSES_SHOWN: Final = 3
DEVICES: Final = Column("Devices held", css="num")

STATES: Final = {
    READY: Chip("Schedulable", "good", "check"),
    CORDONED: Chip("Cordoned", "warn", "stop", "spec.unschedulable is set"),
}

Sets = Callable[[Sequence[str]], Mapping[str, int]]  # digests -> node sets, those there are


class ClassLink(msgspec.Struct, frozen=True):
    name: str
    href: str


class NodeRow(msgspec.Struct, frozen=True):
    id: str
    slot: int
    href: str
    name: str
    chip: Chip
    taints: tuple[str, ...]
    classes: tuple[ClassLink, ...]  # first ones
    classes_more: int  # that it passes
    claims: int
    fit: int  # pending pods that fit
    refuse: int  # pending pods that Filter refuses here
    refusals: int | None  # by drivers; None: not known
    created: str
    classic: bool = True  # whether classes and refusals mean anything here
    devices: tuple[int, int] | None = None  # held, and all of its own; None: there are no slices
    trail: Line | None = None


class NodeFilters(msgspec.Struct, frozen=True):
    labels: tuple[Option, ...]
    classes: tuple[Option, ...]
    states: tuple[Option, ...]
    text: str
    sort: str
    active: bool


class NodesListView(msgspec.Struct, frozen=True):
    filters: NodeFilters
    columns: tuple[Column, ...]
    rows: tuple[NodeRow, ...]
    pager: Pager
    known: int
    everywhere: int  # claims that can be used on any node
    judged: int  # pending pods whose verdict compares nodes
    classic: bool  # False: the cluster has structured parameters instead


class Item(msgspec.Struct, frozen=True):
    slot: int
    node: Node
    claims: int
    fit: int
    refuse: int
    classes: int
    refusals: int


SORTINGS: Final = (
    Sorting("node", "Node", lambda i: i.node.name),
    Sorting("state", "State", lambda i: i.node.spec.unschedulable),
    Sorting("classes", "Classes passed", lambda i: -i.classes),
    Sorting("claims", "Claims here", lambda i: -i.claims, "num", True),
    Sorting("fit", "Pods fit", lambda i: -i.fit, "num", True),
    Sorting("refuse", "Pods refused", lambda i: -i.refuse, "num", True),
    Sorting("refusals", "Driver refusals", lambda i: -i.refusals, "num", True),
)


class Facts(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still. members: (slot, node) that the filters leave."""

    members: list[tuple[int, Node]]
    classes: dict[str, int]  # class -> the set of nodes that it leaves
    claims: dict[int, int]
    everywhere: int
    groups: Counter[tuple[str, bool]]  # (digest, whether these nodes pass) -> pending pods
    judged: int
    refusals: Mapping[str, int] | None  # None: not known of this moment
    filters: NodeFilters
    known: int
    classic: bool
    has_slices: bool


def pending_verdicts(world: World) -> Iterable[tuple[str, Verdict | None]]:
    return ((k, world.verdicts.get(k)) for k, p in world.cluster.pods.items() if p.is_pending)


def gather(world: World, query: Query, refusals: Mapping[str, int] | None) -> Facts:
    table = world.cluster.nodes
    sets = class_sets(world.cluster)
    members = [m for m in slots_of(_candidates(world, query, sets), table) if _has_text(m[1], query)]
    groups: Counter[tuple[str, bool]] = Counter()
    judged = 0
    for _, verdict in pending_verdicts(world):
        of_pod = groups_of(verdict)
        judged += bool(of_pod)
        groups.update((g.nodes, not g.reason) for g in of_pod)
    found = world.cluster.places
    return Facts(
        members=members,
        classes=sets,
        claims=found.counts(table, members),
        everywhere=len(found.everywhere),
        groups=groups,
        judged=judged,
        refusals=refusals,
        filters=_filters(world, query, sets),
        known=len(table),
        classic=not is_expected("resourceclasses", world.sync),
        has_slices=has_slices(world),
    )


def _candidates(world: World, query: Query, sets: Mapping[str, int], without: str = "") -> int:
    table = world.cluster.nodes
    nodes = table.all
    if (name := query.get("class")) and without != "class":
        nodes &= sets.get(name, 0)
    if (label := query.get("label")) and without != "label":
        nodes &= table.labelled(label)
    if (state := query.get("state")) and without != "state":
        nodes &= table.unschedulable if state == CORDONED else ~table.unschedulable
    return nodes


def _has_text(node: Node, query: Query) -> bool:
    text = query.get("q").casefold()
    if not text or text in node.name.casefold():
        return True
    return "=" in text and any(text == f"{k}={v}".casefold() for k, v in node.metadata.labels.items())


def _filters(world: World, query: Query, sets: Mapping[str, int]) -> NodeFilters:
    cluster = world.cluster
    of_label, of_class = _candidates(world, query, sets, "label"), _candidates(world, query, sets, "class")
    of_state = _candidates(world, query, sets, "state")
    labels: dict[str, int] = {}
    for key in asked_labels([c.suitable_nodes for c in cluster.classes.values()]):
        for value in sorted(cluster.nodes.label_values(key))[: LABEL_OPTIONS - len(labels)]:
            labels[f"{key}={value}"] = (cluster.nodes.with_labels({key: value}) & of_label).bit_count()
    cordoned = (of_state & cluster.nodes.unschedulable).bit_count()
    states = {READY: of_state.bit_count() - cordoned, CORDONED: cordoned}
    return NodeFilters(
        labels=options(labels, query.get("label")),
        classes=options({n: (s & of_class).bit_count() for n, s in sets.items()}, query.get("class")),
        states=options(states, query.get("state"), {s: chip.text for s, chip in STATES.items()}),
        text=query.get("q"),
        sort=query.get("sort"),
        active=any(query.get(p) for p in ("label", "class", "state", "q")),
    )


def present(facts: Facts, query: Query, sets: Sets) -> NodesListView:
    slots = [slot for slot, _ in facts.members]
    known = sets(list({digest for digest, _ in facts.groups}))
    fit, refuse, passed = NodeCounts(), NodeCounts(), NodeCounts()
    for (digest, passes), pods in facts.groups.items():
        (fit if passes else refuse).add(known.get(digest, 0), pods)
    for nodes in facts.classes.values():
        passed.add(nodes)
    fits, refuses, passes_of = fit.of_all(slots), refuse.of_all(slots), passed.of_all(slots)
    items = [
        Item(s, n, facts.claims[s], fits[s], refuses[s], passes_of[s], (facts.refusals or {}).get(n.name, 0))
        for s, n in facts.members
    ]
    shown, pager = page_of(sorted_by(items, query, SORTINGS, lambda i: i.node.name), query)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    first = (heads["node"], heads["state"], Column("Taints"), *([heads["classes"]] if facts.classic else ()))
    last = (heads["claims"], heads["fit"], heads["refuse"], *([heads["refusals"]] if facts.classic else ()))
    return NodesListView(
        filters=facts.filters,
        columns=(*first, *([DEVICES] if facts.has_slices else ()), *last),
        rows=tuple(_row(i, facts) for i in shown),
        pager=pager,
        known=facts.known,
        everywhere=facts.everywhere,
        judged=facts.judged,
        classic=facts.classic,
    )


def taint_text(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def state_chip(node: Node) -> Chip:
    return STATES[CORDONED if node.spec.unschedulable else READY]


def _row(item: Item, facts: Facts) -> NodeRow:
    node, sets = item.node, facts.classes
    passed = [name for name in sorted(sets) if sets[name] >> item.slot & 1]
    return NodeRow(
        id=row_id("node", node.name),
        slot=item.slot,
        href=node_href(node.name),
        name=node.name,
        chip=state_chip(node),
        taints=tuple(taint_text(t) for t in node.spec.taints),
        classes=tuple(ClassLink(name, class_href(name)) for name in passed[:CLASSES_SHOWN]),
        classes_more=max(0, len(passed) - CLASSES_SHOWN),
        claims=item.claims,
        fit=item.fit,
        refuse=item.refuse,
        refusals=item.refusals if facts.refusals is not None else None,
        created=node.metadata.creation_timestamp or "",
        classic=facts.classic,
    )


def with_devices(view: NodesListView, world: World) -> NodesListView:
    """Counted for the rows that are shown only."""
    if not has_slices(world):
        return view
    found = held_on(world.cluster.inventory, [r.name for r in view.rows])
    rows = tuple(msgspec.structs.replace(r, devices=found[r.name]) for r in view.rows)
    return msgspec.structs.replace(view, rows=rows)


def with_trails(view: NodesListView, samples: Sequence[NodeSample], now: float) -> NodesListView:
    """samples: up to `now` (Unix seconds), the moment that the page shows."""
    if not samples:
        return view
    trails = marks_of(samples, [r.slot for r in view.rows])
    window = window_of(trails.values(), now)
    began = begin_of_now(window)
    rows = []
    for row in view.rows:
        marks = trails[row.slot]
        note(marks, NodeMark(max(began, marks[-1].at), row.fit, row.refuse))
        rows.append(msgspec.structs.replace(row, trail=node_line(tuple(marks), window)))
    return msgspec.structs.replace(view, rows=tuple(rows))
