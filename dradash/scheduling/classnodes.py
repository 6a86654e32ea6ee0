"""Which nodes a ResourceClass leaves."""

from __future__ import annotations

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodetable import InvalidSelector


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
