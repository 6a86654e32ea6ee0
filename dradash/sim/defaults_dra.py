"""What the API server fills in of structured parameters (pkg/apis/resource/v1/defaults.go)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dradash.kinds.deviceclaim import EXACT_COUNT

Object = dict[str, Any]


def apply_defaults(plural: str, obj: Object, now: str) -> None:
    """Fill in the defaults of an object that is created or updated, in place. now: RFC 3339."""
    spec = obj.setdefault("spec", {})
    match plural:
        case "resourceclaims":
            _claim(spec)
        case "resourceclaimtemplates":
            _claim(spec.setdefault("spec", {}))
        case "devicetaintrules":
            if isinstance(spec.get("taint"), dict):
                spec["taint"].setdefault("timeAdded", now)
        case "resourceslices":
            for device in spec.get("devices") or ():
                for taint in device.get("taints") or ():
                    taint.setdefault("timeAdded", now)


def _claim(spec: Object) -> None:
    devices = spec.get("devices")
    for request in devices.get("requests") or () if isinstance(devices, dict) else ():
        for asked in _asked(request):
            asked.setdefault("allocationMode", EXACT_COUNT)
            if asked["allocationMode"] == EXACT_COUNT:
                asked.setdefault("count", 1)
            for toleration in asked.get("tolerations") or ():
                toleration.setdefault("operator", "Equal")


def _asked(request: Object) -> Iterator[Object]:
    if isinstance(request.get("exactly"), dict):
        yield request["exactly"]
    yield from request.get("firstAvailable") or ()
