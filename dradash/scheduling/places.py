"""Which claims can be used on which nodes (allocations grouped by what they ask of a node), and which class where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from dradash.kinds.node import Node
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling import nodeset
from dradash.scheduling.claimfacts import AnyClaim, available_on, is_allocated
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodecounts import NodeCounts
from dradash.scheduling.nodeselector import NAME_FIELD
from dradash.scheduling.nodetable import InvalidSelector, NodeTable

NOWHERE: Final[list[str]] = []


class Places(msgspec.Struct, frozen=True):
    """Keys of allocated claims. by_name, by_label: those that ask for one name or one label's value; by_selector: the
    others that name nodes; everywhere: those that name none."""

    by_name: dict[str, list[str]]
    by_label: dict[tuple[str, str], list[str]]
    by_selector: dict[NodeSelector, list[str]]
    everywhere: list[str]

    def here(self, node: Node, nodes: NodeTable) -> list[str]:
        """Claims that can be used on this node because they name it, in any order; `everywhere` comes on top."""
        found = list(self.by_name.get(node.name, NOWHERE))
        for label in node.metadata.labels.items():
            found += self.by_label.get(label, NOWHERE)
        bit = nodes.named((node.name,))
        for selector, keys in self.by_selector.items():
            if _matching(selector, nodes) & bit:
                found += keys
        return found

    def counts(self, nodes: NodeTable, members: Iterable[tuple[int, Node]]) -> dict[int, int]:
        """Slot -> how many claims name the node, for these (slot, node)."""
        general = NodeCounts()
        for selector, keys in self.by_selector.items():
            general.add(_matching(selector, nodes), len(keys))
        members = list(members)
        counts = general.of_all(slot for slot, _ in members)
        names = {name: len(keys) for name, keys in self.by_name.items()}
        labels = {label: len(keys) for label, keys in self.by_label.items()}
        for slot, node in members:
            by_label = sum(labels.get(label, 0) for label in node.metadata.labels.items()) if labels else 0
            counts[slot] += names.get(node.name, 0) + by_label
        return counts


def _matching(selector: NodeSelector, nodes: NodeTable) -> int:
    try:
        return nodes.matching(selector)
    except InvalidSelector:
        return 0


def places(claims: Iterable[tuple[str, AnyClaim]]) -> Places:
    """About 15 ms for 10,000 claims."""
    found = Places({}, {}, {}, [])
    for key, claim in claims:
        if not is_allocated(claim):
            continue
        selector = available_on(claim)
        if selector is None:
            found.everywhere.append(key)
        else:
            _put(found, key, selector)
    return found


def _put(found: Places, key: str, selector: NodeSelector) -> None:
    # Nearly every driver names one node by a label or by its name: those need no selector to be compiled and kept.
    if len(selector.node_selector_terms) == 1:
        term = selector.node_selector_terms[0]
        expressions, fields = term.match_expressions, term.match_fields
        if len(expressions) == 1 and not fields and expressions[0].operator == "In":
            for value in set(expressions[0].values):
                found.by_label.setdefault((expressions[0].key, value), []).append(key)
            return
        if len(fields) == 1 and not expressions and fields[0].operator == "In" and fields[0].key == NAME_FIELD:
            for name in set(fields[0].values) if len(fields[0].values) == 1 else ():
                found.by_name.setdefault(name, []).append(key)
            return
    found.by_selector.setdefault(selector, []).append(key)


def slots_of(nodes: int, table: NodeTable) -> list[tuple[int, Node]]:
    """(slot, node) of each existing node in the set."""
    slots = nodeset.slots(nodes & table.all)
    return list(zip(slots, (table.by_name[name] for name in table.slot_names(slots)), strict=True))


def class_sets(cluster: Cluster) -> dict[str, int]:
    """Class -> the nodes that its suitableNodes leave; none for an invalid selector."""
    return {name: class_set(cluster, name) for name in cluster.classes}


def class_set(cluster: Cluster, name: str) -> int:
    selector = cluster.classes[name].suitable_nodes
    if selector is None:
        return cluster.nodes.all
    try:
        return cluster.nodes.matching(selector)
    except InvalidSelector:
        return 0
