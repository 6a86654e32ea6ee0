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
    """403: a permission is missing."""


class Unauthorized(Forbidden):
    """401: the credentials themselves are not accepted, so no kind can be read with them."""


class NotServed(SourceError):
    """404: the API server does not serve this resource."""


class TooManyRequests(SourceError):
    def __init__(self, message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds, None when the server named none


class Unavailable(SourceError):
    """No connection, a time-out, a 5xx, or an answer that is not understood."""


class _StatusDetails(msgspec.Struct, rename="camel"):
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct):
    """metav1.Status, the API server's way to say what went wrong."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _StatusDetails | None = None


_ERRORS: Final[dict[int, type[SourceError]]] = {401: Unauthorized, 403: Forbidden, 404: NotServed, 410: Gone}
NOT_ACCEPTED: Final = "the API server does not accept the credentials (any more)"
_LONGEST_MESSAGE: Final = 500  # characters; a proxy's error page may be large


def error_of_status(raw: bytes, code: int = 0, retry_after: float | None = None) -> SourceError:
    """The error that a Status names: an ERROR event's object, or the body of a response with HTTP status `code`.

    The body of a response need not be a Status (proxies answer with a page of their own). retry_after is what the
    response's header asks for, in seconds.
    """
    try:
        status = msgspec.json.decode(raw, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = raw[:_LONGEST_MESSAGE].decode(errors="replace").strip()
        status = _Status(message=f"HTTP {code}: {text}" if code else "an error that cannot be read")
    code = code or status.code or 0
    unsaid = "too many requests (429)" if code == 429 else f"error {code} without a message"
    message = (status.message or status.reason or unsaid)[:_LONGEST_MESSAGE]
    if code == 429:
        asked = status.details.retry_after_seconds if status.details else None
        return TooManyRequests(message, asked if retry_after is None else retry_after)
    if code == 401:
        message = f"{NOT_ACCEPTED}: {message}. Renew those of the kubeconfig: it is read anew at each retry"
    return _ERRORS.get(code, Unavailable)(message)


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
