"""The times that the API server fills in of structured parameters; kinds/defaults.py has the rest."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def apply_defaults(plural: str, obj: Object, now: str) -> None:
    """Fill in the defaults of an object that is created or updated, in place. now: RFC 3339."""
    spec = obj.setdefault("spec", {})
    match plural:
        case "devicetaintrules":
            if isinstance(spec.get("taint"), dict):
                spec["taint"].setdefault("timeAdded", now)
        case "resourceslices":
            for device in spec.get("devices") or ():
                for taint in (device.get("basic") or device).get("taints") or ():  # basic: in v1beta1
                    taint.setdefault("timeAdded", now)
