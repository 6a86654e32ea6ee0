"""Nodes that offer an extended resource twice: through a device plugin, and through DRA."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dradash.kinds import quantity as quantities
from dradash.kinds.node import Node
from dradash.kinds.quantity import InvalidQuantity
from dradash.scheduling.doctor.demand import expressions
from dradash.scheduling.doctor.exam import Exam, count, created
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.doctor.reach import Reach, has_node, of_pool, together
from dradash.scheduling.structured import ledger


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


def _has_devices(exam: Exam, name: str, node: Node) -> bool:
    reach = exam.once.get(f"reach {name}")
    if reach is None:
        reach = exam.once[f"reach {name}"] = _reach(exam, name)
    return has_node(reach, node)


def _reach(exam: Exam, name: str) -> Reach:
    inventory = exam.cluster.inventory
    chain = expressions(exam.cluster.device_classes[name].spec.selectors)
    return together(of_pool(inventory, state, chain) for state in ledger.pool_states(inventory))
