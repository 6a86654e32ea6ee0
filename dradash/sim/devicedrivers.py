"""Drivers with structured parameters, one plugin on each node: they publish devices and prepare those that pods got.

What a plugin publishes stays as it is until its node goes: devices are taken by allocations, not by changing slices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from dradash.kinds.deviceclaim import DeviceRequestAllocationResult, ResourceClaim
from dradash.kinds.node import Node
from dradash.scheduling.cluster import Cluster
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer

Object = dict[str, Any]
Told = tuple[str, str, str, str]  # a condition: type, status, reason, message
Share = tuple[str, str, str, str]  # driver, pool, device, and shareID or ""

CLAIMS: Final = "resourceclaims"
_SHARE: Final = ("driver", "pool", "device", "shareID")
PREPARES_AFTER: Final = 0.3  # simulated seconds


class Publisher(msgspec.Struct, frozen=True, kw_only=True):
    """A driver. devices: the node -> its devices, as a slice has them; None for a node without the driver.

    slices: how many slices the pool is said to have; of these only the first is ever published. shared_counters: of
    each pool, in a slice of their own. attaches: simulated seconds until a device that a claim got meets its binding
    conditions; None: never. breaks: simulated seconds until its binding fails; None: it does not. fails: preparing
    claims fails, and the driver says so in their status. keeps: unpreparing them fails.
    """

    driver: str
    devices: Callable[[Node], list[Object] | None]
    slices: Mapping[str, int] = {}
    shared_counters: list[Object] = []
    attaches: Callable[[DeviceRequestAllocationResult], float | None] = lambda _result: PREPARES_AFTER
    breaks: Callable[[DeviceRequestAllocationResult], float | None] = lambda _result: None
    fails: bool = False
    keeps: bool = False


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
        known = self._cluster.inventory.slices
        resource = self.server.collection("resourceslices").resource
        for publisher in self._publishers.values():
            wanted = _slices(publisher, node) if node is not None else {}
            own = [k for k in (f"{name}-{publisher.driver}", f"{name}-{publisher.driver}-counters") if k in known]
            for key in own:
                if key not in wanted:
                    with contextlib.suppress(ApiError):
                        self.server.delete("resourceslices", key)
            for key, item in wanted.items():
                if key not in own:
                    with contextlib.suppress(ApiError):
                        self.server.create("resourceslices", resource.as_served(item), "", publisher.driver)

    # --- attaching and preparing -----------------------------------------------------------------------------------

    def _plan_claim(self, key: str) -> None:
        self.later(("prepare", key), PREPARES_AFTER, lambda: self._prepare(key))
        for publisher, result in self._results(key):
            seconds = publisher.attaches(result) if result.binding_conditions else None
            if seconds is not None:
                self.later(("attach", key, result.pool, result.device), seconds, self._attach(key, result))
            seconds = publisher.breaks(result) if result.binding_failure_conditions else None
            if seconds is not None:
                self.later(("break", key, result.pool, result.device), seconds, self._break(key, result))

    def _results(self, key: str) -> list[tuple[Publisher, DeviceRequestAllocationResult]]:
        """What the claim got of our drivers."""
        claim = self._cluster.device_claims.get(key)
        allocation = claim.status.allocation if claim is not None else None
        results = allocation.devices.results if allocation is not None else ()
        return [(self._publishers[r.driver], r) for r in results if r.driver in self._publishers]

    def _attach(self, key: str, result: DeviceRequestAllocationResult) -> Callable[[], None]:
        """What the scheduler waits for before it binds the pod."""
        return self._telling(key, result, [(name, "True", "Attached", "") for name in result.binding_conditions])

    def _break(self, key: str, result: DeviceRequestAllocationResult) -> Callable[[], None]:
        """What makes the scheduler give the allocation up."""
        words = f"the fabric cannot attach {result.device}"
        conditions = [(name, "True", "AttachFailed", words) for name in result.binding_failure_conditions]
        return self._telling(key, result, conditions)

    def _telling(self, key: str, result: DeviceRequestAllocationResult, conditions: list[Told]) -> Callable[[], None]:
        def tell() -> None:
            if any(known == result for _, known in self._results(key)):
                self._tell(key, {_id(result): conditions})

        return tell

    def _prepare(self, key: str) -> None:
        """NodePrepareResources, as soon as a pod that has the claim is bound."""
        claim = self._cluster.device_claims.get(key)
        if claim is None or not self._is_bound(claim):
            return
        told: dict[Share, list[Told]] = {}
        for publisher, result in self._results(key):
            ready = ("Ready", "True", "Prepared", f"{result.device} is ready")
            if publisher.fails:
                message = f"{result.device}: the driver cannot reset the device"
                ready = ("Ready", "False", "PrepareFailed", message)
            told[_id(result)] = [ready]
        self._tell(key, told)

    def _is_bound(self, claim: ResourceClaim) -> bool:
        keys = (f"{claim.namespace}/{consumer.name}" for consumer in claim.status.reserved_for)
        pods = (self._cluster.pods.get(key) for key in keys)
        return any(pod is not None and pod.spec.node_name for pod in pods)

    def _tell(self, key: str, told: Mapping[Share, list[Told]]) -> None:
        """Write conditions of devices into the claim's status; those that stand there already stay."""
        body = self._cluster.body(CLAIMS, key)
        devices = body["status"].setdefault("devices", [])
        changed = False
        for id_, conditions in told.items():
            own: Object = {field: value for field, value in zip(_SHARE, id_, strict=True) if value}
            device = next((d for d in devices if all(d.get(f) == own.get(f) for f in _SHARE)), None)
            if device is None:
                devices.append(device := own)
            known = device.setdefault("conditions", [])
            new = [self._condition(*c) for c in conditions if all(k["type"] != c[0] for k in known)]
            known += new
            changed = changed or bool(new)
        if not changed:
            return
        try:
            self.server.update_status(CLAIMS, body, body["metadata"]["namespace"], "driver")
        except ApiError as error:
            if error.code == 409:  # somebody was quicker; the change is on its way
                self._plan_claim(key)

    def _condition(self, type_: str, status: str, reason: str, message: str) -> Object:
        return {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": self.clock.time(),
        }


def _id(result: DeviceRequestAllocationResult) -> Share:
    return (result.driver, result.pool, result.device, result.share_id or "")


def _slices(publisher: Publisher, node: Node) -> dict[str, Object]:
    """What the driver publishes of the node, by name. Shared counters stand in a slice without devices."""
    devices = publisher.devices(node)
    if devices is None:
        return {}
    count = publisher.slices.get(node.name, 2 if publisher.shared_counters else 1)
    pool = {"name": node.name, "generation": 1, "resourceSliceCount": count}
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid, "controller": True}
    spec = {"driver": publisher.driver, "nodeName": node.name, "pool": pool}
    name = f"{node.name}-{publisher.driver}"
    contents: dict[str, Object] = {name: {"devices": devices}}
    if publisher.shared_counters:
        contents[f"{name}-counters"] = {"sharedCounters": publisher.shared_counters}
    return {
        key: {"metadata": {"name": key, "ownerReferences": [owner]}, "spec": {**spec, **more}}
        for key, more in contents.items()
    }
