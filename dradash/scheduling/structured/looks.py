"""How much an explanation may look at. Counted in looks at devices, not in time: the same question, the same answer.

A claim may have 32 requests, a pod many claims, a node thousands of devices: their product is what a reader would wait
for, with the cluster held still for everyone. What selectors, searches and trials do beside is counted in units
(effort.py), so that everything that takes time is counted somewhere.
"""

from __future__ import annotations

from typing import Final

LOOKS: Final = 12_000  # of one explanation, at some 15 us
FIRST: Final = 48_000  # where the first request on a node takes more than is left: it is told even so
ADVISED: Final = 12_000  # the same for what is advised, besides trying it
SELECTORS: Final = 300_000  # units of one explanation: what selectors, taints and amounts take beyond a look
ASKED: Final = 180_000  # units of the allocator's answers on nodes, and again of the changes that are tried
SEARCHED: Final = 60_000  # of one of them
REQUESTS: Final = 64  # and alternatives of requests that are told: two full claims
CONSTRAINTS: Final = 32  # of a claim, as many as the API allows

SHARED: Final = 32  # requests that ask for the same cost as much as one that is new
LIGHT: Final = 4  # of a constraint's or a quantity's reading of a device in the time of one look
SEEN: Final = 8  # devices that are found in the time of one look


class Budget:
    """used: looks so far."""

    def __init__(self, most: int = LOOKS) -> None:
        self.most, self.used = most, 0

    @property
    def left(self) -> int:
        return self.most - self.used

    def spend(self, looks: int, *, always: bool = False) -> bool:
        """False where so many are not left, and nothing is spent. always: true even so."""
        if looks > self.left and not always:
            return False
        self.used += looks
        return True
