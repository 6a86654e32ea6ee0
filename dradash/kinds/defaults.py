"""What the API server fills in where a manifest says nothing, as far as a verdict reads it.

`SetDefaults_*` of pkg/apis/core/v1/defaults.go and pkg/apis/resource/{v1,v1beta2,v1beta1,v1alpha2}/defaults.go, with
what zz_generated.defaults.go adds. An object that an API server has printed has all of it, and stays as it is. Not
here: what admission plugins add (priority, tolerations of nodes that are not ready), and times of taints, which would
need a clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dradash.kinds.claim import WAIT_FOR_FIRST_CONSUMER
from dradash.kinds.deviceclaim import EXACT_COUNT

Object = dict[str, Any]
_Change = Callable[[Object], Object]


def with_defaults(obj: Object) -> Object:
    """obj: of any kind, as JSON. It is not touched; what is of a wrong type is left for the reader to refuse."""
    version, kind = str(obj.get("apiVersion")), obj.get("kind")
    match kind:
        case "Pod" if version == "v1":
            return _within(obj, "spec", _pod_spec)
        case "Node" if version == "v1":
            return _within(obj, "status", _node_status)
        case "ResourceClaim" if version in _CLAIM_SPECS:
            return _within(_within(obj, "spec", _CLAIM_SPECS[version]), "status", _claim_status)
        case "ResourceClaimTemplate" if version in _CLAIM_SPECS:
            return _within(obj, "spec", lambda spec: _within(spec, "spec", _CLAIM_SPECS[version]))
    return obj


def _within(of: Object, field: str, change: _Change) -> Object:
    value = of.get(field)
    return {**of, field: change(value)} if isinstance(value, dict) else of


def _each(of: Object, field: str, change: _Change) -> Object:
    values = of.get(field)
    if not isinstance(values, list):
        return of
    return {**of, field: [change(v) if isinstance(v, dict) else v for v in values]}


# --- core ------------------------------------------------------------------------------------------------------------


def _pod_spec(spec: Object) -> Object:
    """SetDefaults_Pod."""
    return _each(_each(spec, "containers", _container), "initContainers", _container)


def _container(container: Object) -> Object:
    return _within(container, "resources", _requests_from_limits)


def _requests_from_limits(resources: Object) -> Object:
    limits, requests = resources.get("limits"), resources.get("requests")
    if not isinstance(limits, dict) or not (requests is None or isinstance(requests, dict)):
        return resources
    return {**resources, "requests": limits | (requests or {})}


def _node_status(status: Object) -> Object:
    """SetDefaults_NodeStatus."""
    if status.get("allocatable") is None and status.get("capacity") is not None:
        return {**status, "allocatable": status["capacity"]}
    return status


# --- resource.k8s.io -------------------------------------------------------------------------------------------------


def _classic_spec(spec: Object) -> Object:
    return spec if spec.get("allocationMode") else {**spec, "allocationMode": WAIT_FOR_FIRST_CONSUMER}


def _spec(spec: Object) -> Object:
    return _within(spec, "devices", lambda devices: _each(devices, "requests", _request))


def _request(request: Object) -> Object:
    return _each(_within(request, "exactly", _asked), "firstAvailable", _asked)


def _v1beta1_spec(spec: Object) -> Object:
    return _within(spec, "devices", lambda devices: _each(devices, "requests", _v1beta1_request))


def _v1beta1_request(request: Object) -> Object:
    """One without a class has its class, mode and count in its alternatives."""
    own = _asked(request) if request.get("deviceClassName") else _tolerating(request)
    return _each(own, "firstAvailable", _asked)


def _asked(asked: Object) -> Object:
    """SetDefaults_ExactDeviceRequest, SetDefaults_DeviceSubRequest. A count of 0 is one that is not set."""
    mode = asked.get("allocationMode") or EXACT_COUNT
    count = asked.get("count")
    counted = {"count": 1} if mode == EXACT_COUNT and (count is None or _is_zero(count)) else {}
    return _tolerating({**asked, "allocationMode": mode, **counted})


def _is_zero(count: Any) -> bool:
    return type(count) is int and count == 0


def _tolerating(of: Object) -> Object:
    return _each(of, "tolerations", lambda one: one if one.get("operator") else {**one, "operator": "Equal"})


def _claim_status(status: Object) -> Object:
    return _within(
        status,
        "allocation",
        lambda allocation: _within(allocation, "devices", lambda devices: _each(devices, "results", _tolerating)),
    )


_CLAIM_SPECS: Final[dict[str, _Change]] = {
    "resource.k8s.io/v1": _spec,
    "resource.k8s.io/v1beta2": _spec,
    "resource.k8s.io/v1beta1": _v1beta1_spec,
    "resource.k8s.io/v1alpha2": _classic_spec,
}
