"""What a request may bring and change, the same for every kind (k8s.io/apiserver/pkg/registry/rest)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.kinds.deviceversions import V1BETA1, to_v1
from dradash.kinds.meta import without_nulls
from dradash.sim import apierrors, defaults
from dradash.sim.resources import Resource
from dradash.sim.storage import Stored

Object = dict[str, Any]

# The server's own metadata: what an update says about these is ignored.
_SERVERS: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "namespace",
)


def incoming(resource: Resource, body: Any, namespace: str = "", name: str = "") -> Object:
    """A checked copy of a request's object, less nulls, kind, apiVersion and managedFields. Raises ApiError 400.

    `namespace` and `name` come from the URL; the body's must not differ.
    """
    try:
        obj = without_nulls(msgspec.json.decode(msgspec.json.encode(body)))
    except (TypeError, ValueError, RecursionError) as error:
        raise apierrors.bad_request(f"the object provided is unrecognized: {error}") from error
    if not isinstance(obj, dict):
        raise apierrors.bad_request("the object provided is unrecognized (must be of type object)")
    obj = _preferred(resource, obj)
    _check_type_meta(resource, obj)
    metadata = obj.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise apierrors.bad_request(f"{resource.kind}: metadata is not an object")
    _check_name(metadata, name)
    _check_namespace(resource, metadata, namespace)
    metadata.pop("managedFields", None)
    return obj


def _preferred(resource: Resource, obj: Object) -> Object:
    """In the shape of the preferred version, in which all are kept."""
    return obj if resource.of(obj).api_version() == V1BETA1 else to_v1(obj)


def _check_type_meta(resource: Resource, obj: Object) -> None:
    kind, api_version = obj.pop("kind", resource.kind), obj.pop("apiVersion", resource.api_version())
    expected = [resource.api_version(v) for v in resource.versions]
    if api_version not in expected:
        message = f"the API version in the data ({api_version}) does not match the expected API version ({expected[0]})"
        raise apierrors.bad_request(message)
    if kind != resource.kind:
        message = (
            f"{kind} in version {api_version!r} cannot be handled as a {resource.kind}: converting is not possible"
        )
        raise apierrors.bad_request(message)


def _check_name(metadata: Object, name: str) -> None:
    if not isinstance(metadata.setdefault("name", name), str):
        raise apierrors.bad_request("metadata.name is not a string")
    if name and metadata["name"] != name:
        message = f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
        raise apierrors.bad_request(message)
    if not metadata["name"]:
        del metadata["name"]


def _check_namespace(resource: Resource, metadata: Object, namespace: str) -> None:
    if not resource.namespaced:
        metadata.pop("namespace", None)
        return
    found = metadata.setdefault("namespace", namespace or "default") or namespace or "default"
    if not isinstance(found, str):
        raise apierrors.bad_request("metadata.namespace is not a string")
    if namespace and found != namespace:
        raise apierrors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = found


def check_preconditions(resource: Resource, stored: Stored, uid: str, resource_version: str) -> None:
    """metav1.Preconditions. Raises ApiError 409."""
    metadata = stored.metadata
    if uid and uid != metadata["uid"]:
        raise apierrors.uid_differs(resource, metadata["name"], uid, metadata["uid"])
    if resource_version and resource_version != metadata["resourceVersion"]:
        found = metadata["resourceVersion"]
        raise apierrors.revision_differs(resource, metadata["name"], resource_version, found)


def prepare_update(resource: Resource, new: Object, old: Object, subresource: str, now: str) -> Object:
    """The object after the update: the status subresource changes the status only, the object itself never does."""
    if subresource == "status":
        return {**old, "status": new.get("status", {})}
    defaults.apply_defaults(resource, new, now)
    before = old["metadata"]
    metadata = {k: v for k, v in new["metadata"].items() if k not in _SERVERS and v not in ({}, [])}
    metadata |= {k: before[k] for k in (*_SERVERS, "name", "resourceVersion") if k in before}
    merged = {**new, "metadata": {k: metadata[k] for k in (*before, *metadata) if k in metadata}}
    if resource.has_status:
        merged.pop("status", None)
        if "status" in old:
            merged["status"] = old["status"]
    return merged
