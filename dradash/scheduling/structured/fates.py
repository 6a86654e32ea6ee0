"""How far each device of a node gets for one request: the stages that the allocator knows, asked one by one.

The same functions answer here and there (Answers, is_refused_by_taint, capacity.fits, AvailableCounters). The
allocator stops at the first solution and passes over devices that are taken; here every device is asked everything.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import DeviceSelector
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.quantity import Quantity
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.cel import CompileError, RuntimeFault
from dradash.scheduling.structured.conjuncts import Met, met, refusing, short
from dradash.scheduling.structured.counters import AvailableCounters, CounterSets
from dradash.scheduling.structured.devices import AllocatedState, AllocationError, DeviceID, amount
from dradash.scheduling.structured.requests import Candidate, Request, tolerates
from dradash.scheduling.structured.requests import is_refused_by_taint as is_refused
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.sight import Seen, Sight


class Stage(enum.StrEnum):
    """In the order in which a device passes them."""

    SEEN = "seen"
    POOL = "usable pool"
    CLASS = "class selectors"
    REQUEST = "request selectors"
    TAINTS = "tolerated taints"
    FREE = "not allocated"
    CONSTRAINTS = "constraints"


class Fate(msgspec.Struct, frozen=True):
    """lost: the stage that the device does not pass, None if it is left. stops: asking it ends the whole attempt.

    part: of a selector, that refuses. blockers: devices that are allocated and in the way.
    """

    seen: Seen
    lost: Stage | None = None
    why: str = ""
    met: tuple[Met, ...] = ()
    part: str = ""
    stops: bool = False
    blockers: tuple[DeviceID, ...] = ()

    @property
    def id(self) -> DeviceID:
        return self.seen.candidate.id


_ZERO: Final = Quantity(0)
_EFFECTS: Final = ("NoSchedule", "NoExecute")


class Judge:
    """What is the same for all requests on a node. unread: classes that are malformed, with what is wrong with them."""

    def __init__(self, sight: Sight, taken: AllocatedState, answers: Answers, unread: Mapping[str, str] = {}) -> None:
        self._sight = sight
        self._taken = taken
        self._answers = answers
        self._unread = unread
        self._available = AvailableCounters(taken)

    def fates(self, request: Request, device_class: DeviceClass | None) -> list[Fate]:
        return [self._fate(seen, request, device_class) for seen in self._sight.devices]

    def _fate(self, seen: Seen, request: Request, device_class: DeviceClass | None) -> Fate:
        if seen.trouble:
            return Fate(seen, Stage.POOL, seen.trouble)
        if device_class is None:
            wrong = self._unread.get(request.class_name)
            why = f"cannot be read: {wrong}" if wrong is not None else "does not exist"
            return Fate(seen, Stage.CLASS, f"class {request.class_name} {why}")
        candidate = seen.candidate
        of_class, of_request = device_class.spec.selectors, request.selectors
        refused = self._refused(seen, Stage.CLASS, f"class {device_class.name}", of_class) or self._refused(
            seen, Stage.REQUEST, "the request", of_request
        )
        if refused is not None:
            return refused
        if is_refused(candidate.device, request):
            return Fate(seen, Stage.TAINTS, f"taint {', '.join(untolerated(candidate, request))}")
        try:
            return self._taken_fate(seen, request) or Fate(seen)
        except AllocationError as wrong:
            return Fate(seen, Stage.FREE, str(wrong), stops=True)

    def _refused(self, seen: Seen, stage: Stage, owner: str, selectors: tuple[DeviceSelector, ...]) -> Fate | None:
        candidate = seen.candidate
        for i, selector in enumerate(selectors):
            expression = selector.cel.expression if selector.cel is not None else ""
            try:
                if self._answers.ask(expression, candidate):
                    continue
            except CompileError as error:
                return Fate(seen, stage, f"{owner}: selector #{i}: CEL compile error: {error}", stops=True)
            except RuntimeFault as error:
                part = refusing(expression, candidate, self._answers)
                why = f"{owner}: selector #{i}: CEL runtime error: {error}"
                return Fate(seen, stage, why, met(part, candidate), part, stops=True)
            part = refusing(expression, candidate, self._answers)
            return Fate(seen, stage, f"{owner} wants {short(part)}", met(part, candidate), part)
        return None

    def _taken_fate(self, seen: Seen, request: Request) -> Fate | None:
        candidate, taken = seen.candidate, self._taken
        id_, device = candidate.id, candidate.device
        if id_ in taken.devices and not request.admin_access:
            return Fate(seen, Stage.FREE, "allocated", blockers=(id_,))
        used = taken.capacity.get(id_, {})
        if not capacity.fits(used, {}, request.capacity, device.capacity):
            alone = capacity.fits({}, {}, request.capacity, device.capacity)
            why = _capacity_left(candidate, request, taken)
            return Fate(seen, Stage.FREE, why, blockers=(id_,) if alone and used else ())
        shares = bool(device.allow_multiple_allocations) and id_ in taken.capacity
        if device.consumes_counters and not shares and (why := self._short_counter(candidate)):
            return Fate(seen, Stage.FREE, why, blockers=self._consumers(candidate))
        return None

    def _short_counter(self, candidate: Candidate) -> str:
        """The first counter of which too little is left, "" if none. One below zero refuses every device."""
        wanted: CounterSets = {}
        for consumption in candidate.device.consumes_counters:
            counters = wanted.setdefault(consumption.counter_set, {})
            for name, counter in consumption.counters.items():
                counters[name] = counters.get(name, _ZERO) + amount(counter.value)
        # Kept by pool name alone, as the allocator does: with two drivers they may be those of the other's pool.
        for set_name, left in self._available.of(candidate.pool).items():
            for name, have in left.items():
                needs = wanted.get(set_name, {}).get(name, _ZERO)
                if have.compare(needs) < 0:
                    return f"counter {set_name}/{name}: needs {needs}, {have}{_of(candidate, set_name, name)} left"
        return ""

    def _consumers(self, candidate: Candidate) -> tuple[DeviceID, ...]:
        """Allocated devices that draw on the counters that this one needs."""
        sets = {c.counter_set for c in candidate.device.consumes_counters}
        driver, pool = candidate.id.driver, candidate.id.pool
        return tuple(
            id_
            for item in (*candidate.pool.here, *candidate.pool.elsewhere)
            for device in item.spec.devices
            if any(c.counter_set in sets for c in device.consumes_counters)
            and self._taken.holds(id_ := DeviceID(driver, pool, device.name))
        )


def _of(candidate: Candidate, set_name: str, counter: str) -> str:
    counter_set = candidate.pool.counter_sets.get(set_name)
    if counter_set is None or counter not in counter_set.counters:
        return ""
    return f" of {amount(counter_set.counters[counter].value)}"


def untolerated_taints(candidate: Candidate, request: Request) -> tuple[DeviceTaint, ...]:
    """The taints that keep the request away."""
    return tuple(
        t
        for t in candidate.device.taints
        if t.effect in _EFFECTS and not any(tolerates(own, t) for own in request.tolerations)
    )


def untolerated(candidate: Candidate, request: Request) -> tuple[str, ...]:
    """The same as kubectl writes taints."""
    return tuple(
        f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}"
        for t in untolerated_taints(candidate, request)
    )


def _capacity_left(candidate: Candidate, request: Request, taken: AllocatedState) -> str:
    """The first capacity that does not suffice, else that the request's policy or a name does not fit."""
    held, used = candidate.device.capacity, taken.capacity.get(candidate.id, {})
    wanted = request.capacity.requests if request.capacity is not None else {}
    for name in wanted:
        if name not in held:
            return f"capacity {name}: the device has none"
    for name, needs in capacity.consumption(request.capacity, held).items():
        whole = amount(held[name].value)
        left = whole - used[name] if name in used else whole
        if needs.compare(left) > 0:
            return f"capacity {name}: needs {needs}, {left} of {whole} left"
    return "capacity: the amount is none that the device's request policy allows"
