"""What holds of a PodSchedulingContext by itself, and since when without a break: told state by state, as they come."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE, PodSchedulingContext

NODES: Final = 500  # of one negotiation whose refusals are counted


class Sign(enum.StrEnum):
    """What one state shows. The subject of each is in brackets."""

    NOT_POTENTIAL = "NotPotential"  # the selected node is not among the potential ones (the node)
    UNSUITABLE = "Unsuitable"  # the selected node is unsuitable for a claim (the pod's name for it)
    NOTHING_LEFT = "NothingLeft"  # every potential node is unsuitable for a claim (the pod's name for it)
    CUT = "Cut"  # the list of potential nodes is as long as it may be ("")


class ContextState(Protocol):
    """negotiation.SeenContext."""

    @property
    def at(self) -> float: ...
    @property
    def context(self) -> PodSchedulingContext | None: ...


class Refused(msgspec.Struct, frozen=True):
    """How often a node was selected and refused. since: Unix seconds of the first time."""

    count: int
    since: float


class Standing(msgspec.Struct, frozen=True):
    """One negotiation up to its latest state. Of bounded size, however long it goes on. Times are Unix seconds.

    begun: its first state that was seen; proposed: the first one with potential nodes, 0.0 for none. since: of each
    sign that the latest state shows. refused: by node. answered: claims for which a driver ever answered.
    """

    uid: str = ""
    begun: float = 0.0
    proposed: float = 0.0
    since: Mapping[tuple[Sign, str], float] = {}
    refused: Mapping[str, Refused] = {}
    answered: frozenset[str] = frozenset()
    selected: str = ""
    counted: bool = False  # whether the refusal of `selected` is in `refused`

    def after(self, at: float, context: PodSchedulingContext | None) -> Standing:
        """With one more state; None: the context was deleted. A context with another UID is another negotiation."""
        if context is None:
            return NOTHING
        known = self if self is not NOTHING and self.uid == context.uid else Standing(context.uid, at)
        refused, counted = known._refusals(at, context)
        return Standing(
            uid=known.uid,
            begun=known.begun,
            proposed=known.proposed or (at if context.spec.potential_nodes else 0.0),
            since={sign: known.since.get(sign, at) for sign in signs(context)},
            refused=refused,
            answered=known.answered | {s.name for s in context.status.resource_claims},
            selected=context.spec.selected_node,
            counted=counted,
        )

    def _refusals(self, at: float, context: PodSchedulingContext) -> tuple[Mapping[str, Refused], bool]:
        """A driver found the node unsuitable while, or as, it was selected: once for each selection."""
        node = context.spec.selected_node
        if node == self.selected and self.counted:
            return self.refused, True
        if not node or all(node not in s.unsuitable_nodes for s in context.status.resource_claims):
            return self.refused, False
        before = self.refused.get(node)
        if before is None and len(self.refused) >= NODES:
            return self.refused, True
        now = Refused(before.count + 1, before.since) if before else Refused(1, at)
        return {**self.refused, node: now}, True


NOTHING: Final = Standing()


def signs(context: PodSchedulingContext) -> Iterator[tuple[Sign, str]]:
    selected, potential = context.spec.selected_node, context.spec.potential_nodes
    if selected and potential and selected not in potential:
        yield Sign.NOT_POTENTIAL, selected
    if len(potential) >= NODE_LIST_MAX_SIZE:
        yield Sign.CUT, ""
    for status in context.status.resource_claims:
        if selected and selected in status.unsuitable_nodes:
            yield Sign.UNSUITABLE, status.name
        if potential and set(potential).issubset(status.unsuitable_nodes):
            yield Sign.NOTHING_LEFT, status.name


def stood(states: Iterable[ContextState]) -> Standing:
    """After these states, oldest first."""
    standing = NOTHING
    for seen in states:
        standing = standing.after(seen.at, seen.context)
    return standing
