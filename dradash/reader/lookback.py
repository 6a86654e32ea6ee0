"""A finding that is over, found again in the history: what it said, and until when. See decision 0012.

Whoever asks, and however long ago its process began: the same model gives the same answer.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from dradash.reader.follower import Follower
from dradash.reader.neighbours import CLAIMS, GONE, TEMPLATES, Name, last_states, names_of, neighbours, once_named
from dradash.scheduling.doctor.finding import Finding, code_of, name_digits, name_digits_of
from dradash.scheduling.doctor.rules import RULES
from dradash.store.model import ReadModel
from dradash.store.past import BeforeHistory, Past

CHANGES: Final = 8  # newest ones, before and after which is looked
EVENLY: Final = 6  # moments over the history, where no change tells
PROBES: Final = 2 * CHANGES + EVENLY + 1  # looks for one finding at most: for each a cluster is rebuilt
CLOSE: Final = 1.0  # seconds: how well the end is told that no change of the object or its neighbours tells
HALVINGS: Final = 17  # of a day, down to that
STATES: Final = 40  # newest ones of one object
KEPT: Final = 1000  # answers
MOMENTS: Final = 2  # from which was looked back last
NAMING: Final = ("pods", CLAIMS, TEMPLATES)  # kinds of which findings say that what they name is absent


class Resolved(msgspec.Struct, frozen=True):
    finding: Finding
    at: float  # when it was over, in Unix seconds


class _Seen(msgspec.Struct, frozen=True):
    """What this process saw of a finding: a time at which it still held, and that it was over by then."""

    held_at: float
    resolved: Resolved


class _Moment:
    """What the searches that look back from one moment share.

    superseded: names with a history, what changed last first. names: by their digits. gone: by namespace.
    """

    def __init__(self, start: float, superseded: list[Name]) -> None:
        self.start, self.superseded = start, superseded
        self.names: dict[str, list[Name]] = {}
        self.gone: dict[str, dict[Name, object]] = {}
        self.pasts: dict[float, Past] = {}  # at the times that every search looks at


# The findings of a moment; the names of what is of interest, for what must be read from the history one by one.
Examine = Callable[[Past, frozenset[Name]], Iterable[Finding]]


class LookBack:
    """Thread-safe: one search at a time."""

    def __init__(self, follower: Follower, model: ReadModel, examine: Examine) -> None:
        self._follower, self._model, self._examine = follower, model, examine
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[str, float | None], Resolved | None] = OrderedDict()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._instance = ""
        self._moments: OrderedDict[tuple[str, float | int], _Moment] = OrderedDict()

    def saw(self, began: Iterable[Finding], over: Iterable[Finding], held_at: float, at: float) -> None:
        """Answers about these are not true any more. The latter held at `held_at`, and do not at `at`."""
        for finding in over:
            self._seen[finding.id] = _Seen(held_at, Resolved(finding, at))
            self._seen.move_to_end(finding.id)
            self._answers.pop((finding.id, None), None)
        for finding in began:
            self._answers.pop((finding.id, None), None)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)

    def knows(self, id_: str) -> bool:
        """Whether the answer of now is known already."""
        return (id_, None) in self._answers and self._instance == self._follower.version()[0]

    def resolved(self, id_: str, until: float, at: float | None = None) -> Resolved | None:
        """The last time that the finding held before `until`, when it does not; None: not in the history.

        at: the past moment that is asked about (`until` is then the same). Raises StoreUnavailable.
        """
        if code_of(id_) not in RULES:
            return None
        with self._lock:
            instance = self._follower.version()[0]
            if instance != self._instance:
                self._answers.clear()
                self._instance = instance
            with contextlib.suppress(KeyError):
                return self._answers[id_, at]
            answer = self._search(id_, until, at)
            if answer is None and at is None and id_ in self._seen:
                answer = self._seen[id_].resolved  # better than nothing: clocks differ, or it was too brief
            self._answers[id_, at] = answer
            if len(self._answers) > KEPT:
                self._answers.popitem(last=False)
            return answer

    # --- where to look ---------------------------------------------------------------------------------------------

    def _search(self, id_: str, until: float, at: float | None) -> Resolved | None:
        moment = self._moment(until, at)
        if moment is None:
            return None
        seen = self._seen.get(id_)
        for name in moment.names.get(name_digits_of(id_), []):
            of = frozenset(self._neighbours(name, until, moment))
            search = _Search(self._probe(id_, of, moment if at is not None else None, until), moment.start, until)
            found = search.run(self._changes(of, until), seen.held_at if seen else None)
            if found is not None:
                return found
        return None

    def _moment(self, until: float, at: float | None) -> _Moment | None:
        """What all searches of one moment share. A past one stays as it is, whatever happens since; None: no history.

        Now is another moment with every revision.
        """
        instance, revision = self._follower.version()[:2]
        key = (instance, revision if at is None else at)
        known = self._moments.get(key)
        if known is None:
            start = self._model.history_start()
            if start is None:
                return None
            known = _Moment(start, self._model.superseded_since(0.0))
            known.names.update(self._all_names(until, known))
            self._moments[key] = known
            if len(self._moments) > MOMENTS:
                self._moments.popitem(last=False)
        self._moments.move_to_end(key)
        return known

    def _all_names(self, until: float, moment: _Moment) -> dict[str, list[Name]]:
        """By their digits: whatever exists, is gone, or is named by one of those."""
        with self._follower.world() as world:
            names = {(kind, key) for kind, keys in world.cluster.raw.items() for key in (*keys, "")}
            for kind in NAMING:
                for obj in world.cluster.objects(kind).values():
                    names.update(names_of(obj))
        for obj in self._gone("", until, moment).values():
            names.update(names_of(obj))
        found: defaultdict[str, list[Name]] = defaultdict(list)
        for kind, key in sorted({*names, *moment.superseded}):
            found[name_digits(kind, key)].append((kind, key))
        return found

    def _gone(self, namespace: str, until: float, moment: _Moment) -> dict[Name, object]:
        """Of what names others and is gone, those that went last, with their last states. namespace "": any."""
        if namespace in moment.gone:
            return moment.gone[namespace]
        with self._follower.world() as world:
            raw = world.cluster.raw
            gone = [(k, n) for k, n in moment.superseded if k in NAMING and n not in raw[k] and n.startswith(namespace)]
        moment.gone[namespace] = dict(last_states(self._model, gone[:GONE], until))
        return moment.gone[namespace]

    def _neighbours(self, name: Name, until: float, moment: _Moment) -> set[Name]:
        namespace, _, _ = name[1].rpartition("/")
        gone = self._gone(f"{namespace}/" if namespace else "", until, moment)
        named = once_named(self._model, name, until)
        with self._follower.world() as world:
            return neighbours(name, named, world.cluster, gone)

    def _changes(self, of: Iterable[Name], until: float) -> list[float]:
        """When what the finding depends on changed, newest first."""
        times = {e.at for kind, key in of for e in self._model.history(kind, key, 0.0, until, STATES)}
        return sorted(times, reverse=True)

    def _probe(
        self, id_: str, of: frozenset[Name], moment: _Moment | None, until: float
    ) -> Callable[[float], Finding | None]:
        """moment: whose rebuilt clusters are kept for the next search; None: nobody comes back to it."""

        def held(at: float) -> Finding | None:
            try:
                past = moment.pasts.get(at) if moment else None
                if past is None:
                    past = self._follower.rebuild(self._model, at)
                if moment and at in evenly(moment.start, until):
                    moment.pasts[at] = past
            except BeforeHistory:
                return None
            return next((f for f in self._examine(past, of) if f.id == id_), None)

        return held


def evenly(start: float, until: float) -> list[float]:
    return [until - (until - start) * i / EVENLY for i in range(1, EVENLY + 1)]


class _Search:
    """Looks at moments, the newest first, until the finding holds at one; then for its end."""

    def __init__(self, held: Callable[[float], Finding | None], start: float, until: float) -> None:
        self._held, self._start, self._until = held, start, until

    def run(self, changes: list[float], known: float | None) -> Resolved | None:
        later = self._until  # it does not hold then
        for change in changes[:CHANGES]:
            # Most findings are over because something changed: it held until just before.
            before = math.nextafter(change, -math.inf)
            if (finding := self._look(before)) is not None:
                return self._ended(before, later, change, finding)
            later = min(later, before)
        # Others because time went by, so after a change rather than before one.
        moments = sorted({*changes[:CHANGES], *evenly(self._start, self._until)}, reverse=True)
        # What one process knows comes last: the others shall give the same answer where they can.
        for at in (*moments, *([known] if known else [])):
            if (finding := self._look(at)) is not None:
                return self._ended(at, min(c for c in (*changes, self._until) if c > at), 0.0, finding)
        return None

    def _look(self, at: float) -> Finding | None:
        return self._held(at) if self._start <= at < self._until else None

    def _ended(self, low: float, high: float, change: float, finding: Finding) -> Resolved:
        """It held at `low` and did not at `high`; `change` is the likeliest end."""
        if low < change < high:
            still = self._held(change)
            if still is None:
                return Resolved(finding, change)
            low, finding = change, still
        elif change == high:
            return Resolved(finding, high)
        for _ in range(HALVINGS):
            if high - low <= CLOSE:
                break
            middle = (low + high) / 2
            still = self._held(middle)
            if still is None:
                high = middle
            else:
                low, finding = middle, still
        return Resolved(finding, high)
