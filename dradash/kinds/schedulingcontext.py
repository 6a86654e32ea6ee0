"""resource.k8s.io/v1alpha2 PodSchedulingContext: what scheduler and drivers negotiate through."""

from __future__ import annotations

from typing import Final

from dradash.kinds.meta import KubeObject, KubeStruct

# resourcev1alpha2.PodSchedulingNodeListMaxSize: the API server refuses longer lists.
NODE_LIST_MAX_SIZE: Final = 128


class PodSchedulingContextSpec(KubeStruct, frozen=True, kw_only=True):
    selected_node: str = ""
    potential_nodes: tuple[str, ...] = ()


class ClaimSchedulingStatus(KubeStruct, frozen=True, kw_only=True):
    """One driver's answer for one claim of the pod (`name` is the pod's name for the claim)."""

    name: str = ""
    unsuitable_nodes: tuple[str, ...] = ()


class PodSchedulingContextStatus(KubeStruct, frozen=True, kw_only=True):
    resource_claims: tuple[ClaimSchedulingStatus, ...] = ()


class PodSchedulingContext(KubeObject, frozen=True, kw_only=True):
    spec: PodSchedulingContextSpec = PodSchedulingContextSpec()
    status: PodSchedulingContextStatus = PodSchedulingContextStatus()
