"""Validation of resource.k8s.io/v1alpha2 (pkg/apis/resource/validation of Kubernetes 1.30).

Objects have been checked for types before (validation.check_types), so fields have the shape that they should have.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from dradash.kinds.claim import IMMEDIATE, WAIT_FOR_FIRST_CONSUMER
from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE
from dradash.sim import fielderrors
from dradash.sim.apierrors import Cause

Object = dict[str, Any]

RESERVED_FOR_MAX_SIZE: Final = 32
RESOURCE_HANDLES_MAX_SIZE: Final = 32
HANDLE_DATA_MAX_SIZE: Final = 16 * 1024
_TAKES_VALUES: Final = {"In": True, "NotIn": True, "Gt": True, "Lt": True, "Exists": False, "DoesNotExist": False}


def check(plural: str, obj: Object) -> list[Cause]:
    """The object as it may be created."""
    match plural:
        case "resourceclaims":
            return _claim_spec(obj.get("spec") or {}, "spec")
        case "resourceclaimtemplates":
            return _claim_spec((obj.get("spec") or {}).get("spec") or {}, "spec.spec")
        case "resourceclasses":
            return _class(obj)
        case "podschedulingcontexts":
            nodes = (obj.get("spec") or {}).get("potentialNodes") or ()
            return _set(nodes, NODE_LIST_MAX_SIZE, _node_name, "spec.potentialNodes")
    return []


def check_update(plural: str, new: Object, old: Object) -> list[Cause]:
    causes = []
    if plural in ("resourceclaims", "resourceclaimtemplates") and new.get("spec") != old.get("spec"):
        causes.append(fielderrors.immutable("spec", new.get("spec")))
    return causes + check(plural, new)


def check_status_update(plural: str, new: Object, old: Object) -> list[Cause]:
    if plural == "resourceclaims":
        return _claim_status(new, new.get("status") or {}, old.get("status") or {})
    if plural == "podschedulingcontexts":
        return _scheduling_status((new.get("status") or {}).get("resourceClaims") or ())
    return []


def _driver_name(name: str, at: str) -> list[Cause]:
    """corevalidation.ValidateCSIDriverName."""
    if not name:
        return [fielderrors.required(at)]
    causes = [fielderrors.too_long(at, 63)] if len(name) > 63 else []
    return causes + fielderrors.names(at, name.lower(), fielderrors.dns_subdomain)


def _reference(ref: Object | None, at: str) -> list[Cause]:
    if ref is None:
        return []
    return [fielderrors.required(f"{at}.{name}") for name in ("kind", "name") if not ref.get(name)]


def _claim_spec(spec: Object, at: str) -> list[Cause]:
    name = spec.get("resourceClassName", "")
    causes = fielderrors.names(f"{at}.resourceClassName", name, fielderrors.dns_subdomain)
    causes += _reference(spec.get("parametersRef"), f"{at}.parametersRef")
    mode = spec.get("allocationMode", WAIT_FOR_FIRST_CONSUMER)
    if mode not in (IMMEDIATE, WAIT_FOR_FIRST_CONSUMER):
        causes.append(fielderrors.not_supported(f"{at}.allocationMode", mode, (IMMEDIATE, WAIT_FOR_FIRST_CONSUMER)))
    return causes


def _class(obj: Object) -> list[Cause]:
    causes = _driver_name(obj.get("driverName", ""), "driverName")
    ref = obj.get("parametersRef")
    causes += _reference(ref, "parametersRef")
    if ref and ref.get("namespace"):
        causes += fielderrors.names("parametersRef.namespace", ref["namespace"], fielderrors.dns_label)
    return causes + _node_selector(obj.get("suitableNodes"), "suitableNodes")


def _node_selector(selector: Object | None, at: str) -> list[Cause]:
    """corevalidation.ValidateNodeSelector, less the check of label keys."""
    if selector is None:
        return []
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [fielderrors.required(f"{at}.nodeSelectorTerms", "must have at least one node selector term")]
    causes = []
    for i, term in enumerate(terms):
        for field in ("matchExpressions", "matchFields"):
            for j, requirement in enumerate(term.get(field) or ()):
                causes += _requirement(requirement, f"{at}.nodeSelectorTerms[{i}].{field}[{j}]")
    return causes


def _requirement(requirement: Object, at: str) -> list[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in _TAKES_VALUES:
        return [fielderrors.invalid(f"{at}.operator", operator, "not a valid selector operator")]
    if operator in ("In", "NotIn") and not values:
        return [fielderrors.required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Gt", "Lt") and len(values) != 1:
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [fielderrors.required(f"{at}.values", detail)]
    if not _TAKES_VALUES[operator] and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [fielderrors.forbidden(f"{at}.values", detail)]
    return []


def _set(
    items: Sequence[Any],
    limit: int,
    check_item: Callable[[Any, str], list[Cause]],
    at: str,
    *,
    identity: Callable[[Any], Hashable] = lambda item: item,
    identity_field: str = "",
) -> list[Cause]:
    """validateSliceIsASet: no duplicates, at most `limit`."""
    causes, seen = [], set()
    for i, item in enumerate(items):
        what = identity(item)
        if what in seen:
            causes.append(fielderrors.duplicate(f"{at}[{i}]{identity_field}", what))
        else:
            causes += check_item(item, f"{at}[{i}]")
            seen.add(what)
    if len(items) > limit:
        causes.append(fielderrors.too_long(at, limit))
    return causes


def _node_name(name: str, at: str) -> list[Cause]:
    return fielderrors.names(at, name, fielderrors.dns_subdomain)


def _consumer(ref: Object, at: str) -> list[Cause]:
    return [fielderrors.required(f"{at}.{field}") for field in ("resource", "name", "uid") if not ref.get(field)]


def _scheduling_status(claims: Sequence[Object]) -> list[Cause]:
    causes, names = [], set()
    for i, claim in enumerate(claims):
        at, name = f"status.claims[{i}]", claim.get("name", "")
        nodes = claim.get("unsuitableNodes") or ()
        causes += _set(nodes, NODE_LIST_MAX_SIZE, _node_name, f"{at}.unsuitableNodes")
        if name in names:
            causes.append(fielderrors.duplicate(at, name))
        names.add(name)
    return causes


def _allocation(allocation: Object) -> list[Cause]:
    at = "status.allocation"
    causes = []
    handles = allocation.get("resourceHandles") or ()
    for i, handle in enumerate(handles):
        causes += _driver_name(handle.get("driverName", ""), f"{at}.resourceHandles[{i}].driverName")
        if len(handle.get("data", "")) > HANDLE_DATA_MAX_SIZE:
            causes.append(fielderrors.too_long(f"{at}.resourceHandles[{i}].data", HANDLE_DATA_MAX_SIZE))
    if len(handles) > RESOURCE_HANDLES_MAX_SIZE:
        causes.append(fielderrors.too_long(f"{at}.resourceHandles", RESOURCE_HANDLES_MAX_SIZE))
    return causes + _node_selector(allocation.get("availableOnNodes"), f"{at}.availableOnNodes")


def _claim_status(claim: Object, status: Object, old: Object) -> list[Cause]:
    """ValidateClaimStatusUpdate."""
    causes = []
    allocation = status.get("allocation")
    if status.get("driverName"):
        causes += _driver_name(status["driverName"], "status.driverName")
    elif allocation is not None:
        causes.append(fielderrors.required("status.driverName", "must be specified when `allocation` is set"))
    if allocation is not None:
        causes += _allocation(allocation)
    reserved = status.get("reservedFor") or ()
    at = "status.reservedFor"
    causes += _set(
        reserved,
        RESERVED_FOR_MAX_SIZE,
        _consumer,
        at,
        identity=lambda ref: ref.get("uid", ""),
        identity_field=".uid",
    )
    if reserved:
        causes += _reservations(claim, status, old)
    if allocation is not None and old.get("allocation") not in (None, allocation):
        causes.append(fielderrors.immutable("status.allocation", allocation))
    return causes + _deallocation(status, old)


def _reservations(claim: Object, status: Object, old: Object) -> list[Cause]:
    at, allocation, reserved = "status.reservedFor", status.get("allocation"), status["reservedFor"]
    if allocation is None:
        return [fielderrors.forbidden(at, "may not be specified when `allocated` is not set")]
    causes = []
    if not allocation.get("shareable") and len(reserved) > 1:
        causes.append(fielderrors.forbidden(at, "may not be reserved more than once"))
    ending = claim["metadata"].get("deletionTimestamp") is not None or status.get("deallocationRequested")
    if ending and any(ref not in (old.get("reservedFor") or ()) for ref in reserved):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        causes.append(fielderrors.forbidden(at, detail))
    return causes


def _deallocation(status: Object, old: Object) -> list[Cause]:
    at, causes = "status.deallocationRequested", []
    now, before = bool(status.get("deallocationRequested")), bool(old.get("deallocationRequested"))
    if now and not before and status.get("reservedFor"):
        detail = "deallocation cannot be requested while `reservedFor` is set"
        causes.append(fielderrors.forbidden(at, detail))
    if now and status.get("allocation") is None:
        detail = "`allocation` must be set when `deallocationRequested` is set"
        causes.append(fielderrors.forbidden("status", detail))
    if before and not now and status.get("allocation") is not None:
        causes.append(fielderrors.forbidden(at, "may not be cleared when `allocation` is set"))
    return causes
