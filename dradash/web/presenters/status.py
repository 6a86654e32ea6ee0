"""How old the page is, what is not known, and pages about what is not there."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.registry import KINDS, OPTIONAL, MalformedObject, read_object
from dradash.reader.moment import show
from dradash.reader.world import Freshness, World
from dradash.scheduling.generation import served_instead
from dradash.scheduling.rfc3339 import seconds
from dradash.store.model import HistoryEntry, SyncState
from dradash.web.presenters import kubectl
from dradash.web.presenters.query import Query
from dradash.web.presenters.words import Chip, cut, href, split, sync_chip

SIMILAR: Final = 8
LISTED: Final = 20  # malformed objects of one kind
# States of an optional kind in which nothing is missed. A store of before the kind was watched does not know it.
_NOTHING_MISSED: Final = ("notServed", "unknown", "notKept")
_INSTEAD: Final = {
    "resourceclasses": ("its device classes are at", "/deviceclasses"),
    "podschedulingcontexts": ("the scheduler itself chooses devices, and they are at", "/devices"),
    "deviceclasses": ("its resource classes are at", "/classes"),
    "resourceslices": ("drivers choose devices themselves, and how they negotiate is at", "/negotiations"),
}


class OtherGeneration(msgspec.Struct, frozen=True):
    """Why a cluster has no object of a kind: it serves the other generation of DRA, with something in its place."""

    serves: str  # API group and version
    without: str  # the kind's objects, in plural
    instead: str
    href: str


class UnknownKind(msgspec.Struct, frozen=True):
    """A kind whose objects the pages cannot count on. other: none, as the cluster serves the other generation."""

    kind: str
    chip: Chip
    since: float
    error: str
    seen: float = 0.0  # until when it was known
    other: OtherGeneration | None = None


class FreshnessView(msgspec.Struct, frozen=True):
    cluster: str
    state: str  # loading, live, unavailable
    revision: int
    changed_at: float
    checked_at: float
    error: str
    failing_since: float
    leaderless: bool
    leader_since: float
    refusing: str  # why the model takes no writes, where that is why nobody watches
    overdue: int  # pods that wait to be judged for longer than they should, ...
    overdue_since: float  # ... and since when
    unknown: tuple[UnknownKind, ...]

    @property
    def old(self) -> bool:
        """Nothing new can come, however well the page's socket is."""
        return self.state == "unavailable" or self.leaderless

    @property
    def missed(self) -> tuple[UnknownKind, ...]:
        return tuple(kind for kind in self.unknown if kind.other is None)

    @property
    def absent(self) -> tuple[UnknownKind, ...]:
        """Kinds of the generation that the cluster does not serve: nothing is wrong with that."""
        return tuple(kind for kind in self.unknown if kind.other is not None)


class Malformed(msgspec.Struct, frozen=True):
    key: str
    href: str
    error: str


class MalformedObjects(msgspec.Struct, frozen=True):
    """Of one kind, by name: they are in no list of those that can be read."""

    count: int
    listed: tuple[Malformed, ...]


class Similar(msgspec.Struct, frozen=True):
    key: str
    href: str


class Later(msgspec.Struct, frozen=True):
    """The first state that is kept of what was not there yet. at: Unix seconds; unborn: it did not even exist."""

    at: float
    href: str
    unborn: bool


class MissingView(msgspec.Struct, frozen=True):
    """Looked for and not found, here and in the history."""

    singular: str
    key: str
    command: str
    chip: Chip  # whether the kind is known at all
    known: bool
    similar: tuple[Similar, ...]
    plural: str
    malformed: str = ""  # it is (or was) there, but no valid object of its kind: what is wrong with it
    gone: float = 0.0  # it was there, and is deleted since then
    other: OtherGeneration | None = None
    unread: str = ""  # why the history cannot be read: whether it ever was there is then not known
    later: Later | None = None  # it was not there yet

    @property
    def unsure(self) -> bool:
        """It may exist, or may have existed, and that could not be read."""
        return bool(self.unread) or not (self.known or self.gone or self.malformed or self.other)

    @property
    def heading(self) -> str:
        if self.malformed and not self.gone:
            return f"Malformed {self.singular}"
        return f"Not known: {self.singular}" if self.unsure else f"No {self.singular}"

    @property
    def title(self) -> str:
        return f"{self.heading} {self.key}"


def present(freshness: Freshness, sync: Mapping[str, SyncState], cluster: str) -> FreshnessView:
    unknown = []
    if freshness.state != "loading":
        for plural in KINDS:
            state = sync.get(plural) or SyncState(plural)
            if state.state != "synced" and not (plural in OPTIONAL and state.state in _NOTHING_MISSED):
                known = state.seen or state.since
                other = other_generation(plural, sync)
                unknown.append(UnknownKind(plural, sync_chip(state.state), state.since, state.error, known, other))
    return FreshnessView(
        cluster=cluster,
        state=freshness.state,
        revision=freshness.revision,
        changed_at=freshness.changed_at,
        checked_at=freshness.checked_at,
        error=freshness.error,
        failing_since=freshness.failing_since,
        leaderless=freshness.state == "live" and not freshness.leader,
        leader_since=freshness.leader_since,
        refusing=freshness.refusing,
        overdue=freshness.due if freshness.overdue and freshness.state == "live" else 0,
        overdue_since=freshness.due_since,
        unknown=tuple(unknown),
    )


def is_expected(plural: str, sync: Mapping[str, SyncState]) -> bool:
    """Whether the kind is not served because the cluster has the other generation of DRA."""
    return plural in OPTIONAL or served_instead(plural, sync) is not None


def other_generation(plural: str, sync: Mapping[str, SyncState]) -> OtherGeneration | None:
    """What the cluster has instead of a kind that it does not serve; None: it is served, or missed."""
    instead = served_instead(plural, sync)
    if instead is None:
        return None
    served = sync[instead]
    kind = KINDS[plural]
    plural_kind = f"{kind.kind}es" if kind.kind.endswith("s") else f"{kind.kind}s"
    group = KINDS[served.kind].group
    return OtherGeneration(f"{group}/{served.version}" if served.version else group, plural_kind, *_INSTEAD[plural])


def malformed(world: World) -> dict[str, MalformedObjects]:
    """By plural, of the kinds that have some."""
    return {
        plural: MalformedObjects(
            len(errors),
            tuple(Malformed(key, href(plural, key), cut(errors[key])) for key in heapq.nsmallest(LISTED, errors)),
        )
        for plural, errors in world.cluster.malformed.items()
        if errors
    }


def chip_of(world: World, plural: str) -> Chip:
    """How far a kind is known."""
    return sync_chip((world.sync.get(plural) or SyncState(plural)).state)


def can_tell(world: World, plural: str) -> bool:
    """Whether an object of the kind that is not known is none."""
    state = (world.sync.get(plural) or SyncState(plural)).state
    return state == "synced" or is_expected(plural, world.sync)


def missing(world: World, plural: str, key: str, last: HistoryEntry | None = None, unread: str = "") -> MissingView:
    """last: the last state that is kept of what is gone, which no page could be made of. unread: why the history cannot
    be read."""
    sync, other = world.sync.get(plural) or SyncState(plural), other_generation(plural, world.sync)
    namespace, name = split(key)
    same_name = [k for k in world.cluster.objects(plural) if split(k)[1] == name or split(k)[1].startswith(name[:12])]
    return MissingView(
        singular=KINDS[plural].kind,
        key=key,
        command=kubectl.get(plural, namespace, name),
        chip=sync_chip(sync.state),
        known=sync.state == "synced",
        plural=plural,
        similar=tuple(Similar(k, href(plural, k)) for k in sorted(same_name)[:SIMILAR]),
        malformed=world.cluster.malformed[plural].get(key, "") or _unreadable(plural, last),
        gone=last.at if last is not None and key not in world.cluster.raw[plural] else 0.0,
        other=other,
        unread="" if other else unread,  # a cluster without the kind never had one
    )


def later(entry: HistoryEntry, at: float, plural: str, query: Query) -> Later:
    """entry: the first state after `at`, the moment that the page shows."""
    try:
        created = seconds(read_object(KINDS[plural], entry.object).metadata.creation_timestamp)
    except MalformedObject:
        created = 0.0
    return Later(entry.at, query.link(at=show(entry.at), **{"with": None}), created > at)


def _unreadable(plural: str, last: HistoryEntry | None) -> str:
    if last is None:
        return ""
    try:
        read_object(KINDS[plural], last.object)
    except MalformedObject as error:
        return str(error)
    return ""
