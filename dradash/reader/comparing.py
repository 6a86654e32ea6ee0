"""Two moments of what this process can rebuild, compared."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dradash.reader import current, differences
from dradash.reader.differences import Differs
from dradash.reader.world import World


def differing(
    at: float | None, other: float, objects: Sequence[tuple[str, str]] | None = None
) -> tuple[list[Differs], tuple[float, float]]:
    """What differs between `other` and `at` (None: now), of these objects or of all; with the two moments in order.

    Raises BeforeHistory and StoreUnavailable.
    """
    here = current.get()
    now = time.time() if at is None else at
    then, later = min(other, now), max(other, now)
    before = here.past(then)

    def found(after: World) -> list[Differs]:
        if objects is None:
            return differences.differing(before, after)
        return differences.differing_of(before, after, objects)

    if at is None:
        with here.follower.world() as live:
            return found(live), (then, later)
    return found(here.past(later)), (then, later)
