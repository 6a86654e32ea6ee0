"""ResourceClaims: the list, and one claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.claimdevices import ChosenDevice, RequestBody, devices, requests
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.schemas import Json, Ref, Shape, page, ref, time_of, url
from dradash.kinds import deviceclaim
from dradash.reader.before import world_before
from dradash.reader.claimtable import ClaimEntry, entry_of
from dradash.reader.histories import claim_life, is_cut
from dradash.reader.world import World
from dradash.scheduling.claimfacts import (
    BETWEEN,
    AnyClaim,
    available_on,
    claims_of,
    classes_of,
    flags_of,
    is_allocated,
    is_shareable,
)
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.classic.turns import Turn
from dradash.scheduling.cluster import Cluster, claim_keys
from dradash.scheduling.nodetable import InvalidSelector
from dradash.store.replica import Applied

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
    """flags: all that is true of it beside its state. pods: how many pods name it. place: null, not allocated.

    With structured parameters a claim may ask for several classes and get devices of several drivers: resourceClass and
    driver are then all of them, joined by ", "; classes and drivers have them one by one.
    """

    namespace: str
    name: str
    uid: str
    state: str
    flags: tuple[str, ...]
    resource_class: str
    class_exists: bool
    classes: tuple[str, ...]
    driver: str
    drivers: tuple[str, ...]
    place: Place | None
    shareable: bool
    reserved_for: tuple[Consumer, ...]
    pods: int
    created: str | None
    url: str
    page: str


class TurnBody(Shape, frozen=True):
    """One move. claim: the pod's name for it. took: seconds from when it could have been made, null: not known.

    found: it had happened by `at`, when dradash first saw the object; when it happened is not known.
    """

    at: str | None
    actor: str
    kind: str
    text: str
    claim: str
    nodes: tuple[str, ...]
    took: float | None
    found: bool = False


class ClaimDetail(Shape, frozen=True):
    """gone: when it was deleted; the rest is then its last known state. object: as the API server sent it.

    requests, devices: with structured parameters; devices are there once it is allocated.
    historyComplete: false where more states are kept than the newest ones, of which the history is told.
    """

    claim: ClaimRow
    gone: str | None
    deleting: str | None
    finalizers: tuple[str, ...]
    pods: tuple[Ref, ...]
    requests: tuple[RequestBody, ...]
    devices: tuple[ChosenDevice, ...]
    history: tuple[TurnBody, ...]
    history_complete: bool
    findings: tuple[FindingRow, ...]
    object: Json


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[ClaimEntry]:
    claims = claims_of(world.cluster)
    found = (
        ask.claims(world).entries()
        if keys is None
        else (entry_of(k, claims[k], world.cluster) for k in keys if k in claims)
    )
    return (item for item in found if _matches(item, ask))


def _matches(item: ClaimEntry, ask: Ask) -> bool:
    given = ask.params
    have = (
        ("namespace", (item.claim.namespace,)),
        ("state", (item.state,)),
        ("class", item.classes),
        ("driver", item.drivers),
    )
    if any(name in given and given[name] not in values for name, values in have):
        return False
    text = given.get("q", "").casefold()
    return not text or text in item.key.casefold() or any(text in c.casefold() for c in item.classes)


def _place(claim: AnyClaim, cluster: Cluster) -> Place | None:
    if not is_allocated(claim):
        return None
    selector = available_on(claim)
    if selector is None:
        return Place(everywhere=True, count=len(cluster.nodes), nodes=(), error=None)
    try:
        nodes = cluster.nodes.matching(selector)
    except InvalidSelector as error:
        return Place(everywhere=False, count=0, nodes=(), error=str(error))
    count = nodes.bit_count()
    names = cluster.nodes.names(nodes)[:SAMPLE] if count <= SAMPLE else ()
    return Place(everywhere=False, count=count, nodes=tuple(names), error=None)


def row_of(item: ClaimEntry, world: World) -> ClaimRow:
    claim, cluster = item.claim, world.cluster
    return ClaimRow(
        namespace=claim.namespace,
        name=claim.name,
        uid=claim.uid,
        state=str(item.state),
        flags=flags_of(claim),
        resource_class=BETWEEN.join(item.classes),
        class_exists=bool(item.classes) and all(c.exists for c in classes_of(claim, cluster)),
        classes=item.classes,
        driver=BETWEEN.join(item.drivers),
        drivers=item.drivers,
        place=_place(claim, cluster),
        shareable=is_shareable(claim),
        reserved_for=tuple(
            Consumer(resource=r.resource, name=r.name, uid=r.uid, alive=r.uid in cluster.pods_by_uid)
            for r in claim.status.reserved_for
        ),
        pods=len(cluster.pods_by_claim.members(item.key)),
        created=claim.metadata.creation_timestamp,
        url=url(KIND, item.key) or "",
        page=page(KIND, item.key) or "",
    )


def touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    key, cluster = applied.change.key, world.cluster
    match applied.change.kind:
        case "resourceclaims":
            return (key,)
        case "pods":
            return users_changed(applied, cluster)
        case "resourceclasses":
            return cluster.claims_by_class.members(key)
        case "deviceclasses":
            return cluster.claims_by_device_class.members(key)
        case "nodes":
            return cluster.places.minding(applied.old, applied.new)
    return ()


def users_changed(applied: Applied, cluster: Cluster) -> set[str]:
    """Claims of which a change of a pod says something: those that it uses, and those that are reserved for it."""
    pods = [pod for pod in (applied.old, applied.new) if pod is not None]
    uses = [claim_keys(pod) for pod in pods]
    if len(pods) > 1 and uses[0] == uses[1] and pods[0].uid == pods[1].uid:
        return set()
    return set().union(*uses, *(cluster.claims_by_reserving_pod.members(pod.uid) for pod in pods))


CLAIMS: Final = Listing(
    row_type=ClaimRow,
    items=items,
    identity=lambda i: i.key,
    sortings={
        "ns": lambda i: i.claim.namespace,
        "claim": lambda i: i.claim.name,
        "state": lambda i: _ORDER[i.state],
        "class": lambda i: BETWEEN.join(i.classes),
        "driver": lambda i: BETWEEN.join(i.drivers),
        "reserved": lambda i: len(i.claim.status.reserved_for),
        "created": lambda i: i.claim.metadata.creation_timestamp or "",
    },
    row=lambda ask, world, item: row_of(item, world),  # noqa: ARG005 - as every resource's
    touched=touched,
    decided_by=frozenset({KIND, "resourceclasses"}),
)


def turn(of: Turn) -> TurnBody:
    return TurnBody(
        at=time_of(of.at),
        actor=of.actor,
        kind=str(of.kind),
        text=of.text,
        claim=of.claim,
        nodes=of.nodes,
        took=of.took,
        found=of.found,
    )


def _life(entries: Sequence[Any], driver: str) -> tuple[TurnBody, ...]:
    """Newest first."""
    return tuple(turn(t) for t in reversed(claim_life(entries, driver)))


def _as_in(world: World, key: str, claim: AnyClaim) -> tuple[ClaimEntry, ClaimRow, list[str], tuple[ChosenDevice, ...]]:
    item = entry_of(key, claim, world.cluster)
    chosen = devices(claim, world.cluster) if isinstance(claim, deviceclaim.ResourceClaim) else ()
    return item, row_of(item, world), sorted(world.cluster.pods_by_claim.members(key)), chosen


def detail(ask: Ask) -> Any:
    key, gone = ask.key, 0.0
    with ask.world() as world:
        claim, raw = claims_of(world.cluster).get(key), world.cluster.raw[KIND].get(key, b"{}")
        stands = _as_in(world, key, claim) if claim is not None else None
    if claim is None or stands is None:
        claim, entry = ask.last(KIND, key)
        raw, gone = entry.object, entry.at
        with world_before(ask.here, gone, ask.at) as (before, _):
            stands = _as_in(before, key, claim)
    item, row, users, chosen = stands
    states = ask.history(KIND, key)
    found = ClaimDetail(
        claim=row,
        gone=time_of(gone),
        deleting=claim.metadata.deletion_timestamp,
        finalizers=claim.metadata.finalizers,
        pods=tuple(ref("pods", k) for k in users),
        requests=requests(claim) if isinstance(claim, deviceclaim.ResourceClaim) else (),
        devices=chosen,
        history=_life(states, BETWEEN.join(item.drivers)),
        history_complete=not is_cut(states),
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
        params.text("class", "Only claims that ask for this ResourceClass or DeviceClass.", "gpu"),
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
