"""How much an explanation may look at. Counted in looks at devices, not in time: the same question, the same answer.

A claim may have 32 requests, a pod many claims, a node thousands of devices: their product is what a reader would wait
for, with the cluster held still for everyone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dradash.kinds.deviceclaim import ALL, ResourceClaim
from dradash.scheduling.structured.requests import requests_of

LOOKS: Final = 12_000  # of one explanation, at some 15 us
ASKED: Final = 12_000  # the same for the allocator's answers on nodes, and again for the changes that are tried
REQUESTS: Final = 64  # and alternatives of requests that are told: two full claims
CONSTRAINTS: Final = 32  # of a claim, as many as the API allows

SHARED: Final = 32  # requests that ask for the same cost as much as one that is new
LIGHT: Final = 4  # of a constraint's or a quantity's reading of a device in the time of one look
_TRIED: Final = 32  # devices that are told apart for a trial in the time of one look
_SEARCHED: Final = 4  # times as long for each request
FEWEST: Final = 42  # steps: one for each device, and one for each request
_PASSED: Final = 100_000  # devices that the steps of one search pass: each may pass all that the node sees
_ALL: Final = 16  # one for all devices asks every device before the search begins


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


def steps(most: int, devices: int) -> int:
    """Of a search on a node that sees so many devices: enough at least for 20 requests that fit at once."""
    return min(most, max(FEWEST, _PASSED // max(1, devices)))


def asking(claims: Iterable[ResourceClaim], devices: int) -> int:
    """Looks that one answer of the allocator is worth, on a node that sees so many devices."""
    weight = 1
    for claim in claims:
        for given in claim.spec.devices.requests:
            weight += sum(_ALL if r.mode == ALL else _SEARCHED for r in requests_of(given))
    return 1 + devices * weight // _TRIED
