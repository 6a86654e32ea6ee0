"""PreBind and Unreserve: allocation and reservation are written, conditions waited for (bindClaim and its kin)."""

from __future__ import annotations

import copy
from typing import Any, Final

import msgspec

from dradash.kinds.deviceclaim import FINALIZER, AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim
from dradash.scheduling.gotext import quote
from dradash.scheduling.status import SUCCESS, Status, error
from dradash.scheduling.structured.celtime import parse_timestamp
from dradash.scheduling.structured.celvalues import CelError
from dradash.scheduling.structured.claims import is_reserved_for_pod
from dradash.scheduling.structured.claimwrites import (
    CLAIMS,
    APIError,
    ClaimWrites,
    HeldClaim,
    Raw,
    held,
    retry_on_conflict,
)
from dradash.scheduling.structured.cycle import CycleState
from dradash.scheduling.structured.extended import SPECIAL_NAME, has_requests

# DynamicResourcesArgs.bindingTimeout's default.
BINDING_TIMEOUT: Final = 600.0
# Stands for the time of the write in a new allocationTimestamp.
NOW: Final = "<now>"


class Ready(msgspec.Struct, frozen=True):
    """isClaimReadyForBinding. `failure`: a device's binding failed, in the plugin's words."""

    is_ready: bool
    failure: str = ""


def is_ready(claim: ResourceClaim) -> Ready:
    if claim.status.allocation is None:
        return Ready(False)
    for result in claim.status.allocation.devices.results:
        if not result.binding_conditions:
            continue
        status = device_status(claim, result)
        if status is None:
            return Ready(False)
        conditions = {c.type: c for c in reversed(status.conditions)}
        for name in result.binding_failure_conditions:
            failed = conditions.get(name)
            if failed is not None and failed.status == "True":
                words = f"claim={claim.name}, reason={failed.reason}, message={quote(failed.message)}"
                return Ready(False, f"device binding failed: {words}")
        if any(name not in conditions or conditions[name].status != "True" for name in result.binding_conditions):
            return Ready(False)
    return Ready(True)


def device_status(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    """What the driver reports of the device, where it reports something."""
    wanted = (result.driver, result.pool, result.device)
    return next((d for d in claim.status.devices if (d.driver, d.pool, d.device) == wanted), None)


def is_timed_out(claim: ResourceClaim, now: float) -> bool:
    """isClaimTimeout: allocated with binding conditions longer ago than they may take."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    if not any(r.binding_conditions for r in allocation.devices.results):
        return False
    try:
        since = parse_timestamp(allocation.allocation_timestamp).nanoseconds / 1e9
    except CelError:
        return False
    return since + BINDING_TIMEOUT < now


def pre_bind(state: CycleState, node: str, writes: ClaimWrites, now: float) -> Status:
    """PreBind at the end of its wait: conditions that are not met yet count as never met, as at the caller's deadline.

    While that is not reached, see `is_waiting`.
    """
    try:
        for index, claim in enumerate(state.claims):
            if not is_reserved_for_pod(state.pod, claim.claim):
                state.claims[index] = _bind_claim(state, index, node, writes)
    except BindError as wrong:
        return error(str(wrong))
    if not any(
        r.binding_conditions
        for c in state.claims
        if c.claim.status.allocation is not None
        for r in c.claim.status.allocation.devices.results
    ):
        return SUCCESS
    state.events.append(f"Normal|BindingConditionsPending|Scheduling|{waiting_for_conditions(node)}")
    return _is_pod_ready(state, now)


def waiting_for_conditions(node: str) -> str:
    """The text of the event that the plugin writes before it waits."""
    return f"waiting for binding conditions for device on node {node}"


def is_waiting(state: CycleState, now: float) -> bool:
    """Whether PreBind, once everything was written, does nothing but wait for conditions."""
    claims = [each.claim for each in state.claims]
    if any(c.status.allocation is None for c in claims):
        return False
    return not any(is_ready(c).failure or is_timed_out(c, now) for c in claims)


def _is_pod_ready(state: CycleState, now: float) -> Status:
    """isPodReadyForBinding, asked once."""
    for each in state.claims:
        ready = is_ready(each.claim)
        if ready.failure:
            return error(ready.failure)
        if not ready.is_ready:
            if is_timed_out(each.claim, now):
                return error(f"device binding timeout: claim={each.claim.name}")
            return error("device binding timeout: context deadline exceeded")
    return SUCCESS


class BindError(Exception):
    """PreBind failed; the message is the plugin's."""


def _bind_claim(state: CycleState, index: int, node: str, writes: ClaimWrites) -> HeldClaim:
    """bindClaim."""
    current = state.claims[index]
    allocation = state.information[index].allocation
    is_extended = state.is_extended(index)
    if is_extended and allocation is None and not has_requests(current):
        return current  # device plugins serve it all
    if is_extended and current.claim.name == SPECIAL_NAME:
        current = held(_created(state, node, writes))
        # Unreserve deletes it from now on.
        state.claims[index] = current
    attempt = _Attempt(state, current.raw, allocation, writes)
    try:
        retry_on_conflict(attempt)
    except APIError as wrong:
        raise BindError(str(wrong)) from wrong
    if is_extended:
        _patch_pod_status(state, attempt.claim, node, writes)
    return held(attempt.claim)


class _Attempt:
    """One try of bindClaim after the other, on the claim as it is by then."""

    def __init__(self, state: CycleState, claim: Raw, allocation: Raw | None, writes: ClaimWrites) -> None:
        self.claim = copy.deepcopy(claim)
        self._state = state
        self._allocation = allocation
        self._writes = writes
        self._tried = False

    def __call__(self) -> None:
        name = _object_name(self.claim)
        if self._tried:
            meta = self.claim["metadata"]
            self.claim = _named(
                f"get updated claim {name} after conflict", self._writes.get, meta["namespace"], meta["name"]
            )
        self._tried = True
        self._check(name)
        if self._allocation is not None:
            self._add_finalizer(name)
            status = self.claim.setdefault("status", {})
            status["allocation"] = copy.deepcopy(self._allocation)
        status = self.claim["status"]
        pod = self._state.pod
        reserved = [*status.get("reservedFor", ()), {"resource": "pods", "name": pod.name, "uid": pod.uid}]
        status["reservedFor"] = reserved
        status["allocation"].setdefault("allocationTimestamp", NOW)
        what = "add allocation and reservation" if self._allocation is not None else "add reservation"
        self.claim = _named(f"{what} to claim {name}", self._writes.update_status, self.claim)

    def _check(self, name: str) -> None:
        if self.claim["metadata"].get("deletionTimestamp") is not None:
            raise BindError(f"claim {name} got deleted in the meantime")
        allocated = self.claim.get("status", {}).get("allocation") is not None
        if self._allocation is not None and allocated:
            raise BindError(f"claim {name} got allocated elsewhere in the meantime")
        if self._allocation is None and not allocated:
            raise BindError(f"claim {name} got deallocated elsewhere in the meantime")

    def _add_finalizer(self, name: str) -> None:
        meta = self.claim["metadata"]
        if FINALIZER in meta.get("finalizers", ()):
            return
        meta["finalizers"] = [*meta.get("finalizers", ()), FINALIZER]
        self.claim = _named(f"add finalizer to claim {name}", self._writes.update, self.claim)


def _named(doing: str, call: Any, *args: Any) -> Any:
    """The call's answer; its error says what was being done."""
    try:
        return call(*args)
    except APIError as wrong:
        raise APIError(wrong.reason, f"{doing}: {wrong}") from wrong


def _object_name(claim: Raw) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def _created(state: CycleState, node: str, writes: ClaimWrites) -> Raw:
    """createExtendedResourceClaimInAPI."""
    found = state.node_allocations.get(node)
    if found is None or found.extended_claim is None:
        raise BindError(f"extended resource claim not found for node {node}")
    claim = copy.deepcopy(found.extended_claim.raw)
    del claim["metadata"]["name"], claim["metadata"]["uid"]
    try:
        return writes.create(claim)
    except APIError as wrong:
        raise BindError(
            f"create claim for extended resources {_object_name(found.extended_claim.raw)}: {wrong}"
        ) from wrong


def _patch_pod_status(state: CycleState, claim: Raw, node: str, writes: ClaimWrites) -> None:
    pod = state.pod
    found = state.node_allocations.get(node)
    if found is None or not found.mappings:
        where = f"pod {pod.namespace}/{pod.name} ExtendedResourceClaimStatus"
        raise BindError(f"nil or empty request mappings, no update of {where}")
    status = {"requestMappings": list(found.mappings), "resourceClaimName": claim["metadata"]["name"]}
    patch = {"status": {"extendedResourceClaimStatus": status}}
    writes.patch_status("pods", pod.namespace, pod.name, patch)


def unreserve(state: CycleState, writes: ClaimWrites) -> None:
    """Unreserve: the pod's reservations are taken back, a claim made for extended resources is deleted."""
    for each in state.user_claims:
        if each.claim.status.allocation is None or not is_reserved_for_pod(state.pod, each.claim):
            continue
        gone = {"$patch": "delete", "uid": state.pod.uid}
        patch = {"metadata": {"uid": each.claim.uid}, "status": {"reservedFor": [gone]}}
        try:
            writes.patch_status(CLAIMS, each.claim.namespace, each.claim.name, patch)
        except APIError:
            continue  # the next attempt comes here again
    special = state.extended_claim
    if special is None or special.claim.name == SPECIAL_NAME:
        return
    try:
        delete_claim(special.raw, writes)
    except APIError:
        return  # logged only


def delete_claim(claim: Raw, writes: ClaimWrites) -> None:
    """deleteClaim: the finalizer is removed first. Raises APIError."""
    attempt = _Removal(claim, writes)
    retry_on_conflict(attempt)
    try:
        writes.delete(claim["metadata"]["namespace"], claim["metadata"]["name"])
    except APIError as wrong:
        if wrong.reason != "NotFound":
            raise


class _Removal:
    def __init__(self, claim: Raw, writes: ClaimWrites) -> None:
        self._claim = copy.deepcopy(claim)
        self._writes = writes
        self._tried = False

    def __call__(self) -> None:
        meta = self._claim["metadata"]
        name = _object_name(self._claim)
        if self._tried:
            self._claim = _named(f"get resourceclaim {name}", self._writes.get, meta["namespace"], meta["name"])
        self._tried = True
        meta = self._claim["metadata"]
        meta["finalizers"] = [f for f in meta.get("finalizers", ()) if f != FINALIZER]
        _named(f"update resourceclaim {name}", self._writes.update, self._claim)
