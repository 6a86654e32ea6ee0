"""Negotiations as they stand: every PodSchedulingContext with who must move, and since when nobody did."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.entries import claims_by_entry
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import SCHEDULER, Awaited, Stage, awaited
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.classic.invariants import Invariant, broken
from dradash.scheduling.classic.standing import NOTHING, Standing
from dradash.scheduling.classic.waiting import OWED

KIND: Final = "podschedulingcontexts"
NO_POD: Final = "NoPod"
BOUND: Final = "Bound"
LATE: Final = float("inf")
_WORST_FIRST: Final = (Stage.ROOM, Stage.RESELECT, Stage.ANSWER, Stage.ALLOCATE, Stage.SELECT)
# The worst first; a list sorts by this order.
STATES: Final = (
    *(str(s) for s in (Stage.ROOM, Stage.RESELECT, Stage.ANSWER, Stage.SELECT, Stage.ALLOCATE)),
    str(Stage.FINISH),
    BOUND,
    NO_POD,
)


class Talk(msgspec.Struct, frozen=True):
    """One negotiation as it stands. moves: what is awaited, the longest wait first.

    since: Unix seconds of the longest wait, 0.0 where it is not known. standing: its states up to this one.
    """

    key: str
    context: PodSchedulingContext
    pod: Pod | None
    claims: Mapping[str, ResourceClaim | None]
    drivers: Mapping[str, str]
    moves: tuple[Awaited, ...]
    state: str
    since: float
    standing: Standing = NOTHING

    @property
    def asked(self) -> dict[str, float]:
        """By the pod's name for a claim: since when its driver owes an answer or an allocation."""
        return {m.claim: m.since for m in self.moves if m.stage in OWED}


def talk(world: World, key: str, context: PodSchedulingContext, waits: Since) -> Talk:
    """waits: who knows since when each move is awaited; where it does not, the last change must do."""
    cluster = world.cluster
    pod = cluster.pods.get(key)
    changed = world.times.get(KIND, {}).get(key, 0.0)
    standing = waits.standing(key)
    if standing is None or standing.uid != context.uid:
        standing = NOTHING.after(changed, context)
    claims = claims_by_entry(key, cluster)
    drivers = {name: driver_of(claim, cluster) for name, claim in claims.items() if claim is not None}
    if pod is None:
        return Talk(key, context, None, claims, drivers, (), NO_POD, changed, standing)
    if pod.spec.node_name:
        bound = world.times.get("pods", {}).get(key, 0.0)
        return Talk(key, context, pod, claims, drivers, (), BOUND, bound, standing)
    moves = list(awaited(context, claims, drivers, partial(_since, world, key, waits)))
    if not moves and claims and all(c is not None and c.status.allocation is not None for c in claims.values()):
        since = _since(world, key, waits, Stage.FINISH, "")
        moves = [Awaited(SCHEDULER, "", "reserve the claims and bind the pod", since, Stage.FINISH)]
    moves.sort(key=lambda m: m.since or LATE)
    stages = {m.stage for m in moves}
    state = next((s for s in _WORST_FIRST if s in stages), Stage.FINISH if stages else Stage.ANSWER)
    since = moves[0].since if moves else 0.0
    return Talk(key, context, pod, claims, drivers, tuple(moves), str(state), since, standing)


def rules_broken(talk: Talk, now: float) -> tuple[Invariant, ...]:
    """What must not be in it. now: Unix seconds."""
    return broken(talk.context, talk.pod, talk.claims, talk.standing, drivers=talk.drivers, now=now, asked=talk.asked)


def _since(world: World, key: str, waits: Since, stage: Stage, claim: str) -> float:
    known = waits.since(key, stage, claim)
    if known:
        return known
    changed = world.times.get(KIND, {}).get(key, 0.0)
    verdict = world.verdicts.get(key)
    return changed or (verdict.since if verdict else 0.0)


def all_talks(world: World, waits: Since) -> list[Talk]:
    return [talk(world, key, context, waits) for key, context in world.cluster.contexts.items()]
