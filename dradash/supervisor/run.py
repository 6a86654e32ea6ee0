"""The supervisor: starts children as those that they need become ready, and stops all when one ends or when told to."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from dradash import lifecycle
from dradash.supervisor.child import Child, Spec, exit_in_words
from dradash.supervisor.errors import StartError
from dradash.supervisor.output import Output, printable

READY_TIMEOUT: Final = 60.0  # seconds for one child; a cold, busy machine needs 20
PROBE_INTERVAL: Final = 0.05
STOP_TIMEOUTS: Final = (5.0, 1.5, 1.5)  # seconds for each stop rank: 8 s, with 10 s promised
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAME: Final = "up"


class Supervisor:
    def __init__(
        self, specs: Sequence[Spec], output: Output, cwd: Path, *, ready_timeout: float = READY_TIMEOUT
    ) -> None:
        self._output = output
        self._cwd = cwd
        self._ready_timeout = ready_timeout
        self._children = {spec.name: Child(spec, output.line) for spec in specs}
        self._told_to_stop = asyncio.Event()
        self._signals = 0

    async def run(self, announce: Callable[[], None]) -> None:
        """Returns when told to stop; raises StartError when a child cannot start or ends by itself.

        Either way nothing of it is left. `announce` is called once all are ready.
        """
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        try:
            await self._until_told(announce)
        finally:
            await self._stop()
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)

    def _on_signal(self) -> None:
        self._signals += 1
        self._told_to_stop.set()
        if self._signals > 1:  # somebody is in a hurry
            for child in self._children.values():
                child.kill_group()

    async def _until_told(self, announce: Callable[[], None]) -> None:
        told = asyncio.create_task(self._told_to_stop.wait())
        lives = [asyncio.create_task(self._live(child)) for child in self._children.values()]
        ready = asyncio.create_task(self._all_ready(announce))
        tasks = [told, ready, *lives]
        try:
            pending = set(tasks)
            while not self._told_to_stop.is_set():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()  # raises the StartError of a child
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _all_ready(self, announce: Callable[[], None]) -> None:
        for child in self._children.values():
            await child.ready.wait()
        announce()
        lifecycle.notify_ready()

    async def _live(self, child: Child) -> None:
        for name in child.spec.after:
            await self._children[name].ready.wait()
        started = time.monotonic()
        try:
            await child.start(self._cwd)
        except OSError as error:
            raise StartError(f"{child.spec.name} cannot be started: {error}") from error
        readiness = asyncio.create_task(self._until_ready(child))
        end = asyncio.create_task(child.ended())
        try:
            await asyncio.wait([readiness, end], return_when=asyncio.FIRST_COMPLETED)
            if not end.done():
                readiness.result()
                self._output.line(NAME, f"{child.spec.name} is ready after {time.monotonic() - started:.1f} s")
                child.ready.set()
            raise self._crash(child, await end)
        finally:
            readiness.cancel()
            end.cancel()

    async def _until_ready(self, child: Child) -> None:
        try:
            async with asyncio.timeout(self._ready_timeout):
                while not await child.is_ready():  # noqa: ASYNC110 - another process: there is no event to await
                    await asyncio.sleep(PROBE_INTERVAL)
        except TimeoutError:
            late = f"{child.spec.name} is not ready after {self._ready_timeout:.0f} s."
            raise StartError(f"{late}{_last_words(child)} {child.spec.advice}") from None

    def _crash(self, child: Child, code: int) -> StartError:
        when = "while running" if child.ready.is_set() else "before it was ready"
        return StartError(
            f"{child.spec.name} ended by itself {when} ({exit_in_words(code)}), so everything was stopped."
            f"{_last_words(child)} {child.spec.advice}"
        )

    async def _stop(self) -> None:
        children = sorted(self._children.values(), key=lambda child: child.spec.stop_rank)
        started = time.monotonic()
        for rank, group in groupby(children, key=lambda child: child.spec.stop_rank):
            timeout = 0.0 if self._signals > 1 else STOP_TIMEOUTS[min(rank, len(STOP_TIMEOUTS) - 1)]
            await asyncio.gather(*(child.stop(timeout) for child in group))
        self._output.line(NAME, f"all stopped after {time.monotonic() - started:.1f} s")


def _last_words(child: Child) -> str:
    """The last line of its log: of a Python traceback that is the error. The lines before were on the screen anyway."""
    return f" Its last words: {printable(child.tail[-1])[:400]}." if child.tail else ""
