"""Connections that can be ended from another thread, at whatever point the request on them is."""

from __future__ import annotations

import socket
import threading
import weakref
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class Sockets:
    """Every open socket of the client, so that all requests under way can be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._closed = False

    def add(self, sock: Any) -> None:
        with self._lock:
            self._open.add(sock)
            if self._closed:
                shut_down_socket(sock)

    def shut_down(self) -> None:
        with self._lock:
            self._closed = True
            for sock in self._open:
                shut_down_socket(sock)


def shut_down_socket(sock: Any) -> None:
    """Wake whoever reads from it. Not SSLSocket.shutdown: that takes the TLS state away under the reader's feet."""
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except (OSError, TypeError):  # closed already, or TLS through a TLS proxy, which its time-out ends
        return


def watched_pools(sockets: Sockets) -> dict[str, type[urllib3.HTTPConnectionPool]]:
    """Connection pools that tell `sockets` about each connection that they make."""

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            sockets.add(self.sock)

    class Tls(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            sockets.add(self.sock)

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class TlsPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Tls

    return {"http": PlainPool, "https": TlsPool}
