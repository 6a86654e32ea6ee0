"""The ASGI application: Django's pages and the pages' websockets."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")
http = get_asgi_application()

from dradash.web.routing import websocket  # noqa: E402 - needs Django to be set up

application = ProtocolTypeRouter({"http": http, "websocket": websocket})
