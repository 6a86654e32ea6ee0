"""The state of a ResourceClaim with structured parameters in one word, and which drivers serve it."""

from __future__ import annotations

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.scheduling.classic.claimstate import ClaimState


def device_claim_state(claim: ResourceClaim) -> ClaimState:
    """What holds the claim up most, in the words of the older generation; the scheduler deallocates at once here."""
    if claim.metadata.deletion_timestamp is not None:
        return ClaimState.DELETING
    if claim.status.allocation is None:
        return ClaimState.PENDING
    return ClaimState.RESERVED if claim.status.reserved_for else ClaimState.ALLOCATED


def drivers_of(claim: ResourceClaim) -> tuple[str, ...]:
    """Of the allocated devices, each once; which driver will serve a claim is not known before."""
    allocation = claim.status.allocation
    return tuple(dict.fromkeys(r.driver for r in allocation.devices.results)) if allocation else ()
