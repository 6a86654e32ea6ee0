"""Nodes: what each is for classes, claims and waiting pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.devices import DeviceRow, device_row
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.nodetouched import touched
from dradash.api.schemas import Json, Reason, Ref, Shape, page, reason, ref, time_of, url
from dradash.kinds.node import Node
from dradash.reader.tallies import node_groups
from dradash.reader.world import World
from dradash.scheduling.classnodes import class_sets
from dradash.scheduling.nodecounts import NodeCounts
from dradash.scheduling.places import slots_of
from dradash.scheduling.structured.ledgerpages import Found, Wanted
from dradash.scheduling.verdict import Verdict
from dradash.store.model import VERDICTS
from dradash.store.replica import Applied

KIND: Final = "nodes"
SCHEDULABLE: Final = "schedulable"
CORDONED: Final = "cordoned"
LISTED: Final = 1000
FITS: Final = "fits"
NOT_COMPARED: Final = "not compared"


class TaintBody(Shape, frozen=True):
    key: str
    value: str
    effect: str


class NodeRow(Shape, frozen=True):
    """classes: those whose suitableNodes leave it. claims: that can be used here because they name it.

    podsFit, podsRefused: pending pods whose verdict passes or refuses it. refusals: by drivers, as far as was seen.
    """

    name: str
    state: str
    taints: tuple[TaintBody, ...]
    classes: tuple[str, ...]
    claims: int
    pods_fit: int
    pods_refused: int
    refusals: int
    created: str | None
    url: str
    page: str


class PodHere(Shape, frozen=True):
    """What a pending pod's verdict says of the node. fits: null, its attempt ended before any node was compared."""

    pod: str
    fits: bool | None
    plugin: str
    reason: Reason | None
    url: str


class NodeDetail(Shape, frozen=True):
    """pods: the first ones that `answer` and `q` leave; podsTotal: how many these leave. gone: when it was deleted.

    devices: of its own pools; those that reach it by a selector are not among them.
    """

    node: NodeRow
    gone: str | None
    labels: dict[str, str]
    claims: tuple[Ref, ...]
    devices: tuple[DeviceRow, ...]
    devices_total: int
    pods: tuple[PodHere, ...]
    pods_total: int
    findings: tuple[FindingRow, ...]
    object: Json


class Item(msgspec.Struct, frozen=True):
    node: Node
    classes: tuple[str, ...]
    claims: int
    fit: int
    refuse: int
    refusals: int


def _pending(world: World) -> Iterator[tuple[str, Verdict | None]]:
    return ((k, world.verdicts.get(k)) for k, p in world.cluster.pods.items() if p.is_pending)


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Item]:
    table = world.cluster.nodes
    nodes = _candidates(ask, world, class_sets(world.cluster))
    if keys is not None:
        nodes &= table.among(keys)
    text = ask.get("q").casefold()
    yield from _facts(ask, world, [(s, n) for s, n in slots_of(nodes, table) if not text or text in n.name.casefold()])


def _facts(ask: Ask, world: World, members: Sequence[tuple[int, Node]]) -> Iterator[Item]:
    table, sets = world.cluster.nodes, class_sets(world.cluster)
    slots = [s for s, _ in members]
    fit, refuse = _counts(ask, world)
    fits, refuses = fit.of_all(slots), refuse.of_all(slots)
    claims = world.cluster.places.counts(table, members)
    for slot, node in members:
        passed = tuple(name for name in sorted(sets) if sets[name] >> slot & 1)
        yield Item(node, passed, claims[slot], fits[slot], refuses[slot], ask.refusals_of(node.name))


def _candidates(ask: Ask, world: World, sets: dict[str, int]) -> int:
    table, given = world.cluster.nodes, ask.params
    nodes = table.all
    if name := given.get("class"):
        nodes &= sets.get(name, 0)
    if label := given.get("label"):
        nodes &= table.labelled(label)
    if state := given.get("state"):
        nodes &= table.unschedulable if state == CORDONED else ~table.unschedulable
    return nodes


def _counts(ask: Ask, world: World) -> tuple[NodeCounts, NodeCounts]:
    """How many pending pods fit on each node, and how many are refused there."""
    groups = ask.tallies(world).groups
    sets = ask.here.node_sets.get([digest for digest, _ in groups])
    fit, refuse = NodeCounts(), NodeCounts()
    for (digest, passes), pods in groups.items():
        (fit if passes else refuse).add(sets.get(digest, 0), pods)
    return fit, refuse


def _prepare(ask: Ask, changes: Sequence[Applied]) -> object:
    with ask.world() as world:
        digests = {digest for digest, _ in ask.tallies(world).groups}
    for applied in changes:
        if applied.change.kind == VERDICTS:
            digests |= {g.nodes for of in (applied.old, applied.new) for g in node_groups(of)}
    return ask.here.node_sets.get(list(digests))


def row_of(item: Item) -> NodeRow:
    node = item.node
    return NodeRow(
        name=node.name,
        state=CORDONED if node.spec.unschedulable else SCHEDULABLE,
        taints=tuple(TaintBody(key=t.key, value=t.value, effect=t.effect) for t in node.spec.taints),
        classes=item.classes,
        claims=item.claims,
        pods_fit=item.fit,
        pods_refused=item.refuse,
        refusals=item.refusals,
        created=node.metadata.creation_timestamp,
        url=url(KIND, node.name) or "",
        page=page(KIND, node.name) or "",
    )


NODES: Final = Listing(
    row_type=NodeRow,
    items=items,
    identity=lambda i: i.node.name,
    sortings={
        "node": lambda i: i.node.name,
        "state": lambda i: int(i.node.spec.unschedulable),
        "classes": lambda i: -len(i.classes),
        "claims": lambda i: -i.claims,
        "fit": lambda i: -i.fit,
        "refuse": lambda i: -i.refuse,
        "refusals": lambda i: -i.refusals,
    },
    row=lambda ask, world, item: row_of(item),  # noqa: ARG005 - as every resource's
    touched=touched,
    decided_by=frozenset({KIND, "resourceclasses"}),
    prepare=_prepare,
)


def detail(ask: Ask) -> Any:
    name, gone = ask.key, 0.0
    _prepare(ask, ())
    with ask.world() as world:
        table = world.cluster.nodes
        item = next(_facts(ask, world, list(slots_of(table.among((name,)), table))), None)
        raw = world.cluster.raw[KIND].get(name, b"{}")
        here = sorted(world.cluster.places.here(item.node, table)) if item else []
        chosen = Found(world.cluster.inventory, Wanted(node=name))
        devices, total = tuple(device_row(one, s, world) for s, one in chosen.rows(0, LISTED)), chosen.count
        bit, pending = table.named((name,)), list(_pending(world))
    if item is None:
        node, entry = ask.last(KIND, name)
        item, raw, gone, pending = Item(node, (), 0, 0, 0, 0), entry.object, entry.at, []
    sets = ask.here.node_sets.get([g.nodes for _, v in pending for g in node_groups(v)])
    pods = [p for p in (_pod_here(k, v, sets, bit) for k, v in sorted(pending, key=lambda p: p[0])) if _wanted(p, ask)]
    found = NodeDetail(
        node=row_of(item),
        gone=time_of(gone),
        labels=item.node.metadata.labels,
        claims=tuple(ref("resourceclaims", k) for k in here[:LISTED]),
        devices=devices,
        devices_total=total,
        pods=tuple(pods[:LISTED]),
        pods_total=len(pods),
        findings=about(ask, KIND, name),
        object=msgspec.json.decode(raw),
    )
    return projected(found, ask)


def _pod_here(key: str, verdict: Verdict | None, sets: dict[str, int], bit: int) -> PodHere:
    group = next((g for g in node_groups(verdict) if sets.get(g.nodes, 0) & bit), None)
    return PodHere(
        pod=key,
        fits=None if group is None else not group.reason,
        plugin=group.plugin if group else "",
        reason=reason(group.reason) if group and group.reason else None,
        url=url("pods", key) or "",
    )


def _wanted(pod: PodHere, ask: Ask) -> bool:
    answer, text = ask.get("answer"), ask.get("q").casefold()
    if text and text not in pod.pod.casefold():
        return False
    if answer in ("", FITS, NOT_COMPARED):
        return not answer or pod.fits is (True if answer == FITS else None)
    return pod.reason is not None and answer in (pod.reason.code, pod.reason.text)


def _answers() -> params.Param:
    """As the page's, and codes."""
    of_reason = params.reason(
        "Only `pods` that get this answer here: fits; not compared; or why Filter refuses the node"
    )
    allowed = (FITS, NOT_COMPARED, *of_reason.allowed)
    return msgspec.structs.replace(
        of_reason,
        name="answer",
        schema={**of_reason.schema, "pattern": of_reason.schema["pattern"].replace("^(?:|", f"^(?:|{FITS}|", 1)},
        read=lambda value: value if value == FITS else of_reason.read(value),
        example=FITS,
        allowed=allowed,
    )


ENDPOINTS: Final = (
    listed(
        "nodes",
        "/nodes",
        "nodes",
        "Nodes, as classes, claims and waiting pods see them",
        NODES,
        params.text("class", "Only nodes that this ResourceClass leaves.", "gpu"),
        params.label("label", "Only nodes with this label: key=value, or a key with any value.", "zone=a"),
        params.choice("state", "Only nodes in this state.", (SCHEDULABLE, CORDONED)),
        params.text("q", "Only nodes whose name contains this text.", "node-1"),
    ),
    Endpoint(
        "node",
        "/nodes/{name}",
        "nodes",
        "One node, also one that is gone",
        NodeDetail,
        detail,
        (_answers(), params.text("q", "Only `pods` whose key contains this text.", "train")),
        varies="findings",
    ),
)
