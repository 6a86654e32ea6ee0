"""Every page's socket: /live/ and then the page's own path and query."""

from __future__ import annotations

from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import re_path

from dradash.web.consumers import NoSuchSocket, PageConsumer
from dradash.web.sameorigin import SameOrigin

websocket = AllowedHostsOriginValidator(
    SameOrigin(
        URLRouter(
            [
                re_path(r"^live(?P<path>/.*)$", PageConsumer.as_asgi()),
                re_path(r"", NoSuchSocket.as_asgi()),
            ]
        )
    )
)
