"""A negotiation as rounds, read from the histories of a PodSchedulingContext and of its pod's claims.

Scheduler and drivers talk by writing objects, so each turn is the difference between two states of one object. A round
begins when the scheduler proposes other nodes, or selects a node again after it had selected one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.awaiting import Awaited, awaited
from dradash.scheduling.classic.turns import Turn, TurnKind, claim_turns, context_turns
from dradash.scheduling.classic.waiting import replayed
from dradash.scheduling.firstsight import is_fresh

OVERTAKEN: Final = 1.0  # seconds by which one kind's watch may be behind another's


class SeenContext(msgspec.Struct, frozen=True):
    """The context from Unix time `at` on; None: it was deleted then."""

    at: float
    context: PodSchedulingContext | None


class SeenClaim(msgspec.Struct, frozen=True):
    at: float
    claim: ResourceClaim | None


class Round(msgspec.Struct, frozen=True):
    """number: 0 where the negotiation's beginning is not known. key: tells it from the others, and stays.

    cut: it was under way when it was first seen.
    """

    number: int
    turns: tuple[Turn, ...]
    key: str = ""
    cut: bool = False

    @property
    def started(self) -> float:
        """Claims may be much older than the talk about them. Of one that is cut: when it was first seen."""
        if self.cut:
            return next((t.shown for t in self.turns if not t.claim), self.turns[0].shown)
        spoken = (t.at for t in self.turns if t.kind is not TurnKind.CREATED or not t.claim)
        return next(spoken, self.turns[0].at)


class Negotiation(msgspec.Struct, frozen=True):
    """whole: the rounds are told from the beginning."""

    rounds: tuple[Round, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    whole: bool = True


# --- rounds ----------------------------------------------------------------------------------------------------------


def negotiate(
    contexts: Sequence[SeenContext],
    claims: Mapping[str, Sequence[SeenClaim]],
    drivers: Mapping[str, str],
    *,
    cut: bool = False,
) -> Negotiation:
    """Rounds, and what is awaited. What is wrong with it: see invariants.

    contexts and claims: states in order of time, the one in force first. claims, drivers: by the pod's name for it.
    cut: there are earlier states of the context than these.
    """
    drivers = {name: drivers.get(name) or _driver_in(states) for name, states in claims.items()} | {
        name: driver for name, driver in drivers.items() if driver
    }
    turns = _all_turns(contexts, claims, drivers)
    context = contexts[-1].context if contexts else None
    whole = not contexts or (not cut and _begins(contexts[0]))
    latest = {name: states[-1].claim for name, states in claims.items() if states}
    return Negotiation(
        whole=whole,
        rounds=tuple(_named(_rounds(turns), whole=whole)),
        awaited=tuple(awaited(context, latest, drivers, replayed(contexts, claims).since)) if context else (),
    )


def _all_turns(
    contexts: Sequence[SeenContext], claims: Mapping[str, Sequence[SeenClaim]], drivers: Mapping[str, str]
) -> list[Turn]:
    turns: list[Turn] = []
    previous: PodSchedulingContext | None = None
    for seen in contexts:
        turns += context_turns(seen.at, previous, seen.context, drivers)
        previous = seen.context
    for name, states in claims.items():
        before: ResourceClaim | None = None
        for state in states:
            turns += claim_turns(state.at, before, state.claim, name, drivers.get(name, ""))
            before = state.claim
    return _timed(sorted(_created_first(turns), key=lambda t: t.at))


def _driver_in(states: Sequence[SeenClaim]) -> str:
    """The driver as the claim itself last named it: a claim that is gone has no class to ask any more."""
    return next((s.claim.status.driver_name for s in reversed(states) if s.claim and s.claim.status.driver_name), "")


def _created_first(turns: Sequence[Turn]) -> list[Turn]:
    """The scheduler begins when all claims are there, but each kind has a watch of its own, and objects tell their
    creation to the second: that a claim was created may be heard after, or with, the first words about it."""
    creations = [t for t in turns if t.kind is TurnKind.CREATED and t.claim]
    others = [t for t in turns if t.kind is not TurnKind.CREATED or not t.claim]
    told: set[str] = set()
    for i, turn in enumerate(creations):
        first = min((t.at for t in others if t.claim in ("", turn.claim)), default=turn.at)
        if turn.claim not in told and 0 < turn.at - first < OVERTAKEN:
            creations[i] = msgspec.structs.replace(turn, at=first)
        told.add(turn.claim)  # one that is created anew comes after the end of the first
    return creations + others


def _timed(turns: Sequence[Turn]) -> list[Turn]:
    """With how long each answer took, counted from the first question that it leaves open no longer."""
    asked: dict[str, float | None] = {}  # claim -> since when an answer or an allocation is owed; None: not known
    returning: dict[str, float | None] = {}
    all_claims = {t.claim for t in turns if t.claim}
    timed = []
    for turn in turns:
        at, since = None if turn.found else turn.at, None
        if turn.kind in (TurnKind.PROPOSED, TurnKind.SELECTED):
            asked = {**dict.fromkeys(all_claims, at), **asked}
        elif turn.kind in (TurnKind.ANSWERED, TurnKind.ALLOCATED):
            since = asked.pop(turn.claim, None)
        elif turn.kind is TurnKind.DEALLOCATION_REQUESTED:
            returning.setdefault(turn.claim, at)
        elif turn.kind is TurnKind.DEALLOCATED:
            since = returning.pop(turn.claim, None)
        timed.append(turn if at is None or since is None else msgspec.structs.replace(turn, took=at - since))
    return timed


def _rounds(turns: Sequence[Turn]) -> Iterator[Round]:
    current: list[Turn] = []
    number = 1
    for turn in turns:
        if current and _begins_round(turn, current):
            yield Round(number, tuple(current))
            number, current = number + 1, []
        current.append(turn)
    if current:
        yield Round(number, tuple(current))


def _begins(first: SeenContext) -> bool:
    return first.context is not None and is_fresh(first.at, first.context.metadata)


def _named(rounds: Iterator[Round], *, whole: bool) -> Iterator[Round]:
    """With their keys; numbered only from the beginning."""
    alike: Counter[str] = Counter()
    for one in rounds:
        if whole:
            yield msgspec.structs.replace(one, key=str(one.number))
            continue
        unnumbered = msgspec.structs.replace(one, number=0, cut=one.number == 1)
        key = f"at-{unnumbered.started * 1000:.0f}"
        alike[key] += 1
        yield msgspec.structs.replace(unnumbered, key=key if alike[key] == 1 else f"{key}-{alike[key]}")


def _begins_round(turn: Turn, current: Sequence[Turn]) -> bool:
    if turn.kind not in (TurnKind.PROPOSED, TurnKind.SELECTED):
        return False  # most turns: a round may have thousands of them
    kinds = {t.kind for t in current}
    if turn.kind is TurnKind.PROPOSED:
        return TurnKind.PROPOSED in kinds or TurnKind.SELECTED in kinds
    # The nodes and the selection of one write belong together.
    return TurnKind.SELECTED in kinds and current[-1].kind is not TurnKind.PROPOSED
