"""What the entries of pod.spec.resourceClaims resolve to, in either generation."""

from __future__ import annotations

from dradash.kinds import deviceclaim
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import driver_of, no_claim
from dradash.scheduling.classic.claimstate import ClaimState, claim_state
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.claimstate import device_claim_state, drivers_of
from dradash.scheduling.structured.extended import SPECIAL_NAME, classes_behind, is_extended_claim_of
from dradash.scheduling.structured.requests import class_names
from dradash.scheduling.verdict import ClaimRef


def claim_refs(pod: Pod, cluster: Cluster) -> tuple[ClaimRef, ...]:
    """Behind those that the pod names, the one that the scheduler makes for its extended resources."""
    named = tuple(_claim_ref(pod, entry, cluster) for entry in pod.spec.resource_claims)
    special = _extended(pod, cluster)
    return (*named, special) if special is not None else named


def extended_claim(pod: Pod, cluster: Cluster) -> deviceclaim.ResourceClaim | None:
    """The claim that the scheduler has made for the pod's extended resources."""
    owned = sorted(cluster.claims_by_owner.members(pod.uid)) if pod.uid else ()
    mine = (cluster.device_claims[k] for k in owned if k in cluster.device_claims)
    return next((c for c in mine if is_extended_claim_of(pod, c)), None)


def _extended(pod: Pod, cluster: Cluster) -> ClaimRef | None:
    claim, classes = extended_claim(pod, cluster), classes_behind(pod, cluster.device_classes)
    if claim is None and not classes:
        return None
    names = class_names(claim.spec.devices) if claim is not None else set()
    return ClaimRef(
        name=SPECIAL_NAME,
        claim=claim.name if claim is not None else "",
        resource_class=", ".join(sorted(names or set(classes.values()))),
        driver=", ".join(drivers_of(claim)) if claim is not None else "",
        state=str(device_claim_state(claim) if claim is not None else ClaimState.PENDING),
    )


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
