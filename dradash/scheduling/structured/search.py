"""The backtracking search of the allocator (allocateOne and allocateDevice)."""

from __future__ import annotations

from typing import Final

from dradash.kinds.deviceclaim import ALL, MAX_RESULTS, ResourceClaim
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.allocation import Chosen
from dradash.scheduling.structured.constraints import (
    Constraint,
    lookup_attribute,
    typed_value,
)
from dradash.scheduling.structured.counters import AvailableCounters, ConsumedCounters
from dradash.scheduling.structured.devices import (
    AllocatedState,
    AllocationError,
    Capacities,
    DeviceID,
    add_capacity,
    remove_capacity,
)
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.hopeless import is_hopeless
from dradash.scheduling.structured.pools import Pool
from dradash.scheduling.structured.requests import Candidate, RequestData, RequestKey, is_refused_by_taint
from dradash.scheduling.structured.selection import Selection
from dradash.scheduling.structured.shortcuts import alike_from, leaves_nothing_behind
from dradash.scheduling.structured.wanted import Hopeless, SearchCut, TooManyResults, Wanted

# Units of work (effort.py): of a device that is passed, of what is compared of it, of an amount of capacity.
_DEVICE: Final = 3
_COMPARED: Final = 1
_AMOUNT: Final = 4
COUNTS_AFTER: Final = (300, 3_000, 30_000)  # steps after which it is counted whether there can be a solution


class Search:
    def __init__(
        self,
        claims: list[ResourceClaim],
        pools: list[Pool],
        data: dict[RequestKey, RequestData],
        constraints: list[list[Constraint]],
        state: AllocatedState,
        available: AvailableCounters,
        selection: Selection,
        steps: int,
        effort: Effort,
    ) -> None:
        self.results: list[list[Chosen]] = [[] for _ in claims]
        self._claims = claims
        self._names = [f"{c.namespace}/{c.name}" if c.namespace else c.name for c in claims]
        # The order in which devices are tried. Those of pools that cannot be used are passed over.
        self._candidates = [
            Candidate(DeviceID(pool.id.driver, pool.id.pool, device.name), device, item, pool)
            for pool in pools
            if pool.is_usable
            for item in pool.here
            for device in item.spec.devices
        ]
        effort.spend(_DEVICE * len(self._candidates))
        self._effort = effort
        self._leaves_nothing_behind = leaves_nothing_behind(self._candidates, constraints, data.values())
        # From this request on, (claim, request), devices that look alike may be exchanged.
        self._alike_from = alike_from(data, constraints)
        self._attributes = sorted({c.attribute for of_claim in constraints for c in of_claim})
        self._signatures: dict[DeviceID, tuple[object, ...]] = {}
        self._data = data
        self._constraints = constraints
        self._state = state
        self._counters, self._available = ConsumedCounters(available), available
        self._selection = selection
        self._steps = steps
        self._counts_at = frozenset(steps - after for after in COUNTS_AFTER)
        # Which claims of this search hold a device alone, and what they take of devices that are shared.
        self._holders: dict[DeviceID, set[int]] = {}
        self._taking: dict[DeviceID, Capacities] = {}
        self._fits_alone: dict[tuple[int, DeviceID], bool] = {}

    def run(self) -> bool:
        """Whether there is a solution, then in `results`. Raises AllocationError, TooManyResults or SearchCut."""
        try:
            return self._next(Wanted(0), in_sub_request=False, start=0)
        except Hopeless:
            return False
        except RecursionError:
            raise SearchCut from None

    def _next(self, wanted: Wanted, *, in_sub_request: bool, start: int) -> bool:
        self._steps -= 1
        if self._steps < 0:
            raise SearchCut
        if self._steps in self._counts_at and self._is_hopeless():
            raise Hopeless
        if wanted.claim >= len(self._claims):
            return True
        if wanted.request >= len(self._claims[wanted.claim].spec.devices.requests):
            try:
                return self._next(Wanted(wanted.claim + 1), in_sub_request=False, start=0)
            except TooManyResults:
                # Not final: another choice for an earlier claim may leave room for a smaller alternative here.
                return False
        data = self._data[wanted.key]
        if data.request.parent and not in_sub_request:
            return self._first_available(wanted)
        if data.request.mode == ALL and not data.all_devices:
            return False
        if wanted.device >= data.count:
            return self._next(Wanted(wanted.claim, wanted.request + 1), in_sub_request=False, start=0)
        if len(self.results[wanted.claim]) + data.count - wanted.device > MAX_RESULTS:
            raise TooManyResults
        if data.request.mode == ALL:
            return self._take_all(wanted, data, in_sub_request=in_sub_request)
        return self._take_any(wanted, data, in_sub_request=in_sub_request, start=start)

    def _is_hopeless(self) -> bool:
        constraints = sum(map(len, self._constraints))
        self._effort.spend(len(self._data) * len(self._candidates) * (_DEVICE + constraints * _COMPARED))
        return is_hopeless(
            self._claims, self._data, self._constraints, self._candidates, self._can_be_had, self._available
        )

    def _can_be_had(self, key: RequestKey, data: RequestData, candidate: Candidate) -> bool:
        """Before anything was taken. Raises AllocationError."""
        if candidate.id in self._state.devices and not data.request.admin_access:
            return False
        if not self._selection.selectable(key, data, candidate, self._names[key.claim]):
            return False
        taken = self._state.capacity.get(candidate.id, {})
        return capacity.fits(taken, {}, data.request.capacity, candidate.device.capacity)

    def _first_available(self, wanted: Wanted) -> bool:
        """One subrequest after the other; too many results only if that is true of each."""
        only_too_many = True
        index = 0
        while RequestKey(wanted.claim, wanted.request, index) in self._data:
            try:
                found = self._next(wanted._replace(sub_request=index), in_sub_request=True, start=0)
            except TooManyResults:
                index += 1
                continue
            only_too_many = False
            if found:
                self._data[wanted.key].chosen = index
                return True
            index += 1
        if only_too_many:
            raise TooManyResults
        return False

    def _take_all(self, wanted: Wanted, data: RequestData, *, in_sub_request: bool) -> bool:
        taken = self._take(wanted, data, data.all_devices[wanted.device], must=True)
        if taken is None:
            return False
        return self._go_on(wanted, taken, in_sub_request=in_sub_request, start=0)

    def _take_any(self, wanted: Wanted, data: RequestData, *, in_sub_request: bool, start: int) -> bool:
        """`start`: only devices from there on, for within a request their order does not matter."""
        if self._leaves_nothing_behind and self._cannot_suffice(wanted, data, start):
            return False
        failed: list[int] = []
        spend = self._effort.spend
        for place in range(start, len(self._candidates)):
            spend(_DEVICE)
            candidate = self._candidates[place]
            if not self._is_candidate(wanted, data, candidate):
                continue
            spend(_DEVICE * len(failed))
            if failed and any(self._is_interchangeable(wanted, other, place) for other in failed):
                continue
            taken = self._take(wanted, data, candidate, must=False)
            if taken is None:
                continue
            if self._go_on(wanted, taken, in_sub_request=in_sub_request, start=place + 1):
                return True
            if self._leaves_nothing_behind and wanted[:2] >= self._alike_from:
                failed.append(place)
        return False

    def _is_interchangeable(self, wanted: Wanted, a: int, b: int) -> bool:
        """Whether a search with device `b` ends as the one with `a` did, which failed.

        A solution with `b` would be one with `a` too, with the two exchanged: if all requests that were looked at treat
        them alike. What was asked of only one of them might be an error for the other, so it counts as a difference;
        what was asked of neither was not looked at. With admin access a device may be had that other claims hold.
        """
        first, second = self._candidates[a], self._candidates[b]
        if self._signature(first) != self._signature(second) or self._held_by(first) != self._held_by(second):
            return False
        return all(known.get(first.id) == known.get(second.id) for known in self._selection.known_from(wanted.key))

    def _held_by(self, candidate: Candidate) -> set[int] | None:
        return self._holders.get(candidate.id) or None

    def _signature(self, candidate: Candidate) -> tuple[object, ...]:
        """What the search looks at in a device besides selectors."""
        known = self._signatures.get(candidate.id)
        if known is None:
            device = candidate.device
            if device.allow_multiple_allocations:
                return candidate.id  # what is left of it changes in the search: like no other
            self._effort.spend(_COMPARED * (len(self._attributes) + len(self._data) * (1 + len(device.capacity))))
            values = []
            for name in self._attributes:
                attribute = lookup_attribute(device, candidate.id, name)
                values.append(None if attribute is None else (typed_value(attribute),))
            fits = tuple(self._has_capacity(data, candidate) for data in self._data.values())
            known = (candidate.id in self._state.devices, tuple(values), device.taints, fits)
            self._signatures[candidate.id] = known
        return known

    def _cannot_suffice(self, wanted: Wanted, data: RequestData, start: int) -> bool:
        """Whether it is known that fewer devices are left than are needed; no selector is asked here.

        Upstream tries all combinations and ends with the same answer, if trying leaves nothing behind.
        """
        missing = data.count - wanted.device
        known, spend = self._selection.known(wanted.key), self._effort.spend
        for place in range(start, len(self._candidates)):
            spend(_COMPARED)
            id_ = self._candidates[place].id
            if self._is_taken(wanted, data, id_):
                continue
            # A selector that was not asked yet may raise an error, which counts.
            missing -= known.get(id_, missing)
            if missing <= 0:
                return False
        return True

    def _go_on(self, wanted: Wanted, taken: Chosen, *, in_sub_request: bool, start: int) -> bool:
        """Look for the next device; take this one back if there is no solution with it."""
        following = wanted._replace(device=wanted.device + 1)
        found = False
        try:
            found = self._next(following, in_sub_request=in_sub_request, start=start)
        finally:
            if not found:
                self._give_back(wanted, taken)
        return found

    def _is_candidate(self, wanted: Wanted, data: RequestData, candidate: Candidate) -> bool:
        """In use, selectors, capacity: what is asked before a device is tried."""
        id_ = candidate.id
        if self._is_taken(wanted, data, id_):
            return False
        if not self._selection.selectable(wanted.key, data, candidate, self._names[wanted.claim]):
            return False
        return self._has_capacity(data, candidate)

    def _is_taken(self, wanted: Wanted, data: RequestData, id_: DeviceID) -> bool:
        holders = self._holders.get(id_, ())
        if data.request.admin_access:
            return wanted.claim in holders
        return id_ in self._state.devices or bool(holders)

    def _has_capacity(self, data: RequestData, candidate: Candidate) -> bool:
        taken, taking = self._state.capacity.get(candidate.id, {}), self._taking.get(candidate.id, {})
        wanted, held = data.request.capacity, candidate.device.capacity
        if taken or taking:
            self._effort.spend(_AMOUNT * len(held))
            return capacity.fits(taken, taking, wanted, held)
        # Of a device that nobody shares the answer does not change.
        key = (id(data), candidate.id)
        if key not in self._fits_alone:
            self._effort.spend(_AMOUNT * len(held))
            self._fits_alone[key] = capacity.fits(taken, taking, wanted, held)
        return self._fits_alone[key]

    def _take(self, wanted: Wanted, data: RequestData, candidate: Candidate, *, must: bool) -> Chosen | None:
        """allocateDevice: the device in the results, or None. Raises AllocationError if it `must` be had and cannot."""
        id_, device, request = candidate.id, candidate.device, data.request
        multiple = bool(device.allow_multiple_allocations)
        if self._is_taken(wanted, data, id_) and not (multiple and request.admin_access):
            return None
        shares = multiple and (id_ in self._state.capacity or id_ in self._taking)
        self._effort.spend(_COMPARED * (1 + len(device.taints) * len(request.tolerations)))
        if device.consumes_counters and not shares:
            self._effort.spend(_COMPARED * self._available.size(candidate.pool))
            if not self._counters.take(candidate):
                return None
        # From here on upstream leaves behind what it did when a check fails: counters, and further down constraints.
        if is_refused_by_taint(device, request):
            return None
        constraints = self._constraints[wanted.claim]
        for i, constraint in enumerate(constraints):
            self._effort.spend(_COMPARED)
            if constraint.add(request, device, id_):
                continue
            if must:
                wrong = f"cannot add device {id_} because a claim constraint would not be satisfied"
                raise AllocationError(f"claim {self._names[wanted.claim]}, request {request.name}: {wrong}")
            for earlier in constraints[:i]:
                earlier.remove(request)
            return None
        if not multiple:
            self._holders.setdefault(id_, set()).add(wanted.claim)
        if not self._has_capacity(data, candidate):
            return None
        consumed = None
        if multiple:
            consumed = capacity.consumption(request.capacity, device.capacity)
            add_capacity(self._taking, id_, consumed)
        chosen = Chosen(request, candidate, consumed)
        self.results[wanted.claim].append(chosen)
        return chosen

    def _give_back(self, wanted: Wanted, taken: Chosen) -> None:
        """The rollback function of allocateDevice. Counters of a device that is shared are not given back."""
        id_, device = taken.candidate.id, taken.candidate.device
        for constraint in self._constraints[wanted.claim]:
            constraint.remove(taken.request)
        self._holders.get(id_, set()).discard(wanted.claim)
        if taken.consumed is not None:
            if taken.consumed:
                remove_capacity(self._taking, id_, taken.consumed)
        elif device.consumes_counters:
            self._counters.give_back(taken.candidate)
        self.results[wanted.claim].pop()
