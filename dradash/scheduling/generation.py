"""Which generation of DRA judges a pod: that of its claims, as the API server gave them.

Claims that do not exist yet are taken for what their template is, and else for what the cluster serves.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, Protocol

from dradash.kinds import claim, deviceclaim
from dradash.kinds.pod import Pod
from dradash.kinds.registry import CLASSIC
from dradash.scheduling.cluster import Cluster, claim_keys, template_keys


class Generation(enum.StrEnum):
    CLASSIC = "classic"  # v1alpha2: ResourceClass, PodSchedulingContext; drivers allocate
    STRUCTURED = "structured"  # v1, v1beta2, v1beta1: DeviceClass, ResourceSlice; the scheduler allocates


_OF: dict[type, Generation] = {
    claim.ResourceClaim: Generation.CLASSIC,
    claim.ResourceClaimTemplate: Generation.CLASSIC,
    deviceclaim.ResourceClaim: Generation.STRUCTURED,
    deviceclaim.ResourceClaimTemplate: Generation.STRUCTURED,
}


def generations_of(pod: Pod, cluster: Cluster) -> frozenset[Generation]:
    """More than one: no scheduler can place the pod."""
    claims = cluster.objects("resourceclaims")
    found = {_OF[type(claims[k])] for k in claim_keys(pod) if k in claims}
    if not found:
        found = {_OF[type(cluster.templates[k])] for k in template_keys(pod) if k in cluster.templates}
    return frozenset(found or {served(cluster)})


def served(cluster: Cluster) -> Generation:
    """By the version that claims are watched in; where that is not known, by what there is."""
    if cluster.claims_version:
        return Generation.CLASSIC if cluster.claims_version == CLASSIC else Generation.STRUCTURED
    newer = cluster.device_classes or cluster.device_claims or cluster.inventory.slices
    return Generation.STRUCTURED if newer else Generation.CLASSIC


# --- kinds that only one of them has ---------------------------------------------------------------------------------

_KINDS: Final = (("resourceclasses", "podschedulingcontexts"), ("deviceclasses", "resourceslices"))
READABLE: Final = frozenset({"synced", "stale"})  # states in which what is not there may be called absent
_SERVED: Final = READABLE | {"syncing"}


class Known(Protocol):
    """How far a kind is known (store.model.SyncState)."""

    @property
    def state(self) -> str: ...


def served_instead(plural: str, sync: Mapping[str, Known]) -> str | None:
    """The kind of the other generation that the cluster serves, and so not this one; None: it is served, or missed."""
    if plural not in sync or sync[plural].state != "notServed":
        return None
    others = next((_KINDS[1 - i] for i, kinds in enumerate(_KINDS) if plural in kinds), ())
    return next((kind for kind in others if kind in sync and sync[kind].state in _SERVED), None)


def readable(sync: Mapping[str, Known]) -> frozenset[str]:
    """Kinds of which may be said that there is no object: also those that rightly are not served."""
    return frozenset(k for k, known in sync.items() if known.state in READABLE or served_instead(k, sync))
