"""A pod's claims: which there are, whose they are, and who may use them.

Ports foreachPodResourceClaim of the plugin and Name, IsForPod, CanBeReserved and IsReservedForPod of
k8s.io/dynamic-resource-allocation/resourceclaim (1.30).
"""

from __future__ import annotations

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.meta import is_controlled_by
from dradash.kinds.pod import Pod
from dradash.scheduling.claimname import ClaimName, claim_name
from dradash.scheduling.classic.claimstate import MISSING, UNREADABLE
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.gotext import quote
from dradash.scheduling.nodetable import InvalidSelector


class FoundClaim(msgspec.Struct, frozen=True):
    pod_claim_name: str
    claim: ResourceClaim


class Lookup(msgspec.Struct, frozen=True):
    """Claims found in the order of the pod's entries, up to the first error (then the rest was not looked at)."""

    found: tuple[FoundClaim, ...]
    error: str = ""


def is_for_pod(pod: Pod, claim: ResourceClaim) -> str:
    """resourceclaim.IsForPod: "" when the claim was made for the pod, else the error."""
    if claim.namespace == pod.namespace and is_controlled_by(claim.metadata, pod.metadata):
        return ""
    return (
        f"ResourceClaim {claim.namespace}/{claim.name} was not created for pod "
        f"{pod.namespace}/{pod.name} (pod is not owner)"
    )


def can_be_reserved(claim: ResourceClaim) -> bool:
    """resourceclaim.CanBeReserved; asked for allocated claims only."""
    shareable = claim.status.allocation is not None and claim.status.allocation.shareable
    return shareable or not claim.status.reserved_for


def is_reserved_for_pod(pod: Pod, claim: ResourceClaim) -> bool:
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)


def available_on(claim: ResourceClaim, cluster: Cluster) -> int:
    """Nodes that the allocation allows; all of them where there is none, it names none or cannot be understood."""
    allocation = claim.status.allocation
    if allocation is None or allocation.available_on_nodes is None:
        return cluster.nodes.all
    try:
        return cluster.nodes.matching(allocation.available_on_nodes)
    except InvalidSelector:
        return cluster.nodes.all


def pod_claims(pod: Pod, cluster: Cluster) -> Lookup:
    """foreachPodResourceClaim: the pod's claims, or why the pod cannot be scheduled yet."""
    found: list[FoundClaim] = []
    for entry in pod.spec.resource_claims:
        name = claim_name(pod, entry)
        if name.error:
            return Lookup(tuple(found), name.error)
        if name.name is None:
            continue
        claim = cluster.claim(pod.namespace, name.name)
        error = _unusable(pod, name, claim)
        if claim is None or error:
            return Lookup(tuple(found), error)
        found.append(FoundClaim(entry.name, claim))
    return Lookup(tuple(found))


def _unusable(pod: Pod, name: ClaimName, claim: ResourceClaim | None) -> str:
    if claim is None:
        return f"resourceclaim.resource.k8s.io {quote(name.name or '')} not found"
    if claim.metadata.deletion_timestamp is not None:
        return f"resourceclaim {quote(claim.name)} is being deleted"
    return is_for_pod(pod, claim) if name.must_check_owner else ""


def no_claim(key: str, cluster: Cluster) -> str:
    """The state of a claim that the cluster does not hold: absent, or there and malformed."""
    return UNREADABLE if key in cluster.malformed["resourceclaims"] else MISSING


def driver_of(claim: ResourceClaim, cluster: Cluster) -> str:
    """The driver in charge of a claim: the one that allocated it, else its class's; "" when the class is absent."""
    resource_class = cluster.classes.get(claim.spec.resource_class_name)
    return claim.status.driver_name or (resource_class.driver_name if resource_class else "")


def claims_of(driver: str, cluster: Cluster) -> set[str]:
    """Keys of the claims that the driver is in charge of (see driver_of). Costs its own claims and the classes."""
    keys = {k for k in cluster.claims_by_driver.members(driver) if k in cluster.claims}
    for name, resource_class in cluster.classes.items():
        if resource_class.driver_name == driver:
            claims = cluster.claims_by_class.members(name)
            keys.update(k for k in claims if cluster.claims[k].status.driver_name in ("", driver))
    return keys
