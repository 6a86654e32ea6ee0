"""What a request's Accept headers prefer (RFC 9110, 12.4.2 and 12.5). Pure: the API and the compression ask."""

from __future__ import annotations

import re
from typing import Final

_Q: Final = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.ASCII)


def quality(header: str, name: str) -> float:
    """How much `name` (a media type or a coding, in lower case) is wanted: 1.0 at most, 0.0 not at all.

    The most precise range counts: itself, type/*, * or */*. A weight that is none counts as not wanted.
    """
    ranges: dict[str, float] = {}
    for part in header.split(","):
        value, *parameters = (p.strip().lower() for p in part.split(";"))
        weight = next((p[1:].strip() for p in parameters if p.startswith("q") and "=" in p[:3]), None)
        ranges.setdefault(value, _weight(weight))
    return next((ranges[r] for r in (name, f"{name.partition('/')[0]}/*", "*/*", "*") if r in ranges), 0.0)


def _weight(text: str | None) -> float:
    if text is None:
        return 1.0
    number = text.removeprefix("=").strip()
    return float(number) if _Q.fullmatch(number) else 0.0
