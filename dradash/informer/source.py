"""Where the informer reads from: the API server over HTTP (kubernetes_source.py) or the simulator in-process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol, runtime_checkable

import msgspec

from dradash.kinds.registry import Kind

MALFORMED: Final = ""  # WatchEvent.type of a line that is no watch event: it is counted, the watch goes on


class SourceError(Exception):
    """Anything that went wrong between us and the API server; the message is fit for a page."""


class Gone(SourceError):
    """410: the resourceVersion or continue token is too old; list again."""


class Forbidden(SourceError):
    """401 or 403."""


class NotServed(SourceError):
    """404: the API server does not serve this resource."""


class TooManyRequests(SourceError):
    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds, None when the server named none


class Unavailable(SourceError):
    """No connection, a time-out, a 5xx, or an answer that is not understood."""


class ListPage(msgspec.Struct, frozen=True):
    items: tuple[bytes, ...]  # each object's JSON
    resource_version: str
    continue_token: str = ""


class WatchEvent(msgspec.Struct, frozen=True):
    """type: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR; for ERROR `object` is a metav1.Status.

    A line that cannot be read as such has type MALFORMED and the line itself as `object`.
    """

    type: str
    object: bytes


class WatchStream(Protocol):
    """Iterates over events until the server ends the watch; `close` from another thread ends it at once.

    Iterating raises SourceError when the watch breaks; after `close` it just ends.
    """

    def __iter__(self) -> Iterator[WatchEvent]: ...

    def close(self) -> None: ...


@runtime_checkable
class BatchedStream(Protocol):
    """A WatchStream that knows which events are there without waiting, so that they can be written together."""

    def batches(self) -> Iterator[tuple[WatchEvent, ...]]: ...


def in_batches(stream: WatchStream) -> Iterator[tuple[WatchEvent, ...]]:
    """Everything that is readable now, again and again; one event at a time from a stream that cannot tell."""
    if isinstance(stream, BatchedStream):
        yield from stream.batches()
        return
    for event in stream:
        yield (event,)


class Source(Protocol):
    def discover(self) -> dict[str, frozenset[str]]:
        """Served resources: "v1" or "resource.k8s.io/v1alpha2" -> plurals. Raises SourceError."""

    def list(self, kind: Kind, version: str, limit: int, continue_token: str) -> ListPage: ...

    def watch(self, kind: Kind, version: str, resource_version: str, timeout: int) -> WatchStream:
        """Watch from resource_version with bookmarks; the server ends it after `timeout` seconds."""

    def get(self, kind: Kind, version: str, namespace: str, name: str) -> bytes | None:
        """One object's JSON as it is now, None when there is none. Raises SourceError."""


@runtime_checkable
class Closable(Protocol):
    def close(self) -> None:
        """Ends every request under way, from any thread; the source is not used afterwards."""
