"""Where the search may leave out what upstream tries, because it would end alike: with the same answer or error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dradash.kinds.deviceclaim import ALL, MAX_RESULTS
from dradash.scheduling.structured.constraints import Constraint, DistinctAttribute
from dradash.scheduling.structured.requests import Candidate, RequestData, RequestKey


def leaves_nothing_behind(
    candidates: list[Candidate], constraints: list[list[Constraint]], data: Iterable[RequestData]
) -> bool:
    """Whether trying devices and giving them back restores everything, which upstream does not do for all of them.

    Not so: distinctAttribute, counters, a shared device without capacity, and shared devices where all are asked for.
    """
    if any(isinstance(c, DistinctAttribute) for of_claim in constraints for c in of_claim):
        return False
    if any(c.device.consumes_counters for c in candidates):
        return False
    shared = [c for c in candidates if c.device.allow_multiple_allocations]
    return not shared or (all(c.device.capacity for c in shared) and all(d.request.mode != ALL for d in data))


def alike_from(data: Mapping[RequestKey, RequestData], constraints: list[list[Constraint]]) -> tuple[int, int]:
    """The first request behind which no error can depend on which of two devices that look alike was taken.

    All devices are asked for in a fixed order, and one that a constraint refuses is an error if those before it could
    be had: which they are depends on the device that is taken. Where a claim may get too many results, the search turns
    back before it has asked all selectors: what was not asked of one device may be asked of the other, and raise.
    """
    most: dict[tuple[int, int], int] = {}
    first = (0, 0)
    for key, each in data.items():
        place = (key.claim, key.request)
        most[place] = max(each.count, most.get(place, 0))
        if each.request.mode == ALL and any(c.concerns(each.request) for c in constraints[key.claim]):
            first = max(first, place)
    for claim in range(len(constraints)):
        if sum(count for place, count in most.items() if place[0] == claim) > MAX_RESULTS:
            first = max(first, (claim + 1, 0))
    return first
