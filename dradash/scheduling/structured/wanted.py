"""What the search looks for next, and how it may end without an answer of its own."""

from __future__ import annotations

from typing import NamedTuple

from dradash.scheduling.structured.requests import RequestKey


class SearchCut(Exception):
    """The search was given up; there may be a solution."""


class Hopeless(Exception):
    """Counting has shown that there is no solution."""


class TooManyResults(Exception):
    """errAllocationResultMaxSizeExceeded: a claim would get more devices than it may; other choices may need fewer."""


class Wanted(NamedTuple):
    """deviceIndices: the next device that is looked for."""

    claim: int
    request: int = 0
    sub_request: int = 0
    device: int = 0

    @property
    def key(self) -> RequestKey:
        return RequestKey(self.claim, self.request, self.sub_request)
