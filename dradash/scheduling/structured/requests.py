"""A request or subrequest in one shape, and what the allocator knows of it (requestAccessor and requestData)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from dradash.kinds.deviceclaim import (
    CapacityRequirements,
    DeviceClaim,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
)
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.resourceslice import Device, DeviceTaint, ResourceSlice
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.pools import Pool


class RequestKey(NamedTuple):
    """requestIndices: places of claim, request and subrequest; the last is 0 where there are none."""

    claim: int
    request: int
    sub_request: int = 0


class Candidate(msgspec.Struct, frozen=True):
    """A device in its slice and pool (deviceWithID)."""

    id: DeviceID
    device: Device
    slice: ResourceSlice
    pool: Pool


class Request(msgspec.Struct, frozen=True):
    """`parent` is the name of the request that a subrequest belongs to, else ""."""

    name: str
    parent: str
    class_name: str
    mode: str
    count: int
    admin_access: bool
    selectors: tuple[DeviceSelector, ...]
    tolerations: tuple[DeviceToleration, ...]
    capacity: CapacityRequirements | None

    @property
    def full_name(self) -> str:
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        """The name by which constraints know it."""
        return self.parent or self.name


class RequestData(msgspec.Struct):
    """`chosen` counts in the entry of the first subrequest only: which subrequest was picked."""

    request: Request
    device_class: DeviceClass | None = None
    count: int = 0
    all_devices: list[Candidate] = []
    chosen: int = 0


def requests_of(request: DeviceRequest) -> list[Request]:
    """The subrequests in order, or the request itself."""
    if request.first_available:
        return [_sub_request(request.name, s) for s in request.first_available]
    exactly = request.exactly or ExactDeviceRequest()
    return [
        Request(
            name=request.name,
            parent="",
            class_name=exactly.device_class_name,
            mode=exactly.allocation_mode,
            count=exactly.count,
            admin_access=bool(exactly.admin_access),
            selectors=exactly.selectors,
            tolerations=exactly.tolerations,
            capacity=exactly.capacity,
        )
    ]


def class_names(devices: DeviceClaim) -> set[str]:
    """Names of all DeviceClasses that the requests and their alternatives ask for."""
    return {r.class_name for request in devices.requests for r in requests_of(request) if r.class_name}


def _sub_request(parent: str, sub: DeviceSubRequest) -> Request:
    return Request(
        name=sub.name,
        parent=parent,
        class_name=sub.device_class_name,
        mode=sub.allocation_mode,
        count=sub.count,
        admin_access=False,
        selectors=sub.selectors,
        tolerations=sub.tolerations,
        capacity=sub.capacity,
    )


def is_refused_by_taint(device: Device, request: Request) -> bool:
    """taintPreventsAllocation: only NoSchedule and NoExecute do."""
    return any(
        taint.effect in ("NoSchedule", "NoExecute") and not any(tolerates(t, taint) for t in request.tolerations)
        for taint in device.taints
    )


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """resourceclaim.ToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False
