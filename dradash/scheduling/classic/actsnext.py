"""Who must move for a pod to get on, and what they must do: one answer for each way an attempt can end.

The scheduler's words never name the actor; this is our reading of the same objects, in the order in which the plugin
meets them.
"""

from __future__ import annotations

from dradash.kinds.claim import IMMEDIATE, ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic import plugin
from dradash.scheduling.classic.attempt import Attempt
from dradash.scheduling.classic.claims import available_on, can_be_reserved, driver_of, is_reserved_for_pod
from dradash.scheduling.classic.publish import status_for_claim
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.unblocking import NOBODY, finish_deletion, holders, open_gates, unblock
from dradash.scheduling.verdict import ActsNext, Outcome


def acts_next(attempt: Attempt) -> ActsNext:
    pod, cluster = attempt.pod, attempt.cluster
    match attempt.outcome:
        case Outcome.BLOCKED:
            return unblock(pod, cluster)
        case Outcome.GATED:
            return open_gates(pod)
        case Outcome.WAITING:
            return _negotiate(attempt)
        case Outcome.SCHEDULABLE:
            return ActsNext(who="scheduler", what=f"reserve the claims and bind the pod to {attempt.node}")
        case Outcome.UNSCHEDULABLE | Outcome.ERROR:
            return _make_fit(attempt)
        case _:
            return NOBODY


# --- PreFilter, Filter -----------------------------------------------------------------------------------------------


def _make_fit(attempt: Attempt) -> ActsNext:
    step = attempt.steps.get("PreFilter")
    if step is not None and step.reasons and step.plugin == "DynamicResources":
        return _pass_pre_filter(attempt)
    effects = attempt.steps["PostFilter"].effects if "PostFilter" in attempt.steps else ()
    if effects:
        claim = attempt.cluster.claims[f"{effects[-1].namespace}/{effects[-1].name}"]
        return ActsNext(
            who="scheduler", what=f"ask for the deallocation of the ResourceClaim {claim.key}, which is in the way"
        )
    groups = [g for s in attempt.steps.values() for g in s.groups]
    unsuitable = any(g.reason == plugin.UNSUITABLE.message for g in groups)
    if unsuitable and attempt.state is not None:
        drivers = _refusing_drivers(attempt)
        what = "find room: every node left was answered with “unsuitable” (or add nodes)"
        return ActsNext(who="driver", names=drivers, what=what)
    if not attempt.cluster.nodes.all:
        return ActsNext(who="admin", what="add nodes: the cluster has none")
    return ActsNext(who="admin", what="make a node fit (labels, taints, class filter), or change the pod")


def _refusing_drivers(attempt: Attempt) -> tuple[str, ...]:
    state = attempt.state
    if state is None:
        return ()
    names = (
        driver_of(claim, attempt.cluster)
        for claim, known in zip(state.claims, state.information, strict=True)
        if known.status is not None and known.status.unsuitable_nodes
    )
    return tuple(dict.fromkeys(n for n in names if n))


def _pass_pre_filter(attempt: Attempt) -> ActsNext:
    pod, cluster = attempt.pod, attempt.cluster
    context = cluster.context_of(pod)
    if attempt.steps["PreFilter"].reasons[0].startswith("PodSchedulingContext object"):
        return _remove_context(pod, context)
    for entry in pod.spec.resource_claims:
        name = claim_name(pod, entry).name
        claim = cluster.claim(pod.namespace, name) if name else None
        answer = _pass_claim(pod, cluster, claim) if claim else None
        if answer is not None:
            return answer
    return ActsNext(who="admin", what="correct what the message names")


def _remove_context(pod: Pod, context: PodSchedulingContext | None) -> ActsNext:
    """The garbage collector deletes what had owners, once none of them is left: never what names no owner.

    Only of an owner with the pod's own name it is certain that it is gone; pods without claims are not watched.
    """
    owners = context.metadata.owner_references if context else ()
    if owners and all(o.kind == "Pod" and o.name == pod.name and o.uid != pod.uid for o in owners):
        what = f"delete the PodSchedulingContext {pod.key} of an earlier pod with the same name"
        return ActsNext(who="garbage collector", names=(pod.key,), what=what)
    other = next((o for o in owners if o.kind != "Pod" or o.name != pod.name), None)
    if not owners:
        why = "it has no owner, so the garbage collector never deletes it"
    elif other is None:
        why = "it does not name this pod as its controller, and the garbage collector leaves it while the pod exists"
    else:
        why = f"it belongs to {other.kind} {other.name}, and the garbage collector leaves it while its owner exists"
    return ActsNext(who="admin", names=(pod.key,), what=f"delete the PodSchedulingContext {pod.key}: {why}")


def _pass_claim(pod: Pod, cluster: Cluster, claim: ResourceClaim) -> ActsNext | None:
    """PreFilter's questions; None: this claim is not what holds the pod up.

    A missing class comes first, whatever the scheduler says: no driver moves without it.
    """
    class_name = claim.spec.resource_class_name
    if claim.status.allocation is None and class_name not in cluster.classes:
        return ActsNext(
            who="admin", names=(class_name,), what=f"create the ResourceClass {class_name}: it does not exist"
        )
    return _free_claim(pod, cluster, claim)


def _free_claim(pod: Pod, cluster: Cluster, claim: ResourceClaim) -> ActsNext | None:
    driver = driver_of(claim, cluster)
    by_driver = (driver,) if driver else ()
    allocated = claim.status.allocation is not None
    if claim.spec.allocation_mode == IMMEDIATE and not allocated:
        return ActsNext(who="driver", names=by_driver, what=f"allocate the ResourceClaim {claim.key} (Immediate)")
    if claim.status.deallocation_requested:
        return ActsNext(who="driver", names=by_driver, what=f"deallocate the ResourceClaim {claim.key}, as was asked")
    if allocated and not can_be_reserved(claim) and not is_reserved_for_pod(pod, claim):
        return ActsNext(who="pod", names=holders(claim), what=f"finish: it holds the ResourceClaim {claim.key}")
    return None


# --- without a verdict -----------------------------------------------------------------------------------------------


def held(pod: Pod, cluster: Cluster) -> ActsNext | None:
    """Who must free a claim of the pod before a negotiation is of any use, as far as the claims that exist tell.

    For a pod without a verdict, maybe because something cannot be read: nothing is said to be absent.
    """
    return unfree(pod, cluster) or _move_allocation(_claims(pod, cluster), cluster)


def unfree(pod: Pod, cluster: Cluster) -> ActsNext | None:
    """The same as far as each claim tells by itself: it is in use, being deleted or to be deallocated."""
    for claim in _claims(pod, cluster):
        deleting = claim.metadata.deletion_timestamp is not None
        answer = finish_deletion(claim, cluster) if deleting else _free_claim(pod, cluster, claim)
        if answer is not None:
            return answer
    return None


def _claims(pod: Pod, cluster: Cluster) -> list[ResourceClaim]:
    names = (claim_name(pod, entry).name for entry in pod.spec.resource_claims)
    return [c for c in (cluster.claim(pod.namespace, name) for name in names if name) if c is not None]


def _move_allocation(claims: list[ResourceClaim], cluster: Cluster) -> ActsNext | None:
    """Where the allocations leave no node that all of them are available on."""
    left, known = cluster.nodes.all, bool(cluster.nodes.all)
    for claim in claims:
        left &= available_on(claim, cluster)
        if known and not left:
            what = f"ask for the deallocation of the ResourceClaim {claim.key}, which is in the way"
            return ActsNext(who="scheduler", what=what)
    return None


# --- the negotiation -------------------------------------------------------------------------------------------------


def _negotiate(attempt: Attempt) -> ActsNext:
    """Where the next attempt writes something new the scheduler moves, else the drivers that owe an answer."""
    state = attempt.state
    if state is None:
        return NOBODY
    effects = [e for s in attempt.steps.values() for e in s.effects]
    if state.context is None:
        return ActsNext(who="scheduler", what="publish the PodSchedulingContext, so that drivers can answer")
    waiting = [(index, claim) for index, claim in enumerate(state.claims) if claim.status.allocation is None]
    silent = [
        c for i, c in waiting if status_for_claim(state.context, attempt.pod.spec.resource_claims[i].name) is None
    ]
    selected = state.context.spec.selected_node
    if selected and attempt.node == selected:
        return _drivers(attempt, [c for _, c in waiting], f"allocate for node {selected}")
    if silent and len(waiting) > 1:
        return _drivers(attempt, silent, "answer which of the potential nodes suit")
    if effects:
        return ActsNext(who="scheduler", what=f"select a node: {attempt.node} or another one that fits")
    return _drivers(attempt, silent or [c for _, c in waiting], "answer which of the potential nodes suit")


def _drivers(attempt: Attempt, claims: list[ResourceClaim], what: str) -> ActsNext:
    names = (driver_of(c, attempt.cluster) for c in claims)
    return ActsNext(who="driver", names=tuple(dict.fromkeys(n for n in names if n)), what=what)
