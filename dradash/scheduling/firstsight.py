"""What the first known state of an object says of times: what it shows had happened by then, seldom when it did."""

from __future__ import annotations

from typing import Final

from dradash.kinds.meta import ObjectMeta
from dradash.scheduling.rfc3339 import seconds

# Seconds between creationTimestamp (whole seconds) and first sight within which the state is the one it was created in.
FRESH: Final = 2.0


def is_fresh(at: float, meta: ObjectMeta) -> bool:
    """Whether the object was created just before it was first seen, at Unix time `at`. Clocks are taken to agree."""
    return at - seconds(meta.creation_timestamp) <= FRESH


def known(at: float, told: str | None) -> float:
    """An RFC 3339 time that the object itself holds, as Unix seconds, at most `at`; 0.0: it holds none."""
    return min(at, seconds(told))
