"""Whether any device passes a chain of selectors, and whether a selector fails on one.

Devices that look the same to the chain are asked about once, however many there are and in whatever pool. Many chains
may be asked about, so a budget says how much may be found out at once; what is known already costs nothing of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import msgspec

from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.cel import compile_selector
from dradash.scheduling.structured.celreads import Read
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState, Published
from dradash.scheduling.structured.reading import is_readable, values_seen

Chain = tuple[str, ...]
Reads = frozenset[Read]
Look = Hashable  # what a chain sees of a device


class Budget:
    """left: how many devices may still be looked at."""

    def __init__(self, devices: int) -> None:
        self.left = devices


class Answer(msgspec.Struct, frozen=True):
    """matched: looks of the devices that pass. furthest: of the selectors that refuse one, the last that any reaches.

    error: the words of one failure; fails_at: index of the selector that failed, -1 where none does.
    """

    reads: Reads
    matched: frozenset[Look] = frozenset()
    furthest: int = 0
    error: str = ""
    fails_at: int = -1


class _Looks(msgspec.Struct, frozen=True):
    """One device of each look. The scheduler asks about those of usable pools only."""

    usable: dict[Look, Published]
    others: dict[Look, Published]


def anywhere(inventory: Inventory, chain: Chain, budget: Budget) -> Answer | None:
    """Of the devices of all pools; failures of those in usable ones. None: not known, and the budget is spent."""
    known: Answer | None = inventory.of_all.get(("any", chain))
    if known is None:
        known = _asked(inventory, chain, budget)
        if known is not None:
            inventory.of_all["any", chain] = known
    return known


def looks_in(inventory: Inventory, state: PoolState, reads: Reads, budget: Budget) -> Mapping[Look, Published] | None:
    """One device of each look in the pool. None: not known, and the budget is spent."""
    known = inventory.of_pool.setdefault(state.id, {})
    looks: dict[Look, Published] | None = known.get(("looks", reads))
    if looks is None and budget.left > 0:
        budget.left -= state.devices
        looks = known["looks", reads] = {}
        for one in ledger.published_in(inventory, state):
            looks.setdefault(_look(one, reads), one)
    return looks


def _look(one: Published, reads: Reads) -> Look:
    if not is_readable(one.device):
        return one.id
    return one.id.driver, one.device.allow_multiple_allocations, values_seen(one.id.driver, one.device, reads)


def _looks(inventory: Inventory, reads: Reads, budget: Budget) -> _Looks | None:
    known: _Looks | None = inventory.of_all.get(("looks", reads))
    if known is None:
        found = _Looks({}, {})
        for state in ledger.pool_states(inventory):
            there = looks_in(inventory, state, reads, budget)
            if there is None:
                return None
            (found.usable if state.state == ledger.USABLE else found.others).update(there)
        known = inventory.of_all["looks", reads] = found
    return known


def _asked(inventory: Inventory, chain: Chain, budget: Budget) -> Answer | None:
    for place, expression in enumerate(chain):
        if error := matching.compile_error(expression):
            return Answer(frozenset(), error=error, fails_at=place)
    reads: Reads = frozenset().union(*(compile_selector(e).reads for e in chain))
    looks = _looks(inventory, reads, budget)
    if looks is None or budget.left <= 0:
        return None
    budget.left -= len(looks.usable) + len(looks.others)
    matched: set[Look] = set()
    furthest, error, fails_at = 0, "", -1
    for found, is_usable in ((looks.usable, True), (looks.others, False)):
        for look, one in found.items():
            said = matching.match(one, chain)
            if said.matches:
                matched.add(look)
            else:
                furthest = max(furthest, said.at)
            if said.error and is_usable and not error:
                error, fails_at = said.error, said.at
    return Answer(reads, frozenset(matched), furthest, error, fails_at)
