"""The state of a v1alpha2 ResourceClaim in one word, and what else is true of it at the same time."""

from __future__ import annotations

import enum

from dradash.kinds.claim import IMMEDIATE, ResourceClaim


class ClaimState(enum.StrEnum):
    """One headline for each claim; the order is that of a claim's life."""

    IMMEDIATE_UNALLOCATED = "ImmediateUnallocated"  # the driver must allocate before any pod can be scheduled
    PENDING = "Pending"  # not allocated: waits for its first consumer
    ALLOCATED = "Allocated"  # allocated, reserved for nobody
    RESERVED = "Reserved"  # allocated and reserved for at least one pod
    DEALLOCATION_REQUESTED = "DeallocationRequested"  # the driver must take the allocation back
    DELETING = "Deleting"  # has a deletionTimestamp


MISSING = "Missing"  # of a ClaimRef: there is no such claim
UNREADABLE = "Unreadable"  # of a ClaimRef: the claim is there, but malformed


def claim_state(claim: ResourceClaim) -> ClaimState:
    """What holds the claim up most: deletion before deallocation before reservation before allocation."""
    status = claim.status
    if claim.metadata.deletion_timestamp is not None:
        return ClaimState.DELETING
    if status.deallocation_requested:
        return ClaimState.DEALLOCATION_REQUESTED
    if status.allocation is None:
        return ClaimState.IMMEDIATE_UNALLOCATED if claim.spec.allocation_mode == IMMEDIATE else ClaimState.PENDING
    return ClaimState.RESERVED if status.reserved_for else ClaimState.ALLOCATED


def claim_flags(claim: ResourceClaim) -> tuple[str, ...]:
    """Everything that is true of the claim, also behind the headline: `deleting, allocated, reserved` and so on."""
    status = claim.status
    allocated = status.allocation
    flags = (
        ("deleting", claim.metadata.deletion_timestamp is not None),
        ("deallocation requested", status.deallocation_requested),
        ("allocated", allocated is not None),
        ("reserved", bool(status.reserved_for)),
        ("shareable", allocated is not None and allocated.shareable),
        ("immediate", claim.spec.allocation_mode == IMMEDIATE),
    )
    return tuple(name for name, holds in flags if holds)
