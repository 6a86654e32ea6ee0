"""Workloads: pods that come, run, finish and go, so that a cluster lives for hours and does not grow."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar, Final

import msgspec

from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import CountRecorder, reference

Object = dict[str, Any]

RUN_SECONDS: Final = "sim.dradash.dev/run-seconds"  # annotation: how long the pod runs once it is bound
STREAM: Final = "sim.dradash.dev/stream"  # label: the stream that the pod belongs to
START_DELAY: Final = 0.8  # simulated seconds from the binding until the pod runs
PREPARE_RETRY: Final = 5.0
KEEP_FINISHED: Final = 8.0  # simulated seconds until a finished pod is deleted
MERGE: Final = "application/strategic-merge-patch+json"  # conditions of others stay


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """Pods of one sort. make: the name -> the pod, with its namespace.

    every: seconds between two, about; most: at one time; runs: range of seconds; patience: after so long a pod that is
    still pending is given up (deleted).
    """

    name: str
    make: Callable[[str], Object]
    every: float = 10.0
    most: int = 4
    runs: tuple[float, float] = (20.0, 60.0)
    patience: float = 120.0


class Kubelet(Actor):
    """Of every node: bound pods run, and end if they say when (annotation RUN_SECONDS).

    A pod does not start while a driver says that a device of its claims cannot be prepared, and does not end while one
    of the drivers `keeps` cannot unprepare what it has.
    """

    kinds: ClassVar[tuple[str, ...]] = ("pods",)

    def __init__(self, server: APIServer, clock: Clock, keeps: Collection[str] = ()) -> None:
        super().__init__(server, clock)
        self._events = CountRecorder(server, clock, "kubelet")
        self._keeps = frozenset(keeps)

    def on_change(self, change: Change) -> None:
        key = change.key
        if change.type == "DELETED":
            self.forget(("start", key))
            self.forget(("finish", key))
            return
        pod = change.stored.object
        phase = (pod.get("status") or {}).get("phase")
        if pod["spec"].get("nodeName") and phase == "Pending":
            self.later(("start", key), START_DELAY, lambda: self._start_pod(key))
        elif phase == "Running" and (seconds := _run_seconds(pod)) is not None:
            self.later(("finish", key), seconds, lambda: self._finish_pod(key))

    def _start_pod(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        pod = self.server.get("pods", name, namespace)
        failed = next(filter(None, (self._unprepared(namespace, c) for c in _claims(pod))), "")
        if not failed:
            self._set_phase(key, "Running", ready="True")
            return
        about = reference(pod, "Pod", "v1")
        words = f"Failed to prepare dynamic resources: prepare dynamic resources: {failed}"
        self._events.record(about, "Warning", "FailedPrepareDynamicResources", words)
        self._set_phase(key, "Pending", ready="False")
        self.later(("start", key), PREPARE_RETRY, lambda: self._start_pod(key))

    def _finish_pod(self, key: str) -> None:
        """A pod has not ended as long as its devices are not unprepared; of that the API server is told nothing."""
        namespace, _, name = key.partition("/")
        pod = self.server.get("pods", name, namespace)
        if any(self._drivers(namespace, claim) & self._keeps for claim in _claims(pod)):
            self.later(("finish", key), PREPARE_RETRY, lambda: self._finish_pod(key))
        else:
            self._set_phase(key, "Succeeded", ready="False")

    def _status(self, namespace: str, claim: str) -> Object:
        with contextlib.suppress(ApiError):
            return self.server.get("resourceclaims", claim, namespace).get("status") or {}
        return {}

    def _drivers(self, namespace: str, claim: str) -> set[str]:
        """Of the devices that the claim has."""
        allocation = self._status(namespace, claim).get("allocation") or {}
        return {result["driver"] for result in (allocation.get("devices") or {}).get("results") or ()}

    def _unprepared(self, namespace: str, claim: str) -> str:
        """What a driver says of a device that it could not prepare."""
        for device in self._status(namespace, claim).get("devices") or ():
            for told in device.get("conditions") or ():
                if told["type"] == "Ready" and told["status"] == "False":
                    return (
                        f"NodePrepareResources failed for ResourceClaim {claim}: {device['driver']}: {told['message']}"
                    )
        return ""

    def _set_phase(self, key: str, phase: str, *, ready: str) -> None:
        """ready: whether the sandbox with the pod's devices is there, "True" or "False"."""
        namespace, _, name = key.partition("/")
        told = {"type": "PodReadyToStartContainers", "status": ready, "lastTransitionTime": self.clock.time()}
        status: Object = {"phase": phase, "conditions": [told]}
        if phase == "Running":
            status["startTime"] = self.clock.time()
        patch = {"status": status}
        with contextlib.suppress(ApiError):
            self.server.patch("pods", name, patch, MERGE, namespace, subresource="status", field_manager="kubelet")


class Workloads(Actor):
    """What users and their controllers do: new pods by the streams, and finished ones cleared away."""

    kinds: ClassVar[tuple[str, ...]] = ("pods",)

    def __init__(self, server: APIServer, clock: Clock, streams: Iterable[Stream], seed: int = 0) -> None:
        super().__init__(server, clock)
        self._streams = {stream.name: stream for stream in streams}
        self._random = random.Random(f"workloads/{seed}")
        self._alive: dict[str, set[str]] = {name: set() for name in self._streams}
        self._made: dict[str, int] = dict.fromkeys(self._streams, 0)

    def on_start(self) -> None:
        for stream in self._streams.values():
            self.later(("next", stream.name), self._random.uniform(0.2, min(stream.every, 3.0)), self._next(stream))

    def on_change(self, change: Change) -> None:
        pod, key = change.stored.object, change.key
        stream = self._streams.get((pod["metadata"].get("labels") or {}).get(STREAM, ""))
        if stream is None:
            return
        if change.type == "DELETED":
            self._alive[stream.name].discard(key)
            self.forget(("delete", key))
            return
        self._alive[stream.name].add(key)
        phase = (pod.get("status") or {}).get("phase")
        if phase in ("Succeeded", "Failed"):
            self.later(("delete", key), KEEP_FINISHED, lambda: self._delete(key))
        elif pod["spec"].get("nodeName"):
            self.forget(("delete", key))
        else:
            self.later(("delete", key), stream.patience, lambda: self._delete(key))

    def _next(self, stream: Stream) -> Callable[[], None]:
        def create() -> None:
            wait = stream.every * self._random.uniform(0.6, 1.4)
            self.later(("next", stream.name), wait, create)
            if len(self._alive[stream.name]) < stream.most:
                self._create(stream)

        return create

    def _create(self, stream: Stream) -> None:
        number = self._made[stream.name]
        self._made[stream.name] += 1
        pod = stream.make(f"{stream.name}-{number}")
        metadata = pod["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), STREAM: stream.name}
        seconds = round(self._random.uniform(*stream.runs), 1)
        metadata["annotations"] = {**(metadata.get("annotations") or {}), RUN_SECONDS: str(seconds)}
        self.server.create("pods", pod, metadata["namespace"], "workloads")

    def _delete(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        with contextlib.suppress(ApiError):
            self.server.delete("pods", name, namespace)


def _claims(pod: Object) -> list[str]:
    """Names of the pod's claims that there should be."""
    generated = {s["name"]: s.get("resourceClaimName") for s in pod["status"].get("resourceClaimStatuses") or ()}
    entries = pod["spec"].get("resourceClaims") or ()
    names = ((e.get("source") or e).get("resourceClaimName") or generated.get(e["name"]) for e in entries)
    return [name for name in names if name]


def _run_seconds(pod: Object) -> float | None:
    try:
        return float((pod["metadata"].get("annotations") or {})[RUN_SECONDS])
    except (KeyError, ValueError):
        return None
