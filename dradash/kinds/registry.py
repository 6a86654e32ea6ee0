"""The kinds that dradash watches: one table, read by informer, store, simulator and pages.

A kind is named by its resource's plural, as in the recordings and in the Redis keys.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim, ResourceClaimTemplate
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.devicetaintrule import DeviceTaintRule
from dradash.kinds.deviceversions import V1BETA1, to_v1
from dradash.kinds.event import Event
from dradash.kinds.meta import KubeObject, without_nulls
from dradash.kinds.node import Namespace, Node
from dradash.kinds.pod import Pod
from dradash.kinds.resourceclass import ResourceClass
from dradash.kinds.resourceslice import ResourceSlice
from dradash.kinds.schedulingcontext import PodSchedulingContext

T = TypeVar("T", bound=KubeObject)


class Kind(msgspec.Struct, frozen=True):
    """A watched resource: `versions` are tried in order against what the API server serves.

    classic: the struct of its v1alpha2 objects, where these have another shape than `struct`.
    """

    plural: str
    kind: str
    group: str
    versions: tuple[str, ...]
    namespaced: bool
    struct: type[KubeObject]
    singular: str
    classic: type[KubeObject] | None = None

    def path(self, version: str) -> str:
        """URL path of the collection over all namespaces."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        return f"{root}/{self.plural}"


_DRA: Final = "resource.k8s.io"
CLASSIC: Final = "v1alpha2"  # ResourceClass and PodSchedulingContext; drivers allocate
STRUCTURED: Final = ("v1", "v1beta2", "v1beta1")  # DeviceClass and ResourceSlice; the scheduler allocates

KINDS: Final[dict[str, Kind]] = {
    k.plural: k
    for k in (
        Kind("pods", "Pod", "", ("v1",), True, Pod, "pod"),
        Kind("nodes", "Node", "", ("v1",), False, Node, "node"),
        Kind("namespaces", "Namespace", "", ("v1",), False, Namespace, "namespace"),
        Kind(
            "resourceclaims",
            "ResourceClaim",
            _DRA,
            (*STRUCTURED, CLASSIC),
            True,
            deviceclaim.ResourceClaim,
            "resourceclaim",
            ResourceClaim,
        ),
        Kind("resourceclasses", "ResourceClass", _DRA, (CLASSIC,), False, ResourceClass, "resourceclass"),
        Kind("deviceclasses", "DeviceClass", _DRA, STRUCTURED, False, DeviceClass, "deviceclass"),
        Kind("resourceslices", "ResourceSlice", _DRA, STRUCTURED, False, ResourceSlice, "resourceslice"),
        Kind(
            "resourceclaimtemplates",
            "ResourceClaimTemplate",
            _DRA,
            (*STRUCTURED, CLASSIC),
            True,
            deviceclaim.ResourceClaimTemplate,
            "resourceclaimtemplate",
            ResourceClaimTemplate,
        ),
        Kind(
            "podschedulingcontexts",
            "PodSchedulingContext",
            _DRA,
            (CLASSIC,),
            True,
            PodSchedulingContext,
            "podschedulingcontext",
        ),
        Kind(
            "devicetaintrules",
            "DeviceTaintRule",
            _DRA,
            ("v1beta2", "v1alpha3"),
            False,
            DeviceTaintRule,
            "devicetaintrule",
        ),
        Kind("events", "Event", "", ("v1",), True, Event, "event"),
    )
}

# Kinds that only one of the two generations has: not to be served is what is expected of half of them.
ONE_GENERATION: Final = frozenset(k.plural for k in KINDS.values() if k.group == _DRA and k.classic is None)

# Kinds that no cluster serves unless somebody turned them on: without them nothing is missed.
OPTIONAL: Final = frozenset({"devicetaintrules"})


def struct_of(kind: Kind, api_version: str) -> type[KubeObject]:
    """The struct that objects of this apiVersion (group/version, "" for none) are read into."""
    return kind.classic or kind.struct if api_version == f"{_DRA}/{CLASSIC}" else kind.struct


class _Version(msgspec.Struct):
    apiVersion: str = ""  # noqa: N815 - as on the wire


def read_object(kind: Kind, raw: bytes | str) -> KubeObject:
    """An object of the kind, in the struct of its version; v1beta1 reads as v1. Raises MalformedObject.

    An object without apiVersion, as in a list, counts as v1.
    """
    if kind.group != _DRA:
        return decode(kind.struct, raw)
    version = _version(raw)
    return decode(struct_of(kind, version), to_v1(msgspec.json.decode(raw)) if version == V1BETA1 else raw)


def _version(raw: bytes | str) -> str:
    try:
        return msgspec.json.decode(raw, type=_Version).apiVersion
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""  # whatever is wrong with it, decoding it tells


class MalformedObject(ValueError):
    """JSON that is no object of its kind: kept raw, counted and shown; the message says which field is wrong."""


def decode(struct: type[T], raw: bytes | str | dict[str, Any]) -> T:
    """Read one object. Nulls count as "not set", as in Go; anything else of a wrong type raises MalformedObject."""
    try:
        if isinstance(raw, dict):
            return msgspec.convert(raw, struct)
        return msgspec.json.decode(raw, type=struct)
    except msgspec.DecodeError as first:
        return _decode_slowly(struct, raw, first)
    except UnicodeDecodeError as error:
        raise MalformedObject(f"not UTF-8: {error}") from error
    except RecursionError as error:
        raise MalformedObject("nested too deeply") from error


def _decode_slowly(struct: type[T], raw: bytes | str | dict[str, Any], first: Exception) -> T:
    # Nulls are rare (old objects, hand-written ones), so the fast path does not pay for them.
    try:
        value = raw if isinstance(raw, dict) else json.loads(raw)
        return msgspec.convert(without_nulls(value), struct)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise MalformedObject(str(error) or str(first)) from error
