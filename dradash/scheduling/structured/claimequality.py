"""When two statuses of a claim are the same to Kubernetes (apiequality.Semantic.DeepEqual).

Quantities are compared by value and times by instant, however they are written, and empty is as good as absent: in the
structs it already is, except in what they keep as it came.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from dradash.kinds import quantity as quantities
from dradash.kinds.deviceclaim import (
    AllocatedDeviceStatus,
    Condition,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dradash.kinds.quantity import InvalidQuantity
from dradash.scheduling.structured.celtime import parse_timestamp
from dradash.scheduling.structured.celvalues import EvalError

# What a metav1.Time holds that is not set.
_NO_TIME: Final = "0001-01-01T00:00:00Z"


def is_same_status(old: ResourceClaimStatus, new: ResourceClaimStatus) -> bool:
    return old == new or _alike(old) == _alike(new)


def _alike(status: ResourceClaimStatus) -> ResourceClaimStatus:
    """The status in a form that is equal for equal statuses, and for nothing but comparing."""
    allocation = status.allocation
    if allocation is not None:
        results = tuple(map(_result, allocation.devices.results))
        at: Any = None if allocation.allocation_timestamp is None else _instant(allocation.allocation_timestamp)
        allocation = replace(allocation, devices=replace(allocation.devices, results=results), allocation_timestamp=at)
    return replace(status, allocation=allocation, devices=tuple(map(_device, status.devices)))


def _result(result: DeviceRequestAllocationResult) -> DeviceRequestAllocationResult:
    return replace(result, consumed_capacity={n: _amount(q) for n, q in result.consumed_capacity.items()})


def _device(device: AllocatedDeviceStatus) -> AllocatedDeviceStatus:
    return replace(
        device, conditions=tuple(map(_condition, device.conditions)), network_data=_network_data(device.network_data)
    )


def _condition(condition: Condition) -> Condition:
    return replace(condition, last_transition_time=_instant(condition.last_transition_time or _NO_TIME))


def _network_data(data: Any) -> Any:
    """NetworkDeviceData, behind a pointer: {} is not the same as none."""
    return {k: v for k, v in data.items() if v} if isinstance(data, dict) else data


def _instant(text: str) -> Any:
    """Nanoseconds; the text itself where it is no time, which the API server lets nobody write."""
    try:
        return parse_timestamp(text).nanoseconds
    except EvalError:
        return text


def _amount(text: str | int | float) -> Any:
    try:
        return quantities.decoded(str(text))
    except InvalidQuantity:
        return text
