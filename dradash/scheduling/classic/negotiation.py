"""A negotiation as rounds, read from the histories of a PodSchedulingContext and of its pod's claims.

Scheduler and drivers talk by writing objects, so each turn is the difference between two states of one object. A round
begins when the scheduler proposes other nodes, or selects a node again after it had selected one.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.awaiting import SCHEDULER, Awaited, awaited
from dradash.scheduling.classic.waiting import replayed

OVERTAKEN: Final = 1.0  # seconds by which one kind's watch may be behind another's


class TurnKind(enum.StrEnum):
    PROPOSED = "Proposed"  # scheduler: potentialNodes
    ANSWERED = "Answered"  # driver: unsuitableNodes for one claim
    SELECTED = "Selected"  # scheduler: selectedNode
    UNSELECTED = "Unselected"  # scheduler: selectedNode taken back
    ALLOCATED = "Allocated"  # driver
    RESERVED = "Reserved"  # scheduler: status.reservedFor grows
    RELEASED = "Released"  # status.reservedFor shrinks
    DEALLOCATION_REQUESTED = "DeallocationRequested"  # scheduler
    DEALLOCATED = "Deallocated"  # driver
    CREATED = "Created"
    DELETING = "Deleting"
    DELETED = "Deleted"
    REPORTED = "Reported"  # driver: a condition of a device, with structured parameters


class SeenContext(msgspec.Struct, frozen=True):
    """The context from Unix time `at` on; None: it was deleted then."""

    at: float
    context: PodSchedulingContext | None


class SeenClaim(msgspec.Struct, frozen=True):
    at: float
    claim: ResourceClaim | None


class Turn(msgspec.Struct, frozen=True):
    """One move. actor: "scheduler", a driver's name, or "" where the object does not tell who wrote it.

    claim: the pod's name for the claim, "" where the move is about no claim. nodes: what is proposed, unsuitable or
    selected now; added, removed: of them, against the actor's list before. took: seconds since the move it answers
    could have been answered, None where it answers none.
    """

    at: float
    actor: str
    kind: TurnKind
    text: str
    claim: str = ""
    nodes: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    took: float | None = None


class Round(msgspec.Struct, frozen=True):
    number: int
    turns: tuple[Turn, ...]

    @property
    def started(self) -> float:
        return self.turns[0].at


class Negotiation(msgspec.Struct, frozen=True):
    rounds: tuple[Round, ...] = ()
    awaited: tuple[Awaited, ...] = ()


def nodes_count(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


# --- differences -----------------------------------------------------------------------------------------------------


def context_turns(
    at: float, old: PodSchedulingContext | None, new: PodSchedulingContext | None, drivers: Mapping[str, str]
) -> Iterator[Turn]:
    """What was done to the context. drivers: the pod's name for a claim -> the driver that answers for it."""
    if new is None:
        if old is not None:
            yield Turn(at, SCHEDULER, TurnKind.DELETED, "ends the negotiation: the PodSchedulingContext is deleted")
        return
    before, after = (old or PodSchedulingContext()).spec, new.spec
    if set(before.potential_nodes) != set(after.potential_nodes):
        text = f"proposes {nodes_count(len(after.potential_nodes))}"
        added, removed = _compared(before.potential_nodes, after.potential_nodes)
        nodes = after.potential_nodes
        yield Turn(at, SCHEDULER, TurnKind.PROPOSED, text, nodes=nodes, added=added, removed=removed)
    if before.selected_node != after.selected_node:
        if after.selected_node:
            node = after.selected_node
            yield Turn(at, SCHEDULER, TurnKind.SELECTED, f"selects {node}", nodes=(node,))
        else:
            node = before.selected_node
            yield Turn(at, SCHEDULER, TurnKind.UNSELECTED, f"no longer selects {node}", nodes=(node,))
    answered = {s.name: s.unsuitable_nodes for s in (old or PodSchedulingContext()).status.resource_claims}
    for status in new.status.resource_claims:
        if answered.get(status.name) != status.unsuitable_nodes:
            answer = _answer(at, new, status.name, status.unsuitable_nodes, drivers)
            added, removed = _compared(answered.get(status.name, ()), status.unsuitable_nodes)
            yield msgspec.structs.replace(answer, added=added, removed=removed)


def _compared(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What came and what went, each in its list's order."""
    had, has = set(before), set(after)
    return tuple(n for n in after if n not in had), tuple(n for n in before if n not in has)


def _answer(
    at: float, context: PodSchedulingContext, claim: str, unsuitable: tuple[str, ...], drivers: Mapping[str, str]
) -> Turn:
    proposed = set(context.spec.potential_nodes)
    refused = len(proposed.intersection(unsuitable))
    if not unsuitable:
        text = f"finds all {nodes_count(len(proposed))} suitable"
    elif proposed and refused == len(proposed):
        text = f"finds all {nodes_count(refused)} unsuitable"
    else:
        text = f"finds {len(unsuitable)} of {nodes_count(len(proposed))} unsuitable"
    return Turn(at, drivers.get(claim, ""), TurnKind.ANSWERED, text, claim, unsuitable)


def claim_turns(
    at: float, old: ResourceClaim | None, new: ResourceClaim | None, claim: str = "", driver: str = ""
) -> Iterator[Turn]:
    """What was done to a claim. `driver` is used where the claim itself does not name one."""
    if new is None:
        if old is not None:
            yield Turn(at, "", TurnKind.DELETED, "is deleted", claim)
        return
    if old is None:
        yield Turn(at, "", TurnKind.CREATED, "is created", claim)
    before, after = (old or ResourceClaim()), new
    driver = after.status.driver_name or before.status.driver_name or driver
    was, now = before.status, after.status
    if after.metadata.deletion_timestamp and not before.metadata.deletion_timestamp:
        yield Turn(at, "", TurnKind.DELETING, "is being deleted", claim)
    if now.allocation is not None and was.allocation is None:
        yield Turn(at, driver, TurnKind.ALLOCATED, "allocates", claim)
    elif now.allocation is None and was.allocation is not None:
        yield Turn(at, driver, TurnKind.DEALLOCATED, "takes the allocation back", claim)
    elif now.allocation != was.allocation:
        yield Turn(at, driver, TurnKind.ALLOCATED, "changes the allocation", claim)
    if now.deallocation_requested and not was.deallocation_requested:
        # The claim controller asks too, when the last pod that held the claim is done; the object does not tell.
        asker = "" if was.reserved_for else SCHEDULER
        text = (
            "deallocation is asked for, by the scheduler or the claim controller"
            if not asker
            else "asks for deallocation"
        )
        yield Turn(at, asker, TurnKind.DEALLOCATION_REQUESTED, text, claim)
    reserved = {r.uid: r.name for r in now.reserved_for}
    had = {r.uid: r.name for r in was.reserved_for}
    if added := [name for uid, name in reserved.items() if uid not in had]:
        yield Turn(at, SCHEDULER, TurnKind.RESERVED, f"reserves for {', '.join(added)}", claim)
    if gone := [name for uid, name in had.items() if uid not in reserved]:
        yield Turn(at, "", TurnKind.RELEASED, f"no longer reserved for {', '.join(gone)}", claim)


# --- rounds ----------------------------------------------------------------------------------------------------------


def negotiate(
    contexts: Sequence[SeenContext], claims: Mapping[str, Sequence[SeenClaim]], drivers: Mapping[str, str]
) -> Negotiation:
    """Rounds, and what is awaited. What is wrong with it: see invariants.

    contexts and claims: states in order of time, the one in force first. claims, drivers: by the pod's name for it.
    """
    drivers = {name: drivers.get(name) or _driver_in(states) for name, states in claims.items()} | {
        name: driver for name, driver in drivers.items() if driver
    }
    turns = _all_turns(contexts, claims, drivers)
    context = contexts[-1].context if contexts else None
    latest = {name: states[-1].claim for name, states in claims.items() if states}
    return Negotiation(
        rounds=tuple(_rounds(turns)),
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
    """Each kind has a watch of its own, so that a claim was created may be heard after the first words about it."""
    creations = [t for t in turns if t.kind is TurnKind.CREATED]
    others = [t for t in turns if t.kind is not TurnKind.CREATED]
    first = min((t.at for t in others), default=0.0)
    late = [msgspec.structs.replace(t, at=first) if 0 < t.at - first < OVERTAKEN else t for t in creations]
    return late + others


def _timed(turns: Sequence[Turn]) -> list[Turn]:
    """With how long each answer took, counted from the first question that it leaves open no longer."""
    asked: dict[str, float] = {}  # claim -> since when an answer or an allocation is owed
    returning: dict[str, float] = {}
    all_claims = {t.claim for t in turns if t.claim}
    timed = []
    for turn in turns:
        took = None
        if turn.kind in (TurnKind.PROPOSED, TurnKind.SELECTED):
            asked = dict.fromkeys(all_claims, turn.at) | asked
        elif turn.kind in (TurnKind.ANSWERED, TurnKind.ALLOCATED) and turn.claim in asked:
            took = turn.at - asked.pop(turn.claim)
        elif turn.kind is TurnKind.DEALLOCATION_REQUESTED:
            returning.setdefault(turn.claim, turn.at)
        elif turn.kind is TurnKind.DEALLOCATED and turn.claim in returning:
            took = turn.at - returning.pop(turn.claim)
        timed.append(turn if took is None else msgspec.structs.replace(turn, took=took))
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


def _begins_round(turn: Turn, current: Sequence[Turn]) -> bool:
    if turn.kind not in (TurnKind.PROPOSED, TurnKind.SELECTED):
        return False  # most turns: a round may have thousands of them
    kinds = {t.kind for t in current}
    if turn.kind is TurnKind.PROPOSED:
        return TurnKind.PROPOSED in kinds or TurnKind.SELECTED in kinds
    # The nodes and the selection of one write belong together.
    return TurnKind.SELECTED in kinds and current[-1].kind is not TurnKind.PROPOSED
