"""Turns: what was done to a PodSchedulingContext or a claim, as the difference between two states of it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.meta import ObjectMeta
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.awaiting import SCHEDULER
from dradash.scheduling.firstsight import FRESH, is_fresh, known
from dradash.scheduling.rfc3339 import deletion_asked, seconds


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


class Turn(msgspec.Struct, frozen=True):
    """One move. actor: "scheduler", a driver's name, or "" where the object does not tell who wrote it.

    claim: the pod's name for the claim, "" where the move is about no claim. nodes: what is proposed, unsuitable or
    selected now; added, removed: of them, against the actor's list before. took: seconds since the move it answers
    could have been answered, None where it answers none or where that is not known. found: the first known state, of
    time `at`, shows it; when it happened is not known. seen: when it was seen, where `at` is what the object says.
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
    found: bool = False
    seen: float = 0.0

    @property
    def shown(self) -> float:
        """From when on the model shows it."""
        return self.seen or self.at

    @property
    def long_before(self) -> bool:
        """Whether it happened well before it was seen: the time of day alone might mislead."""
        return self.seen - self.at > FRESH


def nodes_count(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"


# --- differences -----------------------------------------------------------------------------------------------------


def context_turns(
    at: float, old: PodSchedulingContext | None, new: PodSchedulingContext | None, drivers: Mapping[str, str]
) -> Iterator[Turn]:
    """What was done to the context. drivers: the pod's name for a claim -> the driver that answers for it.

    old None: `new` is its first known state.
    """
    if old is None and new is not None and not is_new(at, new):
        text = "begins the negotiation: the PodSchedulingContext is created"
        begin = [Turn(at, SCHEDULER, TurnKind.CREATED, text)] if seconds(new.metadata.creation_timestamp) else []
        turns = (*begin, *_context_turns(at, None, new, drivers))
        yield from first_state(at, new.metadata, turns)
    else:
        yield from _context_turns(at, old, new, drivers)


def _context_turns(
    at: float, old: PodSchedulingContext | None, new: PodSchedulingContext | None, drivers: Mapping[str, str]
) -> Iterator[Turn]:
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
    """What was done to a claim. `driver` is used where the claim itself does not name one.

    old None: `new` is its first known state. Claims are created without a status.
    """
    turns = _claim_turns(at, old, new, claim, driver)
    yield from first_state(at, new.metadata, turns) if old is None and new is not None else turns


def _claim_turns(
    at: float, old: ResourceClaim | None, new: ResourceClaim | None, claim: str, driver: str
) -> Iterator[Turn]:
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


# --- first states ----------------------------------------------------------------------------------------------------

_PAST: Final = {
    "allocates": "allocated",
    "finds": "found",
    "proposes": "proposed",
    "reports": "reported",
    "reserves": "reserved",
    "selects": "selected",
}
_ASKED: Final = "deallocation had been asked for"


def first_state(at: float, meta: ObjectMeta, turns: Iterable[Turn]) -> Iterator[Turn]:
    """Turns read from the first known state, seen at `at`, with the times that the object holds; others are `found`."""
    for turn in turns:
        moment = 0.0
        if turn.kind is TurnKind.CREATED:
            moment = known(at, meta.creation_timestamp)
        elif turn.kind is TurnKind.DELETING:
            moment = min(at, deletion_asked(meta))
        if turn.seen:
            yield turn
        elif moment:
            yield msgspec.structs.replace(turn, at=moment, seen=at)
        else:
            yield _found(turn)


def _found(turn: Turn) -> Turn:
    verb, _, rest = turn.text.partition(" ")
    if turn.kind is TurnKind.DEALLOCATION_REQUESTED:
        turn, had = msgspec.structs.replace(turn, actor=""), _ASKED  # for whom the claim was reserved is not known
    elif verb in _PAST:
        had = f"had {_PAST[verb]} {rest}".rstrip()
    else:
        return msgspec.structs.replace(turn, found=True)
    return msgspec.structs.replace(turn, text=f"{had} by then; when is not known", found=True)


def is_new(at: float, context: PodSchedulingContext) -> bool:
    """Whether the context's first state, seen at `at`, is the one in which it was created: nobody has answered yet."""
    return not context.status.resource_claims and is_fresh(at, context.metadata)
