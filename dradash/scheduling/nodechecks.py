"""The default scheduler's node checks that run before DynamicResources and need only pod and node.

NodeUnschedulable, NodeName, TaintToleration and NodeAffinity of kube-scheduler 1.30, in the order of its default
profile; each answers for all nodes at once. A node refused by one is not shown to the next.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.kinds.node import Taint
from dradash.kinds.pod import Pod, Toleration
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.nodeselector import NAME_FIELD
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.status import SUCCESS, Status, unschedulable

UNSCHEDULABLE_NODE: Final = unschedulable("node(s) were unschedulable")
WRONG_NODE: Final = unschedulable("node(s) didn't match the requested node name")
NO_AFFINITY: Final = unschedulable("node(s) didn't match Pod's node affinity/selector")
AFFINITY_CONFLICT: Final = unschedulable("pod affinity terms conflict")
FILTERED_OUT: Final = unschedulable("node is filtered out by the prefilter result")

_UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class Refused(msgspec.Struct, frozen=True):
    plugin: str
    status: Status
    nodes: int


def pre_filter(pod: Pod, nodes: NodeTable) -> tuple[Status, int]:
    """NodeAffinity's PreFilter: its status, and the nodes that are shown to Filter (all, unless terms name nodes)."""
    required = _required(pod)
    if required is None or not required.node_selector_terms:
        return SUCCESS, nodes.all
    names: set[str] = set()
    for term in required.node_selector_terms:
        named = [set(r.values) for r in term.match_fields if r.key == NAME_FIELD and r.operator == "In"]
        if not named:
            return SUCCESS, nodes.all
        names |= set.intersection(*named)
    if not names:
        return AFFINITY_CONFLICT, 0
    return SUCCESS, nodes.named(names)


# TaintToleration's words, by the taint's key and value; since 1.35 it no longer names the taint.
UNTOLERATED: Final = "node(s) had untolerated taint {{{key}: {value}}}"
UNTOLERATED_UNNAMED: Final = "node(s) had untolerated taint(s)"


def check_nodes(
    pod: Pod, nodes: NodeTable, shown: int, untolerated_words: str = UNTOLERATED
) -> tuple[list[Refused], int]:
    """All checks on the nodes shown: what each refused, and the nodes left."""
    left = shown
    refused: dict[tuple[str, Status], int] = {}

    def refuse(plugin: str, status: Status, out: int) -> None:
        nonlocal left
        if out & left:
            refused[plugin, status] = refused.get((plugin, status), 0) | out & left
            left &= ~out

    if not any(tolerates(t, _UNSCHEDULABLE_TAINT) for t in pod.spec.tolerations):
        refuse("NodeUnschedulable", UNSCHEDULABLE_NODE, nodes.unschedulable)
    if pod.spec.node_name:
        refuse("NodeName", WRONG_NODE, nodes.all & ~nodes.named((pod.spec.node_name,)))
    for taints, tainted in nodes.by_taints().items():
        taint = untolerated(pod.spec.tolerations, taints)
        if taint is not None:
            text = untolerated_words.format(key=taint.key, value=taint.value)
            refuse("TaintToleration", unschedulable(text), tainted)
    refuse("NodeAffinity", NO_AFFINITY, nodes.all & ~_affine(pod, nodes))
    return [Refused(plugin, status, out) for (plugin, status), out in refused.items()], left


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """v1.Toleration.ToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def untolerated(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> Taint | None:
    """The first taint (in the node's order) that keeps the pod away; PreferNoSchedule never does."""
    for taint in taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not any(tolerates(t, taint) for t in tolerations):
            return taint
    return None


def _required(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity
    return affinity.node_affinity.required if affinity and affinity.node_affinity else None


def _affine(pod: Pod, nodes: NodeTable) -> int:
    """nodeaffinity.RequiredNodeAffinity: nodeSelector and required affinity; broken terms match nothing."""
    required = _required(pod)
    matching = nodes.with_labels(pod.spec.node_selector)
    return matching if required is None else matching & nodes.matching_valid_terms(required)


def label_keys(pod: Pod) -> frozenset[str]:
    """Node labels that the pod's own selectors read."""
    required = _required(pod)
    terms = required.node_selector_terms if required else ()
    return frozenset(pod.spec.node_selector) | {r.key for t in terms for r in t.match_expressions}
