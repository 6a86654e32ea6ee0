"""One request: its parameters, and what it may read, now or at the moment that it asks about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.problems import NO_SUCH_MOMENT, NOT_FOUND, UNAVAILABLE, Refusal
from dradash.reader.claimtable import ClaimTable
from dradash.reader.current import Current
from dradash.reader.doctor import Report
from dradash.reader.moment import show
from dradash.reader.nearest import first_after
from dradash.reader.tallies import Tallies
from dradash.reader.waits import Since, past_waits
from dradash.reader.world import World
from dradash.store.model import HistoryEntry, StoreUnavailable
from dradash.store.past import BeforeHistory, Earlier

_NOT_OF_THE_QUESTION: Final = frozenset({"limit", "cursor", "sort", "fields"})


class Found(msgspec.Struct, frozen=True):
    """An object of its kind's struct. gone: when it was deleted, 0.0 while it is there; this is then its last state."""

    of: Any
    raw: bytes
    gone: float


class Ask:
    """where: names from the path. now: Unix seconds that durations count to."""

    def __init__(self, here: Current, params: Mapping[str, Any], where: Mapping[str, str], clock: float) -> None:
        self.here, self.params, self.where = here, params, where
        self.at: float | None = params.get("at")
        self.now = clock if self.at is None else self.at
        if self.at is not None and self.at > clock:
            raise Refusal(NO_SUCH_MOMENT, "at: this time has not come yet")

    def get(self, name: str) -> str:
        return str(self.params.get(name, ""))

    def question(self, of: str) -> str:
        """A digest of what decides which rows (of this sort) there are: a cursor belongs to it and to an order."""
        given = sorted((name, value) for name, value in self.params.items() if name not in _NOT_OF_THE_QUESTION)
        return hashlib.blake2b(repr((of, given, sorted(self.where.items()))).encode(), digest_size=6).hexdigest()

    @property
    def key(self) -> str:
        """The object's key, from the path."""
        namespace = self.where.get("namespace")
        return f"{namespace}/{self.where['name']}" if namespace else self.where["name"]

    @contextmanager
    def world(self) -> Iterator[World]:
        """The state asked about: now's, held still, or a past one."""
        if self.at is None:
            with self.here.follower.world() as live:
                yield live
            return
        try:
            past = self.here.past(self.at)
        except BeforeHistory as before:
            raise Refusal(NO_SUCH_MOMENT, f"at: history is kept since {show(before.start)}") from before
        yield past

    def waits(self) -> Since:
        """Since when somebody must move; ask inside `world()`."""
        return self.here.waits(self.at)

    def tallies(self, world: World) -> Tallies:
        """Ask inside `world()`."""
        return self.here.follower.observations.tallies if self.at is None else Tallies.of(world)

    def claims(self, world: World) -> ClaimTable:
        """Ask inside `world()`."""
        return self.here.claims(world, self.at)

    def refusals_of(self, node: str) -> int:
        """By drivers, as far as this process saw; of the past it is not told. Ask inside `world()`."""
        return self.here.follower.observations.drivers.refusals_of(node) if self.at is None else 0

    def findings(self) -> Report:
        try:
            return self.here.findings(self.at)
        except BeforeHistory as before:
            raise Refusal(NO_SUCH_MOMENT, f"at: history is kept since {show(before.start)}") from before

    def history(self, kind: str, key: str) -> list[HistoryEntry]:
        """All that is kept of an object up to the moment asked about, oldest first. Raises Refusal."""
        try:
            return self.here.history(kind, key, float("inf") if self.at is None else self.at)
        except StoreUnavailable as error:
            raise Refusal(UNAVAILABLE, f"the history cannot be read: {error}") from error

    def found(self, kind: str) -> Found:
        """The object that the path names, or the last state of one that is gone. Raises Refusal."""
        with self.world() as world:
            of, raw = world.cluster.objects(kind).get(self.key), world.cluster.raw[kind].get(self.key, b"{}")
        if of is not None:
            return Found(of, raw, 0.0)
        of, entry = self.last(kind, self.key)
        return Found(of, entry.object, entry.at)

    def last(self, kind: str, key: str) -> tuple[Any, HistoryEntry]:
        """The last state of an object that is gone, as its kind's struct. Raises Refusal where there was none."""
        entries = self.history(kind, key)
        if entries:
            try:
                return read_object(KINDS[kind], entries[-1].object), entries[-1]
            except MalformedObject as error:
                raise Refusal(NOT_FOUND, f"the last known {KINDS[kind].kind} {key} is malformed: {error}") from error
        raise self.never(kind, key)

    def never(self, kind: str, key: str) -> Refusal:
        """Of an object that is not there, and that the history up to the moment asked about does not have."""
        if (first := first_after(self.here, kind, key, self.at)) is not None:
            return Refusal(NOT_FOUND, f"there was no {KINDS[kind].kind} {key} then: it is known since {show(first.at)}")
        return Refusal(NOT_FOUND, f"there is no {KINDS[kind].kind} {key}, now or in the history")


class AskedEarlier(Ask):
    """The same question about a world of before, as far as which rows it has: what they say is not asked."""

    def __init__(self, ask: Ask, world: Earlier) -> None:
        super().__init__(ask.here, ask.params, ask.where, ask.now)
        self._world = world
        self.at = world.at

    def waits(self) -> Since:
        return past_waits(self.here.follower.observations.waits, self.here.model, self._world)

    def tallies(self, world: World) -> Tallies:  # noqa: ARG002 - as of now
        return Tallies()
