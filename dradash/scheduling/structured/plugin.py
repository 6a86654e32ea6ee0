"""The extension points of the DynamicResources plugin of Kubernetes 1.36 (dynamicresources.go), up to Reserve.

PreBind and Unreserve are in binding.py. Feature gates are 1.36's defaults.
"""

from __future__ import annotations

from typing import Final

from dradash.kinds.deviceclaim import MAX_FIRST_AVAILABLE, ResourceClaim
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.scheduling.gotext import json_list
from dradash.scheduling.nodeselector import selector_error, term_matches
from dradash.scheduling.status import SKIP, SUCCESS, Code, Status, error, unschedulable
from dradash.scheduling.structured import extended
from dradash.scheduling.structured.allocation import Body
from dradash.scheduling.structured.allocator import Allocator, SearchCut, object_name
from dradash.scheduling.structured.binding import delete_claim, is_ready, is_timed_out
from dradash.scheduling.structured.claims import Lookup
from dradash.scheduling.structured.claimwrites import APIError, ClaimWrites, HeldClaim
from dradash.scheduling.structured.cycle import CycleState, Information, Listed, NodeAllocation
from dradash.scheduling.structured.devices import AllocationError

MAX_NODE_SCORE: Final = 100
CANNOT_ALLOCATE: Final = "cannot allocate all claims"
TIMED_OUT: Final = "timed out trying to allocate devices"
NOT_AVAILABLE: Final = "resourceclaim not available on the node"


def sign_pod(pod: Pod) -> Status:
    """SignPod: pods with claims are not batched with others that look the same."""
    if pod.spec.resource_claims:
        return Status(Code.UNSCHEDULABLE, ("pods with dra resource claims are not signable",))
    return SUCCESS


def pre_enqueue(lookup: Lookup) -> Status:
    return unschedulable(lookup.error) if lookup.error else SUCCESS


def pre_filter(pod: Pod, listed: Listed, lookup: Lookup) -> tuple[CycleState, Status]:
    """PreFilter. The claims are in the state only if it succeeds."""
    state = CycleState(pod, listed)
    if lookup.error:
        return state, unschedulable(lookup.error)
    special = extended.pre_filter(state)
    claims = [*lookup.found, *([special] if special is not None else [])]
    if not claims:
        return state, SKIP
    for held in claims:
        information = Information()
        state.information.append(information)
        status = _check_claim(listed, held, information, is_special=held is special)
        if not status.is_success:
            return state, status
    if any(held.claim.status.allocation is None for held in claims):
        for wrong in listed.inventory.faults.values():
            return state, error(str(wrong))
        state.allocator = Allocator(listed.inventory, listed.classes)
    state.claims, state.has_extended_claim = claims, special is not None
    return state, SUCCESS


def _check_claim(listed: Listed, held: HeldClaim, information: Information, *, is_special: bool) -> Status:
    claim = held.claim
    if claim.status.allocation is not None:
        selector = claim.status.allocation.node_selector
        if selector is not None:
            if wrong := selector_error(selector, json_list):
                return error(wrong)
            information.available_on = selector
        return SUCCESS
    if claim.uid in listed.in_flight:
        return unschedulable(f"resource claim {object_name(claim)} is in the process of being allocated")
    return SUCCESS if is_special else _check_requests(listed, claim)


def _check_requests(listed: Listed, claim: ResourceClaim) -> Status:
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            names = [(request.name, request.exactly.device_class_name)]
        elif request.first_available:
            names = [(f"{request.name}/{s.name}", s.device_class_name) for s in request.first_available]
        else:
            return unschedulable(f"resource claim {object_name(claim)}, request {request.name}: unknown request type")
        for name, class_name in names:
            if not class_name:
                return error(f"request {name}: unsupported request type")
            if class_name not in listed.classes:
                return unschedulable(f"request {name}: device class {class_name} does not exist")
    return SUCCESS


def filter_node(state: CycleState, node: Node, now: float) -> Status:
    """Filter on one node; what it finds is kept for Reserve. `now`: Unix seconds."""
    if not state.claims:
        return SUCCESS
    special = extended.filter_node(state, node)
    if special.status is not None:
        return special.status
    if special.claim is None and not state.user_claims:
        return SUCCESS
    unavailable = {i for i, held in enumerate(state.claims) if not _is_available(state, i, held, node, now)}
    results: tuple[Body, ...] = ()
    if state.allocator is not None:
        claims = [
            special.claim.claim if special.claim is not None and state.is_extended(i) else state.claims[i].claim
            for i in state.to_allocate()
        ]
        try:
            found = state.allocator.allocate(node, claims)
        except SearchCut:
            return unschedulable(TIMED_OUT)
        except AllocationError as wrong:
            return unschedulable(str(wrong)) if wrong.on_node else error(str(wrong))
        if found is None:
            return unschedulable(CANNOT_ALLOCATE)
        results = tuple(found)
    if unavailable:
        state.unavailable |= unavailable
        return unschedulable(NOT_AVAILABLE)
    if state.allocator is not None:
        state.node_allocations[node.name] = NodeAllocation(results, special.claim, special.mappings)
    return SUCCESS


def _is_available(state: CycleState, index: int, held: HeldClaim, node: Node, now: float) -> bool:
    """Whether an existing allocation can be used on the node and is not stuck waiting for its conditions."""
    selector = state.information[index].available_on
    if selector is not None and not any(
        term_matches(t, node.name, node.metadata.labels) for t in selector.node_selector_terms
    ):
        return False
    if held.claim.status.allocation is None:
        return True
    ready = is_ready(held.claim)
    return not ready.failure and (ready.is_ready or not is_timed_out(held.claim, now))


def post_filter(state: CycleState, writes: ClaimWrites, seed: int = 0) -> Status:
    """PostFilter. Which of several claims is deallocated is random upstream; `seed` chooses."""
    if not state.claims:
        return Status(Code.UNSCHEDULABLE, ("no new claims to deallocate",))
    special = state.extended_claim
    free = deallocatable(state)
    if free:
        return _deallocate(state.claims[free[seed % len(free)]], writes)
    if special is not None and special.claim.name != extended.SPECIAL_NAME:
        try:
            delete_claim(special.raw, writes)
        except APIError as wrong:
            return error(str(wrong))
        return Status(Code.UNSCHEDULABLE, ("deletion of ResourceClaim completed",))
    return Status(Code.UNSCHEDULABLE, ("still not schedulable",))


def deallocatable(state: CycleState) -> list[int]:
    """Places of the claims of which PostFilter deallocates one."""
    return [i for i in sorted(state.unavailable) if not state.is_extended(i) and _can_be_freed(state, i)]


def _can_be_freed(state: CycleState, index: int) -> bool:
    reserved = state.claims[index].claim.status.reserved_for
    return not reserved or (len(reserved) == 1 and reserved[0].uid == state.pod.uid)


def _deallocate(held: HeldClaim, writes: ClaimWrites) -> Status:
    status = {k: v for k, v in held.raw.get("status", {}).items() if k not in ("reservedFor", "allocation", "devices")}
    try:
        writes.update_status({**held.raw, "status": status})
    except APIError as wrong:
        return error(str(wrong))
    return Status(Code.UNSCHEDULABLE, ("deallocation of ResourceClaim completed",))


def score(state: CycleState, node: str) -> int:
    """Score: the earlier the alternatives that were chosen, the better."""
    allocation = state.node_allocations.get(node)
    if allocation is None:
        return 0
    new = iter(allocation.results)
    total = 0
    for held in state.claims:
        existing = held.claim.status.allocation
        if existing is None:
            chosen = {str(r["request"]) for r in next(new)["devices"].get("results", ())}
        else:
            chosen = {r.request for r in existing.devices.results}
        total += sum(
            MAX_FIRST_AVAILABLE - place
            for request in held.claim.spec.devices.requests
            for place, sub in enumerate(request.first_available)
            if request.exactly is None and f"{request.name}/{sub.name}" in chosen
        )
    return total


def normalized(scores: dict[str, int]) -> dict[str, int]:
    """NormalizeScore: the best is 100."""
    best = max(scores.values(), default=0)
    return {node: s * MAX_NODE_SCORE // best if best else 0 for node, s in scores.items()}


def reserve(state: CycleState, node: str) -> Status:
    """Reserve: the node's allocations become the claims', still in memory only."""
    pending = state.to_allocate()
    if not pending or state.allocator is None:
        return SUCCESS
    allocation = state.node_allocations.get(node)
    if allocation is None or not allocation.results:
        if any(not state.is_extended(i) for i in pending):
            return error("claim allocation not found for node")
        return SUCCESS  # a device plugin serves all of the pod's extended resources here
    for index, result in zip(pending, allocation.results, strict=True):
        state.information[index].allocation = result
    return SUCCESS


def pre_bind_pre_flight(state: CycleState) -> Status:
    """PreBindPreFlight: whether PreBind will do anything."""
    return SUCCESS if state.claims else SKIP
