"""One negotiation as a conversation: a lane for the scheduler and one for each driver, round after round."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.driverstats import DriverStats, Summary
from dradash.reader.entries import claim_names
from dradash.reader.histories import seen_claims, seen_contexts
from dradash.reader.talks import Talk, rules_broken, talk
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import SCHEDULER
from dradash.scheduling.classic.claims import available_on, can_be_reserved, is_reserved_for_pod, no_claim
from dradash.scheduling.classic.claimstate import UNREADABLE, claim_state
from dradash.scheduling.classic.invariants import Invariant, InvariantCode
from dradash.scheduling.classic.negotiation import SeenContext, negotiate
from dradash.scheduling.classic.turns import Turn
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.negotiations import id_of
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters.negotiations import STATES, Move, move
from dradash.web.presenters.query import Query
from dradash.web.presenters.rounds import bounded
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import (
    SHOWN,
    Chip,
    claim_chip,
    claim_href,
    cut,
    driver_href,
    href,
    node_href,
    outcome_chip,
    pod_href,
)

KIND: Final = "podschedulingcontexts"
ROUNDS: Final = 20  # newest ones that are shown at once
COLUMNS: Final = 24  # claims that are shown ...
CELLS: Final = 900  # ... each with what its driver says of the nodes shown: 128 nodes, the most there should be, for 7
NODES_NAMED: Final = 6  # nodes of one move that are named at once
UNKNOWN_LANE: Final = "claims"  # moves whose author the objects do not name


class NodeName(msgspec.Struct, frozen=True):
    name: str
    href: str


class NodeList(msgspec.Struct, frozen=True):
    """Some nodes of a move: the first ones, and how many more there are."""

    label: str
    shown: tuple[NodeName, ...]
    rest: tuple[str, ...]


class TurnView(msgspec.Struct, frozen=True):
    """A move in its lane, counted from 0. cells: one for each lane, of which only its own is filled in."""

    at: float
    kind: str
    actor: str
    lane: int
    claim: str
    text: str
    took: float | None
    found: bool  # it had happened by `at`
    long_before: bool
    lists: tuple[NodeList, ...]


class RoundView(msgspec.Struct, frozen=True):
    number: int
    started: float
    turns: tuple[TurnView, ...]


class Answer(msgspec.Struct, frozen=True):
    """What holds for one claim on one node: its driver's answer, or what has become of the allocation."""

    word: str
    tone: str
    icon: str


class NodeRow(msgspec.Struct, frozen=True):
    name: str
    href: str
    selected: bool
    proposed: bool
    answers: tuple[Answer, ...]  # in the order of `claims`


class ClaimColumn(msgspec.Struct, frozen=True):
    name: str
    href: str
    chip: Chip
    driver: str
    driver_href: str
    silent: bool  # its driver has answered nothing for it
    record: Summary


class RuleView(msgspec.Struct, frozen=True):
    code: str
    text: str
    tone: str
    since: float
    objects: tuple[tuple[str, str, str], ...]  # kind, key, href


class NegotiationView(msgspec.Struct, frozen=True):
    key: str
    namespace: str
    name: str
    created: str
    gone: float
    pod_href: str
    pod_chip: Chip
    pod_sentence: str
    chip: Chip
    moves: tuple[Move, ...]
    also: tuple[Move, ...]  # awaited too, but not enough by itself
    unnamed: int  # moves more than these
    since: float
    rules: tuple[RuleView, ...]
    lanes: tuple[str, ...]
    lane_hrefs: tuple[tuple[str, str], ...]
    rounds: tuple[RoundView, ...]  # newest first
    unlisted: int
    all_href: str
    claims: tuple[ClaimColumn, ...]  # the first ones, ...
    more_claims: int  # ... how many more there are, ...
    nodes: tuple[NodeRow, ...]
    more_nodes: int  # ... and of the nodes
    selected: str
    command: str
    describe: str
    yaml: str


class Facts(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still."""

    talk: Talk
    raw: bytes
    gone: float
    pod_chip: Chip
    pod_sentence: str
    records: Mapping[str, Summary]  # by driver
    available: Mapping[str, frozenset[str]] = {}  # by the pod's name for a claim: nodes that its allocation allows
    absent: Mapping[str, tuple[str, str]] = {}  # by the pod's name for a claim that is not held: its key and state


def gather(
    world: World, key: str, stats: DriverStats, now: float, waits: Since, *, last: HistoryEntry | None = None
) -> Facts | None:
    """None when there is no such context. last: of one that is gone; `world` and `waits` are then of just before."""
    context, raw, gone = world.cluster.contexts.get(key), world.cluster.raw[KIND].get(key, b""), 0.0
    if last is not None:
        try:
            context, raw, gone = decode(PodSchedulingContext, last.object), last.object, last.at
        except MalformedObject:
            return None
    if context is None:
        return None
    standing = talk(world, key, context, waits)
    verdict = world.verdicts.get(key)
    return Facts(
        talk=standing,
        raw=raw,
        gone=gone,
        pod_chip=outcome_chip(verdict.outcome if verdict else None),
        pod_sentence=cut(verdict.sentence) if verdict else "",
        available=_available(world.cluster, standing),
        absent=_absent(world.cluster, standing),
        records={driver: stats.summary(driver, now) for driver in set(standing.drivers.values()) if driver},
    )


def present(
    facts: Facts,
    contexts: Sequence[HistoryEntry],
    claims: Mapping[str, Sequence[HistoryEntry]],
    now: float,
    query: Query,
    told: Container[str] = (),
) -> NegotiationView:
    """claims: history by the pod's name for the claim. told: ids of findings that are on the page; not said twice."""
    standing = facts.talk
    seen = _seen(standing, contexts, facts.gone)
    negotiation = negotiate(seen, {n: seen_claims(h) for n, h in claims.items()}, standing.drivers)
    lanes = _lanes(standing, [t for r in negotiation.rounds for t in r.turns])
    everything = query.get("rounds") == "all"
    negotiation = bounded(negotiation)
    rounds = negotiation.rounds[::-1] if everything else negotiation.rounds[: -ROUNDS - 1 : -1]
    rules = () if facts.gone else rules_broken(standing, now)
    meta = standing.context.metadata
    return NegotiationView(
        key=standing.key,
        namespace=meta.namespace,
        name=meta.name,
        created=meta.creation_timestamp or "",
        gone=facts.gone,
        pod_href=pod_href(standing.key),
        pod_chip=facts.pod_chip,
        pod_sentence=facts.pod_sentence,
        chip=STATES[standing.state],
        moves=tuple(move(m) for m in standing.moves[:SHOWN]),
        also=tuple(move(m) for m in standing.also[:SHOWN]),
        unnamed=max(0, len(standing.moves) - SHOWN) + max(0, len(standing.also) - SHOWN),
        since=standing.since,
        rules=tuple(_rule(r) for r in rules if id_of(r, standing.context) not in told)[:SHOWN],
        lanes=lanes,
        lane_hrefs=tuple((lane, "" if lane in (SCHEDULER, UNKNOWN_LANE) else driver_href(lane)) for lane in lanes),
        rounds=tuple(RoundView(r.number, r.started, tuple(_turn(t, lanes) for t in r.turns)) for r in rounds),
        unlisted=len(negotiation.rounds) - len(rounds),
        all_href=query.link(rounds="all"),
        claims=tuple(_column(facts, name) for name in _shown(standing)),
        more_claims=max(0, len(standing.claims) - COLUMNS),
        nodes=_nodes(facts),
        more_nodes=max(0, len(_named(standing.context)) - _rows(standing)),
        selected=standing.context.spec.selected_node,
        command=kubectl.get(KIND, meta.namespace, meta.name),
        describe=kubectl.describe(KIND, meta.namespace, meta.name),
        yaml=as_yaml(msgspec.json.decode(facts.raw)),
    )


def _seen(standing: Talk, contexts: Sequence[HistoryEntry], gone: float) -> list[SeenContext]:
    uid = standing.pod.uid if standing.pod else next((r.uid for r in standing.context.metadata.owner_references), "")
    seen = seen_contexts(contexts, uid)
    if not seen and not gone:
        return [SeenContext(standing.since, standing.context)]  # its history was trimmed: the state is still known
    return seen


def _rule(rule: Invariant) -> RuleView:
    tone = "idle" if rule.code is InvariantCode.LIST_CUT else "bad"
    objects = tuple((kind, key, href(kind, key)) for kind, key in rule.objects if kind not in (KIND, "pods"))
    return RuleView(rule.code, rule.text, tone, rule.since, objects)


# --- the conversation ------------------------------------------------------------------------------------------------


def _lanes(standing: Talk, turns: Sequence[Turn]) -> tuple[str, ...]:
    """The scheduler first, then the drivers of the pod's claims, then whoever else moved."""
    actors = [SCHEDULER, *(d for d in standing.drivers.values() if d), *(t.actor for t in turns if t.actor)]
    unknown = [UNKNOWN_LANE] if any(not t.actor for t in turns) else []
    return tuple(dict.fromkeys((*actors, *unknown)))


def _turn(turn: Turn, lanes: tuple[str, ...]) -> TurnView:
    return TurnView(
        at=turn.at,
        kind=turn.kind,
        actor=turn.actor or "claim",
        lane=lanes.index(turn.actor or UNKNOWN_LANE),
        claim=turn.claim,
        text=turn.text,
        took=turn.took,
        found=turn.found,
        long_before=turn.long_before,
        lists=tuple(_lists(turn)),
    )


def _lists(turn: Turn) -> list[NodeList]:
    if turn.kind == "Selected" or not (turn.added or turn.removed):
        return []
    came, went = ("new", "gone") if turn.kind == "Proposed" else ("unsuitable", "suitable again")
    return [_list(label, nodes) for label, nodes in ((came, turn.added), (went, turn.removed)) if nodes]


def _list(label: str, nodes: tuple[str, ...]) -> NodeList:
    shown = tuple(NodeName(n, node_href(n)) for n in nodes[:NODES_NAMED])
    return NodeList(f"{len(nodes)} {label}", shown, nodes[NODES_NAMED:])


# --- as it stands ----------------------------------------------------------------------------------------------------


def _absent(cluster: Cluster, standing: Talk) -> dict[str, tuple[str, str]]:
    if standing.pod is None:
        return {}
    names = claim_names(standing.pod)
    keys = {e: f"{standing.pod.namespace}/{names[e]}" for e, claim in standing.claims.items() if claim is None}
    return {entry: (key, no_claim(key, cluster)) for entry, key in keys.items()}


def _column(facts: Facts, name: str) -> ClaimColumn:
    standing = facts.talk
    claim, driver = standing.claims[name], standing.drivers.get(name, "")
    key, state = (claim.key, claim_state(claim)) if claim else facts.absent[name]
    answered = {s.name for s in standing.context.status.resource_claims}
    waits = claim is not None and claim.status.allocation is None
    return ClaimColumn(
        name=name,
        href=claim_href(key) if claim or state == UNREADABLE else "",
        chip=claim_chip(state),
        driver=driver,
        driver_href=driver_href(driver) if driver else "",
        silent=waits and name not in answered,
        record=facts.records.get(driver, Summary()),
    )


SUITABLE: Final = Answer("suitable", "good", "check")
UNSUITABLE: Final = Answer("unsuitable", "bad", "cross")
SILENT: Final = Answer("no answer", "idle", "dots")
ALLOCATED: Final = Answer("allocated", "good", "check")
IN_USE: Final = Answer("allocated, in use by another pod", "bad", "lock")
RETURNING: Final = Answer("allocated, to be deallocated", "bad", "turns")
DELETING: Final = Answer("allocated, being deleted", "bad", "trash")
ELSEWHERE: Final = Answer("not available here", "bad", "cross")
REFUSED: Final = Answer("not available here, was unsuitable", "bad", "cross")


def _named(context: PodSchedulingContext) -> tuple[str, ...]:
    """Every node that is selected, proposed or refused; the selected one first."""
    spec = context.spec
    refused = {n for s in context.status.resource_claims for n in s.unsuitable_nodes}
    others = sorted(refused.difference(spec.potential_nodes))
    return tuple(dict.fromkeys(n for n in (spec.selected_node, *spec.potential_nodes, *others) if n))


def _available(cluster: Cluster, standing: Talk) -> dict[str, frozenset[str]]:
    names, found = _named(standing.context)[: _rows(standing)], {}
    for entry in _shown(standing):
        claim = standing.claims[entry]
        if claim is not None and claim.status.allocation is not None:
            nodes = available_on(claim, cluster)
            found[entry] = frozenset(n for n in names if cluster.nodes.named((n,)) & nodes)
    return found


def _shown(standing: Talk) -> list[str]:
    return list(standing.claims)[:COLUMNS]


def _rows(standing: Talk) -> int:
    return CELLS // max(1, len(_shown(standing)))


def _nodes(facts: Facts) -> tuple[NodeRow, ...]:
    standing, spec = facts.talk, facts.talk.context.spec
    refused = {s.name: frozenset(s.unsuitable_nodes) for s in standing.context.status.resource_claims}
    proposed = set(spec.potential_nodes)
    rows = []
    for node in _named(standing.context)[: _rows(standing)]:
        answers = tuple(_answer(facts, refused, claim, node) for claim in _shown(standing))
        rows.append(NodeRow(node, node_href(node), node == spec.selected_node, node in proposed, answers))
    return tuple(rows)


def _answer(facts: Facts, refused: Mapping[str, frozenset[str]], name: str, node: str) -> Answer:
    claim = facts.talk.claims[name]
    unsuitable = node in refused.get(name, ())
    if claim is not None and claim.status.allocation is not None:
        if node in facts.available.get(name, ()):
            return _of_allocated(facts.talk, claim)
        return REFUSED if unsuitable else ELSEWHERE
    if name not in refused:
        return SILENT
    return UNSUITABLE if unsuitable else SUITABLE


def _of_allocated(standing: Talk, claim: ResourceClaim) -> Answer:
    if claim.metadata.deletion_timestamp is not None:
        return DELETING
    if claim.status.deallocation_requested:
        return RETURNING
    if can_be_reserved(claim) or (standing.pod is not None and is_reserved_for_pod(standing.pod, claim)):
        return ALLOCATED
    return IN_USE
