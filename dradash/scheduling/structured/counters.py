"""Shared counters of partitionable devices, with upstream's bookkeeping (checkAvailableCounters and its kin)."""

from __future__ import annotations

from dradash.kinds.quantity import Quantity
from dradash.kinds.resourceslice import Device
from dradash.scheduling.structured.devices import AllocatedState, DeviceID, amount
from dradash.scheduling.structured.pools import Pool
from dradash.scheduling.structured.requests import Candidate

# Counter set -> counter -> amount.
CounterSets = dict[str, dict[str, Quantity]]


def consumption_of(device: Device) -> dict[tuple[str, str], Quantity]:
    """What the device takes, by counter set and counter. Raises AllocationError."""
    takes: dict[tuple[str, str], Quantity] = {}
    for consumption in device.consumes_counters:
        for name, counter in consumption.counters.items():
            of = (consumption.counter_set, name)
            value = amount(counter.value)
            takes[of] = takes[of] + value if of in takes else value
    return takes


class AvailableCounters:
    """What allocated devices leave, computed once per pool name and kept for the whole attempt, as upstream does."""

    def __init__(self, state: AllocatedState) -> None:
        self._state = state
        self._by_pool: dict[str, CounterSets] = {}
        self._sizes: dict[str, int] = {}

    def size(self, pool: Pool) -> int:
        """How many counters `of` has."""
        name = pool.id.pool
        if name not in self._sizes:
            self._sizes[name] = sum(map(len, self.of(pool).values()))
        return self._sizes[name]

    def of(self, pool: Pool) -> CounterSets:
        known = self._by_pool.get(pool.id.pool)
        if known is None:
            known = self._by_pool[pool.id.pool] = self._left(pool)
        return known

    def is_known(self, pool: Pool) -> bool:
        """Whether a pool of that name was asked for: what is left there is decided."""
        return pool.id.pool in self._by_pool

    def _left(self, pool: Pool) -> CounterSets:
        left = {
            name: {counter: amount(c.value) for counter, c in counter_set.counters.items()}
            for name, counter_set in pool.counter_sets.items()
        }
        for item in (*pool.here, *pool.elsewhere):
            for device in item.spec.devices:
                if self._state.holds(DeviceID(item.spec.driver, item.spec.pool.name, device.name)):
                    _subtract(left, device)
        return left


def _subtract(left: CounterSets, device: Device) -> None:
    for consumption in device.consumes_counters:
        counters = left.get(consumption.counter_set, {})
        for name, counter in consumption.counters.items():
            if name in counters:
                counters[name] = counters[name] - amount(counter.value)


class ConsumedCounters:
    """What the devices of the search take, by pool name."""

    def __init__(self, available: AvailableCounters) -> None:
        self._available = available
        self._by_pool: dict[str, CounterSets] = {}

    def take(self, candidate: Candidate) -> bool:
        """checkAvailableCounters: take the device's counters, unless some counter of the pool would not suffice."""
        available = self._available.of(candidate.pool)
        consumed = self._by_pool.setdefault(candidate.pool.id.pool, {})
        for consumption in candidate.device.consumes_counters:
            counters = consumed.setdefault(consumption.counter_set, {})
            for name, counter in consumption.counters.items():
                value = amount(counter.value)
                counters[name] = counters[name] + value if name in counters else value
        for set_name, left in available.items():
            taken = consumed.get(set_name, {})
            if any(value.compare(taken.get(name, _ZERO)) < 0 for name, value in left.items()):
                self.give_back(candidate)
                return False
        return True

    def give_back(self, candidate: Candidate) -> None:
        """deallocateCountersForDevice."""
        _subtract(self._by_pool.get(candidate.pool.id.pool, {}), candidate.device)


_ZERO = Quantity(0)
