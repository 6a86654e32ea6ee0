"""kube-controller-manager's device taint eviction controller, as of 1.36: pods go whose devices they may not keep."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar, Final

from dradash.kinds.pod import Pod
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.taintpreview import Fate, claims_used, fate_of
from dradash.scheduling.structured.taintrules import selects_name
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import CountRecorder, reference

_RULES: Final = "devicetaintrules"
STRATEGIC: Final = "application/strategic-merge-patch+json"


class TaintEviction(Actor):
    """Tolerated seconds count in simulated ones, from when the taint is seen."""

    kinds: ClassVar[tuple[str, ...]] = ("pods", "resourceclaims", "resourceslices", "deviceclasses", _RULES)

    def __init__(self, server: APIServer, clock: Clock) -> None:
        super().__init__(server, clock)
        self._cluster = Cluster()
        self._planned: dict[str, float] = {}  # pods that are to go, and when
        self._events = CountRecorder(server, clock, "device-taint-eviction")

    def on_change(self, change: Change) -> None:
        if change.type == "DELETED":
            self._cluster.remove(change.kind, change.key)
        else:
            self._cluster.put(change.kind, change.key, change.raw)
        self.later("look", 0.0, self._look)

    def _look(self) -> None:
        now = self.clock.seconds()
        found = {key: s for key, pod in self._cluster.pods.items() if (s := self._seconds(pod)) is not None}
        for key in self._planned.keys() - found.keys():
            del self._planned[key]
            self.forget(("evict", key))
        for key, seconds in found.items():
            due = self._planned.setdefault(key, now + seconds)
            self.later(("evict", key), max(0.0, due - now), lambda key=key: self._evict(key))  # type: ignore[misc]  # mypy cannot infer a default's type

    def _seconds(self, pod: Pod) -> float | None:
        """podEvictionTime: how long the pod may stay, None: for ever."""
        if not pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            return None
        return min((s for claim in claims_used(pod, self._cluster) for s in self._of_claim(claim, pod)), default=None)

    def _of_claim(self, key: str, pod: Pod) -> Iterator[float]:
        """claimEvictionTime, of a claim that is reserved for the pod."""
        claim = self._cluster.device_claims[key]
        allocation = claim.status.allocation
        if allocation is None or all(r.uid != pod.uid for r in claim.status.reserved_for):
            return
        inventory = self._cluster.inventory
        for result in allocation.devices.results:
            one = ledger.find(inventory, DeviceID(result.driver, result.pool, result.device))
            rules = [
                r.taint
                for r in inventory.rules.values()
                if one is None and selects_name(r.spec.device_selector, result.driver, result.pool, result.device)
            ]
            for taint in (*(one.device.taints if one else ()), *rules):
                use = fate_of(result, taint)
                if use.fate in (Fate.EVICTED, Fate.LATER):
                    yield float(use.seconds or 0)

    def _evict(self, key: str) -> None:
        self._planned.pop(key, None)
        pod = self._cluster.pods.get(key)
        if pod is None or pod.is_finished:
            return
        about = reference(self._cluster.body("pods", key), "Pod", "v1")
        self._events.record(about, "Normal", "DeviceTaintManagerEviction", "Marking for deletion")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByDeviceTaintManager",
            "message": "Device Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": self.clock.time(),
        }
        patch = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        with contextlib.suppress(ApiError):  # it is gone already, or another pod has its name
            self.server.patch("pods", pod.name, patch, STRATEGIC, pod.namespace, subresource="status")
            self.server.delete("pods", pod.name, pod.namespace, uid=pod.uid)
