"""What the plugin sees of the cluster, and what it remembers within one scheduling attempt (stateData)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.pod import Pod
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.structured.allocation import Body
from dradash.scheduling.structured.allocator import Allocator
from dradash.scheduling.structured.claimwrites import HeldClaim
from dradash.scheduling.structured.inventory import Inventory


class Listed(msgspec.Struct, frozen=True):
    """The scheduler's caches. `in_flight`: claims by UID whose allocation is being written for another pod.

    inventory: devices and what is taken of them, by claims in flight too. extended_claim: the claim that an earlier
    attempt made for the pod's extended resources (findExtendedResourceClaim).
    """

    claims: Mapping[str, HeldClaim]
    classes: Mapping[str, DeviceClass]
    inventory: Inventory
    extended_claim: Callable[[Pod], HeldClaim | None]
    in_flight: Mapping[str, ResourceClaim] = {}


class NodeAllocation(msgspec.Struct, frozen=True):
    """What Filter found for a node: results in the order of the claims to allocate."""

    results: tuple[Body, ...]
    extended_claim: HeldClaim | None = None
    mappings: tuple[Body, ...] = ()  # containers' requests, for the pod's status


@dataclass
class Information:
    """One claim, in the order of CycleState.claims."""

    available_on: NodeSelector | None = None  # PreFilter: where the existing allocation can be used
    allocation: Body | None = None  # Reserve; written by PreBind


@dataclass
class CycleState:
    """`claims` are the user's, then the special one for extended resources; empty until PreFilter succeeded."""

    pod: Pod
    listed: Listed
    claims: list[HeldClaim] = field(default_factory=list)
    has_extended_claim: bool = False
    information: list[Information] = field(default_factory=list)
    pod_scalars: dict[str, int] = field(default_factory=dict)  # PreFilter: the pod's scalar resources, if any is backed
    allocator: Allocator | None = None  # PreFilter, if there is something to allocate
    unavailable: set[int] = field(default_factory=set)  # Filter; PostFilter may deallocate one of them
    node_allocations: dict[str, NodeAllocation] = field(default_factory=dict)  # Filter
    events: list[str] = field(default_factory=list)  # PreBind

    @property
    def user_claims(self) -> list[HeldClaim]:
        return self.claims[:-1] if self.has_extended_claim else self.claims

    @property
    def extended_claim(self) -> HeldClaim | None:
        return self.claims[-1] if self.has_extended_claim else None

    def is_extended(self, index: int) -> bool:
        return self.has_extended_claim and index == len(self.claims) - 1

    def to_allocate(self) -> list[int]:
        return [i for i, held in enumerate(self.claims) if held.claim.status.allocation is None]
