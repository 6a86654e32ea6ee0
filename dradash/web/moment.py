"""A moment in a URL: RFC 3339, as alerts and logs write it. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_SHAPE: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)")
EXAMPLE: Final = "2026-11-30T03:12:00Z"


class BadMoment(ValueError):
    """The message says what is wrong and gives an example."""


def parse(text: str) -> float | None:
    """Unix seconds; None for "". A plus that a form turned into a space is forgiven."""
    text = text.strip()
    if not text:
        return None
    text = re.sub(r" (\d\d:\d\d)$", r"+\1", text)
    if not _SHAPE.fullmatch(text):
        raise BadMoment(f"“{text[:40]}” is no time with a zone, as in {EXAMPLE}")
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadMoment(f"“{text[:40]}” is no time: {error}") from error


def show(at: float) -> str:
    """RFC 3339 in UTC; milliseconds only where there are some."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")
