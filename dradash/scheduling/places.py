"""Which claims can be used on which nodes: allocations grouped by what they ask of a node, claim by claim."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Final, TypeVar

from dradash.kinds.node import Node
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling import nodeset
from dradash.scheduling.nodecounts import NodeCounts
from dradash.scheduling.nodeselector import NAME_FIELD
from dradash.scheduling.nodetable import InvalidSelector, NodeTable

Keys = dict[str, None]  # of claims, in the order in which they came
NOWHERE: Final[Keys] = {}
K = TypeVar("K", bound=Hashable)


class Places:
    """Keys of allocated claims. by_name, by_label: those that ask for one name or one label's value; by_selector: the
    others that name nodes; everywhere: those that name none.

    `put` costs what the claim's own selector says, however many claims there are.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Keys] = {}
        self.by_label: dict[tuple[str, str], Keys] = {}
        self.by_selector: dict[NodeSelector, Keys] = {}
        self.everywhere: Keys = {}
        self._selectors: dict[str, NodeSelector | None] = {}

    def copy(self) -> Places:
        other = Places()
        other.by_name = {name: keys.copy() for name, keys in self.by_name.items()}
        other.by_label = {label: keys.copy() for label, keys in self.by_label.items()}
        other.by_selector = {selector: keys.copy() for selector, keys in self.by_selector.items()}
        other.everywhere, other._selectors = self.everywhere.copy(), self._selectors.copy()
        return other

    def put(self, key: str, selector: NodeSelector | None, *, allocated: bool) -> None:
        """Where the claim can be used now; nowhere, unless it is allocated."""
        if key in self._selectors:
            self._move(key, self._selectors.pop(key), comes=False)
        if allocated:
            self._selectors[key] = selector
            self._move(key, selector, comes=True)

    def _move(self, key: str, selector: NodeSelector | None, *, comes: bool) -> None:
        if selector is None:
            _note(self.everywhere, key, comes=comes)
            return
        name, labels = _simple(selector)
        if name is not None:
            _regroup(self.by_name, name, key, comes=comes)
        elif labels is not None:
            for label in labels:
                _regroup(self.by_label, label, key, comes=comes)
        else:
            _regroup(self.by_selector, selector, key, comes=comes)

    def here(self, node: Node, nodes: NodeTable) -> list[str]:
        """Claims that can be used on this node because they name it, in any order; `everywhere` comes on top."""
        found = list(self.by_name.get(node.name, NOWHERE))
        for label in node.metadata.labels.items():
            found += self.by_label.get(label, NOWHERE)
        bit = nodes.named((node.name,))
        for selector, keys in self.by_selector.items():
            if matching(selector, nodes) & bit:
                found += keys
        return found

    def counts(self, nodes: NodeTable, members: Iterable[tuple[int, Node]]) -> dict[int, int]:
        """Slot -> how many claims name the node, for these (slot, node)."""
        general = NodeCounts()
        for selector, keys in self.by_selector.items():
            general.add(matching(selector, nodes), len(keys))
        members = list(members)
        counts = general.of_all(slot for slot, _ in members)
        for slot, node in members:
            by_label = sum(len(self.by_label.get(label, NOWHERE)) for label in node.metadata.labels.items())
            counts[slot] += len(self.by_name.get(node.name, NOWHERE)) + by_label
        return counts

    def minding(self, old: Node | None, new: Node | None) -> Iterator[str]:
        """Claims for which it may matter that this node came, went or has other labels."""
        before, after = (set(n.metadata.labels.items()) if n else set() for n in (old, new))
        if old is None or new is None:
            node = old or new
            yield from self.everywhere
            yield from self.by_name.get(node.name, NOWHERE) if node else ()
        elif before == after:
            return
        for label in before ^ after:
            yield from self.by_label.get(label, NOWHERE)
        for keys in self.by_selector.values():
            yield from keys


def matching(selector: NodeSelector, nodes: NodeTable) -> int:
    """No nodes for an invalid selector."""
    try:
        return nodes.matching(selector)
    except InvalidSelector:
        return 0


def _simple(selector: NodeSelector) -> tuple[str | None, set[tuple[str, str]] | None]:
    """The one name, or the values of one label, that it asks for.

    Nearly every driver names one node so: those need no selector to be compiled and kept.
    """
    if len(selector.node_selector_terms) != 1:
        return None, None
    term = selector.node_selector_terms[0]
    expressions, fields = term.match_expressions, term.match_fields
    if len(expressions) == 1 and not fields and expressions[0].operator == "In":
        return None, {(expressions[0].key, value) for value in expressions[0].values}
    if len(fields) == 1 and not expressions and fields[0].operator == "In" and fields[0].key == NAME_FIELD:
        if len(fields[0].values) == 1:
            return fields[0].values[0], None
        return None, set()
    return None, None


def _regroup(groups: dict[K, Keys], group: K, key: str, *, comes: bool) -> None:
    members = groups.setdefault(group, {})
    _note(members, key, comes=comes)
    if not members:
        del groups[group]


def _note(members: Keys, key: str, *, comes: bool) -> None:
    if comes:
        members[key] = None
    else:
        members.pop(key, None)


def slots_of(nodes: int, table: NodeTable) -> list[tuple[int, Node]]:
    """(slot, node) of each existing node in the set."""
    slots = nodeset.slots(nodes & table.all)
    return list(zip(slots, (table.by_name[name] for name in table.slot_names(slots)), strict=True))
