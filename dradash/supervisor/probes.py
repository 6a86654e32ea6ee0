"""How the supervisor sees that a child is ready. Each probe tries once, quickly; the supervisor repeats it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

Probe = Callable[[], Awaitable[bool]]

ATTEMPT: Final = 5.0  # seconds that one attempt may take


@contextlib.asynccontextmanager
async def _unix(path: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield reader, writer
    finally:
        writer.close()


async def at_once() -> bool:
    """For a child that says itself when it is ready."""
    return True


def redis_answers(path: Path) -> Probe:
    """PING over the server's unix socket. Spoken by hand: only the store knows a Redis client."""

    async def probe() -> bool:
        try:
            async with asyncio.timeout(ATTEMPT), _unix(path) as (reader, writer):
                writer.write(b"PING\r\n")
                return (await reader.readline()).startswith(b"+PONG")
        except OSError:
            return False

    return probe


def http_answers(host: str, port: int, path: str) -> Probe:
    """GET gives anything but a server error (a page may ask to sign in first)."""

    async def probe() -> bool:
        try:
            async with asyncio.timeout(ATTEMPT):
                reader, writer = await asyncio.open_connection(host, port)
                try:
                    writer.write(f"GET {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                    status = (await reader.readline()).split()
                finally:
                    writer.close()
                return len(status) > 1 and status[1].isdigit() and int(status[1]) < 500
        except OSError:
            return False

    return probe


def file_written(path: Path) -> Probe:
    async def probe() -> bool:
        try:
            return os.stat(path).st_size > 0
        except FileNotFoundError:
            return False

    return probe


class Notification:
    """The child itself says READY=1 (lifecycle.notify_ready) to a datagram socket at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ready = False
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.setblocking(False)
        self._sock.bind(str(path))

    def received(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            self._ready |= b"READY=1" in self._sock.recv(4096)
        return self._ready

    def close(self) -> None:
        self._sock.close()
