"""Websockets from our own pages only: to a browser, another port of the same host is another site.

The validator of channels compares host names alone, so any other server on the reader's machine could read our sockets.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier

_PORTS: Final = {"http": 80, "https": 443}


class SameOrigin:
    """An ASGI middleware. Lets a handshake through whose Origin has the host and the port of its Host header.

    The scheme only says which port is meant where none is written: behind a proxy that ends TLS we do not see it. Such
    a proxy must pass the Host header on, as it must for the pages' forms.
    """

    def __init__(self, application: Any) -> None:
        self._application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> Any:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        allowed = is_same(headers.get(b"origin", ""), headers.get(b"host", ""))
        application = self._application if allowed else WebsocketDenier()
        return await application(scope, receive, send)


def is_same(origin: str, host: str) -> bool:
    try:
        from_page, to = urlsplit(origin), urlsplit(f"//{host}")
        default = _PORTS.get(from_page.scheme)
        asked, own = from_page.port or default, to.port or default
    except ValueError:  # a port that is none
        return False
    return default is not None and bool(from_page.hostname) and (from_page.hostname, asked) == (to.hostname, own)
