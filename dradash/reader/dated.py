"""What happened, with its time: kept in the order of time, though it may be learnt late whose doing it was."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

EVENTS: Final = 2000  # of each sort that are kept

T = TypeVar("T")


class Took(msgspec.Struct, frozen=True):
    """A move of a driver at Unix time `at`, `seconds` after it could have been made."""

    at: float
    seconds: float


class Times:
    """When something happened: the last ones, and how often in all."""

    def __init__(self) -> None:
        self.total = 0
        self.last: deque[float] = deque(maxlen=EVENTS)

    def add(self, at: float) -> None:
        self.total += 1
        insert(self.last, at, float)

    def until(self, at: float) -> int:
        later = sum(t > at for t in self.last)
        return self.total - later


def insert(kept: deque[T], one: T, at: Callable[[T], float]) -> None:
    """Add it at its time, behind those of the same time. Costs those that are newer: mostly none."""
    newer: list[T] = []
    while kept and at(kept[-1]) > at(one):
        newer.append(kept.pop())
    kept.append(one)
    kept.extend(reversed(newer))
