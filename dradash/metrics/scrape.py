"""One answer to Prometheus: what the model says, what the workers counted, and what this process did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family

from dradash.metrics.families import Told, families, model_down
from dradash.metrics.process import PROCESS
from dradash.metrics.tally import count
from dradash.reader.current import Current
from dradash.scheduling.doctor.diagnose import blind
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.generation import readable
from dradash.store.model import StoreUnavailable

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Scraper:
    """One for a process: it remembers which classes and drivers are told by name."""

    def __init__(self, namespaces: Iterable[str], clock: Callable[[], float] = time.time) -> None:
        self._namespaces = frozenset(namespaces)
        self._clock = clock
        self._told = Told()
        self._lock = threading.Lock()

    def families(self, here: Current) -> Iterator[Family]:
        freshness = here.follower.freshness()
        if freshness.state != "live":
            yield model_down()
            return
        try:
            figures = here.model.figures()
        except StoreUnavailable:
            yield model_down()
            return
        now = self._clock()
        with here.follower.world() as world:
            counts = count(world, now, self._namespaces)
            sync = dict(world.sync)
        report = here.doctor.report()
        # The report may be of a moment before a kind was lost, or came back.
        is_there = freshness.revision > 0 and report.at > 0
        unknown = report.blind | blind(readable(sync)) if is_there else RULES.keys()
        yield from families(counts, sync, freshness, report.findings, unknown, figures, now, self._told)

    def text(self, here: Current) -> bytes:
        with self._lock:
            listed = list(self.families(here))
        return generate_latest(_Listed(listed)) + generate_latest(PROCESS.registry)


class _Listed:
    """As much of a registry as generate_latest asks for."""

    def __init__(self, listed: list[Family]) -> None:
        self._listed = listed

    def collect(self) -> Iterator[Family]:
        return iter(self._listed)
