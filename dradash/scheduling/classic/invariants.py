"""What must not be in a negotiation, named: read from the objects and from the context's history alone.

Every page about a negotiation, the API, the command line and the doctor's findings say it in these words.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.claim import IMMEDIATE, ResourceClaim
from dradash.kinds.meta import controller_uid
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE, PodSchedulingContext
from dradash.scheduling.classic.standing import NOTHING, Sign, Standing
from dradash.scheduling.firstsight import is_fresh
from dradash.scheduling.rfc3339 import seconds

CONTEXTS: Final = "podschedulingcontexts"


class InvariantCode(enum.StrEnum):
    SELECTED_NOT_POTENTIAL = "SelectedNotPotential"
    SELECTED_UNSUITABLE = "SelectedUnsuitable"
    NOTHING_LEFT = "NothingLeft"  # of the potential nodes, for one claim
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
    standing: Standing  # of `context`
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
    standing: Standing = NOTHING,
    *,
    drivers: Mapping[str, str],
    now: float,
    limits: Limits = DEFAULTS,
    asked: Mapping[str, float] = {},
) -> tuple[Invariant, ...]:
    """Every rule that this context breaks at `now` (Unix seconds), in the order of InvariantCode.

    pod: the one with the context's name, None when there is none. claims and drivers: by the pod's name for the claim.
    standing: the context's states up to this one; without it nothing can be said of flapping, silence and since when.
    asked: since when a claim's driver owes its answer, for a standing that does not reach back so far.
    """
    if standing is NOTHING or standing.uid != context.uid:
        standing = NOTHING.after(0.0, context)
    case = _Case(context, pod, claims, standing, drivers)
    return (
        *_selected_not_potential(case),
        *_selected_unsuitable(case),
        *_nothing_left(case),
        *_list_cut(case),
        *_foreign_owner(case),
        *_flapping(case, limits.refusals),
        *_never_answered(case, now - limits.silent, asked),
    )


# --- the rules -------------------------------------------------------------------------------------------------------


def _signs(case: _Case, wanted: Sign) -> Iterator[tuple[str, float]]:
    """Subjects of which the context shows the sign, with since when."""
    return ((subject, since) for (sign, subject), since in case.standing.since.items() if sign is wanted)


def _selected_not_potential(case: _Case) -> Iterator[Invariant]:
    for node, since in _signs(case, Sign.NOT_POTENTIAL):
        text = f"The selected node {node} is not among the potential nodes."
        yield Invariant(InvariantCode.SELECTED_NOT_POTENTIAL, text, (*case.about, ("nodes", node)), since, node)


def _selected_unsuitable(case: _Case) -> Iterator[Invariant]:
    node = case.context.spec.selected_node
    for name, since in _signs(case, Sign.UNSUITABLE):
        if case.is_open(name):
            text = f"The selected node {node} is unsuitable for claim {name}."
            objects = (*case.with_claim(name), ("nodes", node))
            yield Invariant(InvariantCode.SELECTED_UNSUITABLE, text, objects, since, name)


def _nothing_left(case: _Case) -> Iterator[Invariant]:
    number = len(case.context.spec.potential_nodes)
    nodes = "the only proposed node" if number == 1 else f"all {number} proposed nodes"
    for name, since in _signs(case, Sign.NOTHING_LEFT):
        if case.is_open(name):
            text = f"{case.drivers.get(name) or 'The driver'} finds {nodes} unsuitable for claim {name}."
            yield Invariant(InvariantCode.NOTHING_LEFT, text, case.with_claim(name), since, name)


def _list_cut(case: _Case) -> Iterator[Invariant]:
    for _, since in _signs(case, Sign.CUT):
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
    whose = (
        f"belongs to {owner.kind} {owner.name} ({owner.uid}), not to this pod ({case.pod.uid})"
        if owner
        else f"has no controlling owner, where it must have this pod ({case.pod.uid})"
    )
    text = f"The PodSchedulingContext {whose}: the scheduler does not use it."
    since = max(seconds(o.metadata.creation_timestamp) for o in (case.context, case.pod))
    yield Invariant(InvariantCode.FOREIGN_OWNER, text, case.about, since or case.standing.begun)


def _flapping(case: _Case, least: int) -> Iterator[Invariant]:
    standing = case.standing
    or_more = "" if standing.begun and is_fresh(standing.begun, case.context.metadata) else "at least "
    for node, refused in standing.refused.items():
        if refused.count >= least:
            text = f"Node {node} was selected and refused {or_more}{refused.count} times."
            yield Invariant(InvariantCode.FLAPPING, text, (*case.about, ("nodes", node)), refused.since, node)


def _never_answered(case: _Case, deadline: float, asked: Mapping[str, float]) -> Iterator[Invariant]:
    """Of claims that wait for a driver to say which of the proposed nodes are unsuitable."""
    answered = case.standing.answered
    for name, claim in case.claims.items():
        if claim is None or not case.is_open(name) or name in answered or claim.spec.allocation_mode == IMMEDIATE:
            continue
        since = asked.get(name) or case.standing.proposed
        if not since or since > deadline:
            continue
        driver = case.drivers.get(name) or "its driver (unknown: the class is missing)"
        text = f"{driver} never answered for claim {name}."
        yield Invariant(InvariantCode.NEVER_ANSWERED, text, case.with_claim(name), since, name)
