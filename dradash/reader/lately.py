"""The last changes that this process applied, with the state of each object before and after."""

from __future__ import annotations

from collections import deque
from typing import Final

from dradash.reader.follower import Follower
from dradash.store.replica import Applied

KEPT: Final = 4000


class Lately:
    """Made at its first use (Current.part). Make it, and ask it, inside `follower.world()`: always that lock first."""

    def __init__(self, follower: Follower) -> None:
        self._kept: deque[Applied] = deque(maxlen=KEPT)
        with follower.world() as world:
            self._world = world
            self._instance, self._last = world.instance, world.revision
            follower.listeners.append(self._heard)

    def _heard(self, applied: Applied) -> None:
        revision, instance = applied.change.revision, self._world.instance
        if revision != self._last + 1 or instance != self._instance:
            self._kept.clear()  # the replica was loaded anew in between
            self._instance = instance
        self._kept.append(applied)
        self._last = revision

    def since(self, after: int, until: int) -> list[Applied] | None:
        """What was applied after one revision up to another, oldest first; None: not all of it is known here."""
        if after >= until:
            return []
        if self._last != until or not self._kept or self._kept[0].change.revision > after + 1:
            return None
        return list(self._kept)[after + 1 - self._kept[0].change.revision :]
