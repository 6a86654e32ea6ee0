"""What the entries of pod.spec.resourceClaims resolve to, in either generation."""

from __future__ import annotations

from dradash.kinds import deviceclaim
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import driver_of, no_claim
from dradash.scheduling.classic.claimstate import claim_state
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.claimstate import device_claim_state, drivers_of
from dradash.scheduling.structured.requests import class_names
from dradash.scheduling.verdict import ClaimRef


def claim_refs(pod: Pod, cluster: Cluster) -> tuple[ClaimRef, ...]:
    return tuple(_claim_ref(pod, entry, cluster) for entry in pod.spec.resource_claims)


def _claim_ref(pod: Pod, entry: PodResourceClaim, cluster: Cluster) -> ClaimRef:
    name = claim_name(pod, entry).name or ""
    claim = cluster.objects("resourceclaims").get(f"{pod.namespace}/{name}") if name else None
    template = entry.template_name or ""
    if claim is None:
        state = no_claim(f"{pod.namespace}/{name}", cluster)
        return ClaimRef(name=entry.name, claim=name, template=template, state=state)
    if isinstance(claim, deviceclaim.ResourceClaim):
        return ClaimRef(
            name=entry.name,
            claim=name,
            template=template,
            resource_class=", ".join(sorted(class_names(claim.spec.devices))),
            driver=", ".join(drivers_of(claim)),
            state=str(device_claim_state(claim)),
        )
    return ClaimRef(
        name=entry.name,
        claim=name,
        template=template,
        resource_class=claim.spec.resource_class_name,
        driver=driver_of(claim, cluster),
        state=str(claim_state(claim)),
    )
