"""Consumable capacity: what a request takes of a device, and whether that is left (consumable_capacity.go)."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import CapacityRequirements
from dradash.kinds.quantity import Format, Quantity, of_int
from dradash.kinds.resourceslice import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from dradash.scheduling.structured.devices import AllocationError, Capacities, amount

NONE: Final = Quantity(0)


def fits(
    taken: Mapping[str, Quantity],
    taking: Mapping[str, Quantity],
    wanted: CapacityRequirements | None,
    capacity: Mapping[str, DeviceCapacity],
) -> bool:
    """CmpRequestOverCapacity. `taken`: by other claims; `taking`: in this search. False also for an unknown name."""
    requests = wanted.requests if wanted is not None else {}
    if any(name not in capacity for name in requests):
        return False
    for name, held in capacity.items():
        consumed = _consumed(requests.get(name), held)
        if _violates(consumed, held.request_policy):
            return False
        total = taken[name] + consumed if name in taken else consumed
        if name in taking:
            total = total + taking[name]
        if total.compare(amount(held.value)) > 0:
            return False
    return True


class Limit(enum.Enum):
    """What keeps an amount from ever being had of a device, whoever gives something back."""

    NAME = enum.auto()  # the device has no capacity of that name
    POLICY = enum.auto()
    WHOLE = enum.auto()  # more than the device has


class Never(msgspec.Struct, frozen=True):
    """asked: for the amount, None where the policy gives it. needs: what would be taken, rounded up by the policy.
    most: that may be asked for instead, None where there is nothing. whole: what the device has. Where the name is
    unknown all are None."""

    name: str
    limit: Limit
    asked: Quantity | None = None
    needs: Quantity | None = None
    most: Quantity | None = None
    whole: Quantity | None = None

    @property
    def why(self) -> str:
        match self.limit:
            case Limit.NAME:
                return f"capacity {self.name}: the device has none"
            case Limit.POLICY:
                return f"capacity {self.name}: needs {self.needs}, at most {self.most} may be asked for"
            case Limit.WHOLE:
                return f"capacity {self.name}: needs {self.needs}, the device has {self.whole}"


def never(wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity]) -> Never | None:
    """Why `fits` is false of a device of which nobody has anything. None too where it raises AllocationError."""
    try:
        return next(_nevers(wanted, capacity), None)
    except AllocationError:
        return None


def _nevers(wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity]) -> Iterator[Never]:
    requests = wanted.requests if wanted is not None else {}
    yield from (Never(name, Limit.NAME) for name in requests if name not in capacity)
    for name, held in capacity.items():
        needs, whole, policy = _consumed(requests.get(name), held), amount(held.value), held.request_policy
        limit = Limit.WHOLE
        if policy is not None and _violates(needs, policy):
            highest = _highest(needs, policy)
            if highest is not None and highest.compare(whole) <= 0:
                limit = Limit.POLICY
        elif needs.compare(whole) <= 0:
            continue
        asked = amount(requests[name]) if name in requests else None
        yield Never(name, limit, asked, needs, _highest(min(needs, whole), policy), whole)


class Scarce(msgspec.Struct, frozen=True):
    """A capacity of which others have left too little. asked, needs, whole: as of `Never`."""

    name: str
    asked: Quantity | None
    needs: Quantity
    left: Quantity
    whole: Quantity


def scarce(
    wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity], taken: Capacities
) -> Scarce | None:
    """The first one. Raises AllocationError."""
    requests = wanted.requests if wanted is not None else {}
    for name, needs in consumption(wanted, capacity).items():
        rest = left(capacity[name], taken.get(name))
        if rest < needs:
            asked = amount(requests[name]) if name in requests else None
            return Scarce(name, asked, needs, rest, amount(capacity[name].value))
    return None


def left(held: DeviceCapacity, taken: Quantity | None) -> Quantity:
    whole = amount(held.value)
    return whole if taken is None else whole - taken


def less(taken: Capacities, given_back: Iterable[Capacities]) -> Capacities:
    """What is still taken."""
    found = dict(taken)
    for amounts in given_back:
        for name, quantity in amounts.items():
            found[name] = found.get(name, NONE) - quantity
    return found


def most_now(held: DeviceCapacity, needs: Quantity, taken: Quantity | None) -> Quantity | None:
    """The most that may be asked for instead of `needs` while others keep theirs, None where there is nothing."""
    most = _highest(min(needs, left(held, taken)), held.request_policy)
    return None if most is None or most <= NONE else most


def _highest(bound: Quantity, policy: CapacityRequestPolicy | None) -> Quantity | None:
    """The largest amount up to `bound` that the policy takes as it is, None where even its least is more."""
    if policy is None:
        return bound
    if policy.valid_range is not None:
        return _highest_in(bound, policy.valid_range)
    if not policy.valid_values:
        return bound
    return max((v for v in map(amount, policy.valid_values) if v <= bound), default=None)


def _highest_in(bound: Quantity, limits: CapacityRequestPolicyRange) -> Quantity | None:
    top = bound if limits.max is None else min(bound, amount(limits.max))
    low = amount(limits.min) if limits.min is not None else Quantity(0)
    if top.compare(low) < 0:
        return None
    step = amount(limits.step).value() if limits.step is not None else 0
    # Steps are counted in whole numbers, and those of a fraction's value() would be more than there is.
    over = (top.value() - low.value()) % step if step > 0 else 0
    if step > 0 and not over and not top.is_integer:
        over = step
    return of_int(top.value() - over, Format.BINARY_SI) if over else top


def consumption(wanted: CapacityRequirements | None, capacity: Mapping[str, DeviceCapacity]) -> Capacities:
    """GetConsumedCapacityFromRequest."""
    requests = wanted.requests if wanted is not None else {}
    return {name: _consumed(requests.get(name), held) for name, held in capacity.items()}


def _consumed(wanted: str | int | float | None, held: DeviceCapacity) -> Quantity:
    """calculateConsumedCapacity: the default or the whole if nothing is asked for, else rounded up by the policy."""
    policy = held.request_policy
    if wanted is None:
        return amount(policy.default if policy is not None and policy.default is not None else held.value)
    request = amount(wanted)
    if policy is None:
        return request
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_into(request, policy.valid_range)
    for valid in policy.valid_values:
        if request.compare(amount(valid)) <= 0:
            return amount(valid)
    return request


def _rounded_into(request: Quantity, limits: CapacityRequestPolicyRange) -> Quantity:
    """roundUpRange."""
    low = amount(limits.min)
    if request.compare(low) < 0:
        return low
    step = amount(limits.step).value() if limits.step is not None else 0
    if step <= 0:
        return request
    steps = -(-(request.value() - low.value()) // step)
    return of_int(low.value() + step * steps, Format.BINARY_SI)


def _violates(consumed: Quantity, policy: CapacityRequestPolicy | None) -> bool:
    """violatesPolicy. The default is always allowed, if it is the very same Go value."""
    if policy is None:
        return False
    if policy.default is not None and consumed.is_same_as(amount(policy.default)):
        return False
    if policy.valid_range is not None:
        return _violates_range(consumed, policy.valid_range)
    return bool(policy.valid_values) and all(consumed.compare(amount(v)) != 0 for v in policy.valid_values)


def _violates_range(consumed: Quantity, limits: CapacityRequestPolicyRange) -> bool:
    if limits.max is not None and consumed.compare(amount(limits.max)) > 0:
        return True
    step = amount(limits.step).value() if limits.step is not None else 0
    low = amount(limits.min).value() if limits.min is not None else 0
    return step > 0 and (consumed.value() - low) % step != 0
