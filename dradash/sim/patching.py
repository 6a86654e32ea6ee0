"""The patch verb: which patch a media type is, and how an apply becomes a write. Called with the server's lock held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from dradash.sim import apierrors
from dradash.sim.apply import Manager, fields
from dradash.sim.apply import apply as apply_intent
from dradash.sim.patch import json_patch, merge_patch
from dradash.sim.resources import Resource
from dradash.sim.storage import Collection, Stored
from dradash.sim.strategic import strategic_merge

if TYPE_CHECKING:
    from dradash.sim.apiserver import APIServer

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"
TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)


def patched(resource: Resource, obj: dict[str, Any], patch: Any, patch_type: str) -> Any:
    """The patched copy of an object. Raises ApiError 400, 415 or 422."""
    if patch_type == JSON_PATCH:
        return json_patch(obj, patch)
    if patch_type not in TYPES:
        raise apierrors.unsupported_media_type((*TYPES, APPLY_PATCH))
    if not isinstance(patch, dict):
        raise apierrors.bad_request("error decoding patch: a merge patch is an object")
    if patch_type == STRATEGIC_PATCH:
        return strategic_merge(resource.plural, obj, patch)
    return merge_patch(obj, patch)


def apply(
    server: APIServer, collection: Collection, intent: dict[str, Any], manager: Manager, *, force: bool
) -> Stored:
    """Server-side apply of a checked object."""
    resource = collection.resource
    if resource.has_status:
        # The object itself does not own its status, and the status subresource owns nothing else.
        keep = ("metadata", "status") if manager.subresource == "status" else [k for k in intent if k != "status"]
        intent = {k: v for k, v in intent.items() if k in keep}
    if manager.subresource == "status":
        names = ("name", "namespace", "uid", "resourceVersion")
        intent = {**intent, "metadata": {k: v for k, v in intent["metadata"].items() if k in names}}
    live = server.find(collection, intent)
    if live is None:
        return _create(server, collection, intent, manager)
    merged, owners = apply_intent(resource.plural, live.object, intent, live.owners, manager, force=force)
    if "resourceVersion" not in intent["metadata"]:
        merged = {**merged, "metadata": {**merged["metadata"], "resourceVersion": ""}}
    # Parts of it are still those of the stored object, and defaults are filled in in place.
    merged = msgspec.json.decode(msgspec.json.encode(merged))
    return server.replace(collection, live, merged, manager, owners=owners, verb="patch")


def _create(server: APIServer, collection: Collection, intent: dict[str, Any], manager: Manager) -> Stored:
    name, uid = intent["metadata"].get("name", ""), intent["metadata"].get("uid", "")
    if manager.subresource:
        raise apierrors.not_found(collection.resource, name)
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise apierrors.conflict(collection.resource, name, why)
    owned = frozenset(fields(collection.resource.plural, intent))
    return server.create_applied(collection, intent, {manager: owned})
