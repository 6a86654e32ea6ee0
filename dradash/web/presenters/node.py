"""One node: what it is for the classes, the claims, each pod that waits, and the drivers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.node import Node
from dradash.kinds.registry import MalformedObject, decode
from dradash.reader.driverstats import Refused
from dradash.reader.series import groups_of
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of, class_text, drivers_in_charge, state_of
from dradash.scheduling.classnodes import class_set
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.generation import Generation
from dradash.scheduling.rfc3339 import deletion_asked
from dradash.scheduling.verdict import Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters.filterwords import asked_labels, words
from dradash.web.presenters.nodelist import pending_verdicts, state_chip, taint_text
from dradash.web.presenters.poddevices import NODE
from dradash.web.presenters.query import Option, Pager, Query, options, page_of
from dradash.web.presenters.status import is_expected
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import (
    Actor,
    Chip,
    actor,
    claim_chip,
    claim_href,
    class_href,
    cut,
    driver_href,
    few,
    negotiation_href,
    node_href,
    outcome_chip,
    pod_href,
    row_id,
)

PARAMS: Final = frozenset({"answer", "q", "page"})
CLAIMS: Final = 100
EVERYWHERE: Final = 20  # claims that any node can use: they are on each node's page
LABELS: Final = 100  # that no class asks for
FITS: Final = "fits"
NOT_COMPARED: Final = "not compared"
ANSWERS: Final = {
    FITS: Chip("Fits", "good", "check", "Filter passes here"),
    NOT_COMPARED: Chip("Not compared", "idle", "skip", "The attempt ended before any node was looked at"),
}
REFUSED: Final = Chip("Refused", "bad", "cross", "Filter refuses the node")


class LabelRow(msgspec.Struct, frozen=True):
    key: str
    value: str
    has: bool
    classes: tuple[tuple[str, str], ...]  # name, href: of those that ask for it


class ClassRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    passes: bool
    filter: tuple[str, ...]
    driver: str
    driver_href: str


class ClaimHere(msgspec.Struct, frozen=True):
    key: str
    href: str
    chip: Chip
    resource_class: str
    driver: str


class PodHere(msgspec.Struct, frozen=True):
    """What a pending pod's verdict says of this node. reason: "" where it fits or was not compared.

    funnel: how far this node's devices get for the pod, "" for v1alpha2.
    """

    id: str
    key: str
    href: str
    funnel: str
    chip: Chip
    reason: str
    plugin: str
    outcome: Chip
    actor: Actor | None


class RefusedRow(msgspec.Struct, frozen=True):
    driver: str
    href: str
    count: int
    last: float
    pod: str
    pod_href: str
    claim: str


class NodeView(msgspec.Struct, frozen=True):
    name: str
    created: str
    gone: float
    deleting: float | str  # since when its deletion is asked for; what stands there, when that is no time
    chip: Chip
    taints: tuple[str, ...]
    labels: tuple[LabelRow, ...]
    other_labels: tuple[tuple[str, str], ...]  # the first ones
    other_labels_total: int
    json_href: str  # where all of them are
    classic: bool  # False: the cluster has structured parameters instead of classes and refusals
    classes: tuple[ClassRow, ...]
    passed: int
    claims: tuple[ClaimHere, ...]
    claims_total: int
    everywhere: tuple[ClaimHere, ...]  # the first ones of those that can be used on any node, and ...
    everywhere_total: int
    answers: tuple[Option, ...]
    text: str
    pods: tuple[PodHere, ...]
    pager: Pager
    pods_known: int
    fit: int
    refused: tuple[RefusedRow, ...]
    since: float  # of the drivers' record, Unix seconds
    command: str
    describe: str
    yaml: str

    @property
    def everywhere_more(self) -> int:
        return self.everywhere_total - len(self.everywhere)


class Facts(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still. bit: the node as a set."""

    node: Node
    raw: bytes
    gone: float
    bit: int
    labels: tuple[LabelRow, ...]
    classic: bool
    classes: tuple[ClassRow, ...]
    claims: tuple[ClaimHere, ...]
    claims_total: int
    everywhere: tuple[ClaimHere, ...]
    everywhere_total: int
    verdicts: list[tuple[str, Verdict | None]]
    refused: list[Refused]
    since: float

    @property
    def digests(self) -> list[str]:
        return list(dict.fromkeys(g.nodes for _, v in self.verdicts for g in groups_of(v)))


def gather(
    world: World, name: str, refused: list[Refused], since: float, last: HistoryEntry | None = None
) -> Facts | None:
    """None when there is no such node. last: the last state of one that is gone."""
    cluster = world.cluster
    node, raw, gone = cluster.nodes.by_name.get(name), cluster.raw["nodes"].get(name, b""), 0.0
    if node is None and last is not None:
        try:
            node, raw, gone = decode(Node, last.object), last.object, last.at
        except MalformedObject:
            return None
    if node is None:
        return None
    found = cluster.places
    here = [] if gone else sorted(found.here(node, cluster.nodes))
    everywhere = [] if gone else heapq.nsmallest(EVERYWHERE, found.everywhere)
    return Facts(
        node=node,
        raw=raw,
        gone=gone,
        bit=cluster.nodes.named((name,)),
        labels=_labels(cluster, node),
        classic=not is_expected("resourceclasses", world.sync),
        classes=tuple(_class(cluster, c, node) for c in sorted(cluster.classes)),
        claims=tuple(_claim(cluster, key) for key in here[:CLAIMS]),
        claims_total=len(here),
        everywhere=tuple(_claim(cluster, key) for key in everywhere),
        everywhere_total=0 if gone else len(found.everywhere),
        verdicts=[] if gone else list(pending_verdicts(world)),
        refused=refused,
        since=since,
    )


def _labels(cluster: Cluster, node: Node) -> tuple[LabelRow, ...]:
    asking: dict[str, list[str]] = {}
    for name in sorted(cluster.classes):
        for key in asked_labels([cluster.classes[name].suitable_nodes]):
            asking.setdefault(key, []).append(name)
    have = node.metadata.labels
    return tuple(
        LabelRow(key, have.get(key, ""), key in have, tuple((c, class_href(c)) for c in names))
        for key, names in sorted(asking.items())
    )


def _class(cluster: Cluster, name: str, node: Node) -> ClassRow:
    of = cluster.classes[name]
    return ClassRow(
        name=name,
        href=class_href(name),
        passes=bool(class_set(cluster, name) & cluster.nodes.named((node.name,))),
        filter=words(of.suitable_nodes),
        driver=of.driver_name,
        driver_href=driver_href(of.driver_name),
    )


def _claim(cluster: Cluster, key: str) -> ClaimHere:
    claim = claims_of(cluster)[key]
    chip = claim_chip(state_of(claim))
    return ClaimHere(key, claim_href(key), chip, class_text(claim), ", ".join(drivers_in_charge(claim, cluster)))


class _OnNode(msgspec.Struct, frozen=True):
    key: str
    verdict: Verdict | None
    answer: str  # FITS, NOT_COMPARED or the reason
    plugin: str


def present(facts: Facts, query: Query, sets: Mapping[str, int]) -> NodeView:
    all_pods = [_on_node(key, verdict, facts.bit, sets) for key, verdict in facts.verdicts]
    wanted, text = query.get("answer"), query.get("q").casefold()
    with_text = [p for p in all_pods if not text or text in p.key.casefold()]
    matching = [p for p in with_text if not wanted or p.answer == wanted]
    shown, pager = page_of(sorted(matching, key=_order), query)
    meta = facts.node.metadata
    asked = {row.key for row in facts.labels}
    return NodeView(
        name=facts.node.name,
        created=meta.creation_timestamp or "",
        gone=facts.gone,
        deleting=deletion_asked(meta) or meta.deletion_timestamp or "",
        chip=state_chip(facts.node),
        taints=few([taint_text(t) for t in facts.node.spec.taints]),
        labels=facts.labels,
        other_labels=tuple(sorted((k, cut(v)) for k, v in meta.labels.items() if k not in asked)[:LABELS]),
        json_href=f"/api/v1{node_href(facts.node.name)}",
        other_labels_total=sum(k not in asked for k in meta.labels),
        classic=facts.classic,
        classes=facts.classes,
        passed=sum(c.passes for c in facts.classes),
        claims=facts.claims,
        claims_total=facts.claims_total,
        everywhere=facts.everywhere,
        everywhere_total=facts.everywhere_total,
        answers=options(Counter(p.answer for p in with_text), wanted, {a: c.text for a, c in ANSWERS.items()}),
        text=query.get("q"),
        pods=tuple(_pod(p, facts.node.name) for p in shown),
        pager=pager,
        pods_known=len(all_pods),
        fit=sum(p.answer == FITS for p in all_pods),
        refused=tuple(_refused(r) for r in facts.refused),
        since=facts.since,
        command=kubectl.get("nodes", "", facts.node.name),
        describe=kubectl.describe("nodes", "", facts.node.name),
        yaml=as_yaml(msgspec.json.decode(facts.raw)),
    )


def _on_node(key: str, verdict: Verdict | None, bit: int, sets: Mapping[str, int]) -> _OnNode:
    for group in groups_of(verdict):
        if sets.get(group.nodes, 0) & bit:
            return _OnNode(key, verdict, group.reason or FITS, group.plugin if group.reason else "")
    return _OnNode(key, verdict, NOT_COMPARED, "")


def _order(pod: _OnNode) -> tuple[int, str, str]:
    return ({FITS: 0, NOT_COMPARED: 2}.get(pod.answer, 1), pod.answer, pod.key)


def _pod(pod: _OnNode, node: str) -> PodHere:
    verdict = pod.verdict
    has_funnel = verdict is not None and verdict.generation == Generation.STRUCTURED
    chip = ANSWERS.get(pod.answer, REFUSED)
    return PodHere(
        id=row_id("here", pod.key),
        key=pod.key,
        href=pod_href(pod.key),
        funnel=f"{pod_href(pod.key)}?{urlencode({NODE: node})}#devices" if has_funnel else "",
        chip=chip,
        reason="" if pod.answer in ANSWERS else cut(pod.answer),
        plugin="" if pod.plugin == "DynamicResources" else pod.plugin,
        outcome=outcome_chip(verdict.outcome if verdict else None),
        actor=actor(verdict.acts_next) if verdict else None,
    )


def _refused(refused: Refused) -> RefusedRow:
    last = refused.last
    return RefusedRow(
        refused.driver,
        driver_href(refused.driver),
        refused.count,
        last.at,
        last.pod,
        negotiation_href(last.pod),
        last.claim,
    )
