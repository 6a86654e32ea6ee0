"""The claims of a pod on its page: what they ask for, and what they got."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.meta import KubeStruct
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim, claims_of, classes_in, drivers_in_charge, flags_of, state_of
from dradash.scheduling.claimrefs import extended_claim
from dradash.scheduling.classic.claims import no_claim
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.extended import SPECIAL_NAME, classes_behind, pod_requests
from dradash.scheduling.verdict import Verdict
from dradash.web.presenters.claim import AllocationView, allocation_view
from dradash.web.presenters.claims import ClassLink, Consumer, class_links, consumers
from dradash.web.presenters.deviceclaim import ChosenDevice, chosen_devices
from dradash.web.presenters.words import Chip, claim_chip, claim_href, device_class_href

CARDS: Final = 40  # claims of one pod
DONE: Final = Chip("Deleted", "idle", "trash", "The pod has ended, and its claim was deleted: this is its last state")


class _ResourceHealth(KubeStruct, frozen=True, kw_only=True):
    resource_id: str = msgspec.field(default="", name="resourceID")
    health: str = ""


class _ResourceStatus(KubeStruct, frozen=True, kw_only=True):
    name: str = ""
    resources: tuple[_ResourceHealth, ...] | None = None


class _ContainerStatus(KubeStruct, frozen=True, kw_only=True):
    allocated_resources_status: tuple[_ResourceStatus, ...] | None = None


class _Status(KubeStruct, frozen=True, kw_only=True):
    container_statuses: tuple[_ContainerStatus, ...] | None = None
    init_container_statuses: tuple[_ContainerStatus, ...] | None = None


class _Pod(KubeStruct, frozen=True, kw_only=True):
    status: _Status | None = None


class Health(msgspec.Struct, frozen=True):
    """What the kubelet says of a device that a container has. resource: the CDI device, or driver/pool/device."""

    resource: str
    health: str

    @property
    def is_well(self) -> bool:
        return self.health == "Healthy"


class ClaimCard(msgspec.Struct, frozen=True):
    """One entry of pod.spec.resourceClaims with the claim behind it, or the claim for its extended resources.

    asks: those resources, each with its amount. devices: that were chosen, with structured parameters.
    """

    name: str
    claim: str  # the ResourceClaim's name, "" when not known yet
    href: str
    template: str
    chip: Chip
    flags: tuple[str, ...]
    classes: tuple[ClassLink, ...]
    drivers: tuple[str, ...]
    allocation: AllocationView | None
    reserved: tuple[Consumer, ...]  # the first of ...
    holders: int
    key: str  # namespace/name of the claim
    asks: tuple[str, ...] = ()
    devices: tuple[ChosenDevice, ...] = ()
    health: tuple[Health, ...] = ()


def cards(world: World, pod: Pod, verdict: Verdict | None, left: Mapping[str, AnyClaim]) -> tuple[ClaimCard, ...]:
    """In the pod's own order. left: by the pod's name for it, the last state of a claim that went."""
    generated = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses}
    judged = {c.name: c for c in verdict.claims} if verdict else {}
    health = health_by_claim(world.cluster.raw["pods"].get(pod.key, b"{}"))
    found = []
    for entry in pod.spec.resource_claims[:CARDS]:
        ref = judged.get(entry.name)
        name = entry.claim_name or generated.get(entry.name) or (ref.claim if ref else "") or ""
        driver = ref.driver if ref else ""
        card = _card(world, pod, entry, name, driver, left.get(entry.name))
        found.append(msgspec.structs.replace(card, health=health.get(entry.name, ())))
    special = _extended_card(world, pod)
    return (*found, special) if special is not None else tuple(found)


def _card(world: World, pod: Pod, entry: PodResourceClaim, name: str, driver: str, left: AnyClaim | None) -> ClaimCard:
    """name: of the claim, "" where it is not known. driver: of the verdict."""
    key = f"{pod.namespace}/{name}" if name else ""
    there = claims_of(world.cluster).get(key)
    claim = there or left
    state = claim_chip(state_of(claim) if claim else no_claim(key, world.cluster))
    return ClaimCard(
        name=entry.name,
        claim=name,
        href=claim_href(key) if key else "",
        template=entry.template_name or "",
        chip=DONE if claim and not there else state,
        flags=flags_of(there) if there else (),
        classes=class_links(claim, world.cluster) if claim else (),
        drivers=drivers_in_charge(claim, world.cluster) if claim else classes_in(driver),
        allocation=allocation_view(claim, world.cluster) if claim else None,
        reserved=consumers(claim, world.cluster) if claim else (),
        holders=len(claim.status.reserved_for) if claim else 0,
        key=key,
        devices=_devices(there, world.cluster),
    )


def _extended_card(world: World, pod: Pod) -> ClaimCard | None:
    """None for a pod that asks for no extended resource which a DeviceClass stands behind."""
    cluster = world.cluster
    claim, behind = extended_claim(pod, cluster), classes_behind(pod, cluster.device_classes)
    if claim is None and not behind:
        return None
    amounts = pod_requests(pod)
    links = tuple(ClassLink(c, device_class_href(c), exists=True) for c in dict.fromkeys(behind.values()))
    return ClaimCard(
        name=SPECIAL_NAME,
        claim=claim.name if claim else "",
        href=claim_href(claim.key) if claim else "",
        template="",
        chip=claim_chip(state_of(claim) if claim else ClaimState.PENDING),
        flags=flags_of(claim) if claim else (),
        classes=(class_links(claim, cluster) if claim else ()) or links,
        drivers=drivers_in_charge(claim, cluster) if claim else (),
        allocation=allocation_view(claim, cluster) if claim else None,
        reserved=consumers(claim, cluster) if claim else (),
        holders=len(claim.status.reserved_for) if claim else 0,
        key=claim.key if claim else "",
        devices=_devices(claim, cluster),
        asks=tuple(f"{amounts[name]} {name}" for name in behind),
    )


def _devices(claim: AnyClaim | None, cluster: Cluster) -> tuple[ChosenDevice, ...]:
    return chosen_devices(claim, cluster) if isinstance(claim, deviceclaim.ResourceClaim) else ()


def health_by_claim(raw: bytes) -> dict[str, tuple[Health, ...]]:
    """From a pod's containerStatuses, by the pod's name for the claim; "claim:NAME" or "claim:NAME/REQUEST" there."""
    try:
        status = msgspec.json.decode(raw, type=_Pod).status
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}  # the rest of the pod can be read
    found: dict[str, dict[Health, None]] = {}
    containers = (status.container_statuses or ()) + (status.init_container_statuses or ()) if status else ()
    for resource in (r for c in containers for r in c.allocated_resources_status or ()):
        kind, _, name = resource.name.partition(":")
        if kind == "claim":
            told = found.setdefault(name.partition("/")[0], {})
            told.update((Health(each.resource_id, each.health), None) for each in resource.resources or ())
    return {name: tuple(told) for name, told in found.items()}
