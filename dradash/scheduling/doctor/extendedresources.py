"""Nodes that offer an extended resource twice: through a device plugin, and through DRA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from dradash.kinds import quantity as quantities
from dradash.kinds.node import Node
from dradash.kinds.quantity import InvalidQuantity
from dradash.kinds.resourceslice import Device, ResourceSliceSpec
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.doctor.demand import expressions
from dradash.scheduling.doctor.exam import Exam, count, created
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.anymatch import Chain
from dradash.scheduling.structured.devices import AllocationError
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState
from dradash.scheduling.structured.pools import node_matches


def check(exam: Exam) -> Iterator[Finding]:
    classes = {n: c.spec.extended_resource_name for n, c in exam.cluster.device_classes.items()}
    named = {name: resource for name, resource in classes.items() if resource}
    if not named:
        return
    found: defaultdict[str, list[Node]] = defaultdict(list)
    for node in exam.cluster.nodes.by_name.values():
        for name, resource in named.items():
            if _offers(node, resource) and _has_devices(exam, name, node):
                found[name].append(node)
    for name, nodes in found.items():
        resource = named[name]
        nodes.sort(key=lambda n: n.name)
        first = f"Node {nodes[0].name}" + (f" (and {count(len(nodes) - 1, 'other')})" if len(nodes) > 1 else "")
        device_class = exam.cluster.device_classes[name]
        # Since when the node's capacity has it is not kept: it cannot be longer than since both were there.
        since = max(created(device_class), min(created(n) for n in nodes))
        yield exam.finding(
            "extended-resource-twice",
            (resource,),
            f"{first} offers {resource} through a device plugin, and has devices of DeviceClass {name}, "
            "which backs the same extended resource.",
            (Ref("deviceclasses", name), *(Ref("nodes", n.name) for n in nodes)),
            since,
            command=("get", "node", nodes[0].name, "-o", "yaml"),
            resource_class=name,
        )


def _offers(node: Node, resource: str) -> bool:
    """The kubelet keeps a resource at 0 when its device plugin is gone."""
    text = node.status.capacity.get(resource)
    try:
        return text is not None and not quantities.decoded(str(text)).is_zero
    except InvalidQuantity:
        return False


class _Reach(NamedTuple):
    """The nodes that devices of a class can be used from: by name, all, and those that a selector chooses."""

    nodes: frozenset[str]
    all_nodes: bool
    selectors: frozenset[NodeSelector]


def _has_devices(exam: Exam, name: str, node: Node) -> bool:
    reach = exam.once.get(f"reach {name}")
    if reach is None:
        reach = exam.once[f"reach {name}"] = _reach(exam, name)
    return reach.all_nodes or node.name in reach.nodes or any(_chooses(s, node) for s in reach.selectors)


def _chooses(selector: NodeSelector, node: Node) -> bool:
    try:
        return node_matches(node, None, None, selector)
    except AllocationError:
        return False  # no node gets a device by it


def _reach(exam: Exam, name: str) -> _Reach:
    inventory = exam.cluster.inventory
    chain = expressions(exam.cluster.device_classes[name].spec.selectors)
    pools = [_of_pool(inventory, state, chain) for state in ledger.pool_states(inventory)]
    return _Reach(
        frozenset[str]().union(*(p.nodes for p in pools)),
        any(p.all_nodes for p in pools),
        frozenset[NodeSelector]().union(*(p.selectors for p in pools)),
    )


def _of_pool(inventory: Inventory, state: PoolState, chain: Chain) -> _Reach:
    memo = inventory.of_pool.setdefault(state.id, {})
    known: _Reach | None = memo.get(("reach", chain))
    if known is None:
        places: list[Device | ResourceSliceSpec] = [
            one.device if one.slice.spec.per_device_node_selection else one.slice.spec
            for one in ledger.published_in(inventory, state)
            if matching.match(one, chain).matches
        ]
        known = memo["reach", chain] = _Reach(
            frozenset(place.node_name for place in places if place.node_name),
            any(place.all_nodes for place in places),
            frozenset(place.node_selector for place in places if place.node_selector is not None),
        )
    return known
