"""`manage.py web`: the web server alone, on its own address or on a socket that the supervisor has opened."""

from __future__ import annotations

import socket
import sys
from typing import Any, Final, NoReturn

import uvicorn
from django.core.management.base import BaseCommand, CommandParser

from dradash import lifecycle, log
from dradash.conf import from_environ
from dradash.supervisor import listen
from dradash.supervisor.checkout import refuse_installed
from dradash.supervisor.errors import StartError
from dradash.web.handshake import Protocol

GRACE: Final = 2  # seconds for requests under way; websockets are closed at once and come back by themselves


class Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        lifecycle.notify_ready()


class Command(BaseCommand):
    help = "Serve the pages on DRADASH_HOST and DRADASH_PORT. Needs a checkout."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--fd", type=int, help="serve on this inherited listening socket instead")

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            refuse_installed("web")  # before Django's checks, which name its settings and not what to do
        except StartError as error:
            _fail(error)
        return super().execute(*args, **options)

    def handle(self, **options: Any) -> None:
        conf = from_environ()
        log.configure(debug=conf.debug)
        try:
            listen.refuse_open_door(conf.host, conf.auth)
            fd = options["fd"]
            sock = listen.listen(conf.host, conf.port) if fd is None else socket.socket(fileno=fd)
        except StartError as error:
            _fail(error)
        config = uvicorn.Config(
            "dradash.asgi:application",
            http=Protocol,
            access_log=False,
            log_config=None,
            # Headers of a proxy are believed only by our own sign-in, which must see who really connected.
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        with sock:
            Server(config).run(sockets=[sock])


def _fail(error: StartError) -> NoReturn:
    print(f"web: error: {error}", file=sys.stderr)  # noqa: T201 - its output
    sys.exit(1)
