"""This process's replica of the model, kept up to date by one thread, and what wakes the sockets after a change."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from channels.layers import get_channel_layer

from dradash.reader import topics
from dradash.reader.nodeseries import samples
from dradash.reader.nodesets import NodeSets
from dradash.reader.observations import Observations
from dradash.reader.series import Groups, node_groups
from dradash.reader.world import Freshness
from dradash.store.model import Change, HistoryEntry, ReadModel, StoreUnavailable
from dradash.store.past import Earlier, Past, earlier, rebuild
from dradash.store.replica import Applied, Replica

logger = logging.getLogger(__name__)

BLOCK: Final = 1.0  # seconds that one wait for changes lasts: as old as "checked" may get while nothing changes
FIRST_RETRY: Final = 0.25
LAST_RETRY: Final = 5.0
# Seconds after which the last answer is too old to call the state live, whatever holds the follower up. Its reads have
# shorter limits, so a model that hangs mostly shows by their failing.
LOST_AFTER: Final = 15.0
LEASE_EVERY: Final = 2.0  # seconds between looks at who watches the cluster and at what waits to be judged
OVERDUE: Final = 15.0  # seconds after which a pod should have been judged, also behind a big wave
HISTORY_READ: Final = 1000  # newest entries of one object that the drivers' record and the waits begin with
CHANGES_READ: Final = 5000  # newest changes that the counts over time begin with: half a second
YOUNG: Final = 20_000  # objects made before the garbage collector looks at them
SETTLED_OBJECTS: Final = 2_000
ANNOUNCE_EVERY: Final = 0.05  # seconds: a long catch-up wakes the sockets in between

Announce = Callable[[frozenset[str], int], None]


class Follower:
    """`step` is the whole loop's body: tests call it without a thread."""

    def __init__(self, model: ReadModel, announce: Announce, clock: Callable[[], float] = time.time) -> None:
        self._model = model
        self._announce = announce
        self._clock = clock
        self._lock = threading.RLock()
        self._replica = Replica(model, lock=self._lock)
        self.node_sets = NodeSets(model)
        self.observations = Observations()  # read it inside `world()`
        self._freshness = Freshness()
        self._pending: set[str] = set()
        self._announced_at = 0.0
        self._lease_at = 0.0
        self._unlearnt = False
        self.listeners: list[Callable[[Applied], None]] = []  # told of each change, with the replica held still
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    # --- reading ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def world(self) -> Iterator[Replica]:
        """The replica, held still. Take what is needed and leave: the follower waits meanwhile."""
        with self._lock:
            yield self._replica

    def freshness(self) -> Freshness:
        now = self._by_age()
        return msgspec.structs.replace(now, revision=self._replica.revision, changed_at=self._replica.changed_at)

    def _by_age(self) -> Freshness:
        """One that is stepped by hand is as fresh as its last step left it."""
        known = self._freshness
        if self._thread is None or known.state != "live" or self._clock() - known.checked_at <= LOST_AFTER:
            return known
        error = f"the model has not answered for more than {LOST_AFTER:g} s"
        return msgspec.structs.replace(known, state="unavailable", error=error, failing_since=known.checked_at)

    def rebuild(self, model: ReadModel, at: float) -> Past:
        """The model as it was. Raises BeforeHistory and StoreUnavailable."""
        return rebuild(self._replica, self._lock, model, at)

    def earlier(self, model: ReadModel, revision: int) -> tuple[Earlier, list[Change]]:
        """The model at a revision, and what was applied since then. Raises Trimmed and StoreUnavailable."""
        return earlier(self._replica, self._lock, model, revision)

    def version(self) -> tuple[str, int, str, str]:
        """Equal versions give equal pages, ages aside."""
        now = self._by_age()
        return self._replica.instance, self._replica.revision, now.state, f"{now.leader} {now.overdue} {now.refusing}"

    # --- following -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
            self._thread.start()

    @property
    def is_alive(self) -> bool:
        """False when its thread has ended though nobody stopped it."""
        return self._thread is None or self._stopped.is_set() or self._thread.is_alive()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(BLOCK + LAST_RETRY)

    def _run(self) -> None:
        delay = FIRST_RETRY
        while not self._stopped.is_set():
            if self.step(BLOCK):
                delay = FIRST_RETRY
            else:
                self._stopped.wait(delay)
                delay = min(delay * 2, LAST_RETRY)

    def step(self, block: float = 0.0) -> bool:
        """Apply what is new, waiting up to `block` seconds for it; False when the model could not be read."""
        try:
            # What was loaded anew must be learnt anew: in the next step, where the history could not be read in this.
            reloaded = self._unlearnt = self._replica.catch_up(block, self._collect) or self._unlearnt
            self._observe(reloaded)  # first: what follows may fail
            self._unlearnt = False
            self._look_at_lease()
        except StoreUnavailable as error:
            self._fail(str(error))
            return False
        except Exception as error:
            # Whatever else went wrong must not end the thread: the page would stay as it is for ever, unnoticed.
            logger.exception("following the model failed")
            self._fail(f"{type(error).__name__}: {error}")
            return False
        came_back = self._by_age().state != "live"
        now = self._clock()
        self._freshness = msgspec.structs.replace(self._freshness, state="live", error="", checked_at=now)
        if reloaded:
            self._settle()
        if reloaded or came_back:
            self._pending.add(topics.EVERYTHING)
        self._flush()
        return True

    def _settle(self) -> None:
        """A large cluster is there to stay: the garbage collector would stop every page for 300 ms to walk all of it.

        What is replaced later is freed by its reference count all the same. A list's page makes tens of thousands of
        objects that live until it is sent: at the default of 700 they all grew old meanwhile, and every fifth page paid
        80 ms for a walk through the old ones.
        """
        gc.set_threshold(YOUNG)
        if len(self._replica.cluster.objects("resourceclaims")) + len(self._replica.cluster.nodes) > SETTLED_OBJECTS:
            gc.freeze()

    def _observe(self, reloaded: bool) -> None:
        groups: list[tuple[float, Groups]] = []
        with self._lock:
            now = self._clock()
            if reloaded:
                self.observations.restart(self._replica, self._history, now)
                groups = self._look_back(now)
            self.observations.sample(self._replica, now)
            if not groups and self.observations.nodes.is_due(now):
                groups = [(now, node_groups(self._replica))]
        for new in samples(groups, self.node_sets.get):  # reads node sets: pages must not wait for that
            with self._lock:
                self.observations.nodes.add(new)

    def _look_back(self, now: float) -> list[tuple[float, Groups]]:
        if self.observations.series:
            return []
        try:
            changes = self._model.changes_before(self._replica.revision + 1, CHANGES_READ)
            undone = zip(changes, self._model.states_before(changes), strict=True)
        except StoreUnavailable:
            return []
        return self.observations.look_back(self._replica, undone, now)

    def _history(self, kind: str, key: str) -> list[HistoryEntry]:
        return self._model.history(kind, key, 0.0, float("inf"), HISTORY_READ)

    def _fail(self, error: str) -> None:
        state = "unavailable" if self._replica.instance else "loading"
        if self._freshness.state != state or self._freshness.error != error:
            logger.warning("the model cannot be read: %s", error)
            self._pending.add(topics.EVERYTHING)
        since = self._freshness.failing_since if self._freshness.error else self._clock()
        self._freshness = msgspec.structs.replace(self._freshness, state=state, error=error, failing_since=since)
        self._flush()

    def _look_at_lease(self) -> None:
        now = self._clock()
        if now - self._lease_at < LEASE_EVERY:
            return
        self._lease_at = now
        lease = self._model.lease()
        leader = lease.holder if lease else ""
        if leader != self._freshness.leader:
            self._freshness = msgspec.structs.replace(self._freshness, leader=leader, leader_since=now)
            self._pending.add(topics.EVERYTHING)
        # A worker that runs cannot lead when its writes are refused, and cannot tell us either.
        refusing = "" if leader else self._model.refuses_writes()
        if refusing != self._freshness.refusing:
            self._freshness = msgspec.structs.replace(self._freshness, refusing=refusing)
            self._pending.add(topics.EVERYTHING)
        queue = self._model.queue()
        since = queue.since or now  # 0.0: it was over before its age could be read
        overdue = queue.count > 0 and since < now - OVERDUE
        if overdue != self._freshness.overdue:
            self._pending.add(topics.EVERYTHING)
        self._freshness = msgspec.structs.replace(self._freshness, due=queue.count, due_since=since, overdue=overdue)

    def _collect(self, applied: Applied) -> None:
        self.observations.feed(applied, self._replica.cluster)
        self._pending |= topics.topics_of(applied, self._replica.cluster)
        for listener in self.listeners:
            listener(applied)
        now = self._clock()
        if now - self._announced_at >= ANNOUNCE_EVERY:
            if self._by_age().state == "live":  # catching up with much is no silence
                self._freshness = msgspec.structs.replace(self._freshness, checked_at=now)
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            announced, self._pending = frozenset(self._pending), set()
            self._announced_at = self._clock()
            self._announce(announced, self._replica.revision)


class Wake:
    """Carries announcements from the follower's thread into the event loop that the sockets live in."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by each socket: a process has one loop."""
        self._loop = loop

    def __call__(self, announced: frozenset[str], revision: int) -> None:
        loop = self._loop
        if loop is None:
            return
        # RuntimeError: the loop is closed, so there are no sockets either.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._send, announced, revision)

    def _send(self, announced: frozenset[str], revision: int) -> None:
        task = asyncio.ensure_future(self._send_all(announced, revision))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_all(self, announced: frozenset[str], revision: int) -> None:
        layer = get_channel_layer()
        for topic in announced:
            message = {"type": "changed", "topic": topic, "revision": revision}
            await layer.group_send(topics.group(topic), message)
