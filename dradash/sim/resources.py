"""The resources that the simulated API server serves: one table, read by storage, discovery, routing and printing."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import msgspec

from dradash.kinds.deviceversions import V1BETA1, to_v1, to_v1beta1
from dradash.kinds.registry import CLASSIC, KINDS, STRUCTURED, Kind

DRA: Final = "resource.k8s.io"
VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
STATUS_VERBS: Final = ("get", "patch", "update")


class Resource(msgspec.Struct, frozen=True):
    """A served resource. All `versions` (the first is preferred) share one storage, keyed by the plural."""

    plural: str
    singular: str
    kind: str
    group: str
    versions: tuple[str, ...]
    namespaced: bool
    has_status: bool = False
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def qualified(self) -> str:
        """`resourceclaims.resource.k8s.io`, as error messages name the resource."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def api_version(self, version: str = "") -> str:
        version = version or self.versions[0]
        return f"{self.group}/{version}" if self.group else version

    @property
    def is_structured(self) -> bool:
        """Whether its objects are those of structured parameters: of resource.k8s.io in a version behind v1alpha2."""
        return self.group == DRA and self.versions[0] != CLASSIC

    @property
    def has_both(self) -> bool:
        """Whether objects of both generations of DRA are in it, each of them served in versions of its own only."""
        return CLASSIC in self.versions and len(self.versions) > 1

    def of(self, obj: Any) -> Resource:
        """The resource as far as it is the object's: in the versions of its generation."""
        return _of_generation(self, is_classic(obj)) if self.has_both else self

    def in_v1(self, obj: Any) -> Any:
        """An object of structured parameters in the shape of v1, from that of its own version or the preferred one."""
        return to_v1({"apiVersion": self.api_version(), "kind": self.kind, **obj})

    def as_served(self, obj: Any) -> Any:
        """An object of structured parameters as v1 has it, in the preferred version, if v1 is not served."""
        if not self.is_structured or "v1" in self.versions or STRUCTURED[0] != _version(obj):
            return obj
        preferred = self.api_version()
        return to_v1beta1({"kind": self.kind, **obj}) if preferred == V1BETA1 else {**obj, "apiVersion": preferred}

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"


_SHORT: Final = {"pods": ("po",), "nodes": ("no",), "namespaces": ("ns",), "events": ("ev",)}
_CATEGORIES: Final = {"pods": ("all",)}
_WITH_STATUS: Final = ("pods", "nodes", "namespaces", "resourceclaims", "podschedulingcontexts")


@lru_cache(maxsize=64)
def _of_generation(resource: Resource, classic: bool) -> Resource:
    versions = tuple(v for v in resource.versions if (v == CLASSIC) == classic)
    return msgspec.structs.replace(resource, versions=versions)


def _version(obj: Any) -> str:
    return str(obj.get("apiVersion", STRUCTURED[0])).rpartition("/")[2]


def is_classic(obj: Any) -> bool:
    """Whether a claim or a template names a ResourceClass, as only v1alpha2 does."""
    spec = obj.get("spec") if isinstance(obj, dict) else None
    inner = spec.get("spec") if isinstance(spec, dict) else None
    return any(isinstance(part, dict) and "resourceClassName" in part for part in (spec, inner))


def from_kind(kind: Kind, versions: tuple[str, ...] = ()) -> Resource:
    """A watched kind as a served resource, in `versions` if given, else in all that the kind knows."""
    return Resource(
        plural=kind.plural,
        singular=kind.singular,
        kind=kind.kind,
        group=kind.group,
        versions=versions or kind.versions,
        namespaced=kind.namespaced,
        has_status=kind.plural in _WITH_STATUS,
        short_names=_SHORT.get(kind.plural, ()),
        categories=_CATEGORIES.get(kind.plural, ()),
    )


def served(plurals: Iterable[str] = (), versions: tuple[str, ...] = (CLASSIC,)) -> tuple[Resource, ...]:
    """Those of the registry's kinds, or all of them: what a cluster with these versions of DRA serves.

    By default that of a 1.30 cluster with classic DRA.
    """
    resources = []
    for plural in plurals or KINDS:
        kind = KINDS[plural]
        of_kind = tuple(v for v in versions if v in kind.versions) if kind.group else kind.versions
        if of_kind:
            resources.append(from_kind(kind, of_kind))
    return tuple(resources)
