"""What refuses a device that consumes counters, and which devices draw on the same ones."""

from __future__ import annotations

from typing import Final, NamedTuple

from dradash.kinds.quantity import Quantity
from dradash.scheduling.structured.counters import AvailableCounters
from dradash.scheduling.structured.devices import AllocatedState, AllocationError, DeviceID, amount
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.pools import Pool, PoolID
from dradash.scheduling.structured.requests import Candidate

BLOCKERS: Final = 64  # devices that are told to be in the way of one: more than are tried to be freed
_DEVICE: Final = 2  # units of work (effort.py), of a device of the pool
_COUNTER: Final = 3  # the same of a counter
_ZERO: Final = Quantity(0)
_Counter = tuple[str, str]  # counter set, counter


class _Left(NamedTuple):
    """Of a pool. have: in the order in which the allocator compares; refusing: those that refuse every device."""

    have: dict[_Counter, Quantity]
    place: dict[_Counter, int]
    refusing: list[_Counter]


class CounterFates:
    """For all devices of a node: what is the same for a pool is found out once."""

    def __init__(self, taken: AllocatedState, effort: Effort) -> None:
        self._taken, self._effort = taken, effort
        self._available = AvailableCounters(taken)
        self._left: dict[PoolID, _Left] = {}
        self._drawing: dict[PoolID, dict[str, list[DeviceID]]] = {}
        self._blockers: dict[tuple[PoolID, frozenset[str]], tuple[DeviceID, ...]] = {}

    def refusal(self, candidate: Candidate) -> tuple[str, tuple[DeviceID, ...]] | None:
        """Why, and the allocated devices that are in the way. One counter below zero refuses every device.

        Raises AllocationError, and SearchCut where the effort ends.
        """
        wanted: dict[_Counter, Quantity] = {}
        for consumption in candidate.device.consumes_counters:
            for name, counter in consumption.counters.items():
                key = (consumption.counter_set, name)
                wanted[key] = wanted.get(key, _ZERO) + amount(counter.value)
        left = self._left_of(candidate.pool)
        counted = {*(key for key in wanted if key in left.have), *left.refusing}
        self._effort.spend(_COUNTER * (len(wanted) + len(counted)))
        short = ""
        for key in sorted(counted, key=left.place.__getitem__):
            needs, whole = wanted.get(key, _ZERO), _whole(candidate.pool, key)
            said = f"counter {key[0]}/{key[1]}: needs {needs}"
            if whole is not None and whole.compare(needs) < 0:
                return f"{said}, the pool has {whole}", ()
            if left.have[key].compare(needs) < 0:
                short = short or f"{said}, {left.have[key]}{'' if whole is None else f' of {whole}'} left"
        return (short, self._consumers(candidate)) if short else None

    def _left_of(self, pool: Pool) -> _Left:
        if pool.id not in self._left:
            self._effort.spend(_DEVICE * sum(len(item.spec.devices) for item in (*pool.here, *pool.elsewhere)))
            # Kept by pool name alone, as the allocator does: with two drivers they may be those of the other's pool.
            have = {
                (of, name): left for of, all_of in self._available.of(pool).items() for name, left in all_of.items()
            }
            self._effort.spend(_COUNTER * len(have))
            refusing = [k for k, left in have.items() if left < _ZERO or (_whole(pool, k) or _ZERO) < _ZERO]
            self._left[pool.id] = _Left(have, {key: i for i, key in enumerate(have)}, refusing)
        return self._left[pool.id]

    def _consumers(self, candidate: Candidate) -> tuple[DeviceID, ...]:
        """Allocated devices that draw on the counters that this one needs, the first ones."""
        pool = candidate.pool
        sets = frozenset(c.counter_set for c in candidate.device.consumes_counters)
        if (pool.id, sets) not in self._blockers:
            drawing = self._drawing_on(pool)
            found = dict.fromkeys(id_ for name in sorted(sets) for id_ in drawing.get(name, ())[:BLOCKERS])
            self._effort.spend(_DEVICE * len(found))
            self._blockers[pool.id, sets] = tuple(found)[:BLOCKERS]
        return self._blockers[pool.id, sets]

    def _drawing_on(self, pool: Pool) -> dict[str, list[DeviceID]]:
        """Counter set -> allocated devices of the pool that consume of it."""
        if pool.id not in self._drawing:
            found: dict[str, list[DeviceID]] = {}
            for item in (*pool.here, *pool.elsewhere):
                self._effort.spend(_DEVICE * len(item.spec.devices))
                for device in item.spec.devices:
                    id_ = DeviceID(pool.id.driver, pool.id.pool, device.name)
                    if device.consumes_counters and self._taken.holds(id_):
                        for name in {c.counter_set for c in device.consumes_counters}:
                            found.setdefault(name, []).append(id_)
            self._drawing[pool.id] = found
        return self._drawing[pool.id]


def _whole(pool: Pool, key: _Counter) -> Quantity | None:
    counter_set = pool.counter_sets.get(key[0])
    if counter_set is None or key[1] not in counter_set.counters:
        return None
    try:
        return amount(counter_set.counters[key[1]].value)
    except AllocationError:
        return None
