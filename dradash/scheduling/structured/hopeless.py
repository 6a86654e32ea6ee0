"""Requests that no search can satisfy, found by counting: fewer devices can be had together than are needed.

The search asks this once it has gone on for a while. "Hopeless" is the end that upstream's search has too, however long
it takes: what trying leaves behind there (counters, constraints) only makes less possible.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from dradash.kinds.deviceclaim import ALL, ResourceClaim
from dradash.kinds.quantity import Quantity
from dradash.scheduling.structured.constraints import Constraint, MatchAttribute, lookup_attribute, typed_value
from dradash.scheduling.structured.counters import AvailableCounters, consumption_of
from dradash.scheduling.structured.devices import AllocationError, DeviceID
from dradash.scheduling.structured.requests import Candidate, RequestData, RequestKey, is_refused_by_taint

# (place of the request, the request, a device): whether it could be had alone. Raises AllocationError.
CanBeHad = Callable[[RequestKey, RequestData, Candidate], bool]


def is_hopeless(
    claims: list[ResourceClaim],
    data: Mapping[RequestKey, RequestData],
    constraints: list[list[Constraint]],
    candidates: list[Candidate],
    can_be_had: CanBeHad,
    available: AvailableCounters,
) -> bool:
    """False also where the search may end with an error: then it must say which.

    And where it has not yet asked for the counters of a pool: whose they are is decided by the first who asks.
    """
    if any(each.request.mode == ALL for each in data.values()):
        return False
    if not all(available.is_known(c.pool) for c in candidates if c.device.consumes_counters):
        return False
    try:
        return _counted(claims, data, constraints, candidates, can_be_had, _Counters(candidates, available))
    except AllocationError:
        return False


def _counted(
    claims: list[ResourceClaim],
    data: Mapping[RequestKey, RequestData],
    constraints: list[list[Constraint]],
    candidates: list[Candidate],
    can_be_had: CanBeHad,
    counters: _Counters,
) -> bool:
    """Request by request, as they are searched: an error behind a hopeless one is never met."""
    needed = 0
    together: dict[DeviceID, Candidate] = {}
    for c, claim in enumerate(claims):
        for r in range(len(claim.spec.devices.requests)):
            possible = []
            for key in (key for key in data if key[:2] == (c, r)):
                devices = [candidate for candidate in candidates if can_be_had(key, data[key], candidate)]
                together |= {candidate.id: candidate for candidate in devices}
                if _most(data[key], constraints[c], devices, counters) >= data[key].count:
                    possible.append(data[key].count)
            if not possible:
                return True
            needed += min(possible)
    may_be_had_twice = any(each.request.admin_access for each in data.values()) or any(
        candidate.device.allow_multiple_allocations for candidate in together.values()
    )
    return not may_be_had_twice and counters.most(list(together.values())) < needed


def _most(data: RequestData, constraints: Iterable[Constraint], devices: list[Candidate], counters: _Counters) -> int:
    """No more devices than so many can be had for the request."""
    fit = [c for c in devices if not is_refused_by_taint(c.device, data.request)]
    best = counters.most(fit)
    for constraint in constraints:
        if isinstance(constraint, MatchAttribute) and constraint.concerns(data.request):
            groups = _by_value(constraint.attribute, fit)
            best = min(best, max((counters.most(group) for group in groups), default=0))
    return best


def _by_value(attribute: str, devices: list[Candidate]) -> list[list[Candidate]]:
    """Devices that may be had together; one whose value is of an unknown type only alone."""
    groups: dict[Hashable, list[Candidate]] = {}
    for candidate in devices:
        found = lookup_attribute(candidate.device, candidate.id, attribute)
        if found is not None:
            groups.setdefault(typed_value(found) or candidate.id, []).append(candidate)
    return list(groups.values())


class _Counters:
    """How many devices the counters allow, which pools of one name have in common (see AvailableCounters).

    Raises AllocationError for an amount that is none.
    """

    def __init__(self, candidates: list[Candidate], available: AvailableCounters) -> None:
        counted = [c for c in candidates if _counts(c)]
        self._left = {c.pool.id.pool: available.of(c.pool) for c in counted}
        self._takes = {c.id: consumption_of(c.device) for c in counted}

    def most(self, devices: list[Candidate]) -> int:
        by_pool: dict[str, list[Candidate]] = {}
        for candidate in devices:
            if _counts(candidate):
                by_pool.setdefault(candidate.pool.id.pool, []).append(candidate)
        free = sum(not _counts(c) for c in devices)
        return free + sum(self._most_of(name, counted) for name, counted in by_pool.items())

    def _most_of(self, pool: str, devices: list[Candidate]) -> int:
        """The counter that allows least, each with the devices that take least of it."""
        best = len(devices)
        for set_name, counters in self._left[pool].items():
            for name, left in counters.items():
                takes = [self._takes[c.id].get((set_name, name), Quantity(0)) for c in devices]
                best = min(best, _fitting(takes, left))
        return best


def _fitting(takes: list[Quantity], left: Quantity) -> int:
    most = 0
    total = Quantity(0)
    for number, take in enumerate(sorted(takes), 1):
        total = total + take
        if total.compare(left) <= 0:
            most = number
    return most


def _counts(candidate: Candidate) -> bool:
    """A device that several may have takes its counters once only."""
    device = candidate.device
    return bool(device.consumes_counters) and not device.allow_multiple_allocations
