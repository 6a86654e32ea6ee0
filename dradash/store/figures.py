"""The names of the counters that workers keep in the model, and what they are counted into. /metrics tells them.

They are counted once a batch: Redis is asked once more for fifty pods, not for each.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

# Upper bounds in seconds of the histogram of judging one pod.
JUDGING_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)

JUDGING_SUM: Final = "judging_seconds_sum"
JUDGING_LE: Final = "judging_seconds_le:"  # + bound: pods that took at most so long and longer than the bound before
CHANGED: Final = "verdicts_changed:"  # + outcome: verdicts that became this one
STORED: Final = "verdicts_judged"
FAILED: Final = "judging_failed"  # pods whose judging raised
ELECTED: Final = "leaders_elected"


class Tally:
    """What one batch adds."""

    def __init__(self) -> None:
        self.figures: defaultdict[str, float] = defaultdict(float)

    def judged(self, took: float) -> None:
        bound = next((b for b in JUDGING_BUCKETS if took <= b), float("inf"))
        self.figures[f"{JUDGING_LE}{bound:g}"] += 1
        self.figures[JUDGING_SUM] += took
        self.figures[STORED] += 1

    def changed(self, outcome: str) -> None:
        self.figures[f"{CHANGED}{outcome}"] += 1

    def failed(self) -> None:
        self.figures[FAILED] += 1
