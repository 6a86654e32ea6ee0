"""Ages as kubectl shows them (k8s.io/apimachinery/pkg/util/duration)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86400
_YEAR: Final = 365 * _DAY


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}" if small == 0 else f"{large}{large_unit}{small}{small_unit}"


def human(seconds: float) -> str:
    """HumanDuration: two units while the larger one is small, else one."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    steps: tuple[tuple[int, Callable[[int], str]], ...] = (
        (2 * _MINUTE, lambda s: f"{max(s, 0)}s"),
        (10 * _MINUTE, lambda s: _two(s // _MINUTE, "m", s % _MINUTE, "s")),
        (3 * _HOUR, lambda s: f"{s // _MINUTE}m"),
        (8 * _HOUR, lambda s: _two(s // _HOUR, "h", s % _HOUR // _MINUTE, "m")),
        (2 * _DAY, lambda s: f"{s // _HOUR}h"),
        (8 * _DAY, lambda s: _two(s // _DAY, "d", s % _DAY // _HOUR, "h")),
        (2 * _YEAR, lambda s: f"{s // _DAY}d"),
        (8 * _YEAR, lambda s: _two(s // _YEAR, "y", s % _YEAR // _DAY, "d")),
    )
    for below, text in steps:
        if whole < below:
            return text(whole)
    return f"{whole // _YEAR}y"


def since(timestamp: object, now: float) -> str:
    """translateTimestampSince: age of an RFC 3339 time at `now` (Unix seconds)."""
    if not isinstance(timestamp, str) or not timestamp:
        return "<unknown>"
    try:
        return human(now - datetime.fromisoformat(timestamp).timestamp())
    except ValueError:
        return "<invalid>"
