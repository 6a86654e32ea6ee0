"""One claim: its state, its allocation, who holds it, who asks for it, and its life so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim, ResourceHandle
from dradash.kinds.registry import MalformedObject
from dradash.kinds.resourceclass import ResourceClass
from dradash.kinds.selectors import NodeSelector
from dradash.reader.histories import claim_life
from dradash.reader.world import World
from dradash.scheduling.claimfacts import (
    AnyClaim,
    available_on,
    claims_of,
    drivers_in_charge,
    flags_of,
    is_shareable,
    read_claim,
    state_of,
)
from dradash.scheduling.classic.turns import Turn
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodetable import InvalidSelector
from dradash.scheduling.rfc3339 import deletion_asked
from dradash.scheduling.verdict import Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters.claims import (
    ClassLink,
    Consumer,
    Owner,
    Where,
    class_links,
    consumers,
    owner_of,
    where_available,
)
from dradash.web.presenters.deviceclaim import Requested, requested
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import Actor, Chip, actor, claim_chip, cut, few, outcome_chip, pod_href

NODE_NAMES: Final = 200
HANDLES: Final = 20
USERS: Final = 50
DATA_SHOWN: Final = 400  # characters of a driver's opaque data


class HandleView(msgspec.Struct, frozen=True):
    driver: str
    data: str
    cut: bool


class AllocationView(msgspec.Struct, frozen=True):
    handles: tuple[HandleView, ...]
    more_handles: int
    shareable: bool
    where: Where
    nodes: tuple[str, ...]
    unlisted: int
    selector: str  # YAML, "" when available everywhere


class UserRow(msgspec.Struct, frozen=True):
    """A pod that names the claim."""

    key: str
    href: str
    chip: Chip
    sentence: str
    actor: Actor | None


class ClaimView(msgspec.Struct, frozen=True):
    key: str
    namespace: str
    name: str
    uid: str
    chip: Chip
    flags: tuple[str, ...]
    mode: str  # "" with structured parameters
    classes: tuple[ClassLink, ...]
    class_nodes: str  # YAML of the class's suitableNodes
    drivers: tuple[str, ...]
    parameters: str
    allocation: AllocationView | None
    requested: Requested | None  # with structured parameters
    reserved: tuple[Consumer, ...]  # the first of ...
    holders: int
    users: tuple[UserRow, ...]  # the first of ...
    named_by: int
    owner: Owner | None
    finalizers: tuple[str, ...]
    created: str
    deleting: float | str  # since when its deletion is asked for; what stands there, when that is no time
    life: tuple[Turn, ...]  # newest first
    unread: bool  # the history cannot be read now
    command: str
    describe: str
    gone: float  # Unix seconds of its deletion, 0: it exists
    yaml: str


class ClaimFacts(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still."""

    key: str
    claim: AnyClaim
    raw: bytes
    classes: tuple[ClassLink, ...]
    resource_class: ResourceClass | None
    drivers: tuple[str, ...]
    allocation: AllocationView | None
    requested: Requested | None
    reserved: tuple[Consumer, ...]
    users: tuple[UserRow, ...]
    named_by: int
    gone: float = 0.0


def gather(world: World, key: str, last: HistoryEntry | None = None) -> ClaimFacts | None:
    """None when there is no such claim. `last`: of a claim that is gone; `world` is then of just before."""
    cluster = world.cluster
    claim, raw = claims_of(cluster).get(key), cluster.raw["resourceclaims"].get(key, b"")
    gone = 0.0
    if last is not None:
        try:
            claim, raw, gone = read_claim(last.object), last.object, last.at
        except MalformedObject:
            return None
    if claim is None:
        return None
    pods = cluster.pods_by_claim.members(key)
    return ClaimFacts(
        key=key,
        claim=claim,
        raw=raw,
        classes=class_links(claim, cluster),
        resource_class=cluster.classes.get(claim.spec.resource_class_name)
        if isinstance(claim, ResourceClaim)
        else None,
        drivers=drivers_in_charge(claim, cluster),
        allocation=allocation_view(claim, cluster),
        requested=requested(claim, cluster) if isinstance(claim, deviceclaim.ResourceClaim) else None,
        reserved=consumers(claim, cluster),
        users=tuple(_user(p, world.verdicts.get(p)) for p in sorted(pods)[:USERS]),
        named_by=len(pods),
        gone=gone,
    )


def allocation_view(claim: AnyClaim, cluster: Cluster) -> AllocationView | None:
    where, selector = where_available(claim, cluster), available_on(claim)
    if where is None:
        return None
    names = _node_names(selector, cluster) if selector else []
    return AllocationView(
        handles=_handles(claim) if isinstance(claim, ResourceClaim) else (),
        more_handles=max(0, _count_handles(claim) - HANDLES),
        shareable=is_shareable(claim),
        where=where,
        nodes=tuple(names[:NODE_NAMES]),
        unlisted=max(0, len(names) - NODE_NAMES),
        selector=_selector_yaml(selector),
    )


def _node_names(selector: NodeSelector, cluster: Cluster) -> list[str]:
    try:
        return cluster.nodes.names(cluster.nodes.matching(selector))
    except InvalidSelector:
        return []  # where_available says what is wrong with it


def _handles(claim: ResourceClaim) -> tuple[HandleView, ...]:
    allocation = claim.status.allocation
    return (
        tuple(_handle(h, claim.status.driver_name) for h in allocation.resource_handles[:HANDLES]) if allocation else ()
    )


def _count_handles(claim: AnyClaim) -> int:
    allocation = claim.status.allocation if isinstance(claim, ResourceClaim) else None
    return len(allocation.resource_handles) if allocation else 0


def _handle(handle: ResourceHandle, driver: str) -> HandleView:
    data = handle.data or (str(handle.structured_data) if handle.structured_data else "")
    return HandleView(handle.driver_name or driver, data[:DATA_SHOWN], len(data) > DATA_SHOWN)


def _selector_yaml(selector: NodeSelector | None) -> str:
    return as_yaml(msgspec.to_builtins(selector)) if selector else ""


def _user(key: str, verdict: Verdict | None) -> UserRow:
    return UserRow(
        key=key,
        href=pod_href(key),
        chip=outcome_chip(verdict.outcome if verdict else None),
        sentence=cut(verdict.sentence) if verdict else "",
        actor=actor(verdict.acts_next) if verdict else None,
    )


def present(facts: ClaimFacts, history: Sequence[HistoryEntry] | None) -> ClaimView:
    """history: None while it cannot be read."""
    claim, resource_class = facts.claim, facts.resource_class
    reference = claim.spec.parameters_ref if isinstance(claim, ResourceClaim) else None
    return ClaimView(
        key=facts.key,
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        chip=claim_chip(state_of(claim)),
        flags=flags_of(claim),
        mode=claim.spec.allocation_mode if isinstance(claim, ResourceClaim) else "",
        classes=facts.classes,
        class_nodes=_selector_yaml(resource_class.suitable_nodes) if resource_class else "",
        drivers=facts.drivers,
        parameters=f"{reference.kind} {reference.name} ({reference.api_group})" if reference else "",
        allocation=facts.allocation,
        requested=facts.requested,
        reserved=facts.reserved,
        holders=len(claim.status.reserved_for),
        users=facts.users,
        named_by=facts.named_by,
        owner=owner_of(claim.metadata),
        finalizers=few(claim.metadata.finalizers),
        created=claim.metadata.creation_timestamp or "",
        deleting=deletion_asked(claim.metadata) or claim.metadata.deletion_timestamp or "",
        life=tuple(reversed(claim_life(history or (), ", ".join(facts.drivers)))),
        unread=history is None,
        command=kubectl.get("resourceclaims", claim.namespace, claim.name),
        describe=kubectl.describe("resourceclaims", claim.namespace, claim.name),
        gone=facts.gone,
        yaml=as_yaml(msgspec.json.decode(facts.raw)),
    )
