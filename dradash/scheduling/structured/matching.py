"""How many of the cluster's devices a chain of selectors leaves, kept pool by pool and adjusted when slices change.

Devices that look the same to an expression are asked about once, however many there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec

from dradash.scheduling.structured.cel import CompileError, compile_selector
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState, Published, devices_in, pool_states, published_in
from dradash.scheduling.structured.selection import answer_of


class Left(msgspec.Struct, frozen=True):
    """After one selector of a chain. devices: it and those before leave so many. failed: on so many it could not be
    evaluated; error: the words of one such failure, or why it is no expression at all."""

    expression: str
    devices: int = 0
    failed: int = 0
    error: str = ""


class Match(msgspec.Struct, frozen=True):
    """One device: whether the chain leaves it. at: index of the selector that refuses or fails, -1: none does."""

    matches: bool
    at: int = -1
    error: str = ""


def compile_error(expression: str) -> str:
    try:
        compile_selector(expression)
    except CompileError as error:
        return str(error)
    return ""


def match(one: Published, chain: Iterable[str]) -> Match:
    for index, expression in enumerate(chain):
        answer = _ask(expression, one)
        if answer is not True:
            return Match(matches=False, at=index, error=answer if isinstance(answer, str) else "")
    return Match(matches=True)


def _ask(expression: str, one: Published) -> bool | str:
    """The answer, or the words of the failure."""
    try:
        return answer_of(expression, one.id.driver, one.device)
    except CompileError as error:
        return str(error)


def leaves(inventory: Inventory, chain: tuple[str, ...]) -> tuple[int, list[Left]]:
    """How many devices usable pools have, and what each selector leaves of them, in their order.

    About 0.5 s for 40,000 devices that it has not seen; then what has changed.
    """
    known: tuple[int, list[Left]] | None = inventory.of_all.get(("leaves", chain))
    if known is None:
        known = inventory.of_all["leaves", chain] = _leaves(inventory, chain)
    return known


def _leaves(inventory: Inventory, chain: tuple[str, ...]) -> tuple[int, list[Left]]:
    errors = [compile_error(e) for e in chain]
    seen = 0
    totals = [[0, 0] for _ in chain]
    words = list(errors)
    for state in pool_states(inventory):
        if state.state != "usable":
            continue
        seen += state.devices
        for index, (left, failed, error) in enumerate(_in_pool(inventory, state, chain) if not any(errors) else ()):
            totals[index][0] += left
            totals[index][1] += failed
            words[index] = words[index] or error
    return seen, [Left(e, t[0], t[1], w) for e, t, w in zip(chain, totals, words, strict=True)]


def free(inventory: Inventory, chain: tuple[str, ...]) -> int:
    """How many of the devices that the chain leaves, in usable pools, no claim holds, wholly or in part."""
    if any(map(compile_error, chain)):
        return 0
    return sum(_free_in(inventory, state, chain) for state in pool_states(inventory) if state.state == "usable")


def _free_in(inventory: Inventory, state: PoolState, chain: tuple[str, ...]) -> int:
    known = inventory.of_taken.setdefault(state.id, {})
    if ("free", chain) not in known:
        of_pool = inventory.of_pool.setdefault(state.id, {})
        if ("matching", chain) not in of_pool:
            of_pool["matching", chain] = [d.id for d in published_in(inventory, state) if match(d, chain).matches]
        held = inventory.held_devices
        known["free", chain] = sum(id_ not in held for id_ in of_pool["matching", chain])
    count: int = known["free", chain]
    return count


def _in_pool(inventory: Inventory, state: PoolState, chain: tuple[str, ...]) -> list[tuple[int, int, str]]:
    known: dict[Hashable, Any] = inventory.of_pool.setdefault(state.id, {})
    found: list[tuple[int, int, str]] | None = known.get(chain)
    if found is None:
        found = known[chain] = _count(state, chain)
    return found


def _count(state: PoolState, chain: tuple[str, ...]) -> list[tuple[int, int, str]]:
    counts: list[tuple[int, int, str]] = [(0, 0, "")] * len(chain)
    for one in devices_in(state.slices):
        said = match(one, chain)
        passed = len(chain) if said.matches else said.at
        for index in range(passed):
            left, failed, error = counts[index]
            counts[index] = (left + 1, failed, error)
        if said.error:
            left, failed, error = counts[said.at]
            counts[said.at] = (left, failed + 1, error or said.error)
    return counts
