"""Since when no slice publishes a pool or a device any more: they are no objects and have no history of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.kinds.resourceslice import ResourceSlice
from dradash.reader.before import world_before
from dradash.reader.current import Current
from dradash.reader.world import World
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import HistoryEntry

V = TypeVar("V")

SLICES: Final = "resourceslices"
READ: Final = 1000  # slices whose history is read, those that changed last before others
AT_ONCE: Final = 50  # of them
STATES: Final = 10  # newest ones of each of them


def unpublished_since(here: Current, pool: PoolID, device: str, at: float | None) -> float | None:
    """Unix seconds at which the last slice of the pool, or with the device, went or stopped to publish it.

    device "": the pool itself. at: the moment asked about, None: now. None: the history has no slice that published it.
    Costs the history of slices, as there is no index of pools: ask only about what is not there.
    Raises StoreUnavailable.
    """
    names = [name for name in here.model.superseded_since(0.0) if name[0] == SLICES][:READ]
    found = None
    for start in range(0, len(names), AT_ONCE):
        read = here.model.histories(names[start : start + AT_ONCE], 0.0, math.inf if at is None else at, STATES)
        ends = [end for states in read if (end := _end(states, pool, device)) is not None]
        found = max(ends if found is None else [found, *ends], default=None)
        if found is not None and at is None and found >= _newest(read):
            break  # slices that changed before cannot have published it for longer
    return found


def last_published(
    here: Current, pool: PoolID, device: str, at: float | None, read: Callable[[World], V | None]
) -> tuple[V, float] | None:
    """What `read` finds in the cluster just before the pool or device was published no more, and when that was.

    pool, device, at: as `unpublished_since` takes them. None: no kept state has it. Raises StoreUnavailable.
    """
    since = unpublished_since(here, pool, device, at)
    if since is None:
        return None
    with world_before(here, since, at) as (before, _):
        found = read(before)
    return (found, since) if found is not None else None


def _newest(read: Sequence[Sequence[HistoryEntry]]) -> float:
    """When the one of these slices that changed longest ago did so last."""
    return min((states[-1].at for states in read if states), default=math.inf)


def _end(states: Sequence[HistoryEntry], pool: PoolID, device: str) -> float | None:
    """When the last state that publishes it was over."""
    for before, after in reversed(list(pairwise(states))):
        if before.type != "DELETED" and _publishes(before.object, pool, device):
            return after.at
    return None


def _publishes(raw: bytes, pool: PoolID, device: str) -> bool:
    if msgspec.json.encode(pool.pool) not in raw:
        return False  # most slices are of other pools, and reading them costs more
    try:
        item = read_object(KINDS[SLICES], raw)
    except MalformedObject:
        return False
    if not isinstance(item, ResourceSlice) or (item.spec.driver, item.spec.pool.name) != (pool.driver, pool.pool):
        return False
    return not device or any(d.name == device for d in item.spec.devices)
