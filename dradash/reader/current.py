"""The one of everything that this process reads the cluster with: model, follower, pasts, doctor."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar

from django.conf import settings
from django.utils.module_loading import import_string

from dradash.reader.claimtable import ClaimTable
from dradash.reader.doctor import Doctor, Report
from dradash.reader.follower import CHANGES_READ, Follower, Wake
from dradash.reader.histories import HISTORY_ENTRIES
from dradash.reader.nodeseries import NodeSample, rewound, samples
from dradash.reader.nodesets import NodeSets
from dradash.reader.trails import KEPT as MARKS
from dradash.reader.trails import WINDOW, Course, M, marks_of
from dradash.reader.waits import PastWaits, Since, past_waits
from dradash.reader.world import World
from dradash.scheduling.verdict import Verdict
from dradash.store.model import HistoryEntry, ReadModel, StoreUnavailable
from dradash.store.past import Past
from dradash.store.replica import decode_verdict

T = TypeVar("T")

PASTS: Final = 6  # moments kept in memory; each is a whole cluster
UNSETTLED_FOR: Final = 1.0  # seconds that an earlier look at a moment is believed before it is settled
SETTLED_AFTER: Final = 10.0  # seconds until no more changes with an earlier time are expected


class Pasts:
    """The last few moments that somebody looked at. A moment that is over does not change any more.

    One that has only just been is kept for as long as a page is made of it.
    """

    def __init__(self, follower: Follower, model: ReadModel, clock: Callable[[], float] = time.time) -> None:
        self._follower, self._model, self._clock = follower, model, clock
        self._known: OrderedDict[tuple[str, float], tuple[Past, float]] = OrderedDict()  # with when it was rebuilt
        self._lock = threading.Lock()

    def get(self, at: float) -> Past:
        with self._lock:  # one at a time: rebuilding a large cluster is work for one core
            key = (self._follower.version()[0], at)
            past, made = self._known.get(key, (None, 0.0))
            if past is None or (made - at < SETTLED_AFTER and self._clock() - made > UNSETTLED_FOR):
                made = self._clock()
                past = self._follower.rebuild(self._model, at)
                self._known[key] = past, made
                if len(self._known) > PASTS:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return past


class OfPasts(Generic[T]):
    """What is found out of a past moment, for the last few that somebody looked at."""

    def __init__(self, find: Callable[[Past], T]) -> None:
        self._find = find
        self._known: OrderedDict[float, tuple[Past, T]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, past: Past) -> T:
        with self._lock:
            known = self._known.get(past.at)
            if known is None or known[0] is not past:
                known = self._known[past.at] = past, self._find(past)
                if len(self._known) > PASTS:
                    self._known.popitem(last=False)
            self._known.move_to_end(past.at)
            return known[1]


def past_nodes(follower: Follower, model: ReadModel, past: Past) -> list[NodeSample]:
    """How pending pods fared on the nodes in the hour before, as far as the change stream reaches back."""
    if not past.revision:
        return []
    try:
        changes = model.changes_before(past.revision + 1, CHANGES_READ)
        changes = changes[: 1 + sum(c.at >= past.at - WINDOW for c in changes)]  # one before: it was so since then
        groups = rewound(past, past.at, zip(changes, model.states_before(changes), strict=True))
    except StoreUnavailable:
        return []
    return list(samples(groups, follower.node_sets.get))


_parts_lock = threading.Lock()


@dataclass(frozen=True)
class Current:
    model: ReadModel
    wake: Wake
    follower: Follower
    node_sets: NodeSets
    pasts: Pasts
    doctor: Doctor
    past_waits: OfPasts[PastWaits]
    past_nodes: OfPasts[list[NodeSample]]
    _parts: dict[Any, Any] = field(default_factory=dict)

    def part(self, make: Callable[[Follower], T]) -> T:
        """What a reader keeps for as long as this lives, made once: its cache of rendered pages, or the like."""
        with _parts_lock:
            if make not in self._parts:
                self._parts[make] = make(self.follower)
            found: T = self._parts[make]
            return found

    def history(self, kind: str, key: str, until: float = float("inf")) -> list[HistoryEntry]:
        """What is kept of an object, oldest first. Raises StoreUnavailable: what cannot be read is not empty."""
        return self.model.history(kind, key, 0.0, until, HISTORY_ENTRIES)

    def trails(self, course: Course[M], keys: Sequence[str], at: float | None) -> dict[str, Sequence[M]]:
        """How each of the objects went up to now or to a past moment; nothing where that cannot be read."""
        if at is not None:
            return dict.fromkeys(keys, ()) | (self._marks_until(course, keys, at) or {})
        with self.follower.world():
            trails = self.follower.observations.trails(course)
            new = [key for key in keys if trails.watch(key)]  # before reading: what comes in between is noted then
        found = self._marks_until(course, new, time.time()) if new else {}
        with self.follower.world():
            for key in new:
                if found is None:
                    trails.forget(key)  # asked again by the next page
                else:
                    trails.fill(key, found[key])
            return {key: trails.marks(key) for key in keys}

    def _marks_until(self, course: Course[M], keys: Sequence[str], at: float) -> dict[str, Sequence[M]] | None:
        """None while the model cannot be read."""
        try:
            found = self.model.histories([(course.kind, key) for key in keys], at - WINDOW, at, MARKS)
        except StoreUnavailable:
            return None
        return {key: marks_of(course, entries) for key, entries in zip(keys, found, strict=True)}

    def node_samples(self, at: float | None) -> list[NodeSample]:
        """Of the last hour, or of that before a past moment, oldest first. Raises as `past`."""
        moment = time.time() if at is None else at
        with self.follower.world():
            nodes = self.follower.observations.nodes
            found, enough = nodes.until(moment), at is None or nodes.reaches(moment)
        return found if enough or at is None else self.past_nodes.get(self.past(at))

    def verdict(self, pod: str) -> Verdict | None:
        """The stored verdict, with the hints of the last judgement even where that changed nothing."""
        try:
            raw = self.model.verdict(pod)
        except StoreUnavailable:
            return None
        return None if raw is None else decode_verdict(raw)

    def past(self, at: float) -> Past:
        """The model at `at`, a time before now. Raises BeforeHistory and StoreUnavailable."""
        return self.pasts.get(at)

    def waits(self, at: float | None) -> Since:
        """Since when somebody must move, now (ask inside `follower.world()`) or in the past. Raises as `past`."""
        return self.follower.observations.waits if at is None else self.past_waits.get(self.past(at))

    def claims(self, world: World, at: float | None) -> ClaimTable:
        """Of the world of now, or of that past one; ask while it is held."""
        return self.follower.observations.claims if at is None else ClaimTable.of(world)

    def findings(self, at: float | None) -> Report:
        """What the doctor finds, now or at a past moment. Raises BeforeHistory and StoreUnavailable."""
        return self.doctor.report() if at is None else self.doctor.report_at(self.past(at))


def build(model: ReadModel) -> Current:
    wake = Wake()
    follower = Follower(model, wake)
    doctor = Doctor(follower, model, wake, settings.DRADASH.doctor)
    waits = OfPasts(lambda past: past_waits(follower.observations.waits, model, past))
    nodes = OfPasts(partial(past_nodes, follower, model))
    built = Current(model, wake, follower, follower.node_sets, Pasts(follower, model), doctor, waits, nodes)
    for tell in on_built:
        tell(built)
    return built


on_built: Final[list[Callable[[Current], None]]] = []  # called with each one that is built
_lock = threading.Lock()
_current: Current | None = None


def known() -> Current | None:
    """The one that there is, None before its first use."""
    return _current


def get() -> Current:
    """Built at the first use, with its follower started."""
    global _current  # noqa: PLW0603 - one for the process, as the module's name says
    with _lock:
        if _current is None:
            _current = build(import_string(settings.DRADASH_MODEL)(settings.DRADASH))
            _current.follower.start()
            _current.doctor.start()
        return _current


def use(current: Current | None) -> None:
    """Put another one in its place (tests); None forgets it. Its follower is the caller's to start or to step."""
    global _current  # noqa: PLW0603
    with _lock:
        _current = current
