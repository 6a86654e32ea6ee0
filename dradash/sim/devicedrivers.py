"""Drivers with structured parameters, one plugin on each node: they publish devices and prepare those that pods got.

What a plugin publishes stays as it is until its node goes: devices are taken by allocations, not by changing slices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.node import Node
from dradash.scheduling.cluster import Cluster
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer

Object = dict[str, Any]

CLAIMS: Final = "resourceclaims"
PREPARES_AFTER: Final = 0.3  # simulated seconds


class Publisher(msgspec.Struct, frozen=True, kw_only=True):
    """A driver. devices: the node -> its devices, as a slice has them; None for a node without the driver.

    slices: how many slices the pool is said to have; of these only the first is ever published.
    fails: preparing claims fails, and the driver says so in their status.
    """

    driver: str
    devices: Callable[[Node], list[Object] | None]
    slices: Mapping[str, int] = {}
    fails: bool = False


class DeviceDrivers(Actor):
    """All plugins of all drivers of a cluster."""

    kinds: ClassVar[tuple[str, ...]] = ("nodes", "resourceslices", "pods", CLAIMS)

    def __init__(self, server: APIServer, clock: Clock, publishers: Iterable[Publisher]) -> None:
        super().__init__(server, clock)
        self._publishers = {p.driver: p for p in publishers}
        self._cluster = Cluster()

    def on_change(self, change: Change) -> None:
        kind, key, cluster = change.kind, change.key, self._cluster
        old = new = None
        if change.type == "DELETED":
            old = cluster.remove(kind, key)
        else:
            old, new = cluster.put(kind, key, change.raw)
        match kind:
            case "nodes":
                self._plan(key)
            case "resourceslices" if new is None and old is not None and old.spec.node_name:
                self._plan(old.spec.node_name)  # a plugin does not let its slices be deleted
            case "pods" if new is not None and new.spec.node_name:
                for claim in cluster.pods_by_claim.members(key) or ():
                    self._plan_claim(claim)
                for claim in self._claims_of(new.uid):
                    self._plan_claim(claim)
            case "resourceclaims" if new is not None:
                self._plan_claim(key)
            case _:
                pass

    def _claims_of(self, pod_uid: str) -> list[str]:
        return sorted(self._cluster.claims_by_reserving_pod.members(pod_uid))

    # --- publishing ------------------------------------------------------------------------------------------------

    def _plan(self, node: str) -> None:
        self.later(("publish", node), 0.0, lambda: self._publish(node))

    def _publish(self, name: str) -> None:
        node = self._cluster.nodes.by_name.get(name)
        for publisher in self._publishers.values():
            key = f"{name}-{publisher.driver}"
            devices = publisher.devices(node) if node is not None else None
            with contextlib.suppress(ApiError):
                if devices is None and key in self._cluster.inventory.slices:
                    self.server.delete("resourceslices", key)
                elif devices is not None and node is not None and key not in self._cluster.inventory.slices:
                    self.server.create("resourceslices", _slice(publisher, node, key, devices), "", publisher.driver)

    # --- preparing -------------------------------------------------------------------------------------------------

    def _plan_claim(self, key: str) -> None:
        self.later(("prepare", key), PREPARES_AFTER, lambda: self._prepare(key))

    def _prepare(self, key: str) -> None:
        """NodePrepareResources, as soon as a pod that has the claim is bound."""
        claim = self._cluster.device_claims.get(key)
        if claim is None or not self._is_bound(claim):
            return
        told = {(d.driver, d.pool, d.device) for d in claim.status.devices}
        allocation = claim.status.allocation
        results = allocation.devices.results if allocation is not None else ()
        new = [
            self._prepared(self._publishers[r.driver], r.pool, r.device)
            for r in results
            if r.driver in self._publishers and (r.driver, r.pool, r.device) not in told
        ]
        if not new:
            return
        body = self._cluster.body(CLAIMS, key)
        body["status"]["devices"] = [*body["status"].get("devices", ()), *new]
        try:
            self.server.update_status(CLAIMS, body, claim.namespace, new[0]["driver"])
        except ApiError as error:
            if error.code == 409:  # somebody was quicker; the change is on its way
                self._plan_claim(key)

    def _is_bound(self, claim: ResourceClaim) -> bool:
        keys = (f"{claim.namespace}/{consumer.name}" for consumer in claim.status.reserved_for)
        pods = (self._cluster.pods.get(key) for key in keys)
        return any(pod is not None and pod.spec.node_name for pod in pods)

    def _prepared(self, publisher: Publisher, pool: str, device: str) -> Object:
        status, reason, message = "True", "Prepared", f"{device} is ready"
        if publisher.fails:
            status, reason, message = "False", "PrepareFailed", f"{device}: the driver cannot reset the device"
        condition = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.clock.time(),
        }
        return {"driver": publisher.driver, "pool": pool, "device": device, "conditions": [condition]}


def _slice(publisher: Publisher, node: Node, name: str, devices: list[Object]) -> Object:
    pool = {"name": node.name, "generation": 1, "resourceSliceCount": publisher.slices.get(node.name, 1)}
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid, "controller": True}
    return {
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"driver": publisher.driver, "nodeName": node.name, "pool": pool, "devices": devices},
    }
