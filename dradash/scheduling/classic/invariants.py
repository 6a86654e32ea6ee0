"""What must not be in a negotiation, named: read from the objects and from the context's history alone.

The page about a negotiation and the doctor's findings both say it in these words.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.claim import IMMEDIATE, ResourceClaim
from dradash.kinds.meta import controller_uid
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE, PodSchedulingContext
from dradash.scheduling.classic.negotiation import SeenContext

CONTEXTS: Final = "podschedulingcontexts"


class InvariantCode(enum.StrEnum):
    SELECTED_NOT_POTENTIAL = "SelectedNotPotential"
    SELECTED_UNSUITABLE = "SelectedUnsuitable"
    LIST_CUT = "ListCut"  # nothing is wrong with it yet, but what is refused may not be all there is
    FOREIGN_OWNER = "ForeignOwner"
    FLAPPING = "Flapping"
    NEVER_ANSWERED = "NeverAnswered"


class Invariant(msgspec.Struct, frozen=True):
    """One broken rule. text: a sentence with a full stop. objects: (kind, key) of what it is about.

    since: Unix seconds at which it was first so, 0.0 when the history does not say. subject: what tells two of
    one code on one context apart (a claim's name, a node), for a stable id.
    """

    code: InvariantCode
    text: str
    objects: tuple[tuple[str, str], ...]
    since: float
    subject: str = ""


class Limits(msgspec.Struct, frozen=True):
    """refusals: selections of one node that were refused, from which on it flaps. silent: seconds a driver may take."""

    refusals: int = 3
    silent: float = 30.0


DEFAULTS: Final = Limits()


class _Case(msgspec.Struct, frozen=True):
    context: PodSchedulingContext
    pod: Pod | None
    claims: Mapping[str, ResourceClaim | None]
    history: Sequence[SeenContext]  # never empty; the last one is `context`
    drivers: Mapping[str, str]

    @property
    def about(self) -> tuple[tuple[str, str], ...]:
        pod = (("pods", self.pod.key),) if self.pod else ()
        return ((CONTEXTS, self.context.key), *pod)

    def with_claim(self, name: str) -> tuple[tuple[str, str], ...]:
        claim = self.claims.get(name)
        return (*self.about, ("resourceclaims", claim.key)) if claim else self.about

    def is_open(self, name: str) -> bool:
        """Whether the claim is still negotiated about."""
        claim = self.claims.get(name)
        return claim is None or claim.status.allocation is None


def broken(
    context: PodSchedulingContext,
    pod: Pod | None,
    claims: Mapping[str, ResourceClaim | None],
    history: Sequence[SeenContext] = (),
    *,
    drivers: Mapping[str, str],
    now: float,
    limits: Limits = DEFAULTS,
    asked: Mapping[str, float] = {},
) -> tuple[Invariant, ...]:
    """Every rule that this context breaks at `now` (Unix seconds), in the order of InvariantCode.

    pod: the one with the context's name, None when there is none. claims and drivers: by the pod's name for the claim.
    history: the context's states, oldest first (an earlier context of the same name ends with a None); without it
    nothing can be said of flapping, silence and since when. The time of the last change will do for the last two.
    asked: since when a claim's driver owes its answer, for a history that does not reach back so far.
    """
    case = _Case(context, pod, claims, _of_this_one(context, history), drivers)
    return (
        *_selected_not_potential(case),
        *_selected_unsuitable(case),
        *_list_cut(case),
        *_foreign_owner(case),
        *_flapping(case, limits.refusals),
        *_never_answered(case, now - limits.silent, asked),
    )


def _of_this_one(context: PodSchedulingContext, history: Sequence[SeenContext]) -> Sequence[SeenContext]:
    own: list[SeenContext] = []
    for seen in history:
        if seen.context is None or (own and own[-1].context and own[-1].context.uid != seen.context.uid):
            own = []
        if seen.context is not None:
            own.append(seen)
    return own or [SeenContext(0.0, context)]


def _since(case: _Case, holds: Mapping[int, bool]) -> float:
    """Since when it holds without a break: `holds` says it of each state of the history."""
    since = case.history[-1].at
    for i in range(len(case.history) - 1, -1, -1):
        if not holds[i]:
            break
        since = case.history[i].at
    return since


def _states(case: _Case) -> list[PodSchedulingContext]:
    return [s.context for s in case.history if s.context is not None]


# --- the rules -------------------------------------------------------------------------------------------------------


def _not_potential(context: PodSchedulingContext) -> bool:
    selected, potential = context.spec.selected_node, context.spec.potential_nodes
    return bool(selected and potential) and selected not in potential


def _selected_not_potential(case: _Case) -> Iterator[Invariant]:
    if _not_potential(case.context):
        node = case.context.spec.selected_node
        since = _since(case, {i: _not_potential(c) for i, c in enumerate(_states(case))})
        text = f"The selected node {node} is not among the potential nodes."
        yield Invariant(InvariantCode.SELECTED_NOT_POTENTIAL, text, (*case.about, ("nodes", node)), since, node)


def _unsuitable_for(context: PodSchedulingContext, claim: str) -> bool:
    selected = context.spec.selected_node
    return any(selected in s.unsuitable_nodes for s in context.status.resource_claims if s.name == claim)


def _selected_unsuitable(case: _Case) -> Iterator[Invariant]:
    node = case.context.spec.selected_node
    for name in dict.fromkeys(s.name for s in case.context.status.resource_claims):
        if node and case.is_open(name) and _unsuitable_for(case.context, name):
            since = _since(case, {i: _unsuitable_for(c, name) for i, c in enumerate(_states(case))})
            text = f"The selected node {node} is unsuitable for claim {name}."
            objects = (*case.with_claim(name), ("nodes", node))
            yield Invariant(InvariantCode.SELECTED_UNSUITABLE, text, objects, since, name)


def _is_cut(context: PodSchedulingContext) -> bool:
    return len(context.spec.potential_nodes) >= NODE_LIST_MAX_SIZE


def _list_cut(case: _Case) -> Iterator[Invariant]:
    if _is_cut(case.context):
        since = _since(case, {i: _is_cut(c) for i, c in enumerate(_states(case))})
        text = (
            f"potentialNodes is cut at {NODE_LIST_MAX_SIZE} nodes: if more of them fit, drivers were asked about a "
            "random part of them only."
        )
        yield Invariant(InvariantCode.LIST_CUT, text, case.about, since)


def _foreign_owner(case: _Case) -> Iterator[Invariant]:
    """The plugin's PreFilter answers such a context with an error: IsControlledBy fails."""
    if case.pod is None or controller_uid(case.context.metadata) == case.pod.uid:
        return
    owner = next((r for r in case.context.metadata.owner_references if r.controller), None)
    whose = f"belongs to {owner.kind} {owner.name} ({owner.uid})" if owner else "has no controlling owner"
    text = f"The PodSchedulingContext {whose}, not to this pod ({case.pod.uid}): the scheduler does not use it."
    yield Invariant(InvariantCode.FOREIGN_OWNER, text, case.about, case.history[0].at)


def refusals(history: Sequence[SeenContext]) -> dict[str, list[float]]:
    """Node -> when its selection was refused: a driver found it unsuitable while, or as, it was selected."""
    refused: dict[str, list[float]] = {}
    selected, counted = "", False
    for seen in history:
        node = seen.context.spec.selected_node if seen.context else ""
        if node != selected:
            selected, counted = node, False
        if seen.context is None or not node or counted:
            continue
        if any(node in s.unsuitable_nodes for s in seen.context.status.resource_claims):
            refused.setdefault(node, []).append(seen.at)
            counted = True
    return refused


def _flapping(case: _Case, least: int) -> Iterator[Invariant]:
    for node, times in refusals(case.history).items():
        if len(times) >= least:
            text = f"Node {node} was selected and refused {len(times)} times."
            yield Invariant(InvariantCode.FLAPPING, text, (*case.about, ("nodes", node)), times[0], node)


def _never_answered(case: _Case, deadline: float, asked: Mapping[str, float]) -> Iterator[Invariant]:
    """Of claims that wait for a driver to say which of the proposed nodes are unsuitable."""
    states = _states(case)
    oldest = next((s.at for s in case.history if s.context and s.context.spec.potential_nodes), 0.0)
    answers = Counter(s.name for c in states for s in c.status.resource_claims)
    for name, claim in case.claims.items():
        if claim is None or not case.is_open(name) or answers[name] or claim.spec.allocation_mode == IMMEDIATE:
            continue
        since = asked.get(name) or oldest
        if not since or since > deadline:
            continue
        driver = case.drivers.get(name) or "its driver (unknown: the class is missing)"
        text = f"{driver} never answered for claim {name}."
        yield Invariant(InvariantCode.NEVER_ANSWERED, text, case.with_claim(name), since, name)
