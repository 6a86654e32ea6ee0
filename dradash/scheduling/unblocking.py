"""Who must move for a pod that the scheduler's queue does not hold: PreEnqueue refuses it, or gates are closed.

The same for both generations: a claim is missing, is another's, or is being deleted.
"""

from __future__ import annotations

from typing import Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.meta import is_controlled_by
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.verdict import ActsNext

NOBODY: Final = ActsNext(who="nobody")

AnyClaim = ResourceClaim | deviceclaim.ResourceClaim


def unblock(pod: Pod, cluster: Cluster) -> ActsNext:
    for entry in pod.spec.resource_claims:
        answer = _unblock_entry(pod, cluster, entry)
        if answer is not None:
            return answer
    return NOBODY


def open_gates(pod: Pod) -> ActsNext:
    gates = tuple(g.name for g in pod.spec.scheduling_gates)
    return ActsNext(who="admin", names=gates, what="remove the pod's scheduling gates")


def holders(claim: AnyClaim) -> tuple[str, ...]:
    """Keys of the pods that the claim is reserved for."""
    return tuple(f"{claim.namespace}/{r.name}" for r in claim.status.reserved_for)


def _unblock_entry(pod: Pod, cluster: Cluster, entry: PodResourceClaim) -> ActsNext | None:
    name = claim_name(pod, entry)
    if name.error:
        return _create_claim(pod, cluster, entry)
    if name.name is None:
        return None
    key = f"{pod.namespace}/{name.name}"
    claim: AnyClaim | None = cluster.objects("resourceclaims").get(key)
    if claim is None:
        if entry.template_name is None:
            return ActsNext(who="admin", names=(key,), what=f"create the ResourceClaim {key} that the pod names")
        return ActsNext(who="claim controller", names=(key,), what=f"create the ResourceClaim {key} anew: it is gone")
    if claim.metadata.deletion_timestamp is not None:
        return finish_deletion(claim, cluster)
    is_own = claim.namespace == pod.namespace and is_controlled_by(claim.metadata, pod.metadata)
    if name.must_check_owner and not is_own:
        what = f"remove the ResourceClaim {key}: it has the name of the pod's claim but belongs to another owner"
        return ActsNext(who="admin", names=(key,), what=what)
    return None


def _create_claim(pod: Pod, cluster: Cluster, entry: PodResourceClaim) -> ActsNext:
    if entry.template_name is None:
        what = f'give the pod\'s claim "{entry.name}" a resourceClaimName or a resourceClaimTemplateName'
        return ActsNext(who="admin", names=(entry.name,), what=what)
    key = f"{pod.namespace}/{entry.template_name}"
    if key not in cluster.templates:
        return ActsNext(who="admin", names=(key,), what=f"create the ResourceClaimTemplate {key}: it does not exist")
    what = f'create the ResourceClaim for "{entry.name}" from the ResourceClaimTemplate {key}'
    return ActsNext(who="claim controller", names=(key,), what=what)


def finish_deletion(claim: AnyClaim, cluster: Cluster) -> ActsNext:
    users = holders(claim)
    if users:
        return ActsNext(
            who="pod", names=users, what=f"stop using the ResourceClaim {claim.key}, which is being deleted"
        )
    if isinstance(claim, deviceclaim.ResourceClaim):
        if deviceclaim.FINALIZER in claim.metadata.finalizers:
            what = f"deallocate the ResourceClaim {claim.key} and remove its finalizer, so that its deletion ends"
            return ActsNext(who="claim controller", names=(claim.key,), what=what)
        what = f"remove the finalizers of the ResourceClaim {claim.key}, so that its deletion ends"
        return ActsNext(who="admin", names=(claim.key,), what=what)
    driver = driver_of(claim, cluster)
    what = f"deallocate the ResourceClaim {claim.key} and remove its finalizers, so that its deletion ends"
    return ActsNext(who="driver" if driver else "admin", names=(driver,) if driver else (claim.key,), what=what)
