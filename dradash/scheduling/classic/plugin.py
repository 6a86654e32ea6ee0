"""The DynamicResources plugin of kube-scheduler 1.30 (resource.k8s.io/v1alpha2), one function per extension point.

A point that writes returns its status with the effects, as if every write succeeded; whoever performs them stops at the
first failure. Node-by-node loops of upstream are node sets here (docs/decisions/0002-node-sets.md). Function by
function: docs/upstream.md.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.kinds.claim import IMMEDIATE, WAIT_FOR_FIRST_CONSUMER, ResourceClaim
from dradash.kinds.pod import Pod
from dradash.scheduling import marshal
from dradash.scheduling.choice import Seed
from dradash.scheduling.classic.claims import Lookup, can_be_reserved, is_reserved_for_pod
from dradash.scheduling.classic.cycle import ClaimInformation, CycleState
from dradash.scheduling.classic.publish import CONTEXTS, context_of, publish, status_for_claim
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.effects import Effect
from dradash.scheduling.nodetable import InvalidSelector, NodeTable
from dradash.scheduling.status import SKIP, SUCCESS, Code, Status, error, pending, unschedulable

CLAIMS: Final = "resourceclaims"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"

EXCLUDED: Final = unschedulable("excluded by resource class node filter")
UNSUITABLE: Final = unschedulable("resourceclaim cannot be allocated for the node (unsuitable)")
NOT_AVAILABLE: Final = unschedulable("resourceclaim not available on the node")
REALLOCATE: Final = unschedulable("resourceclaim must be reallocated")
WAIT_FOR_DRIVER: Final = pending("waiting for resource driver")
WAIT_FOR_INFORMATION: Final = pending("waiting for resource driver to provide information")
NOTHING_TO_DEALLOCATE: Final = Status(Code.UNSCHEDULABLE, ("no new claims to deallocate",))
STILL_NOT_SCHEDULABLE: Final = Status(Code.UNSCHEDULABLE, ("still not schedulable",))

Effects = tuple[Effect, ...]


def pre_enqueue(lookup: Lookup) -> Status:
    """PreEnqueue: refuses pods whose claims do not all exist. lookup: pod_claims of the pod."""
    return unschedulable(lookup.error) if lookup.error else SUCCESS


def pre_filter(pod: Pod, cluster: Cluster, lookup: Lookup) -> tuple[CycleState, Status]:
    """PreFilter: collects claims and their node filters; the state is empty unless the status is Success.

    lookup: pod_claims of the pod, at the time of the attempt.
    """
    state = CycleState(pod)
    if lookup.error:
        return state, unschedulable(lookup.error)
    if not lookup.found:
        return state, SKIP
    context, wrong = context_of(pod, cluster)
    if wrong:
        return state, error(wrong)
    state.context = context
    information = []
    for index, found in enumerate(lookup.found):
        one, status = _pre_filter_claim(state, cluster, index, found.claim)
        if not status.is_success:
            return state, status
        information.append(one)
    state.claims = [f.claim for f in lookup.found]
    state.information = information
    return state, SUCCESS


def _pre_filter_claim(
    state: CycleState, cluster: Cluster, index: int, claim: ResourceClaim
) -> tuple[ClaimInformation, Status]:
    nothing = ClaimInformation()
    allocation = claim.status.allocation
    if claim.spec.allocation_mode == IMMEDIATE and allocation is None:
        return nothing, unschedulable("unallocated immediate resourceclaim")
    if claim.status.deallocation_requested:
        return nothing, REALLOCATE
    if allocation is not None and not can_be_reserved(claim) and not is_reserved_for_pod(state.pod, claim):
        return nothing, unschedulable("resourceclaim in use")
    try:
        if allocation is not None and allocation.available_on_nodes is not None:
            return ClaimInformation(cluster.nodes.matching(allocation.available_on_nodes)), SUCCESS
        if allocation is None and claim.spec.allocation_mode == WAIT_FOR_FIRST_CONSUMER:
            return _pre_filter_pending(state, cluster, index, claim)
    except InvalidSelector as invalid:
        return nothing, error(str(invalid))
    return nothing, SUCCESS


def _pre_filter_pending(
    state: CycleState, cluster: Cluster, index: int, claim: ResourceClaim
) -> tuple[ClaimInformation, Status]:
    """The class's node filter trims the nodes that drivers are asked about. Raises InvalidSelector."""
    resource_class = cluster.classes.get(claim.spec.resource_class_name)
    if resource_class is None:
        return ClaimInformation(), unschedulable(f"resource class {claim.spec.resource_class_name} does not exist")
    available_on = None
    if resource_class.suitable_nodes is not None:
        available_on = cluster.nodes.matching(resource_class.suitable_nodes)
    return ClaimInformation(available_on, status_for_claim(state.context, _entry_name(state.pod, index))), SUCCESS


def _entry_name(pod: Pod, index: int) -> str:
    # Upstream takes the pod's entry by the position among the claims *found*: an entry that runs without a claim shifts
    # the names of those behind it (docs/limits.md).
    return pod.spec.resource_claims[index].name


def filter_nodes(state: CycleState, nodes: NodeTable, candidates: int) -> list[tuple[Status, int]]:
    """Filter on all candidates at once: each candidate is in exactly one of the sets, the last one passes.

    Also collects state.unavailable_claims, as upstream does over its calls.
    """
    refused: list[tuple[Status, int]] = []
    left = candidates
    missed: list[tuple[int, int]] = []  # claim index, nodes where it is not available
    for index, (claim, known) in enumerate(zip(state.claims, state.information, strict=True)):
        if claim.status.allocation is not None:
            if known.available_on is not None:
                missed.append((index, left & ~known.available_on))
            continue
        if claim.status.deallocation_requested:
            left = _refuse(refused, REALLOCATE, left, left)
        elif claim.spec.allocation_mode == WAIT_FOR_FIRST_CONSUMER:
            if known.available_on is not None:
                left = _refuse(refused, EXCLUDED, left, left & ~known.available_on)
            if known.status is not None:
                left = _refuse(refused, UNSUITABLE, left, left & nodes.named(known.status.unsuitable_nodes))
        else:
            unexpected = f"internal error, unexpected allocation mode {claim.spec.allocation_mode}"
            left = _refuse(refused, error(unexpected), left, left)
    # A node refused above never gets here: what it misses is not counted.
    not_available = 0
    for index, nodes_missed in missed:
        out = nodes_missed & left
        not_available |= out
        if out and state.claims[index].spec.allocation_mode == WAIT_FOR_FIRST_CONSUMER:
            state.unavailable_claims[index] = (out & -out).bit_length()
    left = _refuse(refused, NOT_AVAILABLE, left, not_available)
    return [*_merged(refused), (SUCCESS, left)]


def _refuse(refused: list[tuple[Status, int]], status: Status, left: int, out: int) -> int:
    if out:
        refused.append((status, out))
    return left & ~out


def _merged(refused: list[tuple[Status, int]]) -> list[tuple[Status, int]]:
    by_status: dict[Status, int] = {}
    for status, out in refused:
        by_status[status] = by_status.get(status, 0) | out
    return list(by_status.items())


def deallocatable(state: CycleState, seed: Seed) -> list[int]:
    """Indices of the claims that PostFilter may ask to deallocate, in upstream's (random) order; it takes the first."""
    put_in = sorted(state.unavailable_claims, key=lambda index: (state.unavailable_claims[index], index))
    return [i for i in seed.map_order(put_in) if _held_by_nobody_else(state.claims[i], state.pod)]


def _held_by_nobody_else(claim: ResourceClaim, pod: Pod) -> bool:
    reserved = claim.status.reserved_for
    return not reserved or (len(reserved) == 1 and reserved[0].uid == pod.uid)


def post_filter(state: CycleState, cluster: Cluster, seed: Seed, *, conflict: bool = False) -> tuple[Status, Effects]:
    """PostFilter: after no node passed, ask for the deallocation of one claim that is in the way."""
    if not state.claims:
        return NOTHING_TO_DEALLOCATE, ()
    options = deallocatable(state, seed)
    if not options:
        return STILL_NOT_SCHEDULABLE, ()
    claim = state.claims[options[0]]
    effects: Effects = ()
    if state.context is not None and state.context.spec.selected_node:
        # The driver must stop allocating first, or it would allocate again for the node selected before.
        state.selected_node = ""
        effects = publish(state, cluster, conflict=conflict)
    return SUCCESS, (*effects, _deallocate(claim, cluster))


def _deallocate(claim: ResourceClaim, cluster: Cluster) -> Effect:
    body = cluster.body(CLAIMS, claim.key)
    status = dict(body.get("status") or {})
    status.pop("reservedFor", None)
    status["deallocationRequested"] = True
    body["status"] = status
    return Effect("update", CLAIMS, claim.namespace, claim.name, marshal.classic_claim(body), subresource="status")


def pre_score(state: CycleState, nodes: NodeTable, feasible: int, seed: Seed) -> Status:
    """PreScore: remember the feasible nodes as potential nodes, unless the context names them all already."""
    state.pre_scored = True
    if not any(claim.status.allocation is None for claim in state.claims):
        return SUCCESS
    if state.context is not None and not feasible & ~nodes.named(state.context.spec.potential_nodes):
        return SUCCESS
    state.potential_nodes = tuple(sorted(seed.nodes(nodes, feasible)))
    return SUCCESS


class Decision(msgspec.Struct, frozen=True):
    """What Reserve would remember for publishing (None: nothing), and its status."""

    status: Status
    potential_nodes: tuple[str, ...] | None = None
    selected_node: str | None = None


_NOTHING_LEFT: Final = Decision(SUCCESS)


def decide(state: CycleState, node: str) -> Decision:
    """Whether Reserve selects the node, or waits for the drivers' answers; the state is as it was before."""
    waiting = [
        known for claim, known in zip(state.claims, state.information, strict=True) if not claim.status.allocation
    ]
    if not waiting:
        return _NOTHING_LEFT
    context = state.context
    asked = None
    if not state.pre_scored and (context is None or node not in context.spec.potential_nodes):
        # A single candidate skips PreScore; without asking about it, it would be taken for ever.
        asked = (node,)
    all_known = len(waiting) == 1 or all(known.status is not None for known in waiting)
    if all_known and (context is None or context.spec.selected_node != node):
        return Decision(SUCCESS, asked, node)
    if asked is not None or state.is_dirty:
        return Decision(SUCCESS, asked)
    return Decision(WAIT_FOR_INFORMATION)


def reserve(state: CycleState, node: str) -> Status:
    """Reserve: `decide`, remembered."""
    decision = decide(state, node)
    if decision.potential_nodes is not None:
        state.potential_nodes = decision.potential_nodes
    if decision.selected_node is not None:
        state.selected_node = decision.selected_node
    return decision.status


def unreserve(state: CycleState, cluster: Cluster, *, conflict: bool = False) -> Effects:
    """Unreserve: publish what was decided, and take the pod out of its claims' reservations."""
    if not state.claims:
        return ()
    effects = publish(state, cluster, conflict=conflict)
    held = (c for c in state.claims if c.status.allocation is not None and is_reserved_for_pod(state.pod, c))
    return (*effects, *(_patch_reserved(c, {"$patch": "delete", "uid": state.pod.uid}) for c in held))


def pre_bind(state: CycleState, cluster: Cluster, *, conflict: bool = False) -> tuple[Status, Effects]:
    """PreBind: publish and wait, or reserve every claim for the pod."""
    if not state.claims:
        return SUCCESS, ()
    if state.is_dirty:
        return WAIT_FOR_DRIVER, publish(state, cluster, conflict=conflict)
    pod = state.pod
    consumer = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    free = (c for c in state.claims if not is_reserved_for_pod(pod, c))
    return SUCCESS, tuple(_patch_reserved(c, consumer) for c in free)


def _patch_reserved(claim: ResourceClaim, entry: dict[str, Any]) -> Effect:
    body = {"metadata": {"uid": claim.uid}, "status": {"reservedFor": [entry]}}
    return Effect(
        "patch",
        CLAIMS,
        claim.namespace,
        claim.name,
        body,
        subresource="status",
        patch_type=STRATEGIC_MERGE_PATCH,
    )


def post_bind(state: CycleState) -> Effects:
    """PostBind: the context is not needed any more; it is deleted blindly, it may be newer than our view."""
    if not state.claims:
        return ()
    return (Effect("delete", CONTEXTS, state.pod.namespace, state.pod.name),)
