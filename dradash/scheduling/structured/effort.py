"""How much work a search or a look may still be. Counted, not timed: the same question, the same answer."""

from __future__ import annotations

import sys
from typing import Final

from dradash.scheduling.structured.wanted import SearchCut

UNBOUNDED: Final = sys.maxsize


class Effort:
    """left: units of about a microsecond."""

    __slots__ = ("left",)

    def __init__(self, most: int = UNBOUNDED) -> None:
        self.left = most

    def spend(self, units: int) -> None:
        """Raises SearchCut where so much is not left."""
        self.left -= units
        if self.left < 0:
            raise SearchCut
