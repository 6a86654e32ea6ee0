"""Events as the real clients write them: kube-scheduler's in series, those of controllers and drivers with a count.

Ports client-go 1.30 tools/events (eventBroadcasterImpl, as stored through core/v1) and tools/record in outline.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Final

from dradash.sim.actors import Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer

Object = dict[str, Any]

EVENTS: Final = "events"
MERGE_PATCH: Final = "application/merge-patch+json"
NOTE_LENGTH_LIMIT: Final = 1024
FINISH_TIME: Final = 360.0  # simulated seconds after which a series that does not go on ends
MOST_KNOWN: Final = 4096  # events that a recorder remembers

_serial = itertools.count(1)


# events.k8s.io/v1 -> core/v1, where the names differ: pkg/apis/core and pkg/apis/events/v1/conversion.go of Kubernetes.
_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def as_core_event(event: Object) -> Object:
    """An event of events.k8s.io/v1 as core/v1 shows it."""
    return {**{_CORE_NAMES.get(name, name): value for name, value in event.items()}, "apiVersion": "v1"}


def reference(obj: Object, kind: str, api_version: str) -> Object:
    """ObjectReference to an object as its writer saw it: the resourceVersion is part of it."""
    metadata = obj["metadata"]
    ref = {"kind": kind, "namespace": metadata.get("namespace", ""), "name": metadata["name"], "uid": metadata["uid"]}
    return {**ref, "apiVersion": api_version, "resourceVersion": metadata.get("resourceVersion", "")}


def _event_name(name: str, clock: Clock) -> str:
    # Nanoseconds, as client-go names events; the serial makes two of the same clock tick differ.
    return f"{name}.{int(clock.unix() * 1e6) * 1000 + next(_serial) % 1000:x}"


class SeriesRecorder:
    """The scheduler's recorder: a repeated event becomes a series of the first one, whose text stays.

    Events are the same when object (with its resourceVersion), type, reason and action are; the message is not
    looked at. The second one is written at once, further ones only when the series ends.
    """

    def __init__(self, server: APIServer, clock: Clock, component: str, instance: str) -> None:
        self._server = server
        self._clock = clock
        self._component = component
        self._instance = instance
        self._known: dict[tuple[str, ...], _Series] = {}

    def record(self, about: Object, type_: str, reason: str, action: str, message: str) -> None:
        """Write it, or note that it was repeated. Refusals of the API server are not for the caller to handle."""
        key = (*(str(v) for v in about.values()), type_, reason, action)
        series = self._known.get(key)
        if series is not None:
            series.count += 1
            series.last, series.seen = self._clock.micro_time(), self._clock.seconds()
            if series.count == 2:
                self._write_series(series)
            return
        event = self._event(about, type_, reason, action, message)
        self._known[key] = _Series(event["metadata"]["namespace"], event["metadata"]["name"], self._clock.seconds())
        with contextlib.suppress(ApiError):
            self._server.create(EVENTS, event)

    def finish(self) -> None:
        """End the series that have not been repeated for a while (finishSeries); call it now and then."""
        now = self._clock.seconds()
        for key, series in list(self._known.items()):
            if now - series.seen >= FINISH_TIME:
                if series.count > 2:
                    self._write_series(series)
                del self._known[key]

    def _event(self, about: Object, type_: str, reason: str, action: str, message: str) -> Object:
        if len(message) > NOTE_LENGTH_LIMIT:
            message = message[: NOTE_LENGTH_LIMIT - 4] + " ..."
        namespace = about.get("namespace") or "default"
        return {
            "metadata": {"name": _event_name(about["name"], self._clock), "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "source": {},
            "type": type_,
            "eventTime": self._clock.micro_time(),
            "action": action,
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }

    def _write_series(self, series: _Series) -> None:
        body = {"series": {"count": series.count, "lastObservedTime": series.last}}
        with contextlib.suppress(ApiError):  # it may have expired
            self._server.patch(EVENTS, series.name, body, MERGE_PATCH, series.namespace)


class _Series:
    __slots__ = ("count", "last", "name", "namespace", "seen")

    def __init__(self, namespace: str, name: str, seen: float) -> None:
        self.namespace = namespace
        self.name = name
        self.count = 1
        self.last = ""
        self.seen = seen


class CountRecorder:
    """The recorder of controllers: an event with the same object and text is counted up."""

    def __init__(self, server: APIServer, clock: Clock, component: str) -> None:
        self._server = server
        self._clock = clock
        self._component = component
        self._known: dict[tuple[str, ...], tuple[str, int]] = {}  # -> the event's name, its count

    def record(self, about: Object, type_: str, reason: str, message: str) -> None:
        key = (*(str(v) for v in about.values()), type_, reason, message)
        namespace = about.get("namespace") or "default"
        name, count = self._known.get(key, ("", 0))
        if name:
            body = {"count": count + 1, "lastTimestamp": self._clock.time()}
            try:
                self._server.patch(EVENTS, name, body, MERGE_PATCH, namespace)
            except ApiError:
                count = 0  # it has expired: begin again
            else:
                self._known[key] = (name, count + 1)
                return
        self._create(key, about, namespace, type_, reason, message)

    def _create(
        self, key: tuple[str, ...], about: Object, namespace: str, type_: str, reason: str, message: str
    ) -> None:
        now, name = self._clock.time(), _event_name(about["name"], self._clock)
        event = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message[:NOTE_LENGTH_LIMIT],
            "source": {"component": self._component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type_,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        with contextlib.suppress(ApiError):
            self._server.create(EVENTS, event)
            while len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[key] = (name, 1)
