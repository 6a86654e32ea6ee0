"""Funnels of pods' devices, made when somebody looks at them and kept for as long as the model stays the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from dradash.kinds.pod import Pod
from dradash.reader.follower import Follower
from dradash.reader.world import World
from dradash.scheduling.generation import Generation, generations_of
from dradash.scheduling.structured.devicereport import DeviceReport, device_report

KEPT: Final = 128
# Conditions that devices wait for run out of time without any change of the model.
MINUTE: Final = 60.0

_Key = tuple[str, int, float | None, str, str, int]


class DeviceReports:
    """A part of Current: `current.get().part(DeviceReports)`."""

    def __init__(self, follower: Follower) -> None:  # noqa: ARG002 - as every part of Current
        self._known: OrderedDict[_Key, DeviceReport | None] = OrderedDict()
        # A past cluster belongs to nobody, and making a report changes what its inventory has found out.
        self._lock = threading.Lock()

    def report(
        self, world: World, pod: Pod, now: float, node: str = "", at: float | None = None
    ) -> DeviceReport | None:
        """None for a pod of the older generation, and one without a claim to allocate. Call while the world is held.

        now, at: Unix seconds; `at` where the world is a past one. Raises KeyError if there is no such node.
        """
        if pod.spec.node_name or Generation.STRUCTURED not in generations_of(pod, world.cluster):
            return None
        key = (world.instance, world.revision, at, pod.key, node, int(now // MINUTE))
        with self._lock:
            if key not in self._known:
                self._known[key] = device_report(pod, world.cluster, now, node)
                if len(self._known) > KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]
