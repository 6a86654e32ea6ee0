"""The moment nearest to an alert's at which what it names can be shown."""

from __future__ import annotations

from typing import Final

from dradash.kinds.registry import KINDS
from dradash.reader import alertlabels, alertlists
from dradash.reader.alertlabels import Found, is_driver
from dradash.reader.current import Current
from dradash.reader.world import World
from dradash.store.model import HistoryEntry

_STATES: Final = 5000  # of one object that are looked through for the first one


def nearest(here: Current, found: Found | None, at: float | None) -> float | None:
    """`at`, or the first moment after it at which it was there; None: now. Unix seconds. Raises StoreUnavailable.

    found: an object may be younger than the history; None: no object, only the history counts.
    """
    start = here.model.history_start() if at is not None else None
    if at is None or start is None:
        return None
    at = max(at, start)
    if found is None or not found.key:
        return at
    if found.kind in KINDS:
        if here.model.history(found.kind, found.key, at, at, 1):
            return at
        later = first_after(here, found.kind, found.key, at)
        if later is not None:
            return max(at, later.at)
    # What is no object, or exists only by name, has no history of its own.
    return at if _is_named(found, here.past(at)) else None


def first_after(here: Current, kind: str, key: str, at: float | None) -> HistoryEntry | None:
    """The first state that is kept of an object of which nothing is of `at`; None: now. Raises StoreUnavailable."""
    states = here.model.history(kind, key, at, float("inf"), _STATES) if at is not None else ()
    return states[0] if states else None


def first_state(here: Current, kind: str, key: str, start: float) -> float:
    """The earliest moment, from `start` (of the history) on, of which a state of the object is known.

    Of an object that was not there at the start, the first of the states that are read for a page. `start`: of one that
    nobody ever saw. Unix seconds. Raises StoreUnavailable.
    """
    if here.model.history(kind, key, start, start, 1):
        return start
    states = here.history(kind, key)
    return max(start, states[0].at) if states else start


def _is_named(found: Found, world: World) -> bool:
    cluster = world.cluster
    match found.kind:
        case alertlabels.DRIVERS:
            return is_driver(found.key, world, ())
        case alertlabels.DEVICES:
            driver, _, rest = found.key.partition("/")
            pool, _, device = rest.rpartition("/")
            return alertlists.device({"driver": driver, "pool": pool, "device": device}, world) is not None
        case alertlabels.POOLS:
            driver, _, pool = found.key.partition("/")
            return alertlists.pool({"driver": driver, "pool": pool}, world) is not None
        case alertlabels.CLASSES:
            return found.key in cluster.claims_by_class
        case alertlabels.DEVICE_CLASSES:
            return found.key in cluster.claims_by_device_class
        case _:
            return True  # a list of what there was
