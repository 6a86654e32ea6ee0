"""Negotiations as they stand: every PodSchedulingContext with who must move, and since when nobody did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.entries import claims_by_entry
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.actsnext import held, unfree
from dradash.scheduling.classic.awaiting import SCHEDULER, Awaited, SinceOf, Stage, awaited
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.classic.invariants import Invariant, broken
from dradash.scheduling.classic.nextmoves import made, next_moves, overtaken
from dradash.scheduling.classic.standing import NOTHING, Standing
from dradash.scheduling.classic.waiting import OWED
from dradash.scheduling.generation import READABLE
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.unblocking import unblock

KIND: Final = "podschedulingcontexts"
NO_POD: Final = "NoPod"
BOUND: Final = "Bound"
ENDING: Final = "Ending"
NOBODY: Final = "nobody"  # who acts next, of a verdict: also of one that could not be made
_CREATED_FROM: Final = ("resourceclaims", "resourceclaimtemplates")
LATE: Final = float("inf")
_WORST_FIRST: Final = (
    Stage.HELD,
    Stage.ROOM,
    Stage.RESELECT,
    Stage.ANSWER,
    Stage.ALLOCATE,
    Stage.SELECT,
    Stage.FINISH,
)
# The worst first; a list sorts by this order.
STATES: Final = (
    *(str(s) for s in (Stage.HELD, Stage.ROOM, Stage.RESELECT, Stage.ANSWER, Stage.SELECT, Stage.ALLOCATE)),
    str(Stage.FINISH),
    BOUND,
    ENDING,
    NO_POD,
)


class Talk(msgspec.Struct, frozen=True):
    """One negotiation as it stands.

    moves: of those who must act next, as the verdict on the pod says, the longest wait first. read: all that context
    and claims await, whether it is of use next or not. since: Unix seconds of the longest wait for one of the moves,
    0.0 where it is not known. standing: its states up to this one.
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
    read: tuple[Awaited, ...] = ()

    @property
    def asked(self) -> dict[str, float]:
        """By the pod's name for a claim: since when its driver owes an answer or an allocation."""
        return {m.claim: m.since for m in self.read if m.stage in OWED}

    @property
    def also(self) -> tuple[Awaited, ...]:
        """Moves that are awaited too, but will not get the pod on by themselves."""
        return tuple(m for m in self.read if m not in self.moves)


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
    begun = _begun(context, standing)
    if not pod.is_pending:
        state, since = BOUND if pod.spec.node_name else ENDING, world.times.get("pods", {}).get(key, 0.0)
        return Talk(key, context, pod, claims, drivers, (), state, max(since, begun), standing)
    read = _in_order(awaited(context, claims, drivers, partial(_since, world, key, waits)), begun)
    moves = _in_order(_moves(world, pod, claims, read, partial(_since, world, key, waits)), begun)
    stages = {m.stage for m in moves}
    # Where nobody is known to act, a claim is not there or nothing can be read of it: no answer helps.
    state = str(next((s for s in _WORST_FIRST if s in stages), Stage.HELD))
    since = moves[0].since if moves else 0.0
    return Talk(key, context, pod, claims, drivers, moves, state, since, standing, read)


def _begun(context: PodSchedulingContext, standing: Standing) -> float:
    """Unix seconds from which on the negotiation can have waited for somebody; 0.0: not known."""
    times = (seconds(context.metadata.creation_timestamp), standing.begun)
    return min((t for t in times if t), default=0.0)


def _in_order(moves: Iterable[Awaited], begun: float) -> tuple[Awaited, ...]:
    """The longest wait first; what was so before the negotiation began is not a wait of it."""
    clamped = (replace(m, since=begun) if 0.0 < m.since < begun else m for m in moves)
    return tuple(sorted(clamped, key=lambda m: m.since or LATE))


def _moves(
    world: World, pod: Pod, claims: Mapping[str, ResourceClaim | None], read: Sequence[Awaited], since: SinceOf
) -> Sequence[Awaited]:
    needed = [claims.get(e.name) for e in pod.spec.resource_claims if not _runs_without(pod, e)]
    allocated = all(c is not None and c.status.allocation is not None for c in needed)
    missing = None in needed
    verdict = world.verdicts.get(pod.key)
    if (
        verdict is not None
        and verdict.uid == pod.uid
        and verdict.acts_next.who != NOBODY
        and not overtaken(verdict, unfree(pod, world.cluster), missing=missing, allocated=allocated)
    ):
        return next_moves(verdict, read, since(Stage.FINISH, "") if allocated else 0.0)
    holder = held(pod, world.cluster)
    if holder is None and missing and all(_readable(world, kind) for kind in _CREATED_FROM):
        holder = unblock(pod, world.cluster)
    if holder is not None:
        return made(holder, since(Stage.HELD, ""), Stage.HELD)
    if allocated and not read:
        return (Awaited(SCHEDULER, "", "reserve the claims and bind the pod", since(Stage.FINISH, ""), Stage.FINISH),)
    return read


def _runs_without(pod: Pod, entry: PodResourceClaim) -> bool:
    name = claim_name(pod, entry)
    return name.name is None and not name.error


def _readable(world: World, kind: str) -> bool:
    return kind in world.sync and world.sync[kind].state in READABLE


def ended(talk: Talk) -> Talk:
    """Of a context that is gone: with its claims reserved for the pod the negotiation ended well, nobody is awaited."""
    held_by = [{r.uid for r in c.status.reserved_for} if c is not None else () for c in talk.claims.values()]
    if talk.pod is None or talk.state != Stage.FINISH or not all(talk.pod.uid in uids for uids in held_by):
        return talk
    return replace(talk, moves=(), read=())


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
