"""The simulated cluster as a process of its own: API server, actors, kubeconfig, and an orderly end."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from dradash.sim import kubeconfig
from dradash.sim.apiserver import APIServer
from dradash.sim.http import Application
from dradash.sim.listener import Listener

# Brings a cluster to life: on entry it loads what is there at the start and starts the actors, on exit it stops them.
Actors = Callable[[APIServer], AbstractContextManager[object]]


def nobody(_server: APIServer) -> AbstractContextManager[object]:
    """No actors: nothing happens but what clients do."""
    return contextlib.nullcontext()


def fresh_revision() -> int:
    """A first revision above those of any earlier start, so that clients that live on list again (410)."""
    return int(time.time()) * 1000


def run(
    server: APIServer,
    *,
    config: Path,
    stop: threading.Event,
    host: str = "127.0.0.1",
    port: int = 0,
    with_token: bool = True,
    actors: Actors = nobody,
    ready: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve until `stop` is set. Raises PortTaken.

    The kubeconfig is written when everything is there (and taken away at the end), so it says that we are ready;
    `ready` is then called with the URL.
    """
    config.unlink(missing_ok=True)
    token = secrets.token_urlsafe(32) if with_token else None
    with Listener(Application(server, token), host, port) as listener:
        server.faults.on_unreachable = listener.go_away
        with actors(server):
            kubeconfig.write(config, listener.url, token)
            try:
                ready(listener.url)
                stop.wait()
            finally:
                config.unlink(missing_ok=True)
