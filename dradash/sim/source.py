"""informer.source.Source in-process: the reflectors read an APIServer object, with the same faults as over HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import msgspec

from dradash.informer.relevance import EVENTS_FIELD_SELECTOR
from dradash.informer.source import (
    ListPage,
    NotServed,
    SourceError,
    Unavailable,
    WatchEvent,
    error_of_status,
)
from dradash.kinds.registry import Kind
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.http import BOOKMARK_INTERVAL
from dradash.sim.listing import Query
from dradash.sim.resources import Resource
from dradash.sim.watch import Watch, bookmark


def _translated(error: ApiError) -> SourceError:
    return error_of_status(msgspec.json.encode(error.status()), error.code, error.retry_after)


def _selector(kind: Kind) -> str:
    """What the source over HTTP asks for."""
    return EVENTS_FIELD_SELECTOR if kind.plural == "events" else ""


class SimSource:
    """A Source over an APIServer in the same process."""

    def __init__(self, server: APIServer, *, bookmark_interval: float = BOOKMARK_INTERVAL) -> None:
        self._server = server
        self._bookmark_interval = bookmark_interval

    def discover(self) -> dict[str, frozenset[str]]:
        self._check_reachable()
        found: dict[str, set[str]] = {}
        for resource in self._server.resources.values():
            for version in resource.versions:
                found.setdefault(resource.api_version(version), set()).add(resource.plural)
        return {name: frozenset(plurals) for name, plurals in found.items()}

    def list(self, kind: Kind, version: str, limit: int, continue_token: str) -> ListPage:
        resource = self._admit(kind, version, "list")
        query = Query(limit=limit, continue_token=continue_token, field_selector=_selector(kind))
        try:
            page = self._server.list_page(kind.plural, query)
        except ApiError as error:
            raise _translated(error) from error
        items = tuple(page.bodies(resource, version))
        return ListPage(items=items, resource_version=str(page.revision), continue_token=page.continue_token)

    def watch(self, kind: Kind, version: str, resource_version: str, timeout: int) -> SimWatchStream:
        resource = self._admit(kind, version, "watch")
        try:
            watch = self._server.watch(kind.plural, "", resource_version, field_selector=_selector(kind))
        except ApiError as error:
            if error.code != 410:
                raise _translated(error) from error
            # Over HTTP the answer has begun by then, so it is an event there too.
            return self._stream(None, error, resource, version, timeout)
        return self._stream(watch, None, resource, version, timeout)

    def get(self, kind: Kind, version: str, namespace: str, name: str) -> bytes | None:
        resource = self._admit(kind, version, "get")
        try:
            return self._server.stored(kind.plural, name, namespace).raw(resource, version)
        except ApiError as error:
            if error.code == 404:
                return None
            raise _translated(error) from error

    def _stream(
        self, watch: Watch | None, error: ApiError | None, resource: Resource, version: str, timeout: int
    ) -> SimWatchStream:
        interval = self._bookmark_interval
        return SimWatchStream(watch, error, resource, version, timeout=timeout, bookmark_interval=interval)

    def _check_reachable(self) -> None:
        if not self._server.faults.reachable:
            raise Unavailable("the simulated API server cannot be reached (a fault on purpose)")

    def _admit(self, kind: Kind, version: str, verb: str) -> Resource:
        """What HTTP's front door does: routing, then faults."""
        self._check_reachable()
        resource = self._server.resources.get(kind.plural)
        if resource is None or resource.group != kind.group or version not in resource.versions:
            raise NotServed("the server could not find the requested resource")
        try:
            delay = self._server.faults.admit(resource, verb, "")
        except ApiError as error:
            raise _translated(error) from error
        if delay:
            threading.Event().wait(delay)
        return resource


class SimWatchStream:
    """Ends after `timeout` seconds, when closed, and after an ERROR event, as a watch over HTTP does."""

    def __init__(
        self,
        watch: Watch | None,
        error: ApiError | None,
        resource: Resource,
        version: str,
        *,
        timeout: int,
        bookmark_interval: float,
    ) -> None:
        self._watch = watch
        self._error = error
        self._resource = resource
        self._version = version
        self._timeout = timeout
        self._interval = bookmark_interval

    def __iter__(self) -> Iterator[WatchEvent]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[tuple[WatchEvent, ...]]:
        if self._watch is not None:
            yield from self._follow(self._watch)
            self._error = self._watch.error
        if self._error is not None:
            yield (WatchEvent("ERROR", msgspec.json.encode(self._error.status())),)

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _follow(self, watch: Watch) -> Iterator[tuple[WatchEvent, ...]]:
        deadline = time.monotonic() + self._timeout
        bookmark_at, revision = time.monotonic() + self._interval, 0
        try:
            while True:
                events, complete = watch.drain()
                revision = max(revision, complete)
                if events:
                    yield tuple(WatchEvent(e.type, e.stored.raw(self._resource, self._version)) for e in events)
                    continue
                now = time.monotonic()
                if watch.closed or now >= deadline:
                    return
                if now >= bookmark_at:
                    bookmark_at = now + self._interval
                    if revision:
                        yield (WatchEvent("BOOKMARK", bookmark(self._resource, self._version, revision)),)
                watch.wait(max(0.0, min(deadline, bookmark_at) - time.monotonic()))
        finally:
            watch.close()
