"""The informer's threads: one per kind does what its reflector says and delivers what comes out.

A housekeeper thread fetches single objects that begin to matter, and closes watches that have gone silent.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from dradash.informer import objects
from dradash.informer.extended import Extended
from dradash.informer.malformed import line
from dradash.informer.messages import (
    Answer,
    Changed,
    Discover,
    Discovered,
    Emission,
    Ended,
    Failed,
    List,
    Listed,
    Opened,
    Received,
    Replaced,
    Unreadable,
    Wait,
    Watch,
)
from dradash.informer.reflector import Phase, Reflector
from dradash.informer.relevance import Wanted, filter_for
from dradash.informer.sink import KindState, ObjectEvent, Sink
from dradash.informer.source import Closable, Source, SourceError, Unavailable, WatchEvent, WatchStream, in_batches
from dradash.kinds.registry import KINDS, Kind, MalformedObject

log = logging.getLogger(__name__)

Clock = Callable[[], float]

STOP_WITHIN: Final = 1.0  # seconds that stop() waits for all threads together
TICK: Final = 1.0
DISCOVERY_AGE: Final = 5.0  # workers that ask within this time share one answer
FETCH_RETRY: Final = 1.0
# What of a kind matters is known only when another one has been listed: pods for an event, DeviceClasses for a pod that
# asks for an extended resource.
AFTER: Final = {"events": "pods", "pods": "deviceclasses"}
# Seconds; a class that is seen later has the pods listed again, an event is never repeated.
PATIENCE: Final = {"pods": 10.0}
SETTLED: Final = frozenset({"synced", "stale", "forbidden", "notServed"})


class _Discovery:
    """One answer of `discover` for all workers: at the start they all ask at once."""

    def __init__(self, source: Source, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lock = threading.Lock()
        self._served: dict[str, frozenset[str]] = {}
        self._asked_at: float | None = None

    def __call__(self) -> dict[str, frozenset[str]]:
        with self._lock:
            now = self._clock()
            if self._asked_at is None or not 0 <= now - self._asked_at < DISCOVERY_AGE:
                self._served = self._source.discover()
                self._asked_at = now
            return self._served


class _Worker:
    """One kind's reader. `deliver` is called under `lock`; `step` runs in the worker's own thread only."""

    def __init__(self, reflector: Reflector, source: Source, discovery: _Discovery, clock: Clock) -> None:
        self.reflector = reflector
        self.lock = threading.RLock()
        self.stopping = threading.Event()
        self.version = ""
        self._source = source
        self._discovery = discovery
        self._clock = clock
        self._stream: WatchStream | None = None
        self._batches: Iterator[tuple[WatchEvent, ...]] = iter(())

    @property
    def kind(self) -> Kind:
        return self.reflector.kind

    def step(self, deliver: Callable[[Emission], None]) -> None:
        """One action: ask the source, tell the reflector, deliver."""
        action = self.reflector.next_action()
        if isinstance(action, Wait):
            self.stopping.wait(action.seconds)
            return
        answer = self._perform(action)
        with self.lock:
            if self.stopping.is_set():
                return
            for emission in self.reflector.receive(answer, self._clock()):
                deliver(emission)
        if self.reflector.phase is not Phase.READING:
            self.close_stream()

    def _perform(self, action: object) -> Answer:
        try:
            match action:
                case Discover():
                    return Discovered(self._discovery())
                case List(version, limit, token):
                    self.version = version
                    return Listed(self._source.list(self.kind, version, limit, token))
                case Watch(version, resource_version, timeout):
                    return self._open(self._source.watch(self.kind, version, resource_version, timeout))
                case _:
                    events = next(self._batches, None)
                    return Ended() if events is None else Received(events)
        except SourceError as error:
            return Failed(error)
        except Exception as error:  # a bug in a source must not blind the other kinds; it is logged and backed off
            log.exception("reading %s failed in a way that is not foreseen", self.kind.plural)
            return Failed(Unavailable(f"{type(error).__name__}: {error}"))

    def _open(self, stream: WatchStream) -> Answer:
        self._stream = stream
        if self.stopping.is_set():  # stop() may have looked for a stream just before
            stream.close()
        self._batches = in_batches(stream)
        return Opened()

    def close_stream(self) -> None:
        """From any thread: a reader that waits for a quiet watch goes on at once."""
        stream = self._stream
        if stream is not None:
            stream.close()

    def stop(self) -> None:
        self.stopping.set()
        self.close_stream()


class Informer:
    """Reads `kinds` from `source` into `sink` until stopped, or until the sink raises (see `failure`).

    wanted: the keys of pods that matter though they use no claims; None keeps all events and only pods with claims.
    """

    def __init__(
        self,
        source: Source,
        sink: Sink,
        kinds: Iterable[Kind] = tuple(KINDS.values()),
        *,
        wanted: Wanted | None = None,
        limit: int = 500,
        watch_timeout: int = 300,
        clock: Clock = time.time,
        rng: Callable[[], float] = random.random,
    ) -> None:
        self._source = source
        self._sink = sink
        self._clock = clock
        discovery = _Discovery(source, clock)
        self._extended = Extended()

        def worker(kind: Kind) -> _Worker:
            keep = filter_for(kind.plural, wanted, self._extended)
            reflector = Reflector(kind, random=rng, keep=keep, limit=limit, timeout=watch_timeout)
            return _Worker(reflector, source, discovery, clock)

        self._workers = {kind.plural: worker(kind) for kind in kinds}
        self._ended = threading.Event()
        self._settled = {plural: threading.Event() for plural in AFTER.values() if plural in self._workers}
        self._fetches: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.failure: BaseException | None = None

    def start(self) -> None:
        runs = [(plural, lambda worker=worker: self._run(worker)) for plural, worker in self._workers.items()]
        for name, run in [*runs, ("housekeeper", self._housekeep)]:
            # Daemons: a thread that hangs in a connect must not keep the process alive after stop().
            thread = threading.Thread(target=run, name=f"informer-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End everything within a second. No call of the sink begins after this; one under way may still end."""
        self._end()
        if isinstance(self._source, Closable):
            self._source.close()
        deadline = time.monotonic() + STOP_WITHIN
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def wait(self, timeout: float | None = None) -> bool:
        """Until it has ended, by stop() or by a failure of the sink. False when the time is up before."""
        return self._ended.wait(timeout)

    def fetch(self, plural: str, key: str) -> None:
        """Read one object that begins to matter (a claim was reserved for the pod) and deliver it as ADDED.

        Returns at once. `wanted` must be true of the key already, so that nothing after it is missed.
        """
        self._fetches.put((plural, key))

    def _end(self) -> None:
        self._ended.set()
        for settled in self._settled.values():
            settled.set()
        self._fetches.put(None)
        for worker in self._workers.values():
            worker.stop()

    def _run(self, worker: _Worker) -> None:
        before = self._settled.get(AFTER.get(worker.kind.plural, ""))
        if before is not None:
            before.wait(PATIENCE.get(worker.kind.plural))
        try:
            while not worker.stopping.is_set():
                worker.step(lambda emission: self._deliver(worker.kind.plural, emission))
        except Exception as error:  # noqa: BLE001 - whatever the sink raised: see Sink
            self._fail(error)
        finally:
            worker.close_stream()

    def _fail(self, error: Exception) -> None:
        log.error("the informer ends: %s: %s", type(error).__name__, error)
        self.failure = self.failure or error
        self._end()

    def _deliver(self, plural: str, emission: Emission) -> None:
        match emission:
            case Replaced(items, resource_version):
                if plural == "deviceclasses" and self._extended.replace(items):
                    self._list_pods_again()
                self._sink.replace(plural, items, resource_version)
            case Changed(events, resource_version):
                if plural == "deviceclasses" and self._extended.follow(events):
                    self._list_pods_again()
                self._sink.events(plural, events, resource_version)
            case Unreadable():
                log.warning("%s", line(plural, emission))
            case KindState():
                self._sink.sync(emission)
                if plural in self._settled and emission.state in SETTLED:
                    self._settled[plural].set()

    def _list_pods_again(self) -> None:
        """Pods that did not matter may ask for the extended resource that a class now stands behind."""
        worker = self._workers.get("pods")
        if worker is not None:
            worker.reflector.list_again()
            worker.close_stream()

    # -- the housekeeper -----------------------------------------------------------------------------------------

    def _housekeep(self) -> None:
        pending: list[tuple[str, str]] = []
        try:
            while not self._ended.is_set():
                pending += self._requests(FETCH_RETRY if pending else TICK)
                pending = [request for request in pending if not self._fetched(*request)]
                for worker in self._workers.values():
                    self._tick(worker)
        except Exception as error:  # noqa: BLE001 - whatever the sink raised: see Sink
            self._fail(error)

    def _requests(self, timeout: float) -> Sequence[tuple[str, str]]:
        try:
            request = self._fetches.get(timeout=timeout)
        except queue.Empty:
            return ()
        return () if request is None else (request,)

    def _fetched(self, plural: str, key: str) -> bool:
        """True when done with it. Under the kind's lock: the answer is newer than all that was delivered before it,
        and all that is newer than the answer is delivered after it."""
        worker = self._workers[plural]
        namespace, _, name = key.rpartition("/")
        with worker.lock:
            if self._ended.is_set():
                return True
            if worker.reflector.phase not in (Phase.CONNECTING, Phase.READING):
                return False  # a list is under way; its Replaced would drop the object again
            try:
                raw = self._source.get(worker.kind, worker.version, namespace, name)
                if raw is None:
                    return True
                item = objects.normalized(raw, worker.kind, worker.version)
            except SourceError as error:
                log.warning("cannot read %s %s, trying again: %s", plural, key, error)
                return False
            except MalformedObject as error:
                log.warning("%s %s cannot be read: %s", plural, key, error)
                return True
            self._sink.events(plural, (ObjectEvent("ADDED", key, item),), worker.reflector.resume_from)
        return True

    def _tick(self, worker: _Worker) -> None:
        # A lock that is taken means that the worker is busy delivering: it is alive.
        if not worker.lock.acquire(blocking=False):
            return
        try:
            if worker.stopping.is_set():
                return
            now = self._clock()
            for emission in worker.reflector.tick(now):
                self._deliver(worker.kind.plural, emission)
            silent = worker.reflector.is_silent(now)
        finally:
            worker.lock.release()
        if silent:
            log.warning("the watch of %s is silent for too long: reopening it", worker.kind.plural)
            worker.close_stream()
