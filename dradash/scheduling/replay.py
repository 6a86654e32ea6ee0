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


class _Repeated(msgspec.Struct):
    """A series' event: its words are the pod's condition, which may come up to WINDOW after it."""

    at: float
    pod: str
    text: str  # the event's own
    words: list[str]  # the condition's texts from the event to the end of the window
    ours: tuple[str, ...]


class Replay:
    """Takes a recording's rows in order (the shape of the recordings' README)."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._dependencies = Dependencies(self.cluster)
        self._revision = 0
        # Per pod: (time, possible sentences), oldest first; the first one was in force when the window began.
        self._verdicts: defaultdict[str, deque[tuple[float, tuple[str, ...]]]] = defaultdict(deque)
        self._heard: set[tuple[str, str]] = set()  # event and its last time: a list may repeat what a watch told
        self._repeated: deque[_Repeated] = deque()
        self._listed_events = False

    def take(self, t: float, kind: str, change: str, obj: dict[str, Any]) -> Iterator[Said]:
        """Apply one row; yields what can be told by now. Call `end` after the last one."""
        while self._repeated and self._repeated[0].at + WINDOW < t:
            yield _told(self._repeated.popleft())
        if kind not in KINDS or change in ("BOOKMARK", "ERROR"):
            return
        if change == "LIST":
            yield from self._list(t, kind, obj)
        else:
            yield from self._change(t, kind, change, obj)

    def end(self) -> Iterator[Said]:
        while self._repeated:
            yield _told(self._repeated.popleft())

    def _list(self, t: float, kind: str, obj: dict[str, Any]) -> Iterator[Said]:
        """A list replaces: objects that are not in it are gone."""
        items = [i for i in obj.get("items") or () if isinstance(i, dict)]
        gone = set(self.cluster.raw[kind]) - {key_of(i) for i in items}
        for key in gone:
            self._remove(t, kind, key)
        first_events = kind == "events" and not self._listed_events
        self._listed_events = self._listed_events or first_events
        for item in items:
            told = list(self._change(t, kind, "ADDED", item))
            if not first_events:  # what was said before the recording began belongs to no moment in it
                yield from told

    def _change(self, t: float, kind: str, change: str, obj: dict[str, Any]) -> Iterator[Said]:
        key = key_of(obj)
        if change == "DELETED":
            self._remove(t, kind, key)
            return
        old, new = self.cluster.put(kind, key, msgspec.json.encode(obj))
        if isinstance(new, Pod):
            self._condition_changed(new)
        if isinstance(new, Event):
            yield from self._event(t, new)
        else:
            self._judge(t, self._dependencies.affected(kind, key, old, new))

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
            while len(past) > 1 and past[1][0] <= t - WINDOW:
                past.popleft()

    def _event(self, t: float, event: Event) -> Iterator[Said]:
        heard = (event.key, event.last_seen or "")
        if event.reason != FAILED_SCHEDULING or event.about.kind != "Pod" or heard in self._heard:
            return
        self._heard.add(heard)
        pod = f"{event.about.namespace}/{event.about.name}"
        ours = tuple(dict.fromkeys(s for _, said in reversed(self._in_force(pod, t)) for s in said))
        words = _condition_text(self.cluster.pods.get(pod))
        if event.series is not None and event.series.count > 1 and words:
            self._repeated.append(_Repeated(t, pod, event.text, [words], ours))
        else:
            agrees, clauses = compare(event.text, ours)
            yield Said(t, pod, event.text, agrees, clauses, ours)

    def _condition_changed(self, pod: Pod) -> None:
        words = _condition_text(pod)
        for repeated in self._repeated:
            if repeated.pod == pod.key and words and words not in repeated.words:
                repeated.words.append(words)

    def _in_force(self, pod: str, t: float) -> list[tuple[float, tuple[str, ...]]]:
        past = list(self._verdicts.get(pod, ()))
        while len(past) > 1 and past[1][0] <= t - WINDOW:
            past.pop(0)
        return past


def _condition_text(pod: Pod | None) -> str:
    condition = pod.status.condition("PodScheduled") if pod else None
    return condition.message if condition and condition.status == "False" else ""


def _told(repeated: _Repeated) -> Said:
    compared = [(words, *compare(words, repeated.ours)) for words in repeated.words]
    words, agrees, clauses = next((c for c in compared if c[1]), compared[0])
    source = "event" if words == repeated.text else "condition"
    return Said(repeated.at, repeated.pod, words, agrees, clauses, repeated.ours, source)


def key_of(obj: dict[str, Any]) -> str:
    """namespace/name of a raw object; "" parts for what is missing."""
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return ""
    name, namespace = str(meta.get("name", "")), meta.get("namespace")
    return f"{namespace}/{name}" if namespace else name
