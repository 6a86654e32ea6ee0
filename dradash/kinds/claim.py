"""resource.k8s.io/v1alpha2 ResourceClaim and ResourceClaimTemplate."""

from __future__ import annotations

from typing import Any, Final

from dradash.kinds.meta import KubeObject, KubeStruct, ObjectMeta
from dradash.kinds.selectors import NodeSelector

IMMEDIATE: Final = "Immediate"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"


class ParametersReference(KubeStruct, frozen=True, kw_only=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class ResourceClaimSpec(KubeStruct, frozen=True, kw_only=True):
    resource_class_name: str = ""
    parameters_ref: ParametersReference | None = None
    allocation_mode: str = ""


class ResourceHandle(KubeStruct, frozen=True, kw_only=True):
    driver_name: str = ""
    data: str = ""
    structured_data: Any = None


class AllocationResult(KubeStruct, frozen=True, kw_only=True):
    resource_handles: tuple[ResourceHandle, ...] = ()
    available_on_nodes: NodeSelector | None = None
    shareable: bool = False


class ConsumerReference(KubeStruct, frozen=True, kw_only=True):
    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ResourceClaimStatus(KubeStruct, frozen=True, kw_only=True):
    driver_name: str = ""
    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    deallocation_requested: bool = False


class ResourceClaim(KubeObject, frozen=True, kw_only=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(KubeStruct, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(KubeObject, frozen=True, kw_only=True):
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
