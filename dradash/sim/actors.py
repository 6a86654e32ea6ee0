"""What the cluster's actors have in common: a thread that follows watches of the API server and has timers.

An actor's methods run in its own thread, one at a time, so actors need no locks. It reads through watches only, as the
real programs do, and sees a state that the API server really had: the changes of all kinds in the order of revisions.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from typing import ClassVar, Final

import msgspec

from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.storage import Stored
from dradash.sim.watch import Watch

log = logging.getLogger(__name__)

STOP_TIMEOUT: Final = 1.0  # seconds


class Clock:
    """Durations of actors are simulated seconds, `speed` of them in a real one; time stamps stay those of `now`.

    `now` gives Unix seconds.
    """

    def __init__(self, speed: float = 1.0, now: Callable[[], float] = time.time) -> None:
        self.speed = speed
        self._now = now

    def seconds(self) -> float:
        """Simulated seconds since some moment; never goes back."""
        return time.monotonic() * self.speed

    def real(self, seconds: float) -> float:
        return seconds / self.speed

    def unix(self) -> float:
        return self._now()

    def time(self) -> str:
        """metav1.Time: RFC 3339 in whole seconds."""
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def micro_time(self) -> str:
        """metav1.MicroTime: RFC 3339 with microseconds."""
        return datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Change(msgspec.Struct, frozen=True):
    """type: ADDED, MODIFIED or DELETED. `stored` is the newest version, for DELETED the last one."""

    kind: str
    key: str
    type: str
    stored: Stored
    raw: bytes  # the object's JSON with kind and apiVersion


class Follower:
    """One resource by its watch. A watch that ended is opened anew, and what was lost meanwhile comes as changes."""

    def __init__(self, server: APIServer, plural: str, wake: Callable[[], None]) -> None:
        self.plural = plural
        self._server = server
        self._resource = server.collection(plural).resource
        self._wake = wake
        self._known: dict[str, Stored] = {}
        self._watch: Watch | None = None

    def changes(self) -> list[Change]:
        """All that is new. Call with the server's lock held."""
        if self._watch is None:
            return self._relist()
        found = self._drain(self._watch)
        if self._watch.closed:  # ended by a fault, or too slow (410): what it did not tell is found by listing
            found += self._relist()
        return found

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _drain(self, watch: Watch) -> list[Change]:
        found = []
        while events := watch.drain()[0]:
            found += [self._change(event.type, event.stored) for event in events]
        return found

    def _relist(self) -> list[Change]:
        before = dict(self._known)
        self._watch = self._server.watch(self.plural, wake=self._wake)
        listed = self._drain(self._watch)
        present = {change.key for change in listed}
        gone = [self._change("DELETED", stored) for key, stored in before.items() if key not in present]
        new = [c for c in listed if c.key not in before or before[c.key].revision != c.stored.revision]
        return gone + new

    def _change(self, type_: str, stored: Stored) -> Change:
        key = stored.key
        old = self._known.pop(key, None)
        if type_ != "DELETED":
            type_ = "ADDED" if old is None else "MODIFIED"
            self._known[key] = stored
        return Change(self.plural, key, type_, stored, stored.raw(self._resource))


class Actor:
    """Subclasses name the `kinds` that they follow and say what they do: on_start, on_change, work, and timers.

    Kinds that the server does not serve are not followed: there are none.
    """

    kinds: ClassVar[tuple[str, ...]] = ()

    def __init__(self, server: APIServer, clock: Clock) -> None:
        self.server = server
        self.clock = clock
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        served = [plural for plural in self.kinds if plural in server.resources]
        self._followers = [Follower(server, plural, self._wake.set) for plural in served]
        self._timers: dict[Hashable, tuple[float, Callable[[], None]]] = {}
        self._heap: list[tuple[float, int, Hashable]] = []
        self._order = itertools.count()

    @property
    def name(self) -> str:
        return type(self).__name__

    def start(self) -> None:
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"sim-{self.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; returns when it has ended."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join(STOP_TIMEOUT)
            if self._thread.is_alive():
                log.warning("the simulated %s does not stop", self.name)
            self._thread = None

    def ask_to_stop(self) -> None:
        self._stopping = True
        self._wake.set()

    # For subclasses

    def on_start(self) -> None:
        """Before the first change."""

    def on_change(self, change: Change) -> None:
        """Called for each change, in the order of revisions."""

    def work(self) -> bool:
        """One piece of work when there is no change to take; False when there is nothing to do."""
        return False

    def later(self, key: Hashable, seconds: float, action: Callable[[], None]) -> None:
        """Do it after so many simulated seconds; what is planned under the key already stays if it comes sooner."""
        due = self.clock.seconds() + seconds
        planned = self._timers.get(key)
        if planned is None or due < planned[0]:
            self._timers[key] = (due, action)
            heapq.heappush(self._heap, (due, next(self._order), key))

    def forget(self, key: Hashable) -> None:
        self._timers.pop(key, None)

    # The thread

    def _run(self) -> None:
        self._guarded(self.on_start)
        while not self._stopping:
            self._wake.clear()
            self._take_changes()
            if not self._act_on_time() and not self._guarded(self.work) and not self._stopping:
                self._wake.wait(self._wait_for())
        for follower in self._followers:
            follower.close()

    def _take_changes(self) -> None:
        with self.server.lock:  # all kinds at one revision
            changes = [change for follower in self._followers for change in follower.changes()]
        changes.sort(key=lambda change: change.stored.revision)
        for change in changes:
            if self._stopping:
                return
            self._guarded(lambda c=change: self.on_change(c))  # type: ignore[misc]  # mypy cannot infer a default's type

    def _act_on_time(self) -> bool:
        """Do the first thing that is due. Changes are taken between two, so each sees what the one before wrote."""
        while self._heap and self._heap[0][0] <= self.clock.seconds():
            due, _, key = heapq.heappop(self._heap)
            planned = self._timers.get(key)
            if planned is not None and planned[0] == due:
                del self._timers[key]
                self._guarded(planned[1])
                return True
        return False

    def _wait_for(self) -> float | None:
        if not self._heap:
            return None
        return max(0.0, self.clock.real(self._heap[0][0] - self.clock.seconds()))

    def _guarded(self, action: Callable[[], bool | None]) -> bool:
        """The border of the thread: one thing that goes wrong must not end the actor."""
        try:
            return bool(action())
        except ApiError as error:
            log.debug("simulated %s: %s", self.name, error)
        except Exception:
            log.exception("simulated %s", self.name)
        return False
