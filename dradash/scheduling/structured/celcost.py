"""What calls cost beyond one each, so that the cost limit bounds time and memory too.

Strings cost as in cel-go. There lists are cheap to join and to pass on; here they are copied and walked, so long ones
cost what is done with them. No list of a selector that was written for devices is that long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dradash.scheduling.structured.celvalues import CelMap, CostExceeded

LONG_LIST: Final = 1000
# Characters that any function could still take without exceeding the cost limit.
LONGEST_TEXT: Final = 10_000_000
_EACH_WITH_EACH: Final = frozenset(("sets.contains", "sets.equivalent", "sets.intersects", "distinct"))


def cost_of(function: str, values: Sequence[Any]) -> int:
    """Of a call with these values."""
    cost, walked, product = 1, 0, 1
    for value in values:
        if isinstance(value, (str, bytes)):
            cost += len(value) // 10
        elif isinstance(value, (list, CelMap)):
            walked += len(value)
            product *= len(value)
    if function in _EACH_WITH_EACH:
        walked = product if len(values) > 1 else product * product
    return cost + walked if walked > LONG_LIST else cost


def check_text(length: int) -> None:
    """Before a text of this many characters is made. Raises CostExceeded."""
    if length > LONGEST_TEXT:
        raise CostExceeded("operation cancelled: actual cost limit exceeded")
