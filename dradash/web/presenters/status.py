"""How old the page is, what is not known, and pages about what is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.reader.world import Freshness, World
from dradash.store.model import HistoryEntry, SyncState
from dradash.web.presenters import kubectl
from dradash.web.presenters.words import Chip, href, split, sync_chip

SIMILAR: Final = 8
_GENERATIONS: Final = (("resourceclasses", "podschedulingcontexts"), ("deviceclasses", "resourceslices"))


class UnknownKind(msgspec.Struct, frozen=True):
    """A kind whose objects the pages cannot count on. expected: the cluster serves the other generation of DRA."""

    kind: str
    chip: Chip
    since: float
    error: str
    seen: float = 0.0  # until when it was known
    expected: bool = False


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
    def missed(self) -> tuple[UnknownKind, ...]:
        return tuple(kind for kind in self.unknown if not kind.expected)


class Similar(msgspec.Struct, frozen=True):
    key: str
    href: str


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


def present(freshness: Freshness, sync: Mapping[str, SyncState], cluster: str) -> FreshnessView:
    unknown = []
    if freshness.state != "loading":
        for plural in KINDS:
            state = sync.get(plural) or SyncState(plural)
            if state.state != "synced":
                known = state.seen or state.since
                expected = is_expected(plural, sync)
                unknown.append(
                    UnknownKind(plural, sync_chip(state.state), state.since, state.error, known, expected=expected)
                )
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
    if (sync.get(plural) or SyncState(plural)).state != "notServed":
        return False
    others = next((_GENERATIONS[1 - i] for i, kinds in enumerate(_GENERATIONS) if plural in kinds), ())
    return any((sync.get(k) or SyncState(k)).state in ("synced", "stale", "syncing") for k in others)


def chip_of(world: World, plural: str) -> Chip:
    """How far a kind is known."""
    return sync_chip((world.sync.get(plural) or SyncState(plural)).state)


def missing(world: World, plural: str, key: str, last: HistoryEntry | None = None) -> MissingView:
    """last: the last state that is kept of what is gone, which no page could be made of."""
    sync = world.sync.get(plural) or SyncState(plural)
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
    )


def _unreadable(plural: str, last: HistoryEntry | None) -> str:
    if last is None:
        return ""
    try:
        read_object(KINDS[plural], last.object)
    except MalformedObject as error:
        return str(error)
    return ""
