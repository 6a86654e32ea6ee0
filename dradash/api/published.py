"""What pools, slices and devices have in common: their addresses and filters, and how much of something is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.schemas import Shape, time_of
from dradash.problems import NOT_FOUND, NOT_KNOWN, Refusal
from dradash.reader.unpublished import last_published
from dradash.reader.world import World
from dradash.scheduling.structured.ledger import CounterUse
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import SyncState

D = TypeVar("D", bound=Shape)

KIND: Final = "resourceslices"
NAMED: Final = 20  # nodes, holders and pods that a row names
DRIVER: Final = params.text("driver", "Only of this driver.", "gpu.example.com")


class Use(Shape, frozen=True):
    """A shared counter (of a counterSet) or a device's capacity (counterSet is ""). share: from 0 to 1.

    error: why it cannot be told, null else.
    """

    counter_set: str
    name: str
    used: str
    total: str
    share: float
    error: str | None


def use(of: CounterUse) -> Use:
    return Use(
        counter_set=of.counter_set,
        name=of.name,
        used=of.used,
        total=of.total,
        share=round(of.share, 4),
        error=of.wrong or None,
    )


def now_or_last(ask: Ask, pool: PoolID, device: str, detail: Callable[[World], D | None], words: str) -> D:
    """A pool (device "") or a device as it is, or the last state of one that no slice publishes any more, with `gone`.

    Raises Refusal, with the words, where none is kept.
    """
    with ask.world() as world:
        found = detail(world)
    if found is not None:
        return found
    last = last_published(ask.here, pool, device, ask.at, detail)
    if last is None:
        with ask.world() as world:
            raise absent(world, words)
    return msgspec.structs.replace(last[0], gone=time_of(last[1]))


def address(section: str, id_: tuple[str, ...]) -> str:
    """A pool's name may have slashes; they stay."""
    driver, pool, *device = id_
    return f"/{section}/{quote(driver, '')}/{quote(pool)}" + "".join(f"/{quote(d, '')}" for d in device)


def absent(world: World, words: str) -> Refusal:
    """While slices cannot be read, nothing is called absent; a cluster that does not serve them has none."""
    state = (world.sync.get(KIND) or SyncState(KIND)).state
    if state in ("synced", "notServed"):
        return Refusal(NOT_FOUND, words)
    return Refusal(NOT_KNOWN, f"{words} as far as is known: {KIND} are {state}")
