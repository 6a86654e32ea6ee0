"""What the log says of how the watch fares: one line when something cannot be read, one when it is back. Pure.

All kinds lose a server together and each retries by itself: told one by one that would be a screen of the same line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from dradash.informer.sink import KindState

OUT_OF_REACH: Final = ("unreachable", "")


class Line(msgspec.Struct, frozen=True):
    text: str
    warning: bool


class Troubles:
    """read: the kinds that were read before this informer; that they still are is no news."""

    def __init__(self, read: Iterable[str] = ()) -> None:
        self._read = set(read)
        self._trouble: dict[str, tuple[str, str]] = {}  # kind -> what is wrong: (state, error)
        self._told: set[str] = set()  # errors of the time out of reach that is not over
        self._affected: set[str] = set()  # kinds that were out of reach in it
        self._refused: set[str] = set()  # kinds of which it was told that they are forbidden or not served

    def lines(self, state: KindState) -> list[Line]:
        """What is to be told now that a kind fares so."""
        before, now = self._trouble.get(state.kind), _trouble(state)
        if now is None:
            if state.state != "synced":
                return []  # a first list or a retry is under way: how it went is told when it is known
            self._trouble.pop(state.kind, None)
        else:
            self._trouble[state.kind] = now
        told = self._over(state.kind, before) if before == OUT_OF_REACH != now else []
        return told + (self._is_read(state, before) if now is None else self._is_not(state, before, now))

    def _over(self, kind: str, before: tuple[str, str]) -> list[Line]:
        if before in self._trouble.values():
            return []
        readable = sorted((self._affected | {kind}) - self._trouble.keys())
        self._told.clear()
        self._affected.clear()
        return [Line(f"the API server answers again: {', '.join(readable)}", warning=False)] if readable else []

    def _is_read(self, state: KindState, before: tuple[str, str] | None) -> list[Line]:
        known, told = state.kind in self._read, state.kind in self._refused
        self._read.add(state.kind)
        self._refused.discard(state.kind)
        if before == OUT_OF_REACH or (known and not told):
            return []
        return [Line(f"{state.kind}: synced", warning=False)]

    def _is_not(self, state: KindState, before: tuple[str, str] | None, now: tuple[str, str]) -> list[Line]:
        if now == OUT_OF_REACH:
            self._affected.add(state.kind)
            text = _comparable(state.error)
            if not text or text in self._told:
                return []
            self._told.add(text)
            return [Line(f"the API server cannot be read ({state.kind}: {state.state}): {state.error}", warning=True)]
        if (before is not None and before[0] == now[0]) or self._is_others(state.kind, now):
            return []
        self._refused.add(state.kind)
        return [Line(f"{state.kind}: {state.state}: {state.error}", warning=True)]

    def _is_others(self, kind: str, trouble: tuple[str, str]) -> bool:
        """Another kind has the same trouble, to the word: a token that is no longer valid, not one permission."""
        return any(other == trouble for name, other in self._trouble.items() if name != kind)


def _trouble(state: KindState) -> tuple[str, str] | None:
    if state.state in ("forbidden", "notServed"):
        return (state.state, state.error)
    is_out_of_reach = state.state == "stale" or (state.state in ("unknown", "syncing") and state.error)
    return OUT_OF_REACH if is_out_of_reach else None


def _comparable(error: str) -> str:
    """Without the numbers and the path, which differ from kind to kind and from try to try."""
    return re.sub(r"0x[0-9a-f]+|\d+|/\S*", "#", error)
