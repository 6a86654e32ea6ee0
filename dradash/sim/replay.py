"""Plays a recording of a real cluster into the API server, at any speed; at its end everything stays as it is.

UIDs and times stay those of the recording; resourceVersions are the server's own, so that clients can resume by them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dradash.informer.recording import BadRecording, Row, quiet, read
from dradash.kinds.registry import KINDS
from dradash.sim.actors import Actor, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import as_core_event

log = logging.getLogger(__name__)

Object = dict[str, Any]


def check(path: Path, warn: Callable[[str], None] = log.warning) -> float:
    """Read the recording through; its length in seconds. Raises BadRecording (with the line) and OSError.

    warn: told when it breaks off in its last line.
    """
    return max((row.t for row in read(path, warn)), default=0.0)


def versions(path: Path) -> tuple[str, ...]:
    """The versions of resource.k8s.io that the recorded cluster served, as far as they are in the recording.

    Kinds that no such version has were not served: the simulated cluster must not say that there are none of them.
    """
    found: dict[str, None] = {}
    for row in read(path, quiet):
        group, _, version = str(_first(row.object).get("apiVersion", "")).rpartition("/")
        kind = KINDS.get(row.kind)
        if kind and kind.group and group == kind.group:
            found[version] = None
    return tuple(found)


def _first(obj: dict[str, Any]) -> dict[str, Any]:
    """The object itself, or the list's first item, which may lack the version that the list has."""
    items = obj.get("items")
    if not isinstance(items, list):
        return obj
    version = str(obj.get("apiVersion", ""))
    return {"apiVersion": version} if version else next((i for i in items if isinstance(i, dict)), {})


class Player:
    """Applies rows to a server; kinds that it does not serve are skipped, with one log line for each."""

    def __init__(self, server: APIServer) -> None:
        self._server = server
        self._skipped: set[str] = set()

    def play(self, row: Row) -> None:
        """Raises ApiError for an object that no API server could have sent."""
        if row.kind == "events":
            row = _with_core_events(row)
        if not self._serves(row):
            version = row.object.get("apiVersion", "")
            what = f"{row.kind} ({version})" if version else row.kind
            if what not in self._skipped:
                self._skipped.add(what)
                log.warning("the recording's %s are left out: the simulated cluster does not serve them", what)
        elif row.type == "LIST":
            self._list(row)
        elif row.type in ("ADDED", "MODIFIED", "DELETED"):
            self._put(row.kind, row.type, row.object)

    def _serves(self, row: Row) -> bool:
        """Objects of another version have other fields; they are not translated."""
        resource = self._server.resources.get(row.kind)
        if resource is None:
            return False
        return row.object.get("apiVersion") in (None, *map(resource.api_version, resource.versions))

    def _list(self, row: Row) -> None:
        """A list replaces what there was; items come without kind and apiVersion."""
        items = [item for item in row.object.get("items") or () if isinstance(item, dict)]
        listed = {_place(item) for item in items}
        for old in self._server.list(row.kind):
            if _place(old) not in listed and not (row.kind == "namespaces" and _is_used(self._server, old)):
                self._put(row.kind, "DELETED", old)
        for item in items:
            self._put(row.kind, "ADDED", item)

    def _put(self, kind: str, type_: str, obj: Object) -> None:
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            raise ApiError(400, "BadRequest", f"one of the {kind} has no name")
        own = {k: v for k, v in metadata.items() if k != "resourceVersion"}
        self._server.replay(kind, type_, {**obj, "metadata": own})


def _with_core_events(row: Row) -> Row:
    """Events of events.k8s.io/v1 as core/v1 has them: API servers serve the same ones in both groups."""
    if row.object.get("apiVersion") != "events.k8s.io/v1" or not isinstance(row.object.get("items", []), list):
        return row
    items = row.object.get("items")
    if items is None:
        return Row(row.t, row.kind, row.type, as_core_event(row.object))
    core = [as_core_event(item) if isinstance(item, dict) else item for item in items]
    return Row(row.t, row.kind, row.type, {**row.object, "apiVersion": "v1", "items": core})


def _place(obj: Object) -> tuple[Any, Any]:
    metadata = obj.get("metadata")
    return (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, dict) else (None, None)


def _is_used(server: APIServer, namespace: Object) -> bool:
    """Recordings may name few namespaces; those in which something is, and the system's own, stay."""
    name = namespace["metadata"]["name"]
    return name in ("default", "kube-system") or any(
        server.list(r.plural, name) for r in server.resources.values() if r.namespaced
    )


class Recorded(Actor):
    """The recording as an actor: the lists that it begins with at once, then row by row, each at its time.

    patience: seconds (real ones) to wait until each served resource is watched, so that nothing is over before anybody
    looks. Who watches has listed before.
    """

    def __init__(self, server: APIServer, clock: Clock, path: Path, *, patience: float = 0.0) -> None:
        super().__init__(server, clock)
        self._path = path
        self._patience = patience
        self._player = Player(server)
        self._rows: Iterator[Row] = iter(())
        self._row: Row | None = None
        self._started: float | None = None
        self._deadline = 0.0
        self.over = threading.Event()  # for those who wait: everything has been played

    def on_start(self) -> None:
        self._deadline = self.clock.seconds() + self._patience * self.clock.speed
        self.server.on_watch = self._wake.set
        self._rows = read(self._path, quiet)  # `check` has warned
        self._advance()
        while self._row is not None and self._row.type == "LIST" and self._row.t == 0:
            self._play(self._row)

    def work(self) -> bool:
        row = self._row
        if row is None or not self._begun():
            return False
        assert self._started is not None  # noqa: S101 - it has begun
        wait = row.t - (self.clock.seconds() - self._started)
        if wait > 0:
            self.later("next", wait, lambda: None)
            return False
        self._play(row)
        return True

    def _begun(self) -> bool:
        if self._started is not None:
            return True
        left = self._deadline - self.clock.seconds()
        unwatched = self.server.unwatched() if self._patience else []
        if unwatched and left > 0:
            self.later("watched", left, lambda: None)
            return False
        if unwatched:
            log.warning(
                "nobody watches %s after %.0f s: the recording is played all the same",
                ", ".join(unwatched),
                self._patience,
            )
        elif self._patience:
            log.info("the cluster is watched: the recording begins")
        self._started = self.clock.seconds()
        return True

    def _play(self, row: Row) -> None:
        try:
            self._player.play(row)
        except ApiError as error:
            log.warning("%s: at %s s: %s; the row is left out", self._path, row.t, error)
        self._advance()

    def _advance(self) -> None:
        try:
            self._row = next(self._rows, None)
        except BadRecording as error:
            log.warning("%s; the replay ends here", error)
            self._row = None
        if self._row is None:
            self.over.set()
            log.info("the recording is over; the cluster stays as it is")
