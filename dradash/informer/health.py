"""What the reflector knows of how its kind fares, and when others must hear of it. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.informer.sink import KindState

REPORT_EVERY: Final = 5.0  # seconds between states that differ in counters only


class Health:
    def __init__(self, kind: str) -> None:
        self.state = KindState(kind)
        self._reported: KindState | None = None
        self._reported_at = 0.0

    def change(self, now: float, **fields: Any) -> None:
        """Set fields of the state; `since` follows `state`."""
        since = now if fields.get("state", self.state.state) != self.state.state else self.state.since
        self.state = msgspec.structs.replace(self.state, since=since, **fields)

    def report(self, now: float) -> list[KindState]:
        """The state if somebody should know: at once when it means something else, counters now and then."""
        last = self._reported
        if last == self.state:
            return []
        if last is not None and _signs(last) == _signs(self.state) and now - self._reported_at < REPORT_EVERY:
            return []
        self._reported, self._reported_at = self.state, now
        return [self.state]


def _signs(state: KindState) -> tuple[object, ...]:
    """What a reader must learn at once when it changes; counters can wait."""
    return (state.state, state.version, state.error, state.relists)
