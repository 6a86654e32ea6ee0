"""Queueing hints: does a change make it worth trying a pod again (EventsToRegister and the two hint functions)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.scheduling.structured.claimequality import is_same_status
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.claimwrites import HeldClaim


class Hint(enum.StrEnum):
    QUEUE = "Queue"
    SKIP = "QueueSkip"


# EventsToRegister: kind -> changes that are events, and whether a hint function looks at them.
REGISTERED: Final[dict[str, tuple[tuple[str, ...], bool]]] = {
    "nodes": (("ADDED", "MODIFIED:labels", "MODIFIED:allocatable"), False),
    "resourceclaims": (("ADDED", "MODIFIED"), True),
    "pods": (("MODIFIED:resourceClaimStatuses",), True),
    "deviceclasses": (("ADDED", "MODIFIED"), False),
    "resourceslices": (("ADDED", "MODIFIED"), False),
}


def claim_hint(pod: Pod, claims: Mapping[str, HeldClaim], old: ResourceClaim | None, new: ResourceClaim) -> Hint:
    """isSchedulableAfterClaimChange. `claims` are as they are after the change."""
    lookup = pod_claims(pod, claims)
    if lookup.error:
        return Hint.SKIP
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return Hint.QUEUE  # devices became free, whoever had them
    if all(held.claim.uid != new.uid for held in lookup.found):
        return Hint.SKIP
    return Hint.SKIP if old is not None and is_same_status(old.status, new.status) else Hint.QUEUE


def pod_hint(pod: Pod, claims: Mapping[str, HeldClaim], new: Pod) -> Hint:
    """isSchedulableAfterPodChange."""
    return Hint.SKIP if pod.uid != new.uid or pod_claims(new, claims).error else Hint.QUEUE


def hint_for(pod: Pod, claims: Mapping[str, HeldClaim], kind: str, change: str, old: Any, new: Any) -> str:
    """The hint for a change of an object of `kind`, "" for one that the plugin does not register for.

    `claims` are as they are after the change; old and new: the kind's struct, None for no such object.
    """
    if kind == "devicetaintrules":
        return str(Hint.QUEUE)  # to the scheduler it is a change of slices
    types, has_function = REGISTERED.get(kind, ((), False))
    wanted = [t.partition(":") for t in types]
    parts = [part for type_, _, part in wanted if type_ == change]
    if new is None or not parts or not any(_has_changed(part, old, new) for part in parts):
        return ""
    if not has_function:
        return str(Hint.QUEUE)
    if kind == "pods":
        return str(pod_hint(pod, claims, new))
    if not isinstance(new, ResourceClaim) or not isinstance(old, ResourceClaim | None):
        return ""
    return str(claim_hint(pod, claims, old, new))


def _has_changed(part: str, old: Any, new: Any) -> bool:
    match part:
        case "labels":
            return bool(old is None or old.metadata.labels != new.metadata.labels)
        case "allocatable":
            return bool(old is None or old.status.allocatable != new.status.allocatable)
        case "resourceClaimStatuses":
            return bool(old is None or old.status.resource_claim_statuses != new.status.resource_claim_statuses)
        case _:
            return True
