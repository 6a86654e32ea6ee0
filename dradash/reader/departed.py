"""What is gone, by UID and by name, and what the labels of an alert named once.

The history has no index of UIDs. So the last deletions are kept in memory: those of which the follower tells, and, read
from the history at the first question, those of before. Both are bounded: see READ and KEPT.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from dradash.reader.alertlabels import DEVICES, KINDS_WITH_PAGES, POOLS, Found, Sought, named
from dradash.reader.alertlists import Filters
from dradash.reader.before import world_before
from dradash.reader.current import Current
from dradash.reader.follower import Follower
from dradash.reader.unpublished import unpublished_since
from dradash.reader.world import World
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import HistoryEntry, ReadModel
from dradash.store.replica import Applied

READ: Final = 2000  # objects whose history is read, once for each process: some 0.4 ms each
STATES: Final = 40  # newest ones of each of them
KEPT: Final = 20_000  # UIDs, and names
OF_SLICES: Final = (DEVICES, POOLS)
NAMESAKES: Final = 20  # of one name in several namespaces, those that went last
JUST_BEFORE: Final = 0.01  # seconds
FOREVER: Final = float("inf")

Name = tuple[str, str]  # kind, key


class _Meta(msgspec.Struct, frozen=True):
    uid: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


class Departed:
    """A part of Current. Thread-safe."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._known: OrderedDict[str, Found] = OrderedDict()  # touched inside `follower.world()`
        self._names: OrderedDict[Name, None] = OrderedDict()  # of deletions, the last one last; some are there again
        self._at = ("", -1)  # instance and revision up to which nothing was missed
        self._reading = threading.Lock()
        follower.listeners.append(self._saw)

    def find(self, uid: str, model: ReadModel) -> Found | None:
        """The object that had this UID, when it does not exist any more. Raises StoreUnavailable."""
        with self._reading:
            self._catch_up(model)
        with self._follower.world():
            return self._known.get(uid)

    def names(self, model: ReadModel, wanted: Callable[[str, str], bool]) -> list[Name]:
        """(kind, key) of what does not exist any more, what went last first. Raises StoreUnavailable."""
        with self._reading:
            self._catch_up(model)
        with self._follower.world() as world:
            raw = world.cluster.raw
            return [(k, n) for k, n in reversed(self._names) if wanted(k, n) and n not in raw[k]]

    def _saw(self, applied: Applied) -> None:
        change = applied.change
        if change.revision == self._at[1] + 1:
            self._at = (self._at[0], change.revision)
        if change.kind in KINDS_WITH_PAGES and applied.old is not None:
            uid = applied.old.uid
            if applied.new is None or applied.new.uid != uid:
                self._note(Found(change.kind, change.key, uid, change.at))
        if change.kind in KINDS_WITH_PAGES and change.type == "DELETED":
            self._names[change.kind, change.key] = None
            self._names.move_to_end((change.kind, change.key))
            self._forget()

    def _forget(self) -> None:
        while len(self._names) > KEPT:
            self._names.popitem(last=False)

    def _note(self, found: Found) -> None:
        if found.uid:
            self._known.pop(found.uid, None)
            self._known[found.uid] = found
            while len(self._known) > KEPT:
                self._known.popitem(last=False)

    def _catch_up(self, model: ReadModel) -> None:
        with self._follower.world() as world:
            at = (world.instance, world.revision)
            if at == self._at:
                return
            self._at = at  # from here on the follower tells
        try:
            past = [name for name in model.superseded_since(0.0) if name[0] in KINDS_WITH_PAGES]
            with self._follower.world() as world:
                gone = [(kind, key) for kind, key in past if key not in world.cluster.raw[kind]]
            there = set(past).difference(gone)  # may have had a namesake before
            names = [*gone, *(name for name in past if name in there)][:READ]
            found = [f for name in reversed(names) for f in _ended(*name, model.history(*name, 0.0, FOREVER, STATES))]
        except BaseException:
            with self._follower.world():
                self._at = ("", -1)
            raise
        with self._follower.world():
            for one in found:
                self._note(one)
            for name in gone:  # what went last first
                if name not in self._names:
                    self._names[name] = None
                    self._names.move_to_end(name, last=False)
            self._forget()


def _ended(kind: str, key: str, history: Sequence[HistoryEntry]) -> Iterable[Found]:
    """The objects of this name that are gone."""
    uid = ""
    for entry in history:
        of = _uid(entry.object)
        if entry.type == "DELETED":
            yield Found(kind, key, of, entry.at)
            uid = ""
            continue
        if uid and of != uid:  # nobody saw it go: it was replaced while nobody watched
            yield Found(kind, key, uid, entry.at)
        uid = of


def _uid(raw: bytes) -> str:
    try:
        return msgspec.json.decode(raw, type=_Object).metadata.uid
    except msgspec.DecodeError:
        return ""


def gone_of(model: ReadModel, names: Sequence[Name]) -> list[Found]:
    """Of these, which do not exist any more, those that the history still has. Raises StoreUnavailable."""
    histories = model.histories(names, 0.0, FOREVER, 1) if names else []
    return [
        Found(kind, key, _uid(history[-1].object), history[-1].at)
        for (kind, key), history in zip(names, histories, strict=True)
        if history
    ]


def _only(here: Current, sought: Sought, at: float | None) -> list[Found]:
    """By its name alone, where only one of those that are gone had it, or had it at the alert's time."""
    names = here.part(Departed).names(
        here.model, lambda kind, key: kind == sought.kind and key.rpartition("/")[2] == sought.key
    )
    found = gone_of(here.model, names[:NAMESAKES])
    if at is not None and len(found) > 1:
        found = [f for f in found if _was_there(here.model, f, at)]
    return found if len(found) == 1 else []


def _was_there(model: ReadModel, found: Found, at: float) -> bool:
    states = model.history(found.kind, found.key, at, at, 1)
    return bool(states) and states[0].type != "DELETED"


def _last_moment(model: ReadModel, found: Found) -> float:
    """Shortly before it went, but not before it was as it was last: it may have been there for a moment only."""
    before = found.gone - JUST_BEFORE
    states = model.history(found.kind, found.key, before, found.gone, STATES)
    its = [e.at for e in states if e.type != "DELETED" and _uid(e.object) == found.uid and e.at < found.gone]
    return max(before, *its) if its else before


def look(here: Current, asked: Mapping[str, str], at: float | None = None) -> tuple[list[Found], list[Sought]]:
    """What the labels (as `alertlabels.understood` gives them) name, each once and the most telling first; and what was
    looked for in vain, now and in the history. at: the alert's time, None: now. Raises StoreUnavailable where the
    history is needed.
    """
    heard = here.follower.observations.drivers.names()
    with here.follower.world() as world:
        things = list(named(asked, world, heard))
    if {"device", "pool"} & set(asked) and not any(t.kind in OF_SLICES for t in things):
        with _when_published(here, asked, at) as then, here.follower.world() as world:
            things = list(named(asked, world, heard, then))
        things = [_ended_of(here, t) if isinstance(t, Found) and t.kind in OF_SLICES else t for t in things]
    found: dict[tuple[str, str, Filters], Found] = {}
    missing: list[Sought] = []
    for thing in things:
        one = thing if isinstance(thing, Found) else _once(here, thing, at)
        if one is not None:
            found.setdefault((one.kind, one.key, one.filters), one)
        elif isinstance(thing, Sought):
            missing.append(thing)
    return list(found.values()), missing


@contextmanager
def _when_published(here: Current, asked: Mapping[str, str], at: float | None) -> Iterator[World | None]:
    """At the alert's time; without one, just before a pool or device that is wholly named was published no more."""
    if at is not None:
        yield here.past(max(at, here.model.history_start() or at))
        return
    pool = PoolID(asked.get("driver", ""), asked.get("pool", ""))
    since = unpublished_since(here, pool, asked.get("device", ""), None) if pool.driver and pool.pool else None
    if since is None:
        yield None
        return
    with world_before(here, since, None) as (then, _):
        yield then


def _ended_of(here: Current, found: Found) -> Found:
    driver, _, rest = found.key.partition("/")
    pool, _, device = rest.rpartition("/") if found.kind == DEVICES else (rest, "", "")
    return msgspec.structs.replace(found, gone=unpublished_since(here, PoolID(driver, pool), device, None) or 0.0)


def _once(here: Current, sought: Sought, at: float | None) -> Found | None:
    if not sought.kind:
        found = here.part(Departed).find(sought.key, here.model)
        if found is None:
            return None
        with here.follower.world() as world:
            replaced = found.key in world.cluster.raw[found.kind]
        return msgspec.structs.replace(found, last=_last_moment(here.model, found)) if replaced else found
    if sought.lacks_namespace:
        return next(iter(_only(here, sought, at)), None)
    return next(iter(gone_of(here.model, [(sought.kind, sought.key)])), None)
