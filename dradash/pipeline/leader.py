"""Leading the informer: stand for election, watch and ingest while elected, hand over.

The lease in Redis says who leads; the epoch in every write makes sure that one who only thinks so is refused. Losing
the lease, Redis or all that was in it ends in the same place: a new election, a new informer, and a list of everything.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from typing import Final, Protocol

from dradash.informer.run import Informer
from dradash.informer.sink import Sink
from dradash.pipeline.ingest import Ingest
from dradash.store.figures import ELECTED
from dradash.store.model import Model, StaleEpoch, StoreUnavailable

log = logging.getLogger(__name__)

TICK: Final = 0.5  # seconds between two looks at lease and due pods
HOUSEKEEPING: Final = 10.0
RETRY: Final = (0.5, 1.0, 2.0, 5.0)  # seconds after the first, second ... failure in a row


class MakeInformer(Protocol):
    def __call__(self, sink: Sink, wanted: Callable[[str], bool]) -> Informer: ...


class Leader:
    """holder: names this process among the candidates. wake: tells the judges that something is due."""

    def __init__(
        self,
        model: Model,
        make_informer: MakeInformer,
        *,
        holder: str,
        ttl: float,
        wake: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._model, self._make_informer = model, make_informer
        self._holder, self._ttl = holder, ttl
        self._wake, self._clock = wake, clock

    def run(self, stop: threading.Event) -> None:
        """Stand and lead until `stop` is set; the lease is released before returning."""
        failures = 0
        while not stop.is_set():
            try:
                epoch = self._model.acquire(self._holder, self._ttl)
                if epoch is None:
                    failures = 0
                    stop.wait(min(TICK, self._ttl / 4))
                    continue
                log.info("leading with epoch %d", epoch)
                lost = self._lead(epoch, stop)
                failures = 0 if lost else failures
            except (StaleEpoch, StoreUnavailable) as error:
                wait = RETRY[min(failures, len(RETRY) - 1)] * (0.5 + random.random() / 2)  # noqa: S311 - jitter
                failures += 1
                log.warning("not leading: %s; again in %.1f s", str(error) or type(error).__name__, wait)
                stop.wait(wait)

    def _lead(self, epoch: int, stop: threading.Event) -> bool:
        """Until stopped (False) or the lease is lost (True). Raises StaleEpoch or StoreUnavailable."""
        informer: Informer | None = None
        try:
            ingest = Ingest(
                self._model,
                epoch,
                self._model.load(),
                clock=self._clock,
                on_due=self._wake,
                fetch=lambda kind, key: informer.fetch(kind, key) if informer else None,
            )
            self._model.add_figures({ELECTED: 1})
            ingest.begin()
            informer = self._make_informer(ingest, ingest.wanted)
            informer.start()
            return self._keep(epoch, informer, stop)
        finally:
            if informer is not None:
                informer.stop()
            self._release(epoch)

    def _keep(self, epoch: int, informer: Informer, stop: threading.Event) -> bool:
        next_housekeeping = self._clock() + HOUSEKEEPING
        while not stop.wait(min(TICK, self._ttl / 4)):
            if informer.failure is not None:
                raise _as_ours(informer.failure)
            if not self._model.renew(self._holder, epoch, self._ttl):
                log.warning("the lease of epoch %d is lost", epoch)
                return True
            if self._model.count_due():
                # Covers wake-ups that were lost with the broker or with a killed judge.
                self._wake()
            if self._clock() >= next_housekeeping:
                self._model.housekeep(epoch, self._clock())
                next_housekeeping = self._clock() + HOUSEKEEPING
        return False

    def _release(self, epoch: int) -> None:
        try:
            self._model.release(self._holder, epoch)
        except (StaleEpoch, StoreUnavailable) as error:
            log.info("the lease could not be released, it runs out by itself: %s", str(error) or type(error).__name__)


def _as_ours(failure: BaseException) -> BaseException:
    """What ended the informer; anything but the store's own errors is a bug and ends the leader loudly."""
    if isinstance(failure, (StaleEpoch, StoreUnavailable)):
        return failure
    return RuntimeError(f"ingesting failed: {type(failure).__name__}: {failure}").with_traceback(failure.__traceback__)
