"""The bootstep that makes a Celery worker (`celery worker --watch`) a candidate for leading the informer.

The leader runs in a thread of its own beside the worker's loop, never as a task: a watch has no end, and a task that
has none is lost, doubled or killed by whatever the broker thinks of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from celery import bootsteps

from dradash import bootstrap
from dradash.conf import from_environ
from dradash.informer.source import SourceError

logger = logging.getLogger(__name__)

STOP_TIMEOUT: Final = 4.0  # seconds; the supervisor and container engines kill later than that
RESTART_AFTER: Final = (1.0, 2.0, 5.0, 15.0, 30.0)  # seconds after the first, second ... failure in a row


class Runner(Protocol):
    """What runs: pipeline.leader.Leader, or a twin in tests."""

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; release what is held before returning."""


class Kept:
    """A thread that runs what `create` makes, and makes it anew when that fails."""

    def __init__(self, create: Callable[[], Runner], restart_after: tuple[float, ...] = RESTART_AFTER) -> None:
        self._create = create
        self._restart_after = restart_after
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end and wait for that, so that the lease is released before this process is gone."""
        self._stop.set()
        self._thread.join(STOP_TIMEOUT)
        if self._thread.is_alive():
            logger.error("the leader has not ended within %.0f s: its lease runs out by itself", STOP_TIMEOUT)

    def _run(self) -> None:
        failures = 0
        while not self._stop.is_set():
            try:
                self._create().run(self._stop)
            except SourceError as error:  # a kubeconfig that cannot be used (any more)
                logger.error("cannot watch the cluster: %s", error)  # noqa: TRY400 - the message says it all
            except Exception:
                logger.exception("the leader failed, which is a bug")
            if self._stop.is_set():
                return
            wait = self._restart_after[min(failures, len(self._restart_after) - 1)]
            failures += 1
            logger.info("trying to lead again in %.0f s", wait)
            self._stop.wait(wait)


class LeaderStep(bootsteps.StartStopStep):
    """Only in a worker that was started with --watch."""

    label = "Leader"

    def __init__(self, parent: Any, watch: bool = False, **options: Any) -> None:
        super().__init__(parent, **options)
        self.enabled = watch

    def create(self, parent: Any) -> Kept:  # type: ignore[override]  # noqa: ARG002 - Celery's, whose stubs are wrong
        return Kept(lambda: bootstrap.leader(from_environ()))
