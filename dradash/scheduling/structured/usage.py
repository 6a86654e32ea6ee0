"""How many devices are free and how many are not, by driver and by device class. Sets are kept until slices change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.anymatch import Answer, Budget, Chain, anywhere, looks_in
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState, Published

FREE: Final = "free"
BLOCKED: Final = "blocked"  # no claim holds it; held devices use up the counters that it shares with them
HELD: Final = "held"
SHARED: Final = "shared"  # by claims that take a part of it: others may have the rest
TAINTED: Final = "tainted"  # free, but with a taint that keeps away who does not tolerate it
UNUSABLE: Final = "unusable"  # in a pool that is incomplete or invalid, whether it is held or not
STATES: Final = (FREE, BLOCKED, HELD, SHARED, TAINTED, UNUSABLE)


class _Devices(msgspec.Struct, frozen=True):
    """Of usable pools by whether they are tainted."""

    plain: frozenset[DeviceID]
    tainted: frozenset[DeviceID]


def by_driver(inventory: Inventory) -> Counter[tuple[str, str]]:
    """(state, driver) -> devices; every state of every driver that publishes slices."""
    known: dict[str, tuple[_Devices, int]] | None = inventory.of_all.get("devices of drivers")
    if known is None:
        known = inventory.of_all["devices of drivers"] = _of_drivers(inventory)
    found: Counter[tuple[str, str]] = Counter()
    for driver, (devices, unusable) in known.items():
        found.update({(state, driver): n for state, n in _counted(inventory, devices).items()})
        found[UNUSABLE, driver] = unusable
    return found


def pools_by_driver(inventory: Inventory) -> Counter[tuple[str, str]]:
    """(state, driver) -> pools; every state of every driver that publishes slices."""
    known: Counter[tuple[str, str]] | None = inventory.of_all.get("pools of drivers")
    if known is None:
        counted = Counter((state.state, state.id.driver) for state in ledger.pool_states(inventory))
        drivers = {driver for _, driver in counted}
        states = (ledger.USABLE, ledger.INCOMPLETE, ledger.INVALID)
        known = Counter({(state, driver): counted[state, driver] for state in states for driver in drivers})
        inventory.of_all["pools of drivers"] = known
    return known


def of_class(inventory: Inventory, chain: Chain, budget: Budget) -> Counter[str] | None:
    """State -> devices of usable pools that pass a class's selectors. None: not known, and the budget is spent."""
    known: _Devices | None = inventory.of_all.get(("devices of a class", chain))
    if known is None:
        answer = anywhere(inventory, chain, budget)
        if answer is None:
            return None
        matching_ones: list[Published] = []
        for state in ledger.pool_states(inventory):
            if state.state == ledger.USABLE:
                matching_ones += _matching(inventory, state, chain, answer, budget)
        known = inventory.of_all["devices of a class", chain] = _by_taint(matching_ones)
    return _counted(inventory, known)


def _counted(inventory: Inventory, devices: _Devices) -> Counter[str]:
    blocked = ledger.all_blocked(inventory)
    whole, shared = inventory.taken.devices, inventory.taken.shared
    found = Counter({FREE: 0, BLOCKED: 0, HELD: 0, SHARED: 0, TAINTED: 0})
    for state, ids in ((FREE, devices.plain), (TAINTED, devices.tainted)):
        held = ids & whole
        parts = (ids & shared) - held
        short = len(ids & blocked) if blocked else 0
        found[state] += len(ids) - len(held) - len(parts) - short
        found[BLOCKED] += short
        found[HELD] += len(held)
        found[SHARED] += len(parts)
    return found


def _of_drivers(inventory: Inventory) -> dict[str, tuple[_Devices, int]]:
    usable: dict[str, list[Published]] = {}
    unusable: Counter[str] = Counter()
    for state in ledger.pool_states(inventory):
        there = usable.setdefault(state.id.driver, [])
        if state.state == ledger.USABLE:
            there += ledger.published_in(inventory, state)
        else:
            unusable[state.id.driver] += state.devices
    return {driver: (_by_taint(there), unusable[driver]) for driver, there in usable.items()}


def _by_taint(devices: Iterable[Published]) -> _Devices:
    plain: set[DeviceID] = set()
    tainted: set[DeviceID] = set()
    for one in devices:
        (tainted if ledger.is_tainted(one.device) else plain).add(one.id)
    return _Devices(frozenset(plain), frozenset(tainted))


def _matching(
    inventory: Inventory, state: PoolState, chain: Chain, answer: Answer, budget: Budget
) -> Iterable[Published]:
    """Devices of a pool mostly look alike to a class: then none is asked about."""
    looks = looks_in(inventory, state, answer.reads, budget) or {}
    if not answer.matched or answer.matched.isdisjoint(looks):
        return ()
    there = ledger.published_in(inventory, state)
    if answer.matched.issuperset(looks):
        return there
    return [one for one in there if matching.match(one, chain).matches]
