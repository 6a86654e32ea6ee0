"""On which nodes' rows a change may show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dradash.api.asking import Ask
from dradash.api.classitems import pending_changed
from dradash.kinds.resourceclass import ResourceClass
from dradash.reader.tallies import node_groups
from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim, available_on
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.places import matching
from dradash.scheduling.verdict import Verdict
from dradash.store.replica import Applied


def touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:
    late = ask.here.follower.observations.refused_late(applied.change.revision)
    return {*_touched(ask, world, applied), *late} if late else _touched(ask, world, applied)


def _touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:
    key, old, new, table = applied.change.key, applied.old, applied.new, world.cluster.nodes
    match applied.change.kind:
        case "nodes":
            return (key,)
        case "resourceclasses":
            return table.names((_left_by(old, table) ^ _left_by(new, table)) & table.all)
        case "resourceclaims":
            return table.names((_named_by(old, table) ^ _named_by(new, table)) & table.all)
        case "verdicts":
            return table.names(_counted_otherwise(ask, old, new, table.all))
        case "pods" if pending_changed(applied):
            return table.names(_counted_otherwise(ask, world.verdicts.get(key), None, table.all))
        case "podschedulingcontexts" if new is not None:
            return {name for of in new.status.resource_claims for name in of.unsuitable_nodes}
    return ()


def _left_by(of: ResourceClass | None, table: NodeTable) -> int:
    if of is None:
        return 0
    return table.all if of.suitable_nodes is None else matching(of.suitable_nodes, table)


def _named_by(claim: AnyClaim | None, table: NodeTable) -> int:
    """None where the allocation names no nodes: it is not among the claims of a node."""
    selector = available_on(claim) if claim is not None else None
    return matching(selector, table) if selector is not None else 0


def _counted_otherwise(ask: Ask, old: Verdict | None, new: Verdict | None, everywhere: int) -> int:
    """Nodes that one of the two verdicts counts in another way than the other one; all where that cannot be read."""
    before, after = _counted(ask, old), _counted(ask, new)
    if before is None or after is None:
        return everywhere
    return ((before[0] ^ after[0]) | (before[1] ^ after[1])) & everywhere


def _counted(ask: Ask, verdict: Verdict | None) -> tuple[int, int] | None:
    """The nodes that it passes, and those that it refuses."""
    groups: Any = node_groups(verdict)
    sets = ask.here.node_sets.get([g.nodes for g in groups])
    if any(g.nodes not in sets for g in groups):
        return None
    passes = refuses = 0
    for group in groups:
        if group.reason:
            refuses |= sets[group.nodes]
        else:
            passes |= sets[group.nodes]
    return passes, refuses
