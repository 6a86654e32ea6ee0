"""kube-controller-manager's device taint eviction: pods go whose devices have a NoExecute taint that nobody tolerates.

As of 1.36, for taints in slices; DeviceTaintRules are behind a gate that is off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar, Final

from dradash.kinds.deviceclaim import DeviceRequestAllocationResult, DeviceToleration, ResourceClaim
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.pools import PoolID
from dradash.scheduling.structured.requests import tolerates
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import CountRecorder, reference

STRATEGIC: Final = "application/strategic-merge-patch+json"


class DeviceTaintEviction(Actor):
    kinds: ClassVar[tuple[str, ...]] = ("pods", "resourceclaims", "resourceslices")

    def __init__(self, server: APIServer, clock: Clock) -> None:
        super().__init__(server, clock)
        self._cluster = Cluster()
        self._events = CountRecorder(server, clock, "device-taint-eviction")

    def on_change(self, change: Change) -> None:
        kind, key, cluster = change.kind, change.key, self._cluster
        if change.type == "DELETED":
            cluster.remove(kind, key)
            return
        cluster.put(kind, key, change.raw)
        match kind:
            case "resourceclaims":
                self._look_at(key)
            case "resourceslices":
                for claim in sorted(cluster.device_claims):
                    self._look_at(claim)
            case _:
                pass

    def _look_at(self, key: str) -> None:
        claim = self._cluster.device_claims.get(key)
        after = self._evicts_after(claim) if claim is not None else None
        for consumer in claim.status.reserved_for if claim is not None else ():
            if consumer.resource == "pods" and claim is not None:
                self._plan(f"{claim.namespace}/{consumer.name}", consumer.uid, key, after)

    def _plan(self, pod: str, uid: str, claim: str, after: float | None) -> None:
        if after is None:
            self.forget(("evict", pod, claim))
        else:
            self.later(("evict", pod, claim), after, lambda: self._evict(pod, uid))

    def _evicts_after(self, claim: ResourceClaim) -> float | None:
        """Simulated seconds that the claim's pods have left, None: they may stay."""
        allocation = claim.status.allocation
        results = allocation.devices.results if allocation is not None else ()
        times = [time_left(taint, r.tolerations) for r in results for taint in self._taints(r)]
        return min((seconds for seconds in times if seconds is not None), default=None)

    def _taints(self, result: DeviceRequestAllocationResult) -> Iterator[DeviceTaint]:
        slices = list(self._cluster.inventory.slices_of(PoolID(result.driver, result.pool)))
        newest = max((s.spec.pool.generation for s in slices), default=0)
        for item in slices:
            if item.spec.pool.generation == newest:
                for device in item.spec.devices:
                    if device.name == result.device:
                        yield from (taint for taint in device.taints if taint.effect == "NoExecute")

    def _evict(self, key: str, uid: str) -> None:
        pod = self._cluster.pods.get(key)
        if pod is None or pod.uid != uid or pod.is_finished:
            return
        self._events.record(
            reference(self._cluster.body("pods", key), "Pod", "v1"),
            "Normal",
            "DeviceTaintManagerEviction",
            "Marking for deletion",
        )
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByDeviceTaintManager",
            "message": "Device Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": self.clock.time(),
        }
        patch = {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}
        with contextlib.suppress(ApiError):
            self.server.patch("pods", pod.name, patch, STRATEGIC, pod.namespace, subresource="status")
            self.server.delete("pods", pod.name, pod.namespace, uid=uid)


def time_left(taint: DeviceTaint, tolerations: tuple[DeviceToleration, ...]) -> float | None:
    """Seconds for which the taint is tolerated, from now on; None: for ever."""
    found = [t.toleration_seconds for t in tolerations if tolerates(t, taint)]
    if not found:
        return 0.0
    limits = [seconds for seconds in found if seconds is not None]
    return float(max(0, min(limits))) if limits else None
