"""What drivers owe: moves in negotiations, what must be done to a claim whoever negotiates, and whole pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.reader.devicedrivers import DeviceDebt, binding_debts, pool_debts
from dradash.reader.talks import LATE, Talk, all_talks, talk
from dradash.reader.waits import DELETE, Since, due_of
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import Stage
from dradash.scheduling.classic.claims import driver_of

OF_CLAIM: Final = "Claim"  # in place of a negotiation's stage
CONTROLLER: Final = "resource.kubernetes.io/delete-protection"  # finalizer of claims that no driver deallocates


class Debt(msgspec.Struct, frozen=True):
    """A move that a driver owes. since: Unix seconds, 0.0: not known.

    pod: key of the pod that negotiates, "" where it is about the claim alone; `claim` is then its key, else the pod's
    name for it. pool: "driver/pool" where it is about devices that it should publish. refuses: it has answered, and no
    node is suitable.
    """

    driver: str
    pod: str
    claim: str
    stage: str
    what: str
    since: float
    pool: str = ""

    @property
    def refuses(self) -> bool:
        return self.stage == str(Stage.ROOM)


def debts(world: World, waits: Since) -> dict[str, list[Debt]]:
    """By driver, the longest wait first."""
    found: dict[str, list[Debt]] = {}
    claims = world.cluster.claims.values()
    of_devices = _of_devices((*pool_debts(world), *binding_debts(world.cluster.device_claims.values())))
    for debt in (*_of_negotiations(all_talks(world, waits)), *_of_claims(claims, world, waits), *of_devices):
        found.setdefault(debt.driver, []).append(debt)
    return {driver: _longest_first(owed) for driver, owed in found.items()}


def debts_of(
    driver: str,
    claims: Sequence[ResourceClaim],
    device_claims: Iterable[deviceclaim.ResourceClaim],
    world: World,
    waits: Since,
) -> list[Debt]:
    """What one driver owes. claims: all that it is in charge of."""
    contexts, pods_by_claim = world.cluster.contexts, world.cluster.pods_by_claim
    pods = {pod for claim in claims for pod in pods_by_claim.members(claim.key) if pod in contexts}
    talks = [talk(world, pod, contexts[pod], waits) for pod in pods]
    of_devices = _of_devices((*pool_debts(world), *binding_debts(device_claims)))
    owed = [*_of_negotiations(talks), *_of_claims(claims, world, waits), *of_devices]
    return _longest_first(debt for debt in owed if debt.driver == driver)


def _longest_first(owed: Iterable[Debt]) -> list[Debt]:
    return sorted(owed, key=lambda o: (o.since or LATE, o.pod, o.claim, o.pool))


def _of_negotiations(talks: Iterable[Talk]) -> Iterator[Debt]:
    for of in talks:
        for move in of.read:
            if move.stage in (Stage.ANSWER, Stage.ALLOCATE, Stage.ROOM) and move.actor:
                yield Debt(move.actor, of.key, move.claim, str(move.stage), move.what, move.since)


def _of_devices(debts: Iterable[DeviceDebt]) -> Iterator[Debt]:
    return (Debt(d.driver, "", d.claim, d.stage, d.what, d.since, d.pool) for d in debts)


def _of_claims(claims: Iterable[ResourceClaim], world: World, waits: Since) -> Iterator[Debt]:
    for claim in claims:
        what = due_of(claim)
        driver = driver_of(claim, world.cluster) if what else ""
        if driver and not _is_anothers(claim, driver, what):
            since = waits.claim_since(claim) or world.times.get("resourceclaims", {}).get(claim.key, 0.0)
            yield Debt(driver, "", claim.key, OF_CLAIM, what, since)


def _is_anothers(claim: ResourceClaim, driver: str, what: str) -> bool:
    """Whether somebody else must do it: the claim controller, or whoever set the finalizers that hold it."""
    finalizers = claim.metadata.finalizers
    return CONTROLLER in finalizers or (what == DELETE and not any(f.startswith(f"{driver}/") for f in finalizers))


def silent_since(owed: Sequence[Debt]) -> float:
    """Since when the driver owes the oldest move that it has not made, 0.0: it owes none."""
    return min((d.since for d in owed if d.since and not d.refuses), default=0.0)
