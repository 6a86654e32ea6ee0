"""Whose move it is in a negotiation: read from the context and the claims alone, whatever happened before."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.claim import IMMEDIATE, ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext

SCHEDULER: Final = "scheduler"


class Stage(enum.StrEnum):
    """What is awaited, in the order of a negotiation."""

    ANSWER = "Answer"  # a driver: which of the proposed nodes are unsuitable
    SELECT = "Select"  # the scheduler: a node, now that all drivers have answered
    RESELECT = "Reselect"  # the scheduler: another node, because the selected one is unsuitable
    ROOM = "Room"  # a driver refuses every proposed node
    ALLOCATE = "Allocate"  # a driver: the claim, for the selected node
    FINISH = "Finish"  # the scheduler: every claim is allocated, the pod can be reserved for and bound
    HELD = "Held"  # somebody else: whatever is answered, the pod gets no node before (a claim is in use, ...)


class Awaited(msgspec.Struct, frozen=True):
    """A move that has not come yet, and since when it could have (Unix seconds, 0 when the history does not say).

    actor: "scheduler", a driver's name ("" where its class is absent), a pod's key, or what `who` says.
    who: as in verdict.ActsNext, "" for the scheduler and drivers.
    """

    actor: str
    claim: str
    what: str
    since: float
    stage: Stage = Stage.ANSWER
    who: str = ""

    @property
    def party(self) -> str:
        return self.who or (SCHEDULER if self.actor == SCHEDULER else "driver")


SinceOf = Callable[[Stage, str], float]  # (what is awaited, the pod's name for the claim or "") -> Unix seconds


def awaited(
    context: PodSchedulingContext,
    claims: Mapping[str, ResourceClaim | None],
    drivers: Mapping[str, str],
    since: SinceOf,
) -> Iterator[Awaited]:
    """claims and drivers: by the pod's name for the claim. Nothing when every claim is allocated."""
    answers = {s.name: s.unsuitable_nodes for s in context.status.resource_claims}
    to_allocate = [n for n, c in claims.items() if c is None or c.status.allocation is None]
    for name in to_allocate:
        claim = claims[name]
        if claim is not None and claim.spec.allocation_mode != IMMEDIATE:
            move = _of_claim(context, name, answers.get(name), drivers.get(name, ""), since)
            if move is not None:
                yield move
    if to_allocate and not context.spec.selected_node and all(n in answers for n in to_allocate):
        yield Awaited(SCHEDULER, "", "select a node", since(Stage.SELECT, ""), Stage.SELECT)


def _of_claim(
    context: PodSchedulingContext, name: str, refused: tuple[str, ...] | None, driver: str, since: SinceOf
) -> Awaited | None:
    selected = context.spec.selected_node
    if refused and set(refused).issuperset(context.spec.potential_nodes):
        what = "make room: it refuses every proposed node"
        return Awaited(driver, name, what, since(Stage.ROOM, name), Stage.ROOM)
    if selected and selected not in (refused or ()):
        return Awaited(driver, name, f"allocate for {selected}", since(Stage.ALLOCATE, name), Stage.ALLOCATE)
    if selected:
        what = f"select another node: {selected} is unsuitable"
        return Awaited(SCHEDULER, name, what, since(Stage.RESELECT, name), Stage.RESELECT)
    if refused is None:
        return Awaited(driver, name, "say which nodes are unsuitable", since(Stage.ANSWER, name), Stage.ANSWER)
    return None
