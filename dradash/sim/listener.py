"""The API server's port: uvicorn in a thread, that can go away and come back on the same port."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any, Final

import uvicorn

from dradash.sim.http import Application

START_TIMEOUT: Final = 10.0  # seconds
STOP_TIMEOUT: Final = 5.0
ANSWER_GRACE: Final = 0.05


class PortTaken(OSError):
    """The port cannot be listened on; the message names it."""


class _Server(uvicorn.Server):
    """uvicorn that says when it has started."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    def abort(self) -> None:
        """Close the port and break all connections, as a machine that is gone does; called on the loop."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        self.should_exit = True
        self.force_exit = True


class Listener:
    """`port` 0 takes a free one and keeps it over stop and start. Use as a context manager, or start and stop."""

    def __init__(self, application: Application, host: str = "127.0.0.1", port: int = 0) -> None:
        self._application = application
        self.host = host
        self.port = port
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.RLock()
        self._return: threading.Timer | None = None
        self.returned = threading.Event()  # set when it listens again after `go_away`

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> None:
        """Listen; returns when requests are answered. Raises PortTaken."""
        with self._lock:
            if self._thread is not None:
                return
            sock = self._bind()
            config = uvicorn.Config(
                self._application,
                lifespan="off",
                log_level="error",
                access_log=False,
                ws="none",
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=65536,
            )
            server = _Server(config)
            self._server = server
            self._thread = threading.Thread(target=self._run, args=(server, sock), name="sim-http", daemon=True)
            self._thread.start()
            if not server.ready.wait(START_TIMEOUT):
                self.stop()
                raise RuntimeError(f"the simulated API server did not start within {START_TIMEOUT:.0f} s")

    def stop(self) -> None:
        """Stop listening and break every connection; returns when the port is free."""
        with self._lock:
            if self._return is not None:
                self._return.cancel()
                self._return = None
            self._stop()

    def go_away(self, seconds: float) -> None:
        """Nothing listens for so long (a fault). Returns at once, so that the request that asked for it is answered."""
        self.returned.clear()
        threading.Thread(target=self._go_away, args=(seconds,), name="sim-outage", daemon=True).start()

    def _go_away(self, seconds: float) -> None:
        # Time for the answer to whoever asked; the application answers nobody else meanwhile.
        threading.Event().wait(ANSWER_GRACE)
        with self._lock:
            if self._thread is None:
                return
            self._stop()
            self._return = threading.Timer(seconds, self._come_back)
            self._return.daemon = True
            self._return.start()

    def _come_back(self) -> None:
        with self._lock:
            if self._return is None:
                return  # stopped in the meantime
            self._return = None
            self.start()
        self.returned.set()

    def __enter__(self) -> Listener:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _stop(self) -> None:
        thread, server, loop = self._thread, self._server, self._loop
        if thread is None or server is None:
            return
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(server.abort)
        thread.join(STOP_TIMEOUT)
        self._thread = self._server = self._loop = None

    def _bind(self) -> socket.socket:
        sock = socket.socket(socket.AF_INET6 if ":" in self.host else socket.AF_INET)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((self.host, self.port))
        except OSError as error:
            sock.close()
            raise PortTaken(f"cannot listen on {self.host}:{self.port}: {error.strerror}") from error
        self.port = sock.getsockname()[1]
        return sock

    def _run(self, server: _Server, sock: socket.socket) -> None:
        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await server.serve(sockets=[sock])

        with asyncio.Runner(loop_factory=uvicorn_loop) as runner:
            runner.run(serve())


def uvicorn_loop() -> asyncio.AbstractEventLoop:
    import uvloop  # noqa: PLC0415 - comes with uvicorn[standard]; not there on every platform

    return uvloop.new_event_loop()
