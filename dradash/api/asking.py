"""One request: its parameters, and what it may read, now or at the moment that it asks about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.problems import NO_SUCH_MOMENT, NOT_FOUND, Refusal
from dradash.reader.current import Current
from dradash.reader.doctor import Report
from dradash.reader.moment import show
from dradash.reader.world import World
from dradash.store.model import HistoryEntry
from dradash.store.past import BeforeHistory

_NOT_OF_THE_QUESTION: Final = frozenset({"limit", "cursor", "sort", "fields"})


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

    def findings(self) -> Report:
        try:
            return self.here.findings(self.at)
        except BeforeHistory as before:
            raise Refusal(NO_SUCH_MOMENT, f"at: history is kept since {show(before.start)}") from before

    def history(self, kind: str, key: str) -> list[HistoryEntry]:
        return self.here.history(kind, key, float("inf") if self.at is None else self.at)

    def last(self, kind: str, key: str) -> tuple[Any, HistoryEntry]:
        """The last state of an object that is gone, as its kind's struct. Raises Refusal where there was none."""
        entries = self.history(kind, key)
        if entries:
            try:
                return read_object(KINDS[kind], entries[-1].object), entries[-1]
            except MalformedObject as error:
                raise Refusal(NOT_FOUND, f"the last known {KINDS[kind].kind} {key} is malformed: {error}") from error
        raise Refusal(NOT_FOUND, f"there is no {KINDS[kind].kind} {key}, now or in the history")
