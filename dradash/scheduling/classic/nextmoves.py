"""Who must move next in a negotiation: the verdict on its pod decides, which alone sees what else is in the way.

What the context and the claims await for themselves (`awaiting`) tells the same more closely, claim by claim and since
when, where it names the same actor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dradash.scheduling.classic.awaiting import SCHEDULER, Awaited, Stage
from dradash.scheduling.verdict import ActsNext, Outcome, Verdict

DRIVER: Final = "driver"
POD: Final = "pod"
CONTEXTS: Final = "podschedulingcontexts"
NAMED: Final = 5  # pods or drivers of one move that are named


def next_moves(verdict: Verdict, read: Sequence[Awaited], finish_since: float) -> tuple[Awaited, ...]:
    """read: what `awaiting.awaited` found. finish_since: since when all claims are allocated, 0.0: not known."""
    acts, outcome = verdict.acts_next, verdict.outcome
    if outcome is Outcome.SCHEDULABLE:
        return made(acts, max(finish_since, verdict.since), Stage.FINISH)
    if outcome is Outcome.WAITING:
        stages, stage = tuple(Stage), Stage.SELECT if acts.who == SCHEDULER else Stage.ANSWER
    elif acts.who == DRIVER and any(s.point == "Filter" and s.groups for s in verdict.steps):
        stages, stage = (Stage.ROOM,), Stage.ROOM
    else:
        return made(acts, verdict.since, Stage.HELD)
    names = acts.names or ("",) if acts.who == DRIVER else (acts.who,)
    agreed = tuple(m for m in read if m.party == acts.who and m.actor in names and m.stage in stages)
    if not agreed and outcome is Outcome.WAITING and acts.who == DRIVER and read:
        return tuple(read)  # it has moved since the pod was judged
    return agreed or made(acts, verdict.since, stage)


def overtaken(verdict: Verdict, holder: ActsNext | None, *, missing: bool, allocated: bool) -> bool:
    """Whether the objects of a negotiation have moved on since the pod was judged: the verdict names a wrong actor.

    holder: who must free a claim, as the claims tell now (`actsnext.unfree`). missing: a claim that the pod needs is
    not there; allocated: all that it needs are.
    """
    outcome = verdict.outcome
    if outcome in (Outcome.WAITING, Outcome.SCHEDULABLE):
        publishes = any(e.verb == "create" and e.resource == CONTEXTS for s in verdict.steps for e in s.effects)
        at_odds = allocated if outcome is Outcome.WAITING else not allocated
        return holder is not None or missing or at_odds or publishes
    # With all claims allocated and free, no driver and no other pod is in the way any more.
    return allocated and holder is None and verdict.acts_next.who in (DRIVER, POD)


def made(acts: ActsNext, since: float, stage: Stage) -> tuple[Awaited, ...]:
    """A move for each who is named; nobody for nobody."""
    if acts.who == "nobody":
        return ()
    who = "" if acts.who in (SCHEDULER, DRIVER) else acts.who
    if acts.who not in (DRIVER, POD):
        return (Awaited(acts.who, "", acts.what, since, stage, who),)
    moves = [Awaited(name, "", acts.what, since, stage, who) for name in acts.names[:NAMED] or ("",)]
    more = len(acts.names) - NAMED
    if more > 0:
        moves[-1] = msgspec.structs.replace(moves[-1], what=f"{acts.what} (and {more} more must)")
    return tuple(moves)
