"""What a search finds of pools and devices, which are parts of slices: by the names of driver, pool and device.

There may be tens of thousands of devices: their names are made once for each pool as it is, and an object for none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Final

import msgspec

from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState
from dradash.scheduling.structured.pools import PoolID
from dradash.web.presenters.rank import EXACT, part_of, rank
from dradash.web.presenters.search import POOLS, Sought

# Rank, length of the name, driver/pool/name, and what it is: a pool, or with a name a device of it.
Fit = tuple[int, int, str, tuple[PoolID, str]]


class Fits(msgspec.Struct, frozen=True):
    """count: how many fit; best: at least the best `shown` of these, in no order."""

    count: int
    best: list[Fit]


class _Names(msgspec.Struct, frozen=True):
    """Of one pool: driver/pool in lower case, and its devices; text: the driver/pool/device of all in lower case."""

    id: PoolID
    path: str
    devices: tuple[str, ...]
    text: str


class _Asked(msgspec.Struct, frozen=True):
    """whole: all devices of a pool that fits are wanted; else the pool is found, and those whose own name fits."""

    words: tuple[str, ...]
    word: str  # that names are ranked by
    part: re.Pattern[str]
    whole: bool


def fitting(inventory: Inventory, sought: Sought, kind: str, shown: int) -> Fits:
    """Pools, or devices. Labels and UIDs they have none; where others have a namespace, they have what they are of."""
    if sought.labels or sought.uid:
        return Fits(0, [])
    words = () if sought.soft_kind == kind else sought.words
    pools = _names(inventory)
    if sought.namespace and words:
        words = (f"{sought.namespace.lower()}/{words[0]}", *words[1:])
    elif sought.namespace:
        pools = [p for p in pools if p.id.driver == sought.namespace]
    word = words[0].rpartition("/")[2] if words else ""
    asked = _Asked(words, word, part_of(word), whole=kind in (sought.kind, sought.soft_kind))
    if kind == POOLS:
        found = list(_pools(pools, asked))
        return Fits(len(found), found)
    return _devices(pools, asked, shown)


def _pools(pools: Iterable[_Names], asked: _Asked) -> Iterator[Fit]:
    for pool in pools:
        if all(word in pool.path for word in asked.words):
            name = pool.id.pool
            yield _rank(name, pool.path, asked), len(name), pool.path, (pool.id, "")


def _devices(pools: Iterable[_Names], asked: _Asked, shown: int) -> Fits:
    """Pools with like devices fit alike: only of as many as are shown, the devices are looked at one by one."""
    count, best = 0, []
    alike: Counter[Hashable] = Counter()
    sizes: dict[Hashable, int] = {}
    for pool in pools:
        if not all(word in pool.text for word in asked.words):
            continue
        # A word with a slash may begin in the pool's name: such pools are few, and each is like no other.
        one = any("/" in word for word in asked.words)
        like = (pool.id if one else pool.devices, tuple(word in pool.path for word in asked.words))
        alike[like] += 1
        if alike[like] <= shown:
            found = list(_devices_of(pool, asked))
            sizes[like] = len(found)
            best += found
        count += sizes[like]
    return Fits(count, best)


def _devices_of(pool: _Names, asked: _Asked) -> Iterator[Fit]:
    begins = len(pool.path) + 1
    for name in pool.devices:
        path = f"{pool.path}/{name.lower()}"
        if not all(word in path for word in asked.words):
            continue
        if asked.whole or any(path.find(word, max(0, begins + 1 - len(word))) >= 0 for word in asked.words):
            yield _rank(name, path, asked), len(name), path, (pool.id, name)


def _rank(name: str, path: str, asked: _Asked) -> int:
    first = asked.words[0] if asked.words else path
    if path == first or ("/" in first and path.endswith(f"/{first}")):
        return EXACT
    return rank(name.lower(), asked.word, asked.part)


# --- names -----------------------------------------------------------------------------------------------------------

_KEY: Final = "names to search"


def _names(inventory: Inventory) -> list[_Names]:
    known: list[_Names] | None = inventory.of_all.get(_KEY)
    if known is None:
        known = inventory.of_all[_KEY] = [_names_of(inventory, state) for state in ledger.pool_states(inventory)]
    return known


def _names_of(inventory: Inventory, state: PoolState) -> _Names:
    memo = inventory.of_pool.setdefault(state.id, {})
    known: _Names | None = memo.get(_KEY)
    if known is None:
        names = tuple(dict.fromkeys(one.id.device for one in ledger.published_in(inventory, state)))
        path = f"{state.id.driver}/{state.id.pool}".lower()
        known = memo[_KEY] = _Names(state.id, path, names, "\n".join(f"{path}/{name}".lower() for name in names))
    return known
