"""What every Kubernetes object carries, and how an object is read from JSON.

The structs are frozen and know only the fields that dradash reads; everything else in the JSON is ignored here and
kept by the model as the API server sent it.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

# What Go reads as int64; a larger number makes the object malformed there too.
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class KubeStruct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of all object structs: immutable, compared by value, camelCase on the wire."""


class OwnerReference(KubeStruct, frozen=True, kw_only=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> str:
        """The model's key of the object: `namespace/name`, or `name` where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class KubeObject(KubeStruct, frozen=True, kw_only=True):
    """An object with metadata; `metadata` may be missing in hostile input, so it has a default."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        return self.metadata.key

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid


def controller_uid(meta: ObjectMeta) -> str | None:
    """UID of the controlling owner, or None (metav1.GetControllerOf: the first reference with controller=true)."""
    for ref in meta.owner_references:
        if ref.controller:
            return ref.uid
    return None


def is_controlled_by(meta: ObjectMeta, owner: ObjectMeta) -> bool:
    """metav1.IsControlledBy: compares UIDs only."""
    uid = controller_uid(meta)
    return uid is not None and uid == owner.uid


def without_nulls(value: Any) -> Any:
    """Drop null fields and null list entries' fields, as Go's decoder treats a null as "not set"."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(v) for v in value]
    return value
