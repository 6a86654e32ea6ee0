"""Objects, resource versions and watch history of the simulated API server: what etcd and the watch cache are to it.

Everything here is called with the server's lock held. Stored objects are never changed in place, so that readers may
use them after the lock is released.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

import msgspec

from dradash.sim import apierrors
from dradash.sim.apply import Owners
from dradash.sim.resources import Resource

Object = dict[str, Any]
HISTORY: Final = 20_000  # watch events kept for each resource


class Stored:
    """One version of an object: `object` and `body` (its JSON, encoded once) are without kind and apiVersion."""

    __slots__ = ("body", "object", "owners", "revision")

    def __init__(self, obj: Object, revision: int, owners: Owners) -> None:
        self.object = obj
        self.body = msgspec.json.encode(obj)
        self.revision = revision
        self.owners = owners

    def raw(self, resource: Resource, version: str = "") -> bytes:
        """The object's JSON with kind and apiVersion, in that version of the API."""
        resource = resource.of(self.object)
        version = version if version in resource.versions else ""
        head = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version(version)}",'
        return head.encode() + self.body[1:]

    @property
    def metadata(self) -> Object:
        metadata: Object = self.object["metadata"]
        return metadata

    @property
    def key(self) -> str:
        return object_key(self.metadata.get("namespace", ""), self.metadata["name"])


def object_key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class Entry:
    """One change. Its watch line is encoded once a version and shared by all watches."""

    __slots__ = ("hidden", "lines", "previous", "revision", "stored", "type")

    def __init__(self, type_: str, stored: Stored, previous: Stored | None, revision: int, *, hidden: bool) -> None:
        self.type = type_
        self.stored = stored
        self.previous = previous
        self.revision = revision
        self.hidden = hidden  # a fault: no watch gets to see it
        self.lines: dict[str, bytes] = {}


class Watcher(Protocol):
    def notify(self) -> None:
        """There is something to read; called with the lock held, so it must not block."""

    def close(self) -> None: ...


class Collection:
    """All objects of one resource, and its changes by revision."""

    def __init__(self, resource: Resource, history: int, compacted: int) -> None:
        self.resource = resource
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []  # sorted, as etcd lists them
        self.log: list[Entry] = []
        self.first = 0  # place of log[0] counted from the first entry ever
        self.compacted = compacted  # the oldest revision that can still be watched from
        self.watchers: set[Watcher] = set()
        self._history = history

    def commit(self, type_: str, stored: Stored, revision: int, *, hidden: bool) -> None:
        key = stored.key
        previous = self.objects.get(key)
        if type_ == "DELETED":
            self.objects.pop(key, None)
            place = bisect.bisect_left(self.keys, key)
            if place < len(self.keys) and self.keys[place] == key:
                del self.keys[place]
        else:
            if previous is None:
                bisect.insort(self.keys, key)
            self.objects[key] = stored
        self.log.append(Entry(type_, stored, previous, revision, hidden=hidden))
        if len(self.log) > 2 * self._history:
            self._trim(len(self.log) - self._history)
        for watcher in self.watchers:
            watcher.notify()

    def _trim(self, count: int) -> None:
        self.compacted = max(self.compacted, self.log[count - 1].revision)
        del self.log[:count]
        self.first += count

    @property
    def end(self) -> int:
        return self.first + len(self.log)

    def place_after(self, revision: int) -> int:
        """Where a watch from `revision` starts to read. Raises ApiError 410."""
        if revision < self.compacted:
            raise apierrors.too_old(revision, self.compacted)
        return self.first + bisect.bisect_right(self.log, revision, key=lambda entry: entry.revision)

    def read(self, place: int, limit: int) -> list[Entry]:
        """Entries from `place` on. Raises ApiError 410 when they have been dropped: the reader was too slow."""
        if place < self.first:
            raise apierrors.too_old(self.compacted - 1, self.compacted)
        start = place - self.first
        return self.log[start : start + limit]

    def at(self, revision: int) -> tuple[list[str], dict[str, Stored]]:
        """Sorted keys and objects as they were at `revision`. Raises ApiError 410."""
        if revision < self.compacted:
            raise apierrors.continue_expired()
        newer = self.log[self.place_after(revision) - self.first :]
        if not newer:
            return self.keys, self.objects
        objects = dict(self.objects)
        for entry in reversed(newer):
            if entry.previous is None:
                objects.pop(entry.stored.key, None)
            else:
                objects[entry.previous.key] = entry.previous
        return sorted(objects), objects

    def in_namespace(self, namespace: str) -> list[Stored]:
        return [self.objects[key] for key in keys_under(self.keys, namespace)]

    def end_watches(self) -> int:
        watchers = list(self.watchers)
        for watcher in watchers:
            watcher.close()
        return len(watchers)


def keys_under(keys: list[str], namespace: str, after: str = "") -> list[str]:
    """The sorted keys of a namespace ("" is all), behind `after`."""
    start = bisect.bisect_left(keys, f"{namespace}/") if namespace else 0
    end = bisect.bisect_left(keys, f"{namespace}0") if namespace else len(keys)  # "0" is the character behind "/"
    if after:
        start = max(start, bisect.bisect_right(keys, after))
    return keys[start:end]


class Storage:
    """All collections and the revision that they share. `first_revision` is older than any object."""

    def __init__(self, resources: Iterable[Resource], first_revision: int, history: int) -> None:
        self.revision = first_revision
        self.collections = {r.plural: Collection(r, history, first_revision) for r in resources}

    def write(
        self, collection: Collection, type_: str, obj: Object, owners: Owners, loses_event: Callable[[str], bool]
    ) -> Stored:
        """Store a new version of an object; its resourceVersion is the new revision."""
        self.revision += 1
        stamped = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.revision)}}
        stored = Stored(stamped, self.revision, owners)
        hidden = loses_event(collection.resource.plural)
        collection.commit(type_, stored, self.revision, hidden=hidden)
        return stored

    def write_as_recorded(self, collection: Collection, type_: str, obj: Object) -> Stored:
        """Store an object with the resourceVersion that it came with, if any.

        The server's revision follows recorded ones that are higher, and goes on by itself otherwise: every change has
        a place of its own in the history, so that a watch can be resumed at any of them.
        """
        version = obj["metadata"].get("resourceVersion", "")
        if not version.isdigit():
            return self.write(collection, type_, obj, {}, lambda _: False)
        self.revision = max(self.revision + 1, int(version))
        stored = Stored(obj, int(version), {})
        collection.commit(type_, stored, self.revision, hidden=False)
        return stored

    def compact(self, plural: str = "") -> None:
        """Forget the history: watches and continue tokens from before now get 410; open watches go on."""
        for name, collection in self.collections.items():
            if plural in ("", name):
                collection.compacted = self.revision
