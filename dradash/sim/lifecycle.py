"""How objects end, namespaces' part in it, and how pods are bound. Called with the server's lock held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dradash.sim import apierrors, fielderrors
from dradash.sim.resources import Resource
from dradash.sim.storage import Collection, Stored

if TYPE_CHECKING:
    from dradash.sim.apiserver import APIServer

Object = dict[str, Any]

ADMIN_ACCESS: Final = "resource.kubernetes.io/admin-access"  # label of a namespace


class Deleted(msgspec.Struct, frozen=True):
    """What a delete left: the object's last state, and whether it is gone (else its finalizers are waited for)."""

    object: Object
    gone: bool


def delete(server: APIServer, collection: Collection, stored: Stored) -> tuple[Stored, bool]:
    """Remove the object, or mark it where finalizers (or, in a namespace, contents) hold it back."""
    if collection.resource.plural == "namespaces":
        return _delete_namespace(server, collection, stored)
    if not stored.metadata.get("finalizers"):
        return remove(server, collection, stored.object), True
    return _mark(server, collection, stored), False


def remove(server: APIServer, collection: Collection, obj: Object) -> Stored:
    stored = server.commit(collection, "DELETED", obj, {})
    namespace = obj["metadata"].get("namespace", "")
    if namespace:
        _finish_namespace(server, namespace)
    return stored


def _mark(server: APIServer, collection: Collection, stored: Stored, **more: Any) -> Stored:
    if stored.metadata.get("deletionTimestamp"):
        return stored
    metadata = {**stored.metadata, "deletionTimestamp": server.now(), "deletionGracePeriodSeconds": 0}
    return server.commit(collection, "MODIFIED", {**stored.object, "metadata": metadata, **more}, stored.owners)


def _contents(server: APIServer, namespace: str) -> list[tuple[Collection, Stored]]:
    collections = [c for c in server.storage.collections.values() if c.resource.namespaced]
    return [(c, stored) for c in collections for stored in c.in_namespace(namespace)]


def _delete_namespace(server: APIServer, collection: Collection, stored: Stored) -> tuple[Stored, bool]:
    """What the namespace controller does: mark it, delete what is in it, remove it when that is gone."""
    name = stored.metadata["name"]
    marked = _mark(server, collection, stored, status={"phase": "Terminating"})
    for owner, content in _contents(server, name):
        if content.key in owner.objects:  # the last one removed may have ended the namespace
            delete(server, owner, content)
    _finish_namespace(server, name)
    return collection.objects.get(name, marked), name not in collection.objects


def _finish_namespace(server: APIServer, name: str) -> None:
    collection = server.storage.collections.get("namespaces")
    stored = collection.objects.get(name) if collection is not None else None
    if collection is None or stored is None or not stored.metadata.get("deletionTimestamp"):
        return
    if not stored.metadata.get("finalizers") and not _contents(server, name):
        server.commit(collection, "DELETED", stored.object, {})


def check_namespace(server: APIServer, resource: Resource, metadata: Object) -> None:
    """The NamespaceLifecycle admission: nothing new in a namespace that is not there or is being deleted."""
    namespaces = server.storage.collections.get("namespaces")
    if not resource.namespaced or namespaces is None:
        return
    namespace = metadata["namespace"]
    stored = namespaces.objects.get(namespace)
    if stored is None:
        raise apierrors.not_found(namespaces.resource, namespace)
    if stored.metadata.get("deletionTimestamp"):
        message = (
            f'{resource.qualified} "{metadata.get("name", "")}" is forbidden: unable to create new content in '
            f"namespace {namespace} because it is being terminated"
        )
        raise apierrors.ApiError(403, "Forbidden", message, {"name": metadata.get("name", ""), "kind": resource.plural})


def check_admin_access(server: APIServer, resource: Resource, new: Object, old: Object | None = None) -> None:
    """AuthorizedForAdmin of a new claim or template, AuthorizedForAdminStatus of a status; old: before the update.

    Raises ApiError 422.
    """
    if not resource.is_structured or resource.plural not in ("resourceclaims", "resourceclaimtemplates"):
        return
    paths = _admin_access(resource, resource.in_v1(new), old)
    stored = server.storage.collections["namespaces"].objects.get(new["metadata"].get("namespace", ""))
    labels = (stored.metadata.get("labels") or {}) if stored is not None else {}
    if paths and labels.get(ADMIN_ACCESS) != "true":
        detail = f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"
        causes = [fielderrors.forbidden(path, detail) for path in paths]
        raise apierrors.invalid(resource, new["metadata"].get("name", ""), causes)


def _admin_access(resource: Resource, new: Object, old: Object | None) -> list[str]:
    """Paths of what asks for it, or grants it for the first time."""
    if old is not None:
        granted = [_granted(obj) for obj in (new, old)]
        return [] if granted[1] else granted[0]
    spec, at = new.get("spec") or {}, "spec"
    if resource.plural == "resourceclaimtemplates":
        spec, at = spec.get("spec") or {}, "spec.spec"
    requests = enumerate((spec.get("devices") or {}).get("requests") or ())
    return [
        f"{at}.devices.requests[{i}].adminAccess" for i, r in requests if (r.get("exactly") or {}).get("adminAccess")
    ]


def _granted(claim: Object) -> list[str]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = enumerate((allocation.get("devices") or {}).get("results") or ())
    return [f"status.allocation.devices.results[{i}].adminAccess" for i, r in results if r.get("adminAccess")]


def bound(resource: Resource, old: Stored, node_name: str, uid: str, now: str) -> Object:
    """The pod after its binding (assignPod in pkg/registry/core/pod/storage). Raises ApiError 409."""
    name, spec = old.metadata["name"], old.object.get("spec") or {}
    if uid and uid != old.metadata["uid"]:
        raise apierrors.uid_differs(resource, name, uid, old.metadata["uid"])
    where = msgspec.structs.replace(resource, plural="pods/binding")
    if old.metadata.get("deletionTimestamp"):
        raise apierrors.conflict(where, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise apierrors.conflict(where, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise apierrors.conflict(where, name, f"pod {name} has non-empty .spec.schedulingGates")
    status = old.object.get("status") or {}
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    return {
        **old.object,
        "spec": {**spec, "nodeName": node_name},
        "status": {**status, "conditions": [*others, scheduled]},
    }
