"""Replays a recording without waiting, and compares each FailedScheduling message with our verdict at that moment."""

from __future__ import annotations

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
    """A message that is not compared yet: what belongs to its moment may still come, for up to WINDOW.

    Each kind has a watch of its own, so a row may overtake another. resourceVersions count over all kinds: a change
    with a lower one than the event's was there when the scheduler spoke.
    """

    at: float
    pod: str
    version: int  # the event's resourceVersion, 0 when it has none that can be compared
    text: str  # the event's own
    repeated: bool  # a series' event, whose own text is its first one
    words: list[str]  # what may have been said: the text, or for a series the condition's texts in the window
    ours: list[str]


class Replay:
    """Takes a recording's rows in order (the shape of the recordings' README)."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._dependencies = Dependencies(self.cluster)
        self._revision = 0
        # Per pod: (time, possible sentences), oldest first; the first one was in force when the window began.
        self._verdicts: defaultdict[str, deque[tuple[float, tuple[str, ...]]]] = defaultdict(deque)
        self._heard: set[tuple[str, str]] = set()  # event and its last time: a list may repeat what a watch told
        self._pending: deque[_Pending] = deque()
        self._listed_events = False
        self._telling = True  # False while the events are read that were there before the recording
        self._version = 0  # resourceVersion of the change being applied
        self.not_judged = ""  # an API version of resource.k8s.io in the recording that we do not judge

    def take(self, t: float, kind: str, change: str, obj: dict[str, Any]) -> Iterator[Said]:
        """Apply one row; yields what can be told by now. Call `end` after the last one."""
        while self._pending and self._pending[0].at + WINDOW < t:
            yield self._told(self._pending.popleft())
        if kind not in KINDS or change in ("BOOKMARK", "ERROR"):
            return
        if change == "LIST":
            self._list(t, kind, obj)
        else:
            self._change(t, kind, change, obj)

    def end(self) -> Iterator[Said]:
        while self._pending:
            yield self._told(self._pending.popleft())

    def _list(self, t: float, kind: str, obj: dict[str, Any]) -> None:
        """A list replaces: objects that are not in it are gone."""
        items = [i for i in obj.get("items") or () if isinstance(i, dict)]
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
        self._version = _version_of(obj)
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
            verdict = evaluate(self.cluster.pods[key], self.cluster, self._revision).verdict
            past = self._verdicts[key]
            past.append((t, sentences(verdict)))
            self._overtaken(key, sentences(verdict))
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
        ours = list(dict.fromkeys(s for _, said in reversed(self._in_force(pod, t)) for s in said))
        words = _condition_text(self.cluster.pods.get(pod))
        repeated = event.series is not None and event.series.count > 1 and bool(words)
        said = [words if repeated else event.text]
        self._pending.append(_Pending(t, pod, self._version, event.text, repeated, said, ours))

    def _overtaken(self, pod: str, said: tuple[str, ...]) -> None:
        """A change that arrived after an event, but was made before it."""
        for pending in self._pending:
            if pending.pod == pod and 0 < self._version < pending.version:
                pending.ours += [s for s in said if s not in pending.ours]

    def _condition_changed(self, pod: Pod) -> None:
        words = _condition_text(pod)
        for pending in self._pending:
            if pending.repeated and pending.pod == pod.key and words and words not in pending.words:
                pending.words.append(words)

    def _told(self, pending: _Pending) -> Said:
        if self.not_judged:
            return Said(pending.at, pending.pod, pending.text, None, (), ())
        ours = tuple(pending.ours)
        compared = [(words, *compare(words, ours)) for words in pending.words]
        words, agrees, clauses = next((c for c in compared if c[1]), compared[0])
        source = "event" if words == pending.text else "condition"
        return Said(pending.at, pending.pod, words, agrees, clauses, ours, source)

    def _in_force(self, pod: str, t: float) -> list[tuple[float, tuple[str, ...]]]:
        past = list(self._verdicts.get(pod, ()))
        while len(past) > 1 and past[1][0] <= t - WINDOW:
            past.pop(0)
        return past


def _condition_text(pod: Pod | None) -> str:
    condition = pod.status.condition("PodScheduled") if pod else None
    return condition.message if condition and condition.status == "False" else ""


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
