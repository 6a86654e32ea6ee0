"""A claim's life with structured parameters, read from its states as turns: who did what to it, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.kinds.deviceclaim import AllocatedDeviceStatus, ResourceClaim
from dradash.scheduling.classic.negotiation import Turn, TurnKind

SCHEDULER: Final = "scheduler"
NAMED: Final = 3  # devices or pods that a sentence names


def device_claim_turns(at: float, old: ResourceClaim | None, new: ResourceClaim | None) -> Iterator[Turn]:
    """What was done to the claim. Raises nothing: what cannot be told from the two states is left out."""
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
    yield from _conditions(at, before, new)


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


def _conditions(at: float, before: ResourceClaim, after: ResourceClaim) -> Iterator[Turn]:
    was = {(_which(d), c.type): c.status for d in before.status.devices for c in d.conditions}
    for device in after.status.devices:
        for c in device.conditions:
            if was.get((_which(device), c.type)) != c.status:
                why = f" ({c.reason})" if c.reason else ""
                text = f"reports {c.type} {c.status}{why} for {device.pool}/{device.device}"
                yield Turn(at, device.driver, TurnKind.REPORTED, text)


def _which(device: AllocatedDeviceStatus) -> tuple[str, str, str, str]:
    return device.driver, device.pool, device.device, device.share_id or ""


def _names(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
