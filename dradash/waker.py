"""Tells the judges that something is due: without delay for the one who tells, and not more often than is useful."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

logger = logging.getLogger(__name__)

PAUSE: Final = 0.01  # seconds between two messages: a burst of changes becomes a few wake-ups


class Waker:
    """`wake()` returns at once; a thread of its own calls `send`, at least once after the last `wake()`.

    Not a timer that starts again with each call: under a steady stream of changes it would never ring.
    """

    def __init__(self, send: Callable[[], None], pause: float = PAUSE) -> None:
        self._send = send
        self._pause = pause
        self._wanted = threading.Event()
        self._stopped = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="waker", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        self._wanted.set()

    def stop(self) -> None:
        self._stopped.set()
        self._wanted.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopped.is_set():
                return
            try:
                self._send()
                self._failing = False
            except Exception as error:  # noqa: BLE001 - kombu's errors are many; what is due stays due in Redis
                if not self._failing:
                    logger.warning("cannot wake the judges: %s", error)
                self._failing = True
            self._stopped.wait(self._pause)
