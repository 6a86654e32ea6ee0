"""resource.k8s.io/v1 ResourceClaim and ResourceClaimTemplate: structured parameters.

Older versions are read into this shape by `deviceversions`. `count` and `allocationMode` have no defaults here: the API
server fills them in, and the allocator refuses a claim where they are missing.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.kinds.meta import Int64, KubeObject, KubeStruct, ObjectMeta
from dradash.kinds.selectors import NodeSelector

EXACT_COUNT: Final = "ExactCount"
ALL: Final = "All"

# Limits of the API (resource/v1 types).
MAX_RESULTS: Final = 32
MAX_RESERVED_FOR: Final = 256
MAX_FIRST_AVAILABLE: Final = 8

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
EXTENDED_RESOURCE_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"


class CelSelector(KubeStruct, frozen=True, kw_only=True):
    expression: str = ""


class DeviceSelector(KubeStruct, frozen=True, kw_only=True):
    """`cel` is None for a kind of selector that this version does not know."""

    cel: CelSelector | None = None


class DeviceToleration(KubeStruct, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(KubeStruct, frozen=True, kw_only=True):
    requests: dict[str, str | int | float] = {}


class ExactDeviceRequest(KubeStruct, frozen=True, kw_only=True):
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = ""
    count: int = 0
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(KubeStruct, frozen=True, kw_only=True):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(KubeStruct, frozen=True, kw_only=True):
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceClaim(KubeStruct, frozen=True, kw_only=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class DeviceRequestAllocationResult(KubeStruct, frozen=True, kw_only=True):
    """One device that was chosen. `request` is "request" or "request/subrequest"."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, str | int | float] = {}


class DeviceAllocationConfiguration(KubeStruct, frozen=True, kw_only=True):
    source: str = ""
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceAllocationResult(KubeStruct, frozen=True, kw_only=True):
    results: tuple[DeviceRequestAllocationResult, ...] = ()
    config: tuple[DeviceAllocationConfiguration, ...] = ()


class AllocationResult(KubeStruct, frozen=True, kw_only=True):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class Condition(KubeStruct, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: Int64 = 0


class AllocatedDeviceStatus(KubeStruct, frozen=True, kw_only=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: tuple[Condition, ...] = ()
    data: Any = None
    network_data: Any = None


class ConsumerReference(KubeStruct, frozen=True, kw_only=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimSpec(KubeStruct, frozen=True, kw_only=True):
    devices: DeviceClaim = DeviceClaim()


class ResourceClaimStatus(KubeStruct, frozen=True, kw_only=True):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(KubeObject, frozen=True, kw_only=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject, frozen=True, kw_only=True):
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
