"""The name of the claim that an entry of pod.spec.resourceClaims stands for; the same in all versions."""

from __future__ import annotations

import msgspec

from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.gotext import quote


class ClaimName(msgspec.Struct, frozen=True):
    """Result of resourceclaim.Name: no name and no error means that the pod runs without that claim."""

    name: str | None = None
    must_check_owner: bool = False
    error: str = ""


def claim_name(pod: Pod, entry: PodResourceClaim) -> ClaimName:
    """resourceclaim.Name."""
    if entry.claim_name is not None:
        return ClaimName(entry.claim_name)
    if entry.template_name is not None:
        for status in pod.status.resource_claim_statuses:
            if status.name == entry.name:
                return ClaimName(status.resource_claim_name, must_check_owner=True)
        return ClaimName(error=f'pod "{pod.namespace}/{pod.name}": ResourceClaim not created yet')
    where = f'pod "{pod.namespace}/{pod.name}", spec.resourceClaim {quote(entry.name)}'
    return ClaimName(error=f"{where}: none of the supported fields are set")
