"""Drivers of which no slice is published, anywhere or on a node that should have one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.scheduling.doctor.demand import expressions, pods_wanting
from dradash.scheduling.doctor.exam import Exam, count, created
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured.conjuncts import conjuncts
from dradash.scheduling.structured.inventory import Inventory

SLICES: Final = ("get", "resourceslices.resource.k8s.io")
LEAST_PEERS: Final = 2  # nodes of the kind that have slices
MOST_WITHOUT: Final = 0.1  # of the nodes of a kind: where more lack slices, it is not the kind that has devices

_IS_DRIVER: Final = re.compile(
    r"""device\.driver\s*==\s*(?:"([^"\\]+)"|'([^'\\]+)')|(?:"([^"\\]+)"|'([^'\\]+)')\s*==\s*device\.driver"""
)
# Labels that tell nothing of a node's hardware.
_PLACES: Final = (
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "topology.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
    "node-role.kubernetes.io/",
)

Labels = frozenset[tuple[str, str]]


def check(exam: Exam) -> Iterator[Finding]:
    published = {pool.driver for pool in exam.cluster.inventory.pool_ids}
    yield from _nowhere(exam, published)
    kinds = _kinds(exam)
    for driver, nodes in _nodes_of(exam.cluster.inventory).items():
        for peers in kinds:
            yield from _without(exam, driver, nodes, peers)


# --- anywhere --------------------------------------------------------------------------------------------------------


def drivers_named(of: DeviceClass) -> tuple[str, ...]:
    """Drivers whose devices alone the class's selectors let through, as far as they say so in plain words."""
    parts = (part for e in expressions(of.spec.selectors) for part in conjuncts(e))
    found = (_IS_DRIVER.fullmatch(part.strip().strip("()").strip()) for part in parts)
    return tuple(dict.fromkeys(next(filter(None, m.groups())) for m in found if m))


def _nowhere(exam: Exam, published: set[str]) -> Iterator[Finding]:
    cluster = exam.cluster
    classes: defaultdict[str, list[DeviceClass]] = defaultdict(list)
    for device_class in cluster.device_classes.values():
        for driver in drivers_named(device_class):
            classes[driver].append(device_class)
    for driver in sorted((classes.keys() | cluster.claims_by_driver.groups()) - published):
        named = sorted(classes.get(driver, ()), key=lambda c: (created(c), c.name))
        claims = [k for k in sorted(cluster.claims_by_driver.members(driver)) if k in cluster.device_claims]
        if not named and not claims:
            continue
        since = [created(c) for c in named] or [created(cluster.device_claims[k]) for k in claims]
        began = max(min(since), exam.observed.withdrawn.get(("driver", driver), 0.0))
        if not exam.for_longer(began, exam.thresholds.publish):
            continue
        who = [f"DeviceClass {named[0].name} wants its devices"] if named else []
        who += (
            [f"{count(len(claims), 'claim')} {'has' if len(claims) == 1 else 'have'} devices of it"] if claims else []
        )
        yield exam.finding(
            "driver-publishes-nothing",
            (driver,),
            f"Driver {driver} publishes no ResourceSlice: {', and '.join(who)}.",
            (
                *(Ref("deviceclasses", c.name) for c in named),
                *(Ref("resourceclaims", k) for k in claims),
                *exam.pending_among(
                    {
                        *pods_wanting(exam, [c.name for c in named]),
                        *(pod for k in claims for pod in cluster.pods_by_claim.members(k)),
                    }
                ),
            ),
            began,
            command=(*SLICES, f"--field-selector=spec.driver={driver}"),
            resource_class=named[0].name if named else "",
            driver=driver,
        )


# --- on a node -------------------------------------------------------------------------------------------------------


def _nodes_of(inventory: Inventory) -> dict[str, set[str]]:
    """Driver -> nodes that slices of it name, in any state."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for item in inventory.slices.values():
        if item.spec.node_name:
            found[item.spec.driver].add(item.spec.node_name)
    return found


def ready_since(node: Node) -> float | None:
    """Unix seconds, 0.0: not known. None: it is not Ready."""
    for condition in node.status.conditions:
        if condition.type == "Ready":
            return seconds(condition.last_transition_time) if condition.status == "True" else None
    return None


def kind_of(node: Node) -> Labels:
    """The labels that nodes with the same hardware share."""
    return frozenset(
        (key, value)
        for key, value in node.metadata.labels.items()
        if not key.startswith(_PLACES) and value != node.name
    )


def _kinds(exam: Exam) -> list[list[Node]]:
    """Nodes that are Ready and open to pods, those of a kind together; those without labels of a kind are left out."""
    # Worked out again for nodes that have changed only.
    known: dict[str, tuple[Node, Labels]] = exam.cluster.inventory.of_all.setdefault("kinds of nodes", {})
    kinds: defaultdict[Labels, list[Node]] = defaultdict(list)
    for name, node in exam.cluster.nodes.by_name.items():
        if ready_since(node) is None or node.spec.unschedulable or node.metadata.deletion_timestamp is not None:
            continue
        entry = known.get(name)
        if entry is None or entry[0] is not node:
            entry = known[name] = (node, kind_of(node))
        if entry[1]:
            kinds[entry[1]].append(node)
    return list(kinds.values())


def _without(exam: Exam, driver: str, nodes: set[str], peers: list[Node]) -> Iterator[Finding]:
    lacking = [n for n in peers if n.name not in nodes]
    having = len(peers) - len(lacking)
    if having < LEAST_PEERS or len(lacking) > max(1, MOST_WITHOUT * len(peers)):
        return
    for node in lacking:
        gone = exam.observed.withdrawn.get(("node", driver, node.name), 0.0)
        since = max(ready_since(node) or created(node), gone)
        if exam.for_longer(since, exam.thresholds.publish):
            yield exam.finding(
                "node-without-slice",
                (driver, node.uid or node.name),
                f"Node {node.name} is Ready and has no ResourceSlice of driver {driver}, "
                f"which {having} of {len(peers)} nodes with the same labels have.",
                (Ref("nodes", node.name),),
                since,
                command=(*SLICES, f"--field-selector=spec.nodeName={node.name}"),
                driver=driver,
            )
