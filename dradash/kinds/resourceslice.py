"""resource.k8s.io/v1 ResourceSlice: the devices that a driver publishes, pool by pool.

Older versions are read into this shape by `deviceversions`. Quantities stay text here; the allocator parses them.
"""

from __future__ import annotations

import msgspec

from dradash.kinds.meta import KubeObject, KubeStruct
from dradash.kinds.selectors import NodeSelector

QuantityText = str | int | float


class DeviceAttribute(KubeStruct, frozen=True, kw_only=True):
    """One value of one type; none of the four is set for a type that this version does not know."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")


class CapacityRequestPolicyRange(KubeStruct, frozen=True, kw_only=True):
    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(KubeStruct, frozen=True, kw_only=True):
    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(KubeStruct, frozen=True, kw_only=True):
    value: QuantityText = "0"
    request_policy: CapacityRequestPolicy | None = None


class Counter(KubeStruct, frozen=True, kw_only=True):
    value: QuantityText = "0"


class CounterSet(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(KubeStruct, frozen=True, kw_only=True):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(KubeStruct, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class Device(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None


class ResourcePool(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 0


class ResourceSliceSpec(KubeStruct, frozen=True, kw_only=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(KubeObject, frozen=True, kw_only=True):
    spec: ResourceSliceSpec = ResourceSliceSpec()
