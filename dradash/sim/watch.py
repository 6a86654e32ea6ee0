"""One watch: a place in a collection's history, read by one thread or task that is woken by every change.

The history itself is the buffer, so a slow reader costs no memory; one that is too slow ends with 410 Expired.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dradash.sim.apierrors import ApiError
from dradash.sim.resources import Resource
from dradash.sim.selectors import Predicate
from dradash.sim.storage import Collection, Entry, Stored

BATCH: Final = 500


class Event(msgspec.Struct, frozen=True):
    """type: ADDED, MODIFIED or DELETED. `entry` is set when the line may be shared with other watches."""

    type: str
    stored: Stored
    entry: Entry | None = None

    def line(self, resource: Resource, version: str) -> bytes:
        """The event as one line of JSON, newline included."""
        if self.entry is None:
            return watch_line(self.type, self.stored.raw(resource, version))
        line = self.entry.lines.get(version)
        if line is None:
            line = self.entry.lines[version] = watch_line(self.type, self.stored.raw(resource, version))
        return line


def watch_line(type_: str, raw: bytes) -> bytes:
    return b'{"type":"' + type_.encode() + b'","object":' + raw + b"}\n"


def bookmark(resource: Resource, version: str, revision: int) -> bytes:
    """The object of a BOOKMARK event: nothing but its resourceVersion."""
    body = {
        "kind": resource.kind,
        "apiVersion": resource.api_version(version),
        "metadata": {"resourceVersion": str(revision), "creationTimestamp": None},
    }
    return msgspec.json.encode(body)


class Watch:
    """`wake` is called (with the server's lock held) when there is something to read, at most once per `drain`."""

    def __init__(
        self,
        collection: Collection,
        lock: threading.RLock,
        place: int,
        *,
        initial: list[Stored],
        namespace: str,
        matches: Predicate | None,
        revision: Callable[[], int],
    ) -> None:
        self.resource = collection.resource
        self.closed = False
        self.error: ApiError | None = None
        self._collection = collection
        self._lock = lock
        self._place = place
        self._initial = initial
        self._namespace = namespace
        self._matches = matches
        self._revision = revision
        self._armed = False
        self._ready = threading.Event()
        self.wake: Callable[[], None] = self._ready.set

    def notify(self) -> None:
        if self._armed:
            self._armed = False
            self.wake()

    def close(self) -> None:
        """End the watch; whoever waits for it is woken."""
        with self._lock:
            self.closed = True
            self._collection.watchers.discard(self)
            self.wake()

    def drain(self) -> tuple[list[Event], int]:
        """What has happened since the last time, and the revision up to which that is everything.

        Empty when nothing has happened, when the watch is closed, or with `error` set when it cannot go on.
        """
        with self._lock:
            self._ready.clear()
            if self._initial:
                first, self._initial = self._initial[:BATCH], self._initial[BATCH:]
                return [Event("ADDED", stored) for stored in first], 0
            if self.closed:
                self.wake()
                return [], 0
            self._armed = True
            try:
                entries = self._collection.read(self._place, BATCH)
            except ApiError as error:
                self.error = error
                self.close()
                return [], 0
            self._place += len(entries)
            complete = self._revision() if self._place == self._collection.end else entries[-1].revision
            if len(entries) == BATCH:
                self.notify()
        return [event for entry in entries if (event := self._seen(entry)) is not None], complete

    def wait(self, timeout: float) -> bool:
        """Block until there may be something to drain (only with the watch's own `wake`)."""
        return self._ready.wait(timeout)

    def _seen(self, entry: Entry) -> Event | None:
        """The event as this watch's selectors see it."""
        if entry.hidden or (self._namespace and entry.stored.metadata.get("namespace") != self._namespace):
            return None
        if self._matches is None:
            return Event(entry.type, entry.stored, entry)
        matched = entry.previous is not None and self._matches(entry.previous.object)
        matches = self._matches(entry.stored.object)
        if entry.type == "DELETED":
            return Event("DELETED", entry.stored) if matched or matches else None
        if matches:
            return Event("MODIFIED" if matched else "ADDED", entry.stored)
        if matched and entry.previous is not None:
            return Event("DELETED", _renumbered(entry.previous, entry.stored.metadata["resourceVersion"]))
        return None


def _renumbered(stored: Stored, version: str) -> Stored:
    obj: dict[str, Any] = {**stored.object, "metadata": {**stored.metadata, "resourceVersion": version}}
    return Stored(obj, int(version), {})
