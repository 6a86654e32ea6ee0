"""A watch's response as a stream of events: raw lines off the socket, in batches of what is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import urllib3

from dradash.informer.chunked import BrokenChunks, Dechunker, Lines
from dradash.informer.sockets import shut_down_socket
from dradash.informer.source import MALFORMED, Unavailable, WatchEvent

READ_SIZE: Final = 256 * 1024
_BREAKS: Final = (urllib3.exceptions.HTTPError, OSError, ValueError, BrokenChunks)


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


_LINE: Final = msgspec.json.Decoder(_Line)


class KubernetesWatch:
    """A watch's events, in batches of what one read of the socket brings."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        # The reader below http.client's own chunk decoding, see chunked.py. There is none when the body is empty.
        raw = getattr(response, "_fp")  # noqa: B009
        self._reader = raw.fp
        self._chunked = bool(raw.chunked)
        self._left: int | None = None if self._chunked else raw.length  # None: until the connection ends
        self._socket = getattr(getattr(self._reader, "raw", None), "_sock", None)
        self._closed = False

    def __iter__(self) -> Iterator[WatchEvent]:
        for batch in self.batches():
            yield from batch

    def batches(self) -> Iterator[tuple[WatchEvent, ...]]:
        lines = Lines()
        try:
            for data in self._data():
                events = tuple(_event(line) for line in lines.feed(data))
                if events:
                    yield events
            if lines.unfinished and not self._closed:
                raise Unavailable("the watch broke off in the middle of an event")
        except _BREAKS as error:
            if not self._closed:
                raise Unavailable(f"the watch broke off: {str(error) or type(error).__name__}") from error
        finally:
            self._response.close()

    def _data(self) -> Iterator[bytes]:
        """Pieces of the body, each as soon as it is there."""
        dechunker = Dechunker()
        while self._reader is not None and self._left != 0:
            data = self._reader.read1(READ_SIZE if self._left is None else min(self._left, READ_SIZE))
            if not data:
                self._check_complete()
                return
            if self._left is not None:
                self._left -= len(data)
            yield dechunker.feed(data) if self._chunked else data
            if dechunker.finished:
                return

    def _check_complete(self) -> None:
        if (self._chunked or self._left is not None) and not self._closed:
            raise Unavailable("the connection of the watch was lost")

    def close(self) -> None:
        self._closed = True
        if self._socket is not None:
            shut_down_socket(self._socket)


def _event(line: bytes) -> WatchEvent:
    try:
        read = _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return WatchEvent(MALFORMED, line)
    return WatchEvent(read.type, bytes(read.object))
