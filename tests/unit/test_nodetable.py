"""All nodes at once say what each node says by itself, whatever was changed before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.kinds.node import Node
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling import nodeset
from dradash.scheduling.nodeselector import selector_error, term_matches
from dradash.scheduling.nodetable import InvalidSelector, NodeTable
from tests import build

KEYS = ("zone", "count", "bare")
VALUES = ("", "a", "b", "1", "2", "-3")
NAMES = tuple(f"node-{i}" for i in range(5))

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
requirement = st.fixed_dictionaries(
    {
        "key": st.sampled_from(KEYS),
        "operator": st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")),
        "values": st.lists(st.sampled_from(VALUES), max_size=2),
    }
)
field_requirement = st.fixed_dictionaries(
    {
        "key": st.sampled_from(("metadata.name", "spec.other")),
        "operator": st.sampled_from(("In", "NotIn")),
        "values": st.lists(st.sampled_from((*NAMES, "")), min_size=1, max_size=1),
    }
)
term = st.fixed_dictionaries(
    {"matchExpressions": st.lists(requirement, max_size=2), "matchFields": st.lists(field_requirement, max_size=1)}
)
selectors = st.lists(term, max_size=3).map(lambda t: msgspec.convert({"nodeSelectorTerms": t}, NodeSelector))
change = st.one_of(st.tuples(st.sampled_from(NAMES), labels), st.tuples(st.sampled_from(NAMES), st.none()))


def node(name: str, its_labels: dict[str, str]) -> Node:
    return msgspec.convert({"metadata": {"name": name, "labels": its_labels}}, Node)


def matching_one_by_one(selector: NodeSelector, table: NodeTable) -> set[str]:
    return {
        n.name
        for n in table.by_name.values()
        if any(term_matches(t, n.name, n.metadata.labels) for t in selector.node_selector_terms)
    }


@settings(max_examples=300, deadline=None)
@given(before=st.lists(change, max_size=8), selector=selectors, after=st.lists(change, max_size=8))
def test_a_compiled_selector_stays_right_through_any_changes(
    before: list[tuple[str, Any]], selector: NodeSelector, after: list[tuple[str, Any]]
) -> None:
    table = NodeTable()
    if selector_error(selector):
        with pytest.raises(InvalidSelector):
            table.matching(selector)
        return
    for changes in (before, after):
        for name, its_labels in changes:
            if its_labels is None:
                table.remove(name)
            else:
                table.put(node(name, its_labels))
        assert set(table.names(table.matching(selector))) == matching_one_by_one(selector, table)
        assert set(table.names(table.all)) == set(table.by_name)


def test_a_slot_is_never_given_to_another_name() -> None:
    table = NodeTable()
    for name in ("a", "b"):
        table.put(node(name, {}))
    old = table.named(["a"])
    table.remove("a")
    table.put(node("c", {}))
    assert table.names(old) == ["a"]
    assert table.named(["c"]) & old == 0


def test_taints_group_nodes_by_their_exact_list() -> None:
    table = NodeTable()
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    for name, taints in (("a", [taint]), ("b", []), ("c", [taint])):
        table.put(msgspec.convert(build.node(name, taints=taints), Node))
    groups = {len(taints): table.names(nodes) for taints, nodes in table.by_taints().items()}
    assert groups == {1: ["a", "c"], 0: ["b"]}
    table.remove("c")
    assert {len(t): table.names(n) for t, n in table.by_taints().items()} == {1: ["a"], 0: ["b"]}


@given(st.sets(st.integers(0, 3000)))
def test_a_node_set_keeps_its_slots_through_bytes(members: set[int]) -> None:
    nodes = sum(1 << m for m in members)
    assert set(nodeset.slots(nodes)) == members
    assert nodeset.from_bytes(nodeset.to_bytes(nodes)) == nodes


def test_equal_sets_have_one_address_and_others_another() -> None:
    assert nodeset.digest(0b101) == nodeset.digest(0b101) != nodeset.digest(0b100)
