"""Negotiations between scheduler and drivers: PodSchedulingContexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.claims import TurnBody, turn
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.paging import NEVER
from dradash.api.schemas import Json, Shape, page, time_of, url
from dradash.reader.before import negotiation_before
from dradash.reader.histories import is_cut, seen_claims, seen_contexts
from dradash.reader.talks import KIND, STATES, Talk, ended, rules_broken, talk
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import Awaited
from dradash.scheduling.classic.negotiation import SeenContext, negotiate
from dradash.scheduling.cluster import Cluster
from dradash.store.model import VERDICTS
from dradash.store.replica import Applied

_ORDER: Final = {state: i for i, state in enumerate(STATES)}


class Move(Shape, frozen=True):
    """A move that is awaited. stage: what sort of move it is.

    who: scheduler, driver, pod, claim controller, garbage collector or admin, as in a verdict's actsNext. actor: the
    driver's name or the pod's namespace/name, else the same as who.
    """

    who: str
    actor: str
    claim: str
    stage: str
    what: str
    since: str | None


class Broken(Shape, frozen=True):
    code: str
    text: str


class TalkRow(Shape, frozen=True):
    """moves: of those who must act next, as the verdict on the pod says. also: awaited too, but not enough by itself.

    silentSince: of the longest wait for one of the moves. answered: of how many claims a driver has answered.
    """

    namespace: str
    name: str
    state: str
    moves: tuple[Move, ...]
    also: tuple[Move, ...]
    silent_since: str | None
    proposed: int
    selected: str
    answered: int
    claims: int
    drivers: tuple[str, ...]
    broken: tuple[Broken, ...]
    pod_exists: bool
    url: str
    page: str


class RoundBody(Shape, frozen=True):
    """number: counted from the negotiation's beginning, 0 where that is not kept. started: of the first such round it
    is when it was first seen."""

    number: int
    started: str | None
    turns: tuple[TurnBody, ...]


class TalkDetail(Shape, frozen=True):
    """rounds: oldest first. unsuitable: by the pod's name for the claim. gone: when the context was deleted.

    roundsComplete: false where the beginning is not kept, or more states are kept than the newest ones, of which the
    rounds are told.
    warnings: what is broken in it, as in `negotiation.broken`.
    """

    negotiation: TalkRow
    gone: str | None
    rounds: tuple[RoundBody, ...]
    rounds_complete: bool
    warnings: tuple[str, ...]
    potential_nodes: tuple[str, ...]
    unsuitable: dict[str, tuple[str, ...]]
    findings: tuple[FindingRow, ...]
    object: Json


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Talk]:
    contexts, waits = world.cluster.contexts, ask.waits()
    for key in contexts if keys is None else [k for k in keys if k in contexts]:
        found = talk(world, key, contexts[key], waits)
        if _matches(found, ask):
            yield found


def _matches(item: Talk, ask: Ask) -> bool:
    given = ask.params
    if (namespace := given.get("namespace")) and item.key.partition("/")[0] != namespace:
        return False
    if (driver := given.get("driver")) and driver not in item.drivers.values():
        return False
    if (state := given.get("state")) and item.state != state:
        return False
    spec = item.context.spec
    if (node := given.get("node")) and node != spec.selected_node and node not in spec.potential_nodes:
        return False
    if "waiting" in given and not 0 < item.since <= ask.now - given["waiting"]:
        return False
    text = given.get("q", "").casefold()
    return not text or text in f"{item.key} {spec.selected_node}".casefold()


def _move(awaiting: Awaited) -> Move:
    return Move(
        who=awaiting.party,
        actor=awaiting.actor,
        claim=awaiting.claim,
        stage=str(awaiting.stage),
        what=awaiting.what,
        since=time_of(awaiting.since),
    )


def row_of(item: Talk, now: float) -> TalkRow:
    spec = item.context.spec
    answered = {s.name for s in item.context.status.resource_claims}
    rules = rules_broken(item, now)
    return TalkRow(
        namespace=item.context.namespace,
        name=item.context.name,
        state=item.state,
        moves=tuple(_move(m) for m in item.moves),
        also=tuple(_move(m) for m in item.also),
        silent_since=time_of(item.since),
        proposed=len(spec.potential_nodes),
        selected=spec.selected_node,
        answered=sum(name in answered for name in item.claims),
        claims=len(item.claims),
        drivers=tuple(sorted({d for d in item.drivers.values() if d})),
        broken=tuple(Broken(code=str(r.code), text=r.text) for r in rules),
        pod_exists=item.pod is not None,
        url=url(KIND, item.key) or "",
        page=page(KIND, item.key) or "",
    )


def touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    """Where a pod has no verdict its claims tell who must move: so do the pods that hold these, and the nodes."""
    key, cluster = applied.change.key, world.cluster
    match applied.change.kind:
        case "podschedulingcontexts" | "verdicts":
            return (key,)
        case "resourceclaims":
            return cluster.pods_by_claim.members(key)
        case "resourceclaimtemplates":
            return cluster.pods_by_template.members(key)
        case "resourceclasses":
            return _users(cluster.claims_by_class.members(key), cluster)
        case "pods":
            return {key, *_users(_reserved_for(applied, cluster), cluster)}
        case "nodes":
            return _users(cluster.places.minding(applied.old, applied.new), cluster)
    return ()


def _reserved_for(applied: Applied, cluster: Cluster) -> set[str]:
    uids = {pod.uid for pod in (applied.old, applied.new) if pod is not None}
    return {claim for uid in uids for claim in cluster.claims_by_reserving_pod.members(uid)}


def _users(claims: Iterable[str], cluster: Cluster) -> set[str]:
    return {pod for claim in claims for pod in cluster.pods_by_claim.members(claim)}


NEGOTIATIONS: Final = Listing(
    row_type=TalkRow,
    items=items,
    identity=lambda t: t.key,
    sortings={
        "silent": lambda t: t.since or NEVER,
        "ns": lambda t: t.key.split("/")[0],
        "pod": lambda t: t.key.split("/")[-1],
        "state": lambda t: _ORDER[t.state],
        "actor": lambda t: t.moves[0].actor if t.moves else "",
        "proposed": lambda t: len(t.context.spec.potential_nodes),
        "selected": lambda t: t.context.spec.selected_node,
    },
    row=lambda ask, world, item: row_of(item, ask.now),  # noqa: ARG005 - as every resource's
    touched=touched,
    decided_by=frozenset(
        {KIND, "pods", VERDICTS, "resourceclaims", "resourceclaimtemplates", "resourceclasses", "nodes"}
    ),
    since=lambda t: t.since,
)


def detail(ask: Ask) -> Any:
    key, gone, over = ask.key, 0.0, 0.0
    with ask.world() as world:
        context, raw = world.cluster.contexts.get(key), world.cluster.raw[KIND].get(key, b"{}")
        item = talk(world, key, context, ask.waits()) if context is not None else None
    if context is None or item is None:
        context, entry = ask.last(KIND, key)
        raw, gone = entry.object, entry.at
        with negotiation_before(ask.here, key, entry, ask.at) as (then, waits, over):
            item = ended(talk(then, key, context, waits))
    row = row_of(item, gone or ask.now)
    rounds, is_all = _rounds(ask, item, {n: c.key for n, c in item.claims.items() if c is not None}, over)
    found = TalkDetail(
        negotiation=row,
        gone=time_of(gone),
        rounds=rounds,
        rounds_complete=is_all,
        warnings=tuple(b.text for b in row.broken),
        potential_nodes=context.spec.potential_nodes,
        unsuitable={s.name: s.unsuitable_nodes for s in context.status.resource_claims},
        findings=about(ask, KIND, key),
        object=msgspec.json.decode(raw),
    )
    return projected(found, ask)


def _rounds(ask: Ask, item: Talk, claims: Mapping[str, str], over: float) -> tuple[tuple[RoundBody, ...], bool]:
    """And whether they are told from the beginning and of all states. over: until when claims count, 0.0: still."""
    owner = item.pod.uid if item.pod else next((r.uid for r in item.context.metadata.owner_references), "")
    talked = ask.history(KIND, item.key)
    states = {name: ask.history("resourceclaims", key) for name, key in claims.items()}
    seen = seen_contexts(talked, owner)
    histories = {name: [s for s in seen_claims(of) if not over or s.at <= over] for name, of in states.items()}
    contexts = seen or [SeenContext(0.0, item.context)]
    told = negotiate(contexts, histories, item.drivers, cut=not seen or is_cut(talked))
    rounds = tuple(
        RoundBody(number=r.number, started=time_of(r.started), turns=tuple(turn(t) for t in r.turns))
        for r in told.rounds
    )
    return rounds, told.whole and not any(is_cut(of) for of in states.values())


ENDPOINTS: Final = (
    listed(
        "negotiations",
        "/negotiations",
        "negotiations",
        "Negotiations, with whose move it is",
        NEGOTIATIONS,
        params.text("namespace", "Only negotiations of this namespace.", "ml"),
        params.choice("state", "Only negotiations in this state.", STATES),
        params.text("driver", "Only negotiations with this driver.", "gpu.example.com"),
        params.text("node", "Only negotiations that propose or select this node.", "node-1"),
        params.duration("waiting", "Only negotiations in which nobody has moved for at least so long."),
        params.text("q", "Only negotiations whose key or selected node contains this text.", "train"),
        varies="time",
    ),
    Endpoint(
        "negotiation",
        "/negotiations/{namespace}/{name}",
        "negotiations",
        "One negotiation, round by round",
        TalkDetail,
        detail,
        varies="time findings",
    ),
)
