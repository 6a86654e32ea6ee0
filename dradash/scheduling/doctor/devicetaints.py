"""Taints that evict, and whether they do yet: as pkg/controller/devicetainteviction of Kubernetes 1.36 decides it."""

from __future__ import annotations

from typing import NamedTuple

from dradash.kinds.deviceclaim import DeviceRequestAllocationResult
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.doctor.devices import slices_changed
from dradash.scheduling.doctor.exam import Exam
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.taintpreview import NO_EXECUTE, Fate, fate_of


class Eviction(NamedTuple):
    """seconds: for so long the taint was tolerated, None: not at all. since: when that was over, 0.0: not known."""

    device: DeviceID
    taint: DeviceTaint
    seconds: int | None
    since: float


def evicting(inventory: Inventory) -> dict[DeviceID, tuple[DeviceTaint, ...]]:
    """Devices with taints that evict, and these."""
    known: dict[DeviceID, tuple[DeviceTaint, ...]] | None = inventory.of_all.get("evicting taints")
    if known is None:
        known = inventory.of_all["evicting taints"] = {}
        for state in ledger.pool_states(inventory):
            for one in ledger.published_in(inventory, state):
                if one.device.taints and (evicting := tuple(t for t in one.device.taints if t.effect == NO_EXECUTE)):
                    known[one.id] = evicting
    return known


def eviction(exam: Exam, result: DeviceRequestAllocationResult, taint: DeviceTaint) -> Eviction | None:
    """claimEvictionTime of one taint of a device that the claim has. None: it is tolerated, if only for now.

    The result has the request's tolerations of when it was allocated.
    """
    use = fate_of(result, taint)
    if use.fate not in (Fate.EVICTED, Fate.LATER):
        return None
    tainted = seconds(taint.time_added)
    if not tainted:
        state = ledger.state_of_pool(exam.cluster.inventory, PoolID(result.driver, result.pool))
        tainted = slices_changed(exam, state) if state else 0.0
    since = tainted + (use.seconds or 0) if tainted else 0.0
    if use.fate is Fate.LATER and not exam.for_longer(since, 0):
        return None
    return Eviction(use.device, taint, use.seconds, since)
