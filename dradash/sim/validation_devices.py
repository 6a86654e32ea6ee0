"""Validation of resource.k8s.io/v1 as far as scheduling rests on it (pkg/apis/resource/validation of 1.36).

Objects have been checked for types before (validation.check_types), so fields have the shape that they should have.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dradash.kinds.deviceclaim import ALL, EXACT_COUNT, MAX_FIRST_AVAILABLE, MAX_RESERVED_FOR, MAX_RESULTS
from dradash.sim import fielderrors
from dradash.sim.apierrors import Cause

Object = dict[str, Any]

MAX_REQUESTS: Final = 32
MAX_DEVICES: Final = 128
_WHERE: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def check(plural: str, obj: Object) -> list[Cause]:
    """The object as it may be created."""
    spec = obj.get("spec") or {}
    match plural:
        case "resourceclaims":
            return _claim_spec(spec, "spec")
        case "resourceclaimtemplates":
            return _claim_spec(spec.get("spec") or {}, "spec.spec")
        case "deviceclasses":
            return _selectors(spec, "spec")
        case "resourceslices":
            return _slice_spec(spec)
    return []


def check_update(plural: str, new: Object, old: Object) -> list[Cause]:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    if plural in ("resourceclaims", "resourceclaimtemplates") and before != after:
        return [fielderrors.immutable("spec", after)]
    causes = check(plural, new)
    if plural == "resourceslices":
        fixed = (("driver", "spec.driver"), ("nodeName", "spec.nodeName"))
        causes += [fielderrors.immutable(at, after.get(f)) for f, at in fixed if before.get(f) != after.get(f)]
        if (before.get("pool") or {}).get("name") != (after.get("pool") or {}).get("name"):
            causes.append(fielderrors.immutable("spec.pool.name", (after.get("pool") or {}).get("name")))
    return causes


def check_status_update(plural: str, new: Object, old: Object) -> list[Cause]:
    """validateResourceClaimStatusUpdate."""
    if plural != "resourceclaims":
        return []
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation, was = status.get("allocation"), before.get("allocation")
    reserved = status.get("reservedFor") or ()
    causes = _consumers(reserved)
    if reserved and allocation is None:
        causes.append(fielderrors.forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
    if new["metadata"].get("deletionTimestamp") and any(r not in (before.get("reservedFor") or ()) for r in reserved):
        detail = "new entries may not be added while `deletionTimestamp` is set"
        causes.append(fielderrors.forbidden("status.reservedFor", detail))
    if allocation is None:
        return causes
    if was is not None and was != allocation:
        causes.append(fielderrors.immutable("status.allocation", allocation))
    results = (allocation.get("devices") or {}).get("results") or ()
    if len(results) > MAX_RESULTS:
        causes.append(fielderrors.too_long("status.allocation.devices.results", MAX_RESULTS))
    return causes + _device_statuses(status, results)


def _consumers(reserved: Iterable[Object]) -> list[Cause]:
    at, causes, seen = "status.reservedFor", [], set()
    for i, consumer in enumerate(reserved):
        if consumer.get("uid") in seen:
            causes.append(fielderrors.duplicate(f"{at}[{i}].uid", consumer["uid"]))
        seen.add(consumer.get("uid"))
        missing = [field for field in ("resource", "name", "uid") if not consumer.get(field)]
        causes += [fielderrors.required(f"{at}[{i}].{field}") for field in missing]
    if len(seen) > MAX_RESERVED_FOR:
        causes.append(fielderrors.too_long(at, MAX_RESERVED_FOR))
    return causes


def _device_statuses(status: Object, results: Iterable[Object]) -> list[Cause]:
    allocated = {_device(r) for r in results}
    return [
        fielderrors.invalid(f"status.devices[{i}]", "/".join(_device(d)), "must be an allocated device in the claim")
        for i, d in enumerate(status.get("devices") or ())
        if _device(d) not in allocated
    ]


def _device(of: Object) -> tuple[str, str, str]:
    return (of.get("driver", ""), of.get("pool", ""), of.get("device", ""))


def _claim_spec(spec: Object, at: str) -> list[Cause]:
    devices = spec.get("devices") or {}
    requests = devices.get("requests") or ()
    causes = [fielderrors.too_long(f"{at}.devices.requests", MAX_REQUESTS)] if len(requests) > MAX_REQUESTS else []
    names: set[str] = set()
    for i, request in enumerate(requests):
        where = f"{at}.devices.requests[{i}]"
        causes += _name(request, names, where)
        causes += _request(request, where)
    for i, constraint in enumerate(devices.get("constraints") or ()):
        where = f"{at}.devices.constraints[{i}]"
        for j, name in enumerate(constraint.get("requests") or ()):
            if name.partition("/")[0] not in names:
                detail = "must be the name of a request in the claim or the name of a request and a subrequest"
                causes.append(fielderrors.invalid(f"{where}.requests[{j}]", name, detail))
        if not constraint.get("matchAttribute") and not constraint.get("distinctAttribute"):
            causes.append(fielderrors.required(where, "must specify one of: `matchAttribute`, `distinctAttribute`"))
    return causes


def _name(request: Object, names: set[str], at: str) -> list[Cause]:
    name = request.get("name", "")
    if not name:
        return [fielderrors.required(f"{at}.name")]
    if name in names:
        return [fielderrors.duplicate(f"{at}.name", name)]
    names.add(name)
    return fielderrors.names(f"{at}.name", name, fielderrors.dns_label)


def _request(request: Object, at: str) -> list[Cause]:
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    if exactly is None and not alternatives:
        return [fielderrors.required(at, "exactly one of `exactly` or `firstAvailable` is required")]
    if exactly is not None and alternatives:
        return [fielderrors.invalid(at, "", "exactly one of `exactly` or `firstAvailable` is required")]
    if exactly is not None:
        return _exactly(exactly, f"{at}.exactly")
    causes, names = [], set[str]()
    for i, alternative in enumerate(alternatives):
        where = f"{at}.firstAvailable[{i}]"
        causes += _name(alternative, names, where) + _exactly(alternative, where)
    if len(alternatives) > MAX_FIRST_AVAILABLE:
        causes.append(fielderrors.too_long(f"{at}.firstAvailable", MAX_FIRST_AVAILABLE))
    return causes


def _exactly(asked: Object, at: str) -> list[Cause]:
    name, mode, count = asked.get("deviceClassName", ""), asked.get("allocationMode"), asked.get("count", 0)
    causes = [] if name else [fielderrors.required(f"{at}.deviceClassName")]
    if name:
        causes += fielderrors.names(f"{at}.deviceClassName", name, fielderrors.dns_subdomain)
    if mode not in (EXACT_COUNT, ALL):
        causes.append(fielderrors.not_supported(f"{at}.allocationMode", mode, (ALL, EXACT_COUNT)))
    if mode == EXACT_COUNT and count <= 0:
        causes.append(fielderrors.invalid(f"{at}.count", count, "must be greater than zero"))
    if mode == ALL and count:
        detail = "must not be specified when allocationMode is 'All'"
        causes.append(fielderrors.invalid(f"{at}.count", count, detail))
    return causes + _selectors(asked, at)


def _selectors(of: Object, at: str) -> list[Cause]:
    return [
        fielderrors.required(f"{at}.selectors[{i}].cel.expression")
        for i, selector in enumerate(of.get("selectors") or ())
        if not (selector.get("cel") or {}).get("expression")
    ]


def _slice_spec(spec: Object) -> list[Cause]:
    pool, devices = spec.get("pool") or {}, spec.get("devices") or ()
    causes = [] if spec.get("driver") else [fielderrors.required("spec.driver")]
    if not pool.get("name"):
        causes.append(fielderrors.required("spec.pool.name"))
    if pool.get("resourceSliceCount", 0) <= 0:
        number = pool.get("resourceSliceCount", 0)
        causes.append(fielderrors.invalid("spec.pool.resourceSliceCount", number, "must be greater than zero"))
    if sum(1 for field in _WHERE if spec.get(field)) != 1:
        listed = ", ".join(f"`{field}`" for field in _WHERE)
        causes.append(fielderrors.invalid("spec", "", f"exactly one of {listed} is required"))
    if len(devices) > MAX_DEVICES:
        causes.append(fielderrors.too_long("spec.devices", MAX_DEVICES))
    names: set[str] = set()
    for i, device in enumerate(devices):
        causes += _name(device, names, f"spec.devices[{i}]")
    return causes
