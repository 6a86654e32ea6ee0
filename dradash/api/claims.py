"""ResourceClaims: the list, and one claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.schemas import Json, Ref, Shape, page, ref, time_of, url
from dradash.kinds.claim import ResourceClaim
from dradash.reader.before import world_before
from dradash.reader.histories import seen_claims
from dradash.reader.world import World
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.classic.claimstate import ClaimState, claim_flags, claim_state
from dradash.scheduling.classic.negotiation import Turn, claim_turns
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodetable import InvalidSelector
from dradash.store.model import Change

KIND: Final = "resourceclaims"
SAMPLE: Final = 10
_ORDER: Final = {s: i for i, s in enumerate(ClaimState)}


class Consumer(Shape, frozen=True):
    """Who a claim is reserved for. alive: whether a pod of that UID is known."""

    resource: str
    name: str
    uid: str
    alive: bool


class Place(Shape, frozen=True):
    """Where an allocation can be used. everywhere: it names no nodes. error: its node selector is invalid."""

    everywhere: bool
    count: int
    nodes: tuple[str, ...]
    error: str | None


class ClaimRow(Shape, frozen=True):
    """flags: all that is true of it beside its state. pods: how many pods name it. place: null, not allocated."""

    namespace: str
    name: str
    uid: str
    state: str
    flags: tuple[str, ...]
    resource_class: str
    class_exists: bool
    driver: str
    place: Place | None
    shareable: bool
    reserved_for: tuple[Consumer, ...]
    pods: int
    created: str | None
    url: str
    page: str


class TurnBody(Shape, frozen=True):
    """One move. claim: the pod's name for it. took: seconds from when it could have been made, null: not known."""

    at: str | None
    actor: str
    kind: str
    text: str
    claim: str
    nodes: tuple[str, ...]
    took: float | None


class ClaimDetail(Shape, frozen=True):
    """gone: when it was deleted; the rest is then its last known state. object: as the API server sent it."""

    claim: ClaimRow
    gone: str | None
    deleting: str | None
    finalizers: tuple[str, ...]
    pods: tuple[Ref, ...]
    history: tuple[TurnBody, ...]
    findings: tuple[FindingRow, ...]
    object: Json


class Item(msgspec.Struct, frozen=True):
    key: str
    claim: ResourceClaim
    state: ClaimState
    driver: str


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Item]:
    claims = world.cluster.claims
    for key in claims if keys is None else [k for k in keys if k in claims]:
        claim = claims[key]
        item = Item(key, claim, claim_state(claim), driver_of(claim, world.cluster))
        if _matches(item, ask):
            yield item


def _matches(item: Item, ask: Ask) -> bool:
    given = ask.params
    have = (
        ("namespace", item.claim.namespace),
        ("state", item.state),
        ("class", item.claim.spec.resource_class_name),
        ("driver", item.driver),
    )
    if any(name in given and given[name] != value for name, value in have):
        return False
    text = given.get("q", "").casefold()
    return not text or text in item.key.casefold() or text in item.claim.spec.resource_class_name.casefold()


def _place(claim: ResourceClaim, cluster: Cluster) -> Place | None:
    allocation = claim.status.allocation
    if allocation is None:
        return None
    if allocation.available_on_nodes is None:
        return Place(everywhere=True, count=len(cluster.nodes), nodes=(), error=None)
    try:
        nodes = cluster.nodes.matching(allocation.available_on_nodes)
    except InvalidSelector as error:
        return Place(everywhere=False, count=0, nodes=(), error=str(error))
    count = nodes.bit_count()
    names = cluster.nodes.names(nodes)[:SAMPLE] if count <= SAMPLE else ()
    return Place(everywhere=False, count=count, nodes=tuple(names), error=None)


def row_of(item: Item, world: World) -> ClaimRow:
    claim, cluster = item.claim, world.cluster
    status, class_name = claim.status, claim.spec.resource_class_name
    return ClaimRow(
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        state=str(item.state),
        flags=claim_flags(claim),
        resource_class=class_name,
        class_exists=class_name in cluster.raw["resourceclasses"],
        driver=item.driver,
        place=_place(claim, cluster),
        shareable=status.allocation is not None and status.allocation.shareable,
        reserved_for=tuple(
            Consumer(resource=r.resource, name=r.name, uid=r.uid, alive=r.uid in cluster.pods_by_uid)
            for r in status.reserved_for
        ),
        pods=len(cluster.pods_by_claim.members(item.key)),
        created=claim.metadata.creation_timestamp,
        url=url(KIND, item.key) or "",
        page=page(KIND, item.key) or "",
    )


def touched(change: Change, world: World) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    return (change.key,) if change.kind == KIND else ()


CLAIMS: Final = Listing(
    row_type=ClaimRow,
    items=items,
    identity=lambda i: i.key,
    sortings={
        "ns": lambda i: i.claim.namespace,
        "claim": lambda i: i.claim.name,
        "state": lambda i: _ORDER[i.state],
        "class": lambda i: i.claim.spec.resource_class_name,
        "driver": lambda i: i.driver,
        "reserved": lambda i: len(i.claim.status.reserved_for),
        "created": lambda i: i.claim.metadata.creation_timestamp or "",
    },
    row=lambda ask, world, item: row_of(item, world),  # noqa: ARG005 - as every resource's
    touched=touched,
)


def turn(of: Turn) -> TurnBody:
    return TurnBody(
        at=time_of(of.at), actor=of.actor, kind=str(of.kind), text=of.text, claim=of.claim, nodes=of.nodes, took=of.took
    )


def _life(entries: Sequence[Any], driver: str) -> tuple[TurnBody, ...]:
    """Newest first."""
    turns: list[Turn] = []
    before: ResourceClaim | None = None
    for seen in seen_claims(entries):
        turns += claim_turns(seen.at, before, seen.claim, driver=driver)
        before = seen.claim
    return tuple(turn(t) for t in reversed(turns))


def _as_in(world: World, key: str, claim: ResourceClaim) -> tuple[Item, ClaimRow, list[str]]:
    item = Item(key, claim, claim_state(claim), driver_of(claim, world.cluster))
    return item, row_of(item, world), sorted(world.cluster.pods_by_claim.members(key))


def detail(ask: Ask) -> Any:
    key, gone = ask.key, 0.0
    with ask.world() as world:
        claim, raw = world.cluster.claims.get(key), world.cluster.raw[KIND].get(key, b"{}")
        stands = _as_in(world, key, claim) if claim is not None else None
    if claim is None or stands is None:
        claim, entry = ask.last(KIND, key)
        raw, gone = entry.object, entry.at
        with world_before(ask.here, gone, ask.at) as (before, _):
            stands = _as_in(before, key, claim)
    item, row, users = stands
    found = ClaimDetail(
        claim=row,
        gone=time_of(gone),
        deleting=claim.metadata.deletion_timestamp,
        finalizers=claim.metadata.finalizers,
        pods=tuple(ref("pods", k) for k in users),
        history=_life(ask.history(KIND, key), item.driver),
        findings=about(ask, KIND, key),
        object=msgspec.json.decode(raw),
    )
    return projected(found, ask)


ENDPOINTS: Final = (
    listed(
        "claims",
        "/claims",
        "claims",
        "ResourceClaims",
        CLAIMS,
        params.text("namespace", "Only claims of this namespace.", "ml"),
        params.choice("state", "Only claims in this state.", map(str, ClaimState)),
        params.text("class", "Only claims of this ResourceClass.", "gpu"),
        params.text("driver", "Only claims of this driver.", "gpu.example.com"),
        params.text("q", "Only claims whose key or class contains this text.", "train"),
    ),
    Endpoint(
        "claim",
        "/claims/{namespace}/{name}",
        "claims",
        "One claim, also one that is gone",
        ClaimDetail,
        detail,
        varies="findings",
    ),
)
