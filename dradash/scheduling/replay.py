"""Replays a recording without waiting, and compares each FailedScheduling message with our verdict at that moment."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from dradash.kinds.event import Event
from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS
from dradash.scheduling.agreement import compare, sentences
from dradash.scheduling.cluster import FAILED_SCHEDULING, Cluster
from dradash.scheduling.dependencies import Dependencies
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.verdict import Clause

WINDOW: Final = 1.0  # seconds: the scheduler judged what it saw up to this long before its message reached us
# Seconds that a row may be late. Each kind has a watch of its own, so rows overtake each other; resourceVersions count
# over all kinds, and tell in which order the cluster changed.
LATENESS: Final = 0.5


class Said(msgspec.Struct, frozen=True):
    """One message of the scheduler. agrees is None when all its clauses come from checks that we do not model.

    source: "event", or "condition" where the event is a series: it then repeats its first text whatever the scheduler
    says now, and the pod's PodScheduled condition has the words (docs/decisions/0005-series-events.md).
    """

    at: float  # seconds since the recording began
    pod: str
    message: str
    agrees: bool | None
    clauses: tuple[Clause, ...]
    ours: tuple[str, ...]  # what we held possible in the window, newest first
    source: str = "event"


class _Pending(msgspec.Struct):
    """A message that is not compared yet: the condition that has its words may come up to WINDOW after it."""

    at: float
    pod: str
    text: str  # the event's own
    repeated: bool  # a series' event, whose own text is its first one
    words: list[str]  # what may have been said: the text, or for a series the condition's texts in the window
    ours: tuple[str, ...]


class Replay:
    """Takes a recording's rows (shape: the recordings' README) and applies them in the order of their versions."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._dependencies = Dependencies(self.cluster)
        self._revision = 0
        # Per pod: (time, possible sentences), oldest first; the first one was in force when the window began.
        self._verdicts: defaultdict[str, deque[tuple[float, tuple[str, ...]]]] = defaultdict(deque)
        self._heard: set[tuple[str, str]] = set()  # event and its last time: a list may repeat what a watch told
        self._pending: deque[_Pending] = deque()
        self._listed_events = False
        self._rows: list[tuple[int, int, float, str, str, dict[str, Any]]] = []  # heap, by resourceVersion
        self._times: deque[float] = deque()  # of the rows in the heap, as they were taken
        self._taken = 0
        self._now = 0.0
        self._telling = True  # False while the events are read that were there before the recording
        self._watching = False  # once a row that is no list was taken
        self._newest = 0  # the highest version taken
        self._newest_of: defaultdict[str, int] = defaultdict(int)  # kind -> the same of its rows alone
        self._first: dict[str, tuple[str, tuple[str, ...]]] | None = None  # by pod: what was said before, and ours
        self._spoken_of: set[str] = set()
        self.not_judged = ""  # an API version of resource.k8s.io in the recording that we do not judge

    def take(self, t: float, kind: str, change: str, obj: dict[str, Any]) -> Iterator[Said]:
        """Take one row; yields what can be told by now. Call `end` after the last one."""
        yield from self._until(t - LATENESS)  # before the row is in: it is too late to overtake these
        if kind in KINDS and change not in ("BOOKMARK", "ERROR"):
            self._taken += 1
            heapq.heappush(self._rows, (self._place(kind, change, obj), self._taken, t, kind, change, obj))
            self._times.append(t)
            self._watching = self._watching or change != "LIST"

    def _place(self, kind: str, change: str, obj: dict[str, Any]) -> int:
        """The version by which a row is put in order.

        Kinds may overtake each other, but a kind's own rows never do: a list replaces what its watch told before. What
        has no version comes after all that was taken.
        """
        if change == "LIST" and not self._watching:
            return 0  # the state that the recording begins with
        place = max(_version_of(obj) or self._newest, self._newest_of[kind])
        self._newest = max(self._newest, place)
        self._newest_of[kind] = place
        return place

    def end(self) -> Iterator[Said]:
        yield from self._until(float("inf"))
        while self._pending:
            yield _told_by(self._pending.popleft(), self.not_judged)

    def before(self) -> Iterator[Said]:
        """After `end`: what was said before the recording, of pods of which nothing was said during it, beside our
        verdict on the first state. agrees is True or None: other words may be about a cluster that has changed since.
        """
        first = self._said_before() if self._first is None else self._first
        for pod in sorted(first.keys() - self._spoken_of):
            message, ours = first[pod]
            agrees, clauses = compare(message, ours) if not self.not_judged else (None, ())
            yield Said(0.0, pod, message, agrees or None, clauses, ours, "condition")

    def _said_before(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        pods = {key: _condition_text(pod) for key, pod in self.cluster.pods.items() if self._verdicts.get(key)}
        return {key: (text, self._verdicts[key][-1][1]) for key, text in pods.items() if text}

    def _until(self, t: float) -> Iterator[Said]:
        """Apply rows by their resourceVersion until all that were taken up to `t` are applied."""
        while self._times and self._times[0] <= t:
            _, _, at, kind, change, obj = heapq.heappop(self._rows)
            self._times.remove(at)
            if at > 0 and self._first is None:
                self._first = self._said_before()
            self._now = max(self._now, at)
            while self._pending and self._pending[0].at + WINDOW < self._now:
                yield _told_by(self._pending.popleft(), self.not_judged)
            if change == "LIST":
                self._list(self._now, kind, obj)
            else:
                self._change(self._now, kind, change, obj)

    def _list(self, t: float, kind: str, obj: dict[str, Any]) -> None:
        """A list replaces: objects that are not in it are gone."""
        # Items of a list do not say their version, the list does.
        own = {"apiVersion": obj["apiVersion"]} if obj.get("apiVersion") else {}
        items = [{**own, **i} for i in obj.get("items") or () if isinstance(i, dict)]
        gone = set(self.cluster.raw[kind]) - {key_of(i) for i in items}
        for key in gone:
            self._remove(t, kind, key)
        # What was said before the recording began belongs to no moment in it.
        self._telling = kind != "events" or self._listed_events
        self._listed_events = self._listed_events or kind == "events"
        for item in items:
            self._change(t, kind, "ADDED", item)
        self._telling = True

    def _change(self, t: float, kind: str, change: str, obj: dict[str, Any]) -> None:
        if self._is_foreign(kind, obj):
            return
        key = key_of(obj)
        if change == "DELETED":
            self._remove(t, kind, key)
            return
        old, new = self.cluster.put(kind, key, msgspec.json.encode(obj))
        if isinstance(new, Pod):
            self._condition_changed(new)
        if isinstance(new, Event):
            self._event(t, new)
        else:
            self._judge(t, self._dependencies.affected(kind, key, old, new))

    def _is_foreign(self, kind: str, obj: dict[str, Any]) -> bool:
        group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
        if not group or group != KINDS[kind].group or version in KINDS[kind].versions:
            return False
        self.not_judged = f"{group}/{version}"
        return True

    def _remove(self, t: float, kind: str, key: str) -> None:
        old = self.cluster.remove(kind, key)
        self._judge(t, self._dependencies.affected(kind, key, old, None))
        if kind == "pods":
            self._verdicts.pop(key, None)

    def _judge(self, t: float, pods: Iterable[str]) -> None:
        self._revision += 1
        for key in pods:
            if key not in self.cluster.pods:
                continue  # malformed
            verdict = evaluate(self.cluster.pods[key], self.cluster, self._revision).verdict
            past = self._verdicts[key]
            past.append((t, sentences(verdict)))
            while len(past) > 1 and past[1][0] <= t - WINDOW:
                past.popleft()

    def _event(self, t: float, event: Event) -> None:
        heard = (event.key, event.last_seen or "")
        if event.reason != FAILED_SCHEDULING or event.about.kind != "Pod" or heard in self._heard:
            return
        self._heard.add(heard)
        if not self._telling:
            return
        pod = f"{event.about.namespace}/{event.about.name}"
        self._spoken_of.add(pod)
        ours = tuple(dict.fromkeys(s for _, said in reversed(self._in_force(pod, t)) for s in said))
        words = _condition_text(self.cluster.pods.get(pod))
        repeated = event.series is not None and event.series.count > 1 and bool(words)
        said = [words if repeated else event.text]
        self._pending.append(_Pending(t, pod, event.text, repeated, said, ours))

    def _condition_changed(self, pod: Pod) -> None:
        words = _condition_text(pod)
        for pending in self._pending:
            if pending.repeated and pending.pod == pod.key and words and words not in pending.words:
                pending.words.append(words)

    def _in_force(self, pod: str, t: float) -> list[tuple[float, tuple[str, ...]]]:
        past = list(self._verdicts.get(pod, ()))
        while len(past) > 1 and past[1][0] <= t - WINDOW:
            past.pop(0)
        return past


def _condition_text(pod: Pod | None) -> str:
    condition = pod.status.condition("PodScheduled") if pod else None
    return condition.message if condition and condition.status == "False" else ""


def _told_by(pending: _Pending, not_judged: str) -> Said:
    if not_judged:
        return Said(pending.at, pending.pod, pending.text, None, (), ())
    compared = [(words, *compare(words, pending.ours)) for words in pending.words]
    words, agrees, clauses = next((c for c in compared if c[1]), compared[0])
    source = "event" if words == pending.text else "condition"
    return Said(pending.at, pending.pod, words, agrees, clauses, pending.ours, source)


def _version_of(obj: dict[str, Any]) -> int:
    meta = obj.get("metadata")
    version = str(meta.get("resourceVersion", "")) if isinstance(meta, dict) else ""
    return int(version) if version.isascii() and version.isdigit() and len(version) < 20 else 0


def key_of(obj: dict[str, Any]) -> str:
    """namespace/name of a raw object; "" parts for what is missing."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return ""
    name, namespace = str(meta.get("name", "")), meta.get("namespace")
    return f"{namespace}/{name}" if namespace else name
