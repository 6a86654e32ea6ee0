"""How long to wait before trying again. Pure: the random number comes from the caller."""

from __future__ import annotations

from typing import Final

import msgspec

_MAX_EXPONENT: Final = 60  # far beyond any cap; keeps the power from overflowing


class Backoff(msgspec.Struct, frozen=True):
    """Exponential, capped, with jitter over the upper half, so that many clients do not come back together."""

    base: float  # seconds, the longest first wait
    cap: float  # seconds, the longest wait of all
    factor: float = 2.0

    def delay(self, attempt: int, random: float) -> float:
        """Seconds to wait after the attempt-th failure in a row (1 is the first); random is in [0, 1)."""
        exponent = min(max(attempt, 1) - 1, _MAX_EXPONENT)
        whole = min(self.base * self.factor**exponent, self.cap)
        return whole * (0.5 + 0.5 * random)
