"""A pod's claims: which there are and whose they are (foreachPodResourceClaim, resourceclaim.Name, IsForPod)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.meta import is_controlled_by
from dradash.kinds.pod import Pod
from dradash.scheduling.claimname import ClaimName, claim_name
from dradash.scheduling.gotext import quote
from dradash.scheduling.structured.claimwrites import HeldClaim


class Lookup(msgspec.Struct, frozen=True):
    """Claims found in the order of the pod's entries, up to the first error."""

    found: tuple[HeldClaim, ...]
    error: str = ""


def is_for_pod(pod: Pod, claim: ResourceClaim) -> str:
    """resourceclaim.IsForPod: "" when the claim was made for the pod, else the error."""
    if claim.namespace == pod.namespace and is_controlled_by(claim.metadata, pod.metadata):
        return ""
    return (
        f"ResourceClaim {claim.namespace}/{claim.name} was not created for Pod "
        f"{pod.namespace}/{pod.name} (Pod is not owner)"
    )


def is_reserved_for_pod(pod: Pod, claim: ResourceClaim) -> bool:
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


def pod_claims(pod: Pod, claims: Mapping[str, HeldClaim]) -> Lookup:
    """foreachPodResourceClaim: the pod's claims, or why the pod cannot be scheduled yet."""
    found: list[HeldClaim] = []
    for entry in pod.spec.resource_claims:
        name = claim_name(pod, entry)
        if name.error:
            return Lookup(tuple(found), name.error)
        if name.name is None:
            continue
        held = claims.get(f"{pod.namespace}/{name.name}")
        if held is None:
            return Lookup(tuple(found), f"could not find ResourceClaim {quote(f'{pod.namespace}/{name.name}')}")
        if error := _unusable(pod, name, held.claim):
            return Lookup(tuple(found), error)
        found.append(held)
    return Lookup(tuple(found))


def _unusable(pod: Pod, name: ClaimName, claim: ResourceClaim) -> str:
    if claim.metadata.deletion_timestamp is not None:
        return f"resourceclaim {quote(claim.name)} is being deleted"
    return is_for_pod(pod, claim) if name.must_check_owner else ""
