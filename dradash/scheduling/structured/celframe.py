"""One evaluation of a CEL expression: its variables, its cost so far, and regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from dradash.scheduling.structured.celvalues import CostExceeded

# resourceapi.CELSelectorExpressionMaxCost
COST_LIMIT: Final = 1_000_000


class Regex(Protocol):
    """RE2, which Go's regexp speaks too. Raises EvalError for a pattern that is none."""

    def matches(self, text: str, pattern: str) -> bool: ...
    def find_all(self, text: str, pattern: str, limit: int) -> list[str]: ...


class Frame:
    """One evaluation: the variables, the cost so far, and how many regular expressions were tried."""

    __slots__ = ("cost", "regex", "tried", "variables")

    def __init__(self, variables: dict[str, Any], regex: Regex) -> None:
        self.variables = variables
        self.regex = regex
        self.cost = 0
        self.tried = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")


Program = Callable[[Frame], Any]
