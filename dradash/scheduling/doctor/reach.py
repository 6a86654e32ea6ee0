"""The nodes that devices can be used from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dradash.kinds.node import Node
from dradash.kinds.resourceslice import Device, ResourceSliceSpec
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.nodetable import InvalidSelector, NodeTable
from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.anymatch import Chain
from dradash.scheduling.structured.devices import AllocationError
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState
from dradash.scheduling.structured.pools import node_matches


class Reach(NamedTuple):
    """By name, all, and those that a selector chooses; no node gets a device by a selector that is none."""

    nodes: frozenset[str]
    all_nodes: bool
    selectors: frozenset[NodeSelector]


def of_pool(inventory: Inventory, state: PoolState, chain: Chain = ()) -> Reach:
    """Of the devices that a chain of selectors takes."""
    memo = inventory.of_pool.setdefault(state.id, {})
    known: Reach | None = memo.get(("reach", chain))
    if known is None:
        places: list[Device | ResourceSliceSpec] = [
            one.device if one.slice.spec.per_device_node_selection else one.slice.spec
            for one in ledger.published_in(inventory, state)
            if matching.match(one, chain).matches
        ]
        known = memo["reach", chain] = Reach(
            frozenset(place.node_name for place in places if place.node_name),
            any(place.all_nodes for place in places),
            frozenset(place.node_selector for place in places if place.node_selector is not None),
        )
    return known


def together(reaches: Iterable[Reach]) -> Reach:
    every = list(reaches)
    return Reach(
        frozenset[str]().union(*(r.nodes for r in every)),
        any(r.all_nodes for r in every),
        frozenset[NodeSelector]().union(*(r.selectors for r in every)),
    )


def has_node(reach: Reach, node: Node) -> bool:
    return reach.all_nodes or node.name in reach.nodes or any(_chooses(s, node) for s in reach.selectors)


def nodes_in(reach: Reach, nodes: NodeTable) -> int:
    """The set of them."""
    if reach.all_nodes:
        return nodes.all
    found = nodes.named(sorted(reach.nodes))
    for selector in reach.selectors:
        try:
            found |= nodes.matching(selector)
        except InvalidSelector:
            continue
    return found


def _chooses(selector: NodeSelector, node: Node) -> bool:
    try:
        return node_matches(node, None, None, selector)
    except AllocationError:
        return False
