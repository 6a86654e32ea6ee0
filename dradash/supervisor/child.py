"""One supervised process: start it, pass its output on, end it with all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dradash import lifecycle
from dradash.supervisor.probes import Notification, Probe

LINE_LIMIT: Final = 64 * 1024  # bytes; a longer line is shown in pieces
TAIL: Final = 20  # lines kept for the report on a crash
GROUP_LIMIT: Final = 1.0  # seconds; death by SIGKILL takes milliseconds, more on a busy machine


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What to run. `stop_rank`: children end in this order, those of one rank together."""

    name: str
    argv: tuple[str, ...]
    ready: Probe
    notify: Path | None = None  # where to open a socket on which the child says that it is ready, besides `ready`
    env: Mapping[str, str] = field(default_factory=dict)  # over the supervisor's own
    after: tuple[str, ...] = ()  # names of those that must be ready first
    stop_rank: int = 0
    pass_fds: tuple[int, ...] = ()
    advice: str = ""  # what to do when it crashes
    hide: str = "\n"  # lines with this text are not shown; never matches by default


def exit_in_words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


class Child:
    def __init__(self, spec: Spec, say: Callable[[str, str], None]) -> None:
        self.spec = spec
        self.tail: deque[str] = deque(maxlen=TAIL)
        self.ready = asyncio.Event()
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._pumps: list[asyncio.Task[None]] = []
        self._pipes: list[asyncio.ReadTransport] = []
        self._notification: Notification | None = None

    async def start(self, cwd: Path) -> None:
        """Raises OSError. Its own session: Ctrl-C on the terminal reaches only the supervisor, which stops in order."""
        if self.spec.notify is not None:
            self._notification = Notification(self.spec.notify)
        # Pipes of our own: with stdout=PIPE asyncio reports the end only when every grandchild has closed it as well.
        # One for each stream: Python's print() writes a line and its end apart, and a log line may come between.
        pipes = [os.pipe(), os.pipe()]
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.spec.argv,
                cwd=cwd,
                env={**os.environ, **self.spec.env, lifecycle.NOTIFY_SOCKET: str(self.spec.notify or "")},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipes[0][1],
                stderr=pipes[1][1],
                start_new_session=True,
                preexec_fn=lifecycle.die_with(os.getpid()),
                pass_fds=self.spec.pass_fds,
            )
        except BaseException:
            for output, _ in pipes:
                os.close(output)
            raise
        finally:
            for _, inherited in pipes:
                os.close(inherited)
        for output, _ in pipes:
            await self._pump(output)

    async def _pump(self, output: int) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        pipe, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(output, "rb", buffering=0))
        self._pipes.append(pipe)
        self._pumps.append(asyncio.create_task(self._read(reader)))

    async def is_ready(self) -> bool:
        """One look."""
        if self._notification is not None and not self._notification.received():
            return False
        return await self.spec.ready()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        rest = b""
        while data := await stream.read(LINE_LIMIT):
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > LINE_LIMIT:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._line(line)
        if rest:
            self._line(rest)

    def _line(self, raw: bytes) -> None:
        text = raw.decode(errors="backslashreplace").rstrip()
        if text and self.spec.hide not in text:
            self.tail.append(text)
            self._say(self.spec.name, text)

    async def ended(self) -> int:
        """Wait for its end and its last words; its exit code (negative: the signal)."""
        assert self._process is not None  # noqa: S101 - started
        code = await self._process.wait()
        if self._pumps:
            # A grandchild may hold a pipe open: do not wait for that.
            await asyncio.wait(self._pumps, timeout=0.5)
        return code

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    def kill_group(self) -> None:
        """SIGKILL to all that it started and that is still there, itself included."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _group_gone(self) -> None:
        """Wait until what it started is dead too: killed is not gone, and the next start may want its ports.

        Where nobody reaps orphans (a container without an init) their zombies stay in the group: hence the limit.
        """
        assert self._process is not None  # noqa: S101 - started
        with contextlib.suppress(ProcessLookupError, PermissionError, TimeoutError):
            async with asyncio.timeout(GROUP_LIMIT):
                while True:
                    os.killpg(self._process.pid, 0)
                    await asyncio.sleep(0.005)

    async def stop(self, timeout: float) -> bool:  # noqa: ASYNC109 - the deadline is part of the order of stopping
        """SIGTERM, then after `timeout` seconds SIGKILL. True when it ended in time."""
        started = time.monotonic()
        self.signal(signal.SIGTERM)
        in_time = True
        if self.running:
            try:
                async with asyncio.timeout(timeout):
                    await self.ended()
            except TimeoutError:
                in_time = False
                self._say(self.spec.name, f"still there {time.monotonic() - started:.1f} s after SIGTERM: killing it")
        self.kill_group()
        if self._process is not None:
            await self._process.wait()
            await self._group_gone()
        for pump in self._pumps:
            pump.cancel()
        for pipe in self._pipes:
            pipe.close()
        if self._notification is not None:
            self._notification.close()
        return in_time
