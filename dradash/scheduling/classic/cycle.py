"""What the plugin remembers within one scheduling attempt (stateData and podSchedulingState of the plugin)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import ClaimSchedulingStatus, PodSchedulingContext


@dataclass
class ClaimInformation:
    """One claim's node filters, in the order of CycleState.claims. Written by PreFilter, read by Filter."""

    available_on: int | None = None  # node set; None: any node (upstream's availableOnNode selector)
    status: ClaimSchedulingStatus | None = None  # the driver's answer so far


@dataclass
class CycleState:
    """`claims` is empty until PreFilter succeeded: every later point then has nothing to do."""

    pod: Pod
    claims: list[ResourceClaim] = field(default_factory=list)
    information: list[ClaimInformation] = field(default_factory=list)
    context: PodSchedulingContext | None = None  # PreFilter; the object in the API server, if it is the pod's
    # Indices of allocated, delayed claims that miss a node, each with the first node's place: upstream's set is filled
    # in that order. Written by Filter, read by PostFilter.
    unavailable_claims: dict[int, int] = field(default_factory=dict)
    pre_scored: bool = False  # PreScore; Reserve asks for information itself when it did not run
    # What is to be published. Written by PreScore, Reserve and PostFilter; cleared by publish.
    selected_node: str | None = None
    potential_nodes: tuple[str, ...] | None = None

    @property
    def is_dirty(self) -> bool:
        return self.selected_node is not None or self.potential_nodes is not None
