"""Since when each move of a negotiation is awaited without a break: told state by state, as they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.awaiting import Stage, awaited
from dradash.scheduling.classic.standing import NOTHING, ContextState
from dradash.scheduling.rfc3339 import seconds

OWED: Final = (Stage.ANSWER, Stage.ALLOCATE)  # by the driver: a selection before the answer does not stop the clock

Claims = Mapping[str, ResourceClaim | None]  # by the pod's name for it; None: not known


class ClaimState(Protocol):
    """negotiation.SeenClaim."""

    @property
    def at(self) -> float: ...
    @property
    def claim(self) -> ResourceClaim | None: ...


class Waiting:
    """What one negotiation waits for. Of bounded size, however long it goes on.

    at: Unix seconds of the last state. A driver owes from when it was first asked until it answers; then, once a node
    is selected that it does not refuse, until it allocates. A refused selection begins anew with each selected node.
    """

    def __init__(self) -> None:
        self.at = 0.0
        self.standing = NOTHING
        self._context: PodSchedulingContext | None = None
        self._asked = 0.0
        self._selected = 0.0
        self._known: set[str] = set()
        self._since: dict[tuple[str, str], float] = {}

    def saw(self, at: float, context: PodSchedulingContext | None, claims: Claims) -> None:
        """States come in order of time; `claims` are as they were then."""
        before = self._context
        if context is None or before is None or before.uid != context.uid:
            self._asked, self._selected, self._since, before = 0.0, 0.0, {}, None
            self._known = set()
        self.at, self._context = at, context
        self.standing = self.standing.after(at, context)
        if context is None:
            return
        selected = context.spec.selected_node
        if not self._asked and (selected or context.spec.potential_nodes):
            self._asked = at
        if selected != (before.spec.selected_node if before else ""):
            self._selected = at
        had, has = _answers(before), _answers(context)
        since = {}
        for move in awaited(context, claims, {}, lambda _stage, _claim: 0.0):
            spoke = before is not None and had.get(move.claim) != has.get(move.claim)
            since[self._key(move.stage, move.claim)] = self._begin(
                at, move.stage, move.claim, claims.get(move.claim), spoke=spoke, answered=move.claim in has
            )
        if claims and all(c is not None and c.status.allocation is not None for c in claims.values()):
            key = self._key(Stage.FINISH, "")
            since[key] = self._since.get(key, at)
        self._since = since
        self._known |= {name for name, claim in claims.items() if claim is not None}

    def _begin(
        self, at: float, stage: Stage, name: str, claim: ResourceClaim | None, *, spoke: bool, answered: bool
    ) -> float:
        earlier = self._since.get(self._key(stage, name))
        if stage not in OWED:
            return at if earlier is None else earlier
        if earlier is not None:
            return max(earlier, self._selected) if spoke else earlier
        if not self._asked or name in self._known:
            return at if self._asked else 0.0
        # Only now is it known that the claim is there: another kind's watch may be behind.
        created = seconds(claim.metadata.creation_timestamp) if claim else 0.0
        asked = self._selected if answered else self._asked
        return max(asked, min(at, created or at))

    def _key(self, stage: Stage, claim: str) -> tuple[str, str]:
        if stage in OWED:
            return "Owed", claim
        if stage is Stage.RESELECT and self._context is not None:
            return f"{stage} {self._context.spec.selected_node}", claim
        return str(stage), claim

    def since(self, stage: Stage, claim: str) -> float:
        """Unix seconds; 0.0: it is not awaited, or it is not known since when."""
        return self._since.get(self._key(stage, claim), 0.0)


def _answers(context: PodSchedulingContext | None) -> dict[str, tuple[str, ...]]:
    return {s.name: s.unsuitable_nodes for s in context.status.resource_claims} if context else {}


def replayed(contexts: Sequence[ContextState], claims: Mapping[str, Sequence[ClaimState]]) -> Waiting:
    """From the histories of a context and of its pod's claims, each in order of time."""
    waiting = Waiting()
    context: PodSchedulingContext | None = None
    known: dict[str, ResourceClaim | None] = dict.fromkeys(claims)
    for at, name, state in sorted(_merged(contexts, claims), key=lambda s: s[0]):
        if isinstance(state, ResourceClaim) or name:
            known[name] = state if isinstance(state, ResourceClaim) else None
        else:
            context = state
        waiting.saw(at, context, known)
    return waiting


def _merged(
    contexts: Sequence[ContextState], claims: Mapping[str, Sequence[ClaimState]]
) -> Iterator[tuple[float, str, PodSchedulingContext | ResourceClaim | None]]:
    for name, states in claims.items():
        yield from ((s.at, name, s.claim) for s in states)
    yield from ((s.at, "", s.context) for s in contexts)
