"""A websocket's handshake that is too large is answered, not dropped."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from dradash.web.handshake import Protocol
from tests.patience import PATIENCE


async def refuse(scope: dict[str, Any], receive: Any, send: Any) -> None:
    assert scope["type"] == "websocket"
    await receive()
    await send({"type": "websocket.close"})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(refuse, http=Protocol, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield int(listener.getsockname()[1])
        server.should_exit = True
        thread.join(PATIENCE)


def answer(port: int, path: str, *headers: str) -> str:
    """The status line and the body."""
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *headers,
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        with client.makefile() as text:
            first = text.readline().strip()
            return first if "400" not in first else f"{first} {text.read().split(chr(10))[-1]}"


@pytest.mark.parametrize(
    ("path", "headers", "said"),
    [
        ("/live/pods", (), "HTTP/1.1 403 Forbidden"),
        ("/live/pods?q=" + "x" * 8164, (), "HTTP/1.1 403 Forbidden"),
        ("/live/pods?q=" + "x" * 8165, (), "HTTP/1.1 400 Bad Request The address is too long."),
        ("/live/pods?q=" + "x" * 60_000, (), "HTTP/1.1 400 Bad Request The address is too long."),
        ("/live/pods", ("X-Long: " + "x" * 9000,), "HTTP/1.1 400 Bad Request A header is too long."),
        ("/live/pods", ("X-Many: x",) * 200, "HTTP/1.1 400 Bad Request There are too many headers."),
    ],
)
def test_every_handshake_gets_an_answer(port: int, path: str, headers: tuple[str, ...], said: str) -> None:
    assert answer(port, path, *headers) == said
