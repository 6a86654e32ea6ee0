"""What can be said of a ResourceClaim of either generation, for those who show or count claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.classic.claimstate import ClaimState, claim_flags, claim_state
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.claimstate import device_claim_state, drivers_of
from dradash.scheduling.structured.requests import class_names

AnyClaim = ResourceClaim | deviceclaim.ResourceClaim

BETWEEN: Final = ", "  # names in one text: no name of a class or driver contains it


class ClassName(msgspec.Struct, frozen=True):
    """A class that a claim asks for. kind: plural of the class's kind."""

    kind: str
    name: str
    exists: bool  # also a malformed one


def claims_of(cluster: Cluster) -> Mapping[str, AnyClaim]:
    """All well-formed claims by key."""
    return cluster.objects("resourceclaims")


def read_claim(raw: bytes) -> AnyClaim:
    """A claim of any version. Raises MalformedObject."""
    claim = read_object(KINDS["resourceclaims"], raw)
    if not isinstance(claim, ResourceClaim | deviceclaim.ResourceClaim):
        raise MalformedObject("no ResourceClaim")
    return claim


def state_of(claim: AnyClaim) -> ClaimState:
    return device_claim_state(claim) if isinstance(claim, deviceclaim.ResourceClaim) else claim_state(claim)


def flags_of(claim: AnyClaim) -> tuple[str, ...]:
    """Everything that is true of the claim, also behind its state."""
    if isinstance(claim, ResourceClaim):
        return claim_flags(claim)
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation else ()
    flags = (
        ("deleting", claim.metadata.deletion_timestamp is not None),
        ("allocated", allocation is not None),
        ("reserved", bool(claim.status.reserved_for)),
        ("admin access", any(r.admin_access for r in results)),
        ("waits for binding conditions", any(_unmet(claim))),
    )
    return tuple(name for name, holds in flags if holds)


def _unmet(claim: deviceclaim.ResourceClaim) -> Iterator[str]:
    """Binding conditions that no driver has reported as met, for the devices that have such."""
    allocation = claim.status.allocation
    said = {
        (d.driver, d.pool, d.device, d.share_id, c.type)
        for d in claim.status.devices
        for c in d.conditions
        if c.status == "True"
    }
    for r in allocation.devices.results if allocation else ():
        yield from (c for c in r.binding_conditions if (r.driver, r.pool, r.device, r.share_id, c) not in said)


def class_names_of(claim: AnyClaim) -> tuple[str, ...]:
    """Sorted; a claim with structured parameters may ask for several, each with its alternatives."""
    if isinstance(claim, deviceclaim.ResourceClaim):
        return tuple(sorted(class_names(claim.spec.devices)))
    return (claim.spec.resource_class_name,) if claim.spec.resource_class_name else ()


def class_kind(claim: AnyClaim) -> str:
    """The plural of the kind of its classes."""
    return "deviceclasses" if isinstance(claim, deviceclaim.ResourceClaim) else "resourceclasses"


def class_text(claim: AnyClaim) -> str:
    return BETWEEN.join(class_names_of(claim))


def classes_in(text: str) -> tuple[str, ...]:
    """The names that `class_text`, and a ClaimRef of a verdict, put together."""
    return tuple(text.split(BETWEEN)) if text else ()


def classes_of(claim: AnyClaim, cluster: Cluster) -> tuple[ClassName, ...]:
    if isinstance(claim, deviceclaim.ResourceClaim):
        return tuple(ClassName("deviceclasses", n, n in cluster.raw["deviceclasses"]) for n in class_names_of(claim))
    return tuple(ClassName("resourceclasses", n, n in cluster.raw["resourceclasses"]) for n in class_names_of(claim))


def drivers_in_charge(claim: AnyClaim, cluster: Cluster) -> tuple[str, ...]:
    """Drivers that allocated it, or that will as its class says; () where it is not known."""
    if isinstance(claim, deviceclaim.ResourceClaim):
        return drivers_of(claim)
    driver = driver_of(claim, cluster)
    return (driver,) if driver else ()


def is_allocated(claim: AnyClaim) -> bool:
    return claim.status.allocation is not None


def is_shareable(claim: AnyClaim) -> bool:
    """Whether further pods may use what is allocated: always so with structured parameters, up to 256."""
    if isinstance(claim, deviceclaim.ResourceClaim):
        return is_allocated(claim)
    return claim.status.allocation is not None and claim.status.allocation.shareable


def available_on(claim: AnyClaim) -> NodeSelector | None:
    """Nodes where its allocation can be used; None: everywhere, or not allocated."""
    if isinstance(claim, deviceclaim.ResourceClaim):
        return claim.status.allocation.node_selector if claim.status.allocation else None
    return claim.status.allocation.available_on_nodes if claim.status.allocation else None
