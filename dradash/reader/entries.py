"""A pod's claims by the names that the pod has for them."""

from __future__ import annotations

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.scheduling.cluster import Cluster


def entry_of(pod: Pod, claim: str) -> str:
    """The pod's name for a claim, "" when it does not use it."""
    return next((name for name, of in claim_names(pod).items() if of == claim), "")


def claim_names(pod: Pod) -> dict[str, str]:
    """The pod's name for each of its claims -> the ResourceClaim's name, "" when it is not known yet."""
    generated = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses}
    return {e.name: e.claim_name or generated.get(e.name) or "" for e in pod.spec.resource_claims}


def claims_by_entry(pod_key: str, cluster: Cluster) -> dict[str, ResourceClaim | None]:
    """The pod's name for each of its claims -> the claim; nothing for a pod that is not there."""
    pod = cluster.pods.get(pod_key)
    if pod is None:
        return {}
    return {name: cluster.claim(pod.namespace, claim) if claim else None for name, claim in claim_names(pod).items()}
