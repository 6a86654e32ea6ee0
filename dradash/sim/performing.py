"""The plugin's effects as writes of the API server.

The plugin made up what the API server answers: versions, names of created claims, the time of an allocation. Here the
real ones take their place, write by write.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

from dradash.scheduling.effects import Effect
from dradash.scheduling.structured.allocation import NEW_SHARE
from dradash.scheduling.structured.binding import NOW
from dradash.sim.apiserver import APIServer

Object = dict[str, Any]

CLAIMS: Final = "resourceclaims"
MANAGER: Final = "kube-scheduler"


def perform(server: APIServer, effect: Effect) -> Object:
    """An effect as a write; the object as it is then ({} for a deleted one). Raises ApiError."""
    resource, namespace, name, body = effect.resource, effect.namespace, effect.name, effect.body
    sub = effect.subresource
    match effect.verb:
        case "create":
            return server.create(resource, body, namespace, MANAGER)
        case "update":
            return server.update(resource, body, namespace, name=name, subresource=sub, field_manager=MANAGER)
        case "patch":
            kind = effect.patch_type
            return server.patch(resource, name, body, kind, namespace, subresource=sub, field_manager=MANAGER)
        case "apply":
            manager, force = effect.field_manager, effect.force
            return server.apply(resource, body, manager, namespace, name=name, subresource=sub, force=force)
        case "delete":
            server.delete(resource, name, namespace)
            return {}
        case _:
            raise AssertionError(f"no verb {effect.verb!r}")


def _share(result: Object, place: str) -> str:
    device = "/".join(result[field] for field in ("driver", "pool", "device"))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{device}/{place}"))


class Writes:
    """The writes of one attempt on claims with structured parameters, in order. now: RFC 3339."""

    def __init__(self, server: APIServer, now: str) -> None:
        self._server, self._now = server, now
        self._answers: dict[str, Object] = {}  # the claim's key, as the plugin knows it -> as it was answered last
        self.reserved: list[Object] = []  # claims that were written with a reservation

    def perform(self, effect: Effect) -> None:
        """Raises ApiError."""
        if effect.resource != CLAIMS:
            perform(self._server, self._in_pod(effect))
            return
        name = effect.name or f"{effect.body['metadata']['generateName']}00000"
        key = f"{effect.namespace}/{name}"
        answer = perform(self._server, self._of_claim(effect, key))
        if answer:
            self._answers[key] = answer
        if effect.subresource == "status" and answer.get("status", {}).get("reservedFor"):
            self.reserved.append(answer)

    def _of_claim(self, effect: Effect, key: str) -> Effect:
        known = self._answers.get(key)
        body = effect.body
        if known is not None and effect.verb == "update":
            own = {field: known["metadata"][field] for field in ("name", "uid", "resourceVersion")}
            body = {**body, "metadata": {**body["metadata"], **own}}
        if (allocation := body.get("status", {}).get("allocation")) is not None:
            real = self._real(allocation, str(body["metadata"].get("resourceVersion", "")))
            body = {**body, "status": {**body["status"], "allocation": real}}
        name = known["metadata"]["name"] if known is not None else effect.name
        return Effect(effect.verb, CLAIMS, effect.namespace, name, body, effect.subresource, effect.patch_type)

    def _real(self, allocation: Object, version: str) -> Object:
        """The allocation with its time, and with UIDs for new shares of devices."""
        if allocation.get("allocationTimestamp") == NOW:
            allocation = {**allocation, "allocationTimestamp": self._now}
        devices = allocation.get("devices") or {}
        results = [
            {**r, "shareID": _share(r, f"{version}/{i}")} if r.get("shareID") == NEW_SHARE else r
            for i, r in enumerate(devices.get("results") or ())
        ]
        return {**allocation, "devices": {**devices, "results": results}} if results else allocation

    def _in_pod(self, effect: Effect) -> Effect:
        """The pod's status names the claim that was made for its extended resources."""
        extended = effect.body.get("status", {}).get("extendedResourceClaimStatus")
        known = self._answers.get(f"{effect.namespace}/{extended['resourceClaimName']}") if extended else None
        if extended is None or known is None:
            return effect
        status = {"extendedResourceClaimStatus": {**extended, "resourceClaimName": known["metadata"]["name"]}}
        body = {**effect.body, "status": status}
        return Effect(
            effect.verb, effect.resource, effect.namespace, effect.name, body, effect.subresource, effect.patch_type
        )
