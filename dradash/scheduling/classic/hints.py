"""Queueing hints: does a change make it worth trying a pod again (EventsToRegister and the two hint functions)."""

from __future__ import annotations

import enum
from typing import Final

from dradash.kinds.claim import WAIT_FOR_FIRST_CONSUMER, ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.claims import pod_claims
from dradash.scheduling.classic.publish import status_for_claim
from dradash.scheduling.cluster import Cluster


class Hint(enum.StrEnum):
    QUEUE = "Queue"
    SKIP = "QueueSkip"


# EventsToRegister: kind -> changes that are events, and whether a hint function looks at them. Without one, every pod
# that the plugin refused is tried again. An update of a node counts only if its labels differ (UpdateNodeLabel).
REGISTERED: Final[dict[str, tuple[tuple[str, ...], bool]]] = {
    "resourceclaims": (("ADDED", "MODIFIED"), True),
    "podschedulingcontexts": (("ADDED", "MODIFIED"), True),
    "nodes": (("ADDED", "MODIFIED"), False),
    "resourceclasses": (("ADDED", "MODIFIED"), False),
}


def claim_hint(pod: Pod, cluster: Cluster, old: ResourceClaim | None, new: ResourceClaim) -> Hint:
    """isSchedulableAfterClaimChange. `cluster` is as it is after the change; deletions are no registered event."""
    lookup = pod_claims(pod, cluster)
    if lookup.error or all(f.claim.uid != new.uid for f in lookup.found):
        return Hint.SKIP
    if old is None:
        return Hint.QUEUE
    return Hint.SKIP if old.status == new.status else Hint.QUEUE


def context_hint(
    pod: Pod, cluster: Cluster, old: PodSchedulingContext | None, new: PodSchedulingContext | None
) -> Hint:
    """isSchedulableAfterPodSchedulingContextChange. `cluster` is as it is after the change."""
    if new is None or new.name != pod.name or new.namespace != pod.namespace:
        return Hint.SKIP
    lookup = pod_claims(pod, cluster)
    if lookup.error or any(
        f.claim.spec.allocation_mode == WAIT_FOR_FIRST_CONSUMER
        and f.claim.status.allocation is None
        and status_for_claim(new, f.pod_claim_name) is None
        for f in lookup.found
    ):
        return Hint.SKIP  # some driver has not answered: the attempt would only refresh the potential nodes
    if old is None or len(old.status.resource_claims) < len(new.status.resource_claims):
        return Hint.QUEUE
    selected = new.spec.selected_node
    if selected and any(selected in s.unsuitable_nodes for s in new.status.resource_claims):
        return Hint.QUEUE
    only_spec_changed = old.spec != new.spec and old.status == new.status
    return Hint.SKIP if only_spec_changed else Hint.QUEUE
