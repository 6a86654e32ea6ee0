"""All nodes, indexed so that one question is answered for every node at once, as a node set (nodeset.py).

How it grows: putting a node costs its labels plus the cached selectors that read a changed label; a new selector costs
the nodes that its labels name (Exists, NotIn, Gt, Lt: the nodes that have the label); a known one costs a lookup.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from dradash.kinds.node import Node, Taint
from dradash.kinds.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dradash.scheduling import nodeset
from dradash.scheduling.nodeselector import NAME_FIELD, compares, is_empty, selector_error, term_errors, term_matches

K = TypeVar("K")
T = TypeVar("T")

# Of the selectors and lists of names that were asked for so many are kept: each keeps a set of one bit a node.
CACHED: Final = 4096


class InvalidSelector(ValueError):
    """The message is nodeaffinity.NewNodeSelector's."""


class _Compiled:
    """A valid selector's terms with the label keys they read, and its node set."""

    __slots__ = ("keys", "nodes", "terms")

    def __init__(self, terms: tuple[NodeSelectorTerm, ...]) -> None:
        self.terms = terms
        self.keys = frozenset(r.key for t in terms for r in t.match_expressions)
        self.nodes = 0

    def matches(self, node: Node) -> bool:
        return any(term_matches(t, node.name, node.metadata.labels) for t in self.terms)


class NodeTable:
    def __init__(self) -> None:
        self.all = 0  # the set of all nodes
        self.unschedulable = 0  # nodes with spec.unschedulable
        self.by_name: dict[str, Node] = {}
        self._slots: dict[str, int] = {}  # also of nodes that are gone: old verdicts name them
        self._names: dict[int, str] = {}
        self._taints: dict[tuple[Taint, ...], set[int]] = {}
        self._labels: dict[str, dict[str, set[int]]] = {}
        self._compiled: OrderedDict[NodeSelector, _Compiled | InvalidSelector] = OrderedDict()
        self._compiled_lenient: OrderedDict[NodeSelector, _Compiled] = OrderedDict()
        self._named: OrderedDict[tuple[str, ...], int] = OrderedDict()  # by names, also of nodes that are gone
        self._taint_sets: dict[tuple[Taint, ...], int] | None = None

    def __len__(self) -> int:
        return len(self.by_name)

    def copy(self) -> NodeTable:
        """A table of its own with the same nodes. What was compiled is left behind."""
        other = NodeTable()
        other.all, other.unschedulable = self.all, self.unschedulable
        other.by_name, other._slots, other._names = self.by_name.copy(), self._slots.copy(), self._names.copy()
        other._taints = {taints: members.copy() for taints, members in self._taints.items()}
        other._labels = {
            key: {value: members.copy() for value, members in values.items()} for key, values in self._labels.items()
        }
        return other

    # --- names and slots -------------------------------------------------------------------------------------------

    def learn_slots(self, slots: Mapping[str, int]) -> None:
        """Names and slots as the model handed them out, also of nodes that are gone."""
        self._slots.update(slots)
        self._names.update((slot, name) for name, slot in slots.items())
        self._named.clear()

    def known_slots(self) -> dict[str, int]:
        """Name -> slot of all nodes ever learnt, for another table over the same model."""
        return dict(self._slots)

    def has_slot(self, name: str) -> bool:
        return name in self._slots

    def names(self, nodes: int) -> list[str]:
        """Names of the nodes in the set, in the order of their slots. A slot never seen reads as "node #N"."""
        return self.slot_names(nodeset.slots(nodes))

    def bit(self, name: str) -> int:
        """The set of this node alone, also of one that is gone; empty for a node never seen."""
        slot = self._slots.get(name)
        return 0 if slot is None else 1 << slot

    def slot_names(self, slots: Collection[int]) -> list[str]:
        try:
            return list(map(self._names.__getitem__, slots))
        except KeyError:
            return [self.name(slot) for slot in slots]

    def name(self, slot: int) -> str:
        return self._names.get(slot, f"node #{slot}")

    def first(self, nodes: int) -> Node:
        """Of a set that is not empty, the node with the lowest slot. Raises KeyError if it is gone."""
        return self.by_name[self.name((nodes & -nodes).bit_length() - 1)]

    def named(self, names: Iterable[str]) -> int:
        """The set of the existing nodes among these names."""
        # A negotiation's lists are asked for several times in one attempt, and again in the next one.
        key = tuple(names)
        known = self._named.get(key)
        if known is None:
            known = nodeset.of_slots([slot for slot in map(self._slots.get, key) if slot is not None])
            _remember(self._named, key, known)
        return known & self.all

    def among(self, names: Iterable[str]) -> int:
        """As `named`, for names that will hardly be asked for again: nothing is kept."""
        return nodeset.of_slots([self._slots[name] for name in names if name in self.by_name])

    # --- changes ---------------------------------------------------------------------------------------------------

    def put(self, node: Node, slot: int | None = None) -> None:
        """Add or replace a node. Without a slot (tests, offline input) it takes the next free one."""
        name = node.name
        if slot is None:
            slot = self._slots.get(name, len(self._slots))
        if self._slots.get(name) != slot:
            self.learn_slots({name: slot})
        old = self.by_name.get(name)
        self.by_name[name] = node
        bit = 1 << slot
        self.all |= bit
        self.unschedulable = self.unschedulable | bit if node.spec.unschedulable else self.unschedulable & ~bit
        self._move_taints(old, node, slot)
        changed = self._move_labels(old, node, slot)
        self._adjust(node, bit, None if old is None else changed)

    def remove(self, name: str) -> None:
        node = self.by_name.pop(name, None)
        if node is None:
            return
        slot = self._slots[name]
        keep = ~(1 << slot)
        self.all &= keep
        self.unschedulable &= keep
        self._move_taints(node, None, slot)
        self._move_labels(node, None, slot)
        for compiled in self._valid():
            compiled.nodes &= keep

    def _move_taints(self, old: Node | None, new: Node | None, slot: int) -> None:
        before = None if old is None else old.spec.taints
        after = None if new is None else new.spec.taints
        if before == after:
            return
        self._taint_sets = None
        if before is not None:
            members = self._taints[before]
            members.discard(slot)
            if not members:
                del self._taints[before]
        if after is not None:
            self._taints.setdefault(after, set()).add(slot)

    def _move_labels(self, old: Node | None, new: Node | None, slot: int) -> set[str]:
        before = old.metadata.labels if old else {}
        after = new.metadata.labels if new else {}
        changed = set()
        for key, value in before.items():
            if after.get(key) != value:
                changed.add(key)
                self._drop_label(key, value, slot)
        for key, value in after.items():
            if before.get(key) != value:
                changed.add(key)
                self._labels.setdefault(key, {}).setdefault(value, set()).add(slot)
        return changed

    def _drop_label(self, key: str, value: str, slot: int) -> None:
        values = self._labels[key]
        values[value].discard(slot)
        if not values[value]:
            del values[value]
        if not values:
            del self._labels[key]

    def _adjust(self, node: Node, bit: int, changed: set[str] | None) -> None:
        """Correct one node's bit in the cached sets; `changed` label keys, None for a new node (all may match)."""
        for compiled in self._valid():
            if changed is None or compiled.keys & changed:
                compiled.nodes = compiled.nodes | bit if compiled.matches(node) else compiled.nodes & ~bit

    def _valid(self) -> Iterator[_Compiled]:
        yield from (c for c in self._compiled.values() if isinstance(c, _Compiled))
        yield from self._compiled_lenient.values()

    # --- questions -------------------------------------------------------------------------------------------------

    def matching(self, selector: NodeSelector) -> int:
        """Nodes that match (nodeaffinity.NewNodeSelector and Match). Raises InvalidSelector."""
        compiled = self._compiled.get(selector)
        if compiled is None:
            wrong = selector_error(selector)
            compiled = InvalidSelector(wrong) if wrong else self._compile(selector.node_selector_terms)
            _remember(self._compiled, selector, compiled)
        if isinstance(compiled, InvalidSelector):
            raise compiled
        return compiled.nodes

    def matching_valid_terms(self, selector: NodeSelector) -> int:
        """Like matching, but invalid terms match nothing (LazyErrorNodeSelector, used for pods' affinity)."""
        compiled = self._compiled_lenient.get(selector)
        if compiled is None:
            compiled = self._compile(tuple(t for t in selector.node_selector_terms if not term_errors(t, "")))
            _remember(self._compiled_lenient, selector, compiled)
        return compiled.nodes

    def with_labels(self, labels: Mapping[str, str]) -> int:
        """Nodes that carry all these labels (labels.SelectorFromSet)."""
        nodes = self.all
        for key, value in labels.items():
            nodes &= nodeset.of_slots(self._labels.get(key, {}).get(value, ()))
        return nodes

    def labelled(self, label: str) -> int:
        """Nodes with the label, of the value too if there is one: `key` or `key=value`."""
        key, has_value, value = label.partition("=")
        if has_value:
            return self.with_labels({key: value})
        return nodeset.of_slots(slot for members in self.label_values(key).values() for slot in members)

    def by_taints(self) -> Mapping[tuple[Taint, ...], int]:
        """Nodes grouped by their exact list of taints."""
        if self._taint_sets is None:
            self._taint_sets = {taints: nodeset.of_slots(members) for taints, members in self._taints.items()}
        return self._taint_sets

    def label_keys(self) -> list[str]:
        """Keys of the labels that any node carries."""
        return list(self._labels)

    def label_values(self, key: str) -> Mapping[str, set[int]]:
        """Value of the label -> slots of the nodes that carry it."""
        return self._labels.get(key, {})

    # --- compiling -------------------------------------------------------------------------------------------------

    def _compile(self, terms: tuple[NodeSelectorTerm, ...]) -> _Compiled:
        compiled = _Compiled(tuple(t for t in terms if not is_empty(t)))
        for term in compiled.terms:
            compiled.nodes |= self._term(term)
        return compiled

    def _term(self, term: NodeSelectorTerm) -> int:
        nodes = self.all
        for requirement in term.match_expressions:
            nodes &= self._expression(requirement)
        for requirement in term.match_fields:
            nodes &= self._field(requirement)
        return nodes

    def _expression(self, requirement: NodeSelectorRequirement) -> int:
        values = self._labels.get(requirement.key, {})
        match requirement.operator:
            case "In":
                return nodeset.of_slots(slot for v in set(requirement.values) for slot in values.get(v, ()))
            case "NotIn":
                return self.all & ~nodeset.of_slots(slot for v in set(requirement.values) for slot in values.get(v, ()))
            case "Exists":
                return nodeset.of_slots(slot for members in values.values() for slot in members)
            case "DoesNotExist":
                return self.all & ~nodeset.of_slots(slot for members in values.values() for slot in members)
            case _:
                return nodeset.of_slots(
                    slot for v, members in values.items() if compares(requirement, v) for slot in members
                )

    def _field(self, requirement: NodeSelectorRequirement) -> int:
        if requirement.key == NAME_FIELD:
            matching = self.named(requirement.values)
        else:
            matching = self.all if requirement.values[0] == "" else 0
        return matching if requirement.operator == "In" else self.all & ~matching


def _remember(cache: OrderedDict[K, T], key: K, value: T) -> None:
    cache[key] = value
    if len(cache) > CACHED:
        cache.popitem(last=False)
