"""The server's HTTP protocol, which refuses a websocket's handshake in words where the websocket library says nothing.

That library reads the request once more, with limits of its own, and ends the connection without an answer when a line
is longer than they allow; a browser then tries again for ever.
"""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets.http11 import MAX_LINE_LENGTH, MAX_NUM_HEADERS

_AROUND: Final = len(b"GET  HTTP/1.1\r\n")  # of the request line, beside the address
_BETWEEN: Final = len(b": \r\n")


class Protocol(HttpToolsProtocol):
    def handle_websocket_upgrade(self) -> None:
        wrong = refusal(self.url, list(self.scope["headers"]))
        if wrong:
            self.send_400_response(wrong)
        else:
            super().handle_websocket_upgrade()


def refusal(address: bytes, headers: list[tuple[bytes, bytes]]) -> str:
    """What is too large of the handshake; "": nothing."""
    if len(address) + _AROUND > MAX_LINE_LENGTH:
        return "The address is too long."
    if any(len(name) + len(value) + _BETWEEN > MAX_LINE_LENGTH for name, value in headers):
        return "A header is too long."
    return "There are too many headers." if len(headers) > MAX_NUM_HEADERS else ""
