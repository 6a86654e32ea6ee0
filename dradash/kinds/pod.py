"""core/v1 Pod, as far as scheduling reads it.

A claim of a pod is named in `spec.resourceClaims[].source` up to Kubernetes 1.30 and directly in
`spec.resourceClaims[]` from 1.31 on; both are read.
"""

from __future__ import annotations

import msgspec

from dradash.kinds.meta import KubeObject, KubeStruct
from dradash.kinds.selectors import NodeSelector


class ClaimSource(KubeStruct, frozen=True, kw_only=True):
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaim(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    source: ClaimSource = ClaimSource()
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None

    @property
    def claim_name(self) -> str | None:
        return self.resource_claim_name if self.resource_claim_name is not None else self.source.resource_claim_name

    @property
    def template_name(self) -> str | None:
        if self.resource_claim_template_name is not None:
            return self.resource_claim_template_name
        return self.source.resource_claim_template_name


class PodResourceClaimStatus(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    resource_claim_name: str | None = None


class Toleration(KubeStruct, frozen=True, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class NodeAffinity(KubeStruct, frozen=True, kw_only=True):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(KubeStruct, frozen=True, kw_only=True):
    node_affinity: NodeAffinity | None = None


class PodSchedulingGate(KubeStruct, frozen=True, kw_only=True):
    name: str = ""


class ResourceRequirements(KubeStruct, frozen=True, kw_only=True):
    requests: dict[str, str | int | float] = {}  # quantities


class Container(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    restart_policy: str | None = None
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(KubeStruct, frozen=True, kw_only=True):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    preemption_policy: str = ""
    priority: int | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()


class PodCondition(KubeStruct, frozen=True, kw_only=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(KubeStruct, frozen=True, kw_only=True):
    phase: str = ""
    conditions: tuple[PodCondition, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()

    def condition(self, type_: str) -> PodCondition | None:
        return next((c for c in self.conditions if c.type == type_), None)


class Pod(KubeObject, frozen=True, kw_only=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_pending(self) -> bool:
        """Waits for the scheduler: not bound, not finished, not being deleted."""
        return not self.spec.node_name and not self.is_finished and self.metadata.deletion_timestamp is None
