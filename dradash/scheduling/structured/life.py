"""A claim's life with structured parameters, read from its states as turns: who did what to it, and when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import AllocatedDeviceStatus, ResourceClaim
from dradash.scheduling.classic.turns import Turn, TurnKind, first_state
from dradash.scheduling.firstsight import known

SCHEDULER: Final = "scheduler"
NAMED: Final = 3  # devices or pods that a sentence names


def device_claim_turns(at: float, old: ResourceClaim | None, new: ResourceClaim | None) -> Iterator[Turn]:
    """What was done to the claim. Raises nothing: what cannot be told from the two states is left out.

    old None: `new` is its first known state. Claims are created without a status.
    """
    turns = _turns(at, old, new)
    yield from (
        first_state(at, new.metadata, _with_own_times(at, new, turns)) if old is None and new is not None else turns
    )


def _with_own_times(at: float, claim: ResourceClaim, turns: Iterable[Turn]) -> Iterator[Turn]:
    """What the claim says of when it was allocated; conditions say it of themselves, see _conditions."""
    allocation = claim.status.allocation
    allocated = known(at, allocation.allocation_timestamp) if allocation else 0.0
    for turn in turns:
        own = allocated if turn.kind is TurnKind.ALLOCATED else 0.0
        yield msgspec.structs.replace(turn, at=own, seen=at) if own else turn


def _turns(at: float, old: ResourceClaim | None, new: ResourceClaim | None) -> Iterator[Turn]:
    if new is None:
        if old is not None:
            yield Turn(at, "", TurnKind.DELETED, "is deleted")
        return
    if old is None:
        yield Turn(at, "", TurnKind.CREATED, "is created")
    before = old or ResourceClaim()
    if new.metadata.deletion_timestamp and not before.metadata.deletion_timestamp:
        yield Turn(at, "", TurnKind.DELETING, "is being deleted")
    yield from _allocation(at, before, new)
    yield from _reservations(at, before, new)
    yield from _conditions(at, before, new, first=old is None)


def _allocation(at: float, before: ResourceClaim, after: ResourceClaim) -> Iterator[Turn]:
    was, now = before.status.allocation, after.status.allocation
    if now is None:
        if was is not None:
            # The scheduler gives up an allocation that it cannot bind, the claim controller one that nobody needs.
            text = "the allocation is taken back, by the scheduler or the claim controller"
            yield Turn(at, "", TurnKind.DEALLOCATED, text)
        return
    if was is None or was.devices.results != now.devices.results:
        devices = _names([f"{r.pool}/{r.device}" for r in now.devices.results]) or "no device"
        yield Turn(at, SCHEDULER, TurnKind.ALLOCATED, f"{'allocates' if was is None else 'changes to'} {devices}")


def _reservations(at: float, before: ResourceClaim, after: ResourceClaim) -> Iterator[Turn]:
    had = {r.uid: r.name for r in before.status.reserved_for}
    has = {r.uid: r.name for r in after.status.reserved_for}
    if come := [name for uid, name in has.items() if uid not in had]:
        yield Turn(at, SCHEDULER, TurnKind.RESERVED, f"reserves for {_names(come)}")
    if gone := [name for uid, name in had.items() if uid not in has]:
        yield Turn(at, "", TurnKind.RELEASED, f"no longer reserved for {_names(gone)}")


def _conditions(at: float, before: ResourceClaim, after: ResourceClaim, *, first: bool) -> Iterator[Turn]:
    """first: `after` is the first known state, and a condition's own time the only one."""
    was = {(_which(d), c.type): c.status for d in before.status.devices for c in d.conditions}
    for device in after.status.devices:
        for c in device.conditions:
            if was.get((_which(device), c.type)) != c.status:
                why = f" ({c.reason})" if c.reason else ""
                text = f"reports {c.type} {c.status}{why} for {device.pool}/{device.device}"
                own = known(at, c.last_transition_time) if first else 0.0
                yield Turn(own or at, device.driver, TurnKind.REPORTED, text, seen=at if own else 0.0)


def _which(device: AllocatedDeviceStatus) -> tuple[str, str, str, str]:
    return device.driver, device.pool, device.device, device.share_id or ""


def _names(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
