"""Reads resource.k8s.io/v1beta1 and v1beta2 objects into the shape of v1, which v1beta2 already has, and back.

v1beta1 differs in two places: a request's fields stand beside its name instead of under `exactly`, and a device's
fields stand under `basic`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

# What stands beside the name of a v1beta1 request.
_EXACT_FIELDS: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
_PLAIN: Final = ("deviceClassName", "allocationMode", "count")  # Go's zero value of these is "not set"

V1BETA1: Final = "resource.k8s.io/v1beta1"


def to_v1(raw: dict[str, Any]) -> dict[str, Any]:
    """The object as v1 would show it; unchanged if it is no v1beta1 object of this group. The input is not touched."""
    if raw.get("apiVersion") != V1BETA1:
        return raw
    spec = raw.get("spec")
    if not isinstance(spec, dict):
        return raw
    match raw.get("kind"):
        case "ResourceClaim":
            return {**raw, "spec": _claim_spec(spec, _request)}
        case "ResourceClaimTemplate" if isinstance(spec.get("spec"), dict):
            return {**raw, "spec": {**spec, "spec": _claim_spec(spec["spec"], _request)}}
        case "ResourceSlice":
            devices = spec.get("devices")
            if isinstance(devices, list):
                return {**raw, "spec": {**spec, "devices": [_device(d) for d in devices]}}
    return raw


def to_v1beta1(raw: dict[str, Any]) -> dict[str, Any]:
    """An object of this group in the shape of v1, as v1beta1 has it. The input is not touched."""
    spec = raw.get("spec") or {}
    match raw.get("kind"):
        case "ResourceClaim":
            spec = _claim_spec(spec, _flat)
        case "ResourceClaimTemplate":
            spec = {**spec, "spec": _claim_spec(spec.get("spec") or {}, _flat)}
        case "ResourceSlice" if "devices" in spec:
            spec = {**spec, "devices": [_basic(d) for d in spec["devices"]]}
    return {**raw, "apiVersion": V1BETA1} | ({"spec": spec} if "spec" in raw else {})


def _flat(request: dict[str, Any]) -> dict[str, Any]:
    exactly: dict[str, Any] = request.get("exactly") or {}
    return {k: v for k, v in request.items() if k != "exactly"} | exactly


def _basic(device: dict[str, Any]) -> dict[str, Any]:
    return {"name": device.get("name", ""), "basic": {k: v for k, v in device.items() if k != "name"}}


def _claim_spec(spec: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, dict) or not isinstance(devices.get("requests"), list):
        return spec
    return {**spec, "devices": {**devices, "requests": [change(r) for r in devices["requests"]]}}


def _request(request: Any) -> Any:
    if not isinstance(request, dict) or "exactly" in request:
        return request
    if request.get("firstAvailable") and not any(_is_set(k, request.get(k)) for k in _EXACT_FIELDS):
        return request
    exactly = {k: request[k] for k in _EXACT_FIELDS if k in request}
    rest = {k: v for k, v in request.items() if k not in exactly}
    return {**rest, "exactly": exactly} if exactly else request


def _is_set(field: str, value: Any) -> bool:
    """hasAnyMainRequestFieldsSet: beside alternatives a request may have none of them, which validation sees then."""
    return bool(value) if field in _PLAIN else value is not None


def _device(device: Any) -> Any:
    if not isinstance(device, dict) or device.get("basic") is None:
        return device
    if not isinstance(device["basic"], dict):
        return device["basic"]  # no device: decoding it tells so
    return {k: v for k, v in device.items() if k != "basic"} | device["basic"]
