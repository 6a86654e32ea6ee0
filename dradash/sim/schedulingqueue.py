"""kube-scheduler's queue (pkg/scheduler/internal/queue, 1.30): active, in backoff, unschedulable, and gated pods.

Pure: time comes in with each call, in simulated seconds. Exact where upstream ticks: a backoff ends when it ends, not
at the next full second.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Final

INITIAL_BACKOFF: Final = 1.0
MAX_BACKOFF: Final = 10.0
MAX_IN_UNSCHEDULABLE: Final = 300.0
FLUSH_INTERVAL: Final = 30.0


class Strategy(enum.Enum):
    """What an event means for a pod that waits (queueingStrategy)."""

    SKIP = enum.auto()
    AFTER_BACKOFF = enum.auto()
    IMMEDIATELY = enum.auto()


class QueuedPod:
    """QueuedPodInfo. `unschedulable` and `pending`: the plugins that refused the last attempt."""

    __slots__ = ("attempts", "gated", "key", "pending", "priority", "since", "uid", "unschedulable")

    def __init__(self, key: str, uid: str, priority: int) -> None:
        self.key = key
        self.uid = uid
        self.priority = priority
        self.attempts = 0
        self.since = 0.0
        self.gated = False
        self.unschedulable: frozenset[str] = frozenset()
        self.pending: frozenset[str] = frozenset()

    @property
    def rejectors(self) -> frozenset[str]:
        return self.unschedulable | self.pending

    @property
    def backoff_ends(self) -> float:
        """calculateBackoffDuration: doubled by every attempt, up to the maximum."""
        doubled = INITIAL_BACKOFF * 2.0 ** min(self.attempts - 1, 10) if self.attempts else 0.0
        return self.since + min(doubled, MAX_BACKOFF)


class SchedulingQueue:
    """`admits`: PreEnqueue on the pod; one that it refuses waits gated. A pod is in one of the three parts only."""

    def __init__(self, admits: Callable[[QueuedPod], bool]) -> None:
        self._admits = admits
        self._active: dict[str, QueuedPod] = {}
        self._backoff: dict[str, QueuedPod] = {}
        self.unschedulable: dict[str, QueuedPod] = {}

    def find(self, key: str) -> QueuedPod | None:
        return self._active.get(key) or self._backoff.get(key) or self.unschedulable.get(key)

    def add(self, pod: QueuedPod, now: float) -> None:
        pod.since = now
        self._activate(pod)

    def delete(self, key: str) -> None:
        for part in (self._active, self._backoff, self.unschedulable):
            part.pop(key, None)

    def pop(self) -> QueuedPod | None:
        """The pod to try next: the highest priority, then the one that waits longest."""
        if not self._active:
            return None
        first = min(self._active.values(), key=lambda pod: (-pod.priority, pod.since))
        del self._active[first.key]
        first.attempts += 1
        return first

    def put_back(self, pod: QueuedPod, now: float) -> None:
        """AddUnschedulableIfNotPresent: after a failed attempt; what failed without a refusal is simply retried."""
        pod.since = now
        if pod.rejectors:
            self.unschedulable[pod.key] = pod
        else:
            self._backoff[pod.key] = pod

    def move(self, pods: Iterable[QueuedPod], strategy: Callable[[QueuedPod], Strategy], now: float) -> None:
        """moveAllToActiveOrBackoffQueue, for pods of the unschedulable part."""
        for pod in list(pods):
            how = strategy(pod)
            if how is Strategy.SKIP or pod.key not in self.unschedulable:
                continue
            del self.unschedulable[pod.key]
            if how is Strategy.AFTER_BACKOFF and not pod.gated and pod.backoff_ends > now:
                self._backoff[pod.key] = pod
            else:
                self._activate(pod)

    def flush(self, now: float) -> None:
        """flushUnschedulablePodsLeftover: pods that no event has helped for long."""
        old = [p for p in self.unschedulable.values() if now - p.since > MAX_IN_UNSCHEDULABLE]
        self.move(old, lambda _: Strategy.AFTER_BACKOFF, now)

    def end_backoffs(self, now: float) -> None:
        for pod in [p for p in self._backoff.values() if p.backoff_ends <= now]:
            del self._backoff[pod.key]
            self._activate(pod)

    def next_backoff(self) -> float | None:
        """When the first backoff ends."""
        return min((pod.backoff_ends for pod in self._backoff.values()), default=None)

    def _activate(self, pod: QueuedPod) -> None:
        pod.gated = not self._admits(pod)
        part = self.unschedulable if pod.gated else self._active
        part[pod.key] = pod
