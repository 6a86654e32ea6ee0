"""Whether any device passes a chain of selectors, and whether a selector fails on one: kept pool by pool.

Many different requests may be asked about, so a budget says how much may be found out at once; what is known already
costs nothing of it.
"""

from __future__ import annotations

import msgspec

from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState


class Budget:
    """left: how many devices may still be asked about."""

    def __init__(self, devices: int) -> None:
        self.left = devices


class PoolAnswer(msgspec.Struct, frozen=True):
    """Of the devices of a pool. furthest: of the selectors that refuse a device, the last one that any reaches.

    error: the words of one failure; fails_at: index of the selector that failed, -1 where none does.
    """

    matches: bool = False
    furthest: int = 0
    error: str = ""
    fails_at: int = -1


Chain = tuple[str, ...]


def in_pool(inventory: Inventory, state: PoolState, chain: Chain, budget: Budget) -> PoolAnswer | None:
    """None: not known, and the budget is spent."""
    known = inventory.of_pool.setdefault(state.id, {})
    answer: PoolAnswer | None = known.get(("any", chain))
    if answer is None and budget.left > 0:
        budget.left -= state.devices
        answer = known["any", chain] = _asked(inventory, state, chain)
    return answer


def anywhere(inventory: Inventory, chain: Chain, budget: Budget) -> PoolAnswer | None:
    """Of all pools together, but failures only of usable ones: the scheduler asks about no others.

    None: not known, and the budget is spent.
    """
    known: PoolAnswer | None = inventory.of_all.get(("any", chain))
    if known is not None:
        return known
    matches, furthest, error, fails_at = False, 0, "", -1
    for state in ledger.pool_states(inventory):
        answer = in_pool(inventory, state, chain, budget)
        if answer is None:
            return None
        matches = matches or answer.matches
        furthest = max(furthest, answer.furthest)
        if not error and answer.error and state.state == ledger.USABLE:
            error, fails_at = answer.error, answer.fails_at
    found = inventory.of_all["any", chain] = PoolAnswer(matches, furthest, error, fails_at)
    return found


def _asked(inventory: Inventory, state: PoolState, chain: Chain) -> PoolAnswer:
    matches, furthest, error, fails_at = False, 0, "", -1
    for one in ledger.published_in(inventory, state):
        said = matching.match(one, chain)
        if said.matches:
            matches = True
        else:
            furthest = max(furthest, said.at)
        if said.error and not error:
            error, fails_at = said.error, said.at
    return PoolAnswer(matches, furthest, error, fails_at)
