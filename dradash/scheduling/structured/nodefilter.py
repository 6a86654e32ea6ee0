"""Filter for all nodes at once: one node of each situation is asked (inventory.py), the others answer as it does."""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.scheduling import nodeset
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.status import SUCCESS, Code, Status
from dradash.scheduling.structured import plugin
from dradash.scheduling.structured.cycle import CycleState
from dradash.scheduling.structured.reading import EVERYTHING, Reading, by_answers, reading_of

MANY: Final = 64  # situations by values: more are looked at by answers
MOST_ERRORS: Final = 50  # nodes that are asked one by one what their error says


class Filtered(msgspec.Struct, frozen=True):
    """statuses: each with its nodes, Success last. scores: the score of each node that passed, best first.

    errors: what the attempt may end with; which of several nodes is heard first is chance.
    """

    statuses: tuple[tuple[Status, int], ...]
    scores: tuple[tuple[int, int], ...]
    errors: tuple[str, ...]

    @property
    def feasible(self) -> int:
        return sum(nodes for _, nodes in self.scores)


def filter_nodes(state: CycleState, nodes: NodeTable, left: int, now: float) -> Filtered:
    """`left`: the nodes that the checks before this plugin left. `now`: Unix seconds."""
    statuses: dict[Status, int] = {}
    scores: dict[int, int] = {}
    errors: dict[str, None] = {}
    for members in alike(state, nodes, left, by_values=False):
        node = nodes.first(members)
        status = plugin.filter_node(state, node, now)
        if status.code is Code.ERROR:
            errors |= dict.fromkeys(_errors(state, nodes, members, now))
        if status.is_success:
            value = plugin.score(state, node.name)
            scores[value] = scores.get(value, 0) | members
        else:
            statuses[status] = statuses.get(status, 0) | members
    ranked = tuple(sorted(scores.items(), reverse=True))
    passed = sum(members for _, members in ranked)
    return Filtered((*statuses.items(), (SUCCESS, passed)), ranked, tuple(errors))


def alike(state: CycleState, nodes: NodeTable, left: int, *, by_values: bool = True) -> list[int]:
    """Sets of nodes that Filter answers alike, in the order of their first node.

    by_values: whether the devices of such nodes have the same values too, where selectors read them.
    """
    if not state.claims:
        return [left] if left else []
    claims, inventory = [state.claims[i].claim for i in state.to_allocate()], state.listed.inventory
    reading = read_by(state)
    situations = inventory.situations(reading, nodes)
    if len(situations) > MANY and reading.values and not by_values and not state.has_extended_claim:
        # Each device has its own value, a serial number say: what selectors say of it tells more nodes alike.
        situations = inventory.situations(by_answers(reading, claims, state.listed.classes), nodes)
    sets = [s for members in situations.values() if (s := members & left)]
    for information in state.information:
        if information.available_on is not None:
            sets = _split(sets, nodes.matching(information.available_on))
    if state.has_extended_claim:
        for members in _by_allocatable(state, nodes, left):
            sets = _split(sets, members)
    return sorted(sets, key=lambda s: s & -s)


def read_by(state: CycleState) -> Reading:
    """What the claims that are to be allocated look at in devices."""
    if state.has_extended_claim:
        return EVERYTHING  # its requests are made for each node
    return reading_of([state.claims[i].claim for i in state.to_allocate()], state.listed.classes)


def _split(sets: list[int], by: int) -> list[int]:
    return [part for s in sets for part in (s & by, s & ~by) if part]


def _by_allocatable(state: CycleState, nodes: NodeTable, left: int) -> list[int]:
    """Nodes by what device plugins offer them of the pod's resources; such a pod costs a look at every node."""
    found: dict[tuple[str, ...], int] = {}
    for slot in nodeset.slots(left):
        name = nodes.name(slot)
        allocatable = nodes.by_name[name].status.allocatable
        offer = tuple(str(allocatable.get(resource)) for resource in state.pod_scalars)
        found[offer] = found.get(offer, 0) | 1 << slot
    return list(found.values())


def _errors(state: CycleState, nodes: NodeTable, members: int, now: float) -> list[str]:
    """An error may name the node's own pool."""
    slots = list(nodeset.slots(members))[:MOST_ERRORS]
    found = (plugin.filter_node(state, nodes.by_name[nodes.name(slot)], now) for slot in slots)
    return [status.message for status in found]
