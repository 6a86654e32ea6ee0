"""What Go's encoding/json leaves out of an object that the scheduler writes back: `omitempty`, field by field.

An update's body is the object as the plugin read it, and reading it into Go's structs forgets which empty fields were
spelled out. Empty values behind pointers, in maps and in raw extensions stay, so the API's types decide, not the value.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec

Raw = dict[str, Any]


class _Kind(enum.Enum):
    OMITTED = enum.auto()  # a value with omitempty
    STRUCT = enum.auto()  # a struct or a pointer to one: {} is written
    LIST = enum.auto()  # of structs, with omitempty
    WHOLE_LIST = enum.auto()  # of structs, written though it is empty


class _Field(msgspec.Struct, frozen=True):
    kind: _Kind
    fields: Mapping[str, _Field] = {}


_Fields = dict[str, _Field]


def _omitted(*names: str) -> _Fields:
    return dict.fromkeys(names, _Field(_Kind.OMITTED))


def _struct(fields: _Fields) -> _Field:
    return _Field(_Kind.STRUCT, fields)


def _list(fields: _Fields) -> _Field:
    return _Field(_Kind.LIST, fields)


# Fields that are not named are written whatever they hold (no omitempty, pointers to scalars, raw extensions).

_OBJECT: Final = _omitted("apiVersion", "kind") | {
    "metadata": _struct(
        _omitted("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation")
        | _omitted("labels", "annotations", "ownerReferences", "finalizers", "managedFields")
    )
}
_SELECTOR: Final = _struct(
    {
        "nodeSelectorTerms": _Field(
            _Kind.WHOLE_LIST,
            {"matchExpressions": _list(_omitted("values")), "matchFields": _list(_omitted("values"))},
        )
    }
)
_CONSUMERS: Final = _list(_omitted("apiGroup"))

_CLASSIC_CLAIM: Final = _OBJECT | {
    "spec": _struct(_omitted("allocationMode") | {"parametersRef": _struct(_omitted("apiGroup"))}),
    "status": _struct(
        _omitted("driverName", "deallocationRequested")
        | {
            "allocation": _struct(
                _omitted("shareable")
                | {
                    "resourceHandles": _list(
                        _omitted("driverName", "data") | {"structuredData": _struct(_omitted("nodeName"))}
                    ),
                    "availableOnNodes": _SELECTOR,
                }
            ),
            "reservedFor": _CONSUMERS,
        }
    ),
}
_CONTEXT: Final = _OBJECT | {
    "spec": _struct(_omitted("selectedNode", "potentialNodes")),
    "status": _struct({"resourceClaims": _list(_omitted("name", "unsuitableNodes"))}),
}

_TOLERATIONS: Final = _list(_omitted("key", "operator", "value", "effect"))
_REQUEST: Final = _omitted("selectors", "allocationMode", "count") | {
    "tolerations": _TOLERATIONS,
    "capacity": _struct(_omitted("requests")),
}
_CONFIG: Final = _list(_omitted("requests"))
_DEVICE_CLAIM: Final = _OBJECT | {
    "spec": _struct(
        {
            "devices": _struct(
                {
                    "requests": _Field(
                        _Kind.WHOLE_LIST, {"exactly": _struct(_REQUEST), "firstAvailable": _list(_REQUEST)}
                    ),
                    "constraints": _list(_omitted("requests")),
                    "config": _CONFIG,
                }
            )
        }
    ),
    "status": _struct(
        {
            "allocation": _struct(
                {
                    "devices": _struct(
                        {
                            "results": _list(
                                _omitted("bindingConditions", "bindingFailureConditions", "consumedCapacity")
                                | {"tolerations": _TOLERATIONS}
                            ),
                            "config": _CONFIG,
                        }
                    ),
                    "nodeSelector": _SELECTOR,
                }
            ),
            "reservedFor": _CONSUMERS,
            "devices": _list(
                {
                    "conditions": _list(_omitted("observedGeneration")),
                    "networkData": _struct(_omitted("interfaceName", "ips", "hardwareAddress")),
                }
            ),
        }
    ),
}


def classic_claim(raw: Raw) -> Raw:
    """A v1alpha2 ResourceClaim; the input is not touched, also by the two below."""
    return _written(raw, _CLASSIC_CLAIM)


def scheduling_context(raw: Raw) -> Raw:
    return _written(raw, _CONTEXT)


def device_claim(raw: Raw) -> Raw:
    """A ResourceClaim as resource.k8s.io/v1 has it."""
    return _written(raw, _DEVICE_CLAIM)


def _written(raw: Raw, fields: Mapping[str, _Field]) -> Raw:
    told: Raw = {}
    for name, value in raw.items():
        field = fields.get(name)
        if value is None or (field is not None and not value and field.kind in (_Kind.OMITTED, _Kind.LIST)):
            continue
        told[name] = _value(value, field) if field is not None else value
    return told


def _value(value: Any, field: _Field) -> Any:
    if field.kind is _Kind.STRUCT and isinstance(value, dict):
        return _written(value, field.fields)
    if field.kind in (_Kind.LIST, _Kind.WHOLE_LIST) and isinstance(value, list):
        return [_written(v, field.fields) if isinstance(v, dict) else v for v in value]
    return value
