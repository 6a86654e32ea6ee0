"""One negotiation as a conversation: a lane for the scheduler and one for each driver, round after round."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.driverstats import DriverStats
from dradash.reader.histories import is_cut, seen_claims, seen_contexts
from dradash.reader.talks import BOUND, Talk, ended, rules_broken, talk
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import SCHEDULER
from dradash.scheduling.classic.invariants import Invariant, InvariantCode
from dradash.scheduling.classic.negotiation import SeenContext, negotiate
from dradash.scheduling.doctor.negotiations import id_of
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import answers, kubectl
from dradash.web.presenters.conversation import UNKNOWN_LANE, RoundView, lanes_of, round_view
from dradash.web.presenters.negotiations import STATES, Move, move
from dradash.web.presenters.pod import last_verdict
from dradash.web.presenters.query import Query
from dradash.web.presenters.rounds import bounded, earlier_said
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import (
    SHOWN,
    Chip,
    cut,
    driver_href,
    href,
    outcome_chip,
    pod_href,
)

KIND: Final = "podschedulingcontexts"
ROUNDS: Final = 10  # newest ones that are shown at once


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
    pod_unjudged: bool  # the verdict is of before the pod had its node
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
    earlier: str  # why these are not all rounds that there were; "" where they are
    unread: bool  # the history cannot be read now: no round is told
    all_href: str
    answers: answers.AnswersView
    selected: str
    command: str
    describe: str
    yaml: str


class Facts(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still."""

    talk: Talk
    raw: bytes
    gone: float
    over: float  # of one that is gone: until when what was done to its claims belongs to it
    verdict: Verdict | None  # on the pod
    answers: answers.Answers


def gather(
    world: World,
    key: str,
    stats: DriverStats,
    now: float,
    waits: Since,
    *,
    last: HistoryEntry | None = None,
    over: float = 0.0,
) -> Facts | None:
    """None when there is no such context. last: of one that is gone; the others are then as
    `reader.before.negotiation_before` gives them."""
    context, raw, gone = world.cluster.contexts.get(key), world.cluster.raw[KIND].get(key, b""), 0.0
    if last is not None:
        try:
            context, raw, gone = decode(PodSchedulingContext, last.object), last.object, last.at
        except MalformedObject:
            return None
    if context is None:
        return None
    standing = talk(world, key, context, waits)
    if gone:
        standing = ended(standing)
    return Facts(
        talk=standing,
        raw=raw,
        gone=gone,
        over=over or gone,
        verdict=world.verdicts.get(key),
        answers=answers.gather(world.cluster, standing, stats, now),
    )


def present(
    facts: Facts,
    contexts: Sequence[HistoryEntry] | None,
    claims: Mapping[str, Sequence[HistoryEntry] | None],
    now: float,
    query: Query,
    told: Container[str] = (),
    verdicts: Sequence[HistoryEntry] = (),
) -> NegotiationView:
    """contexts, claims: history, the latter by the pod's name for the claim; None while one cannot be read.
    told: ids of findings that are on the page; not said twice.
    verdicts: history of those on the pod, when the negotiation is over: it ends before the pod is judged for the last
    time."""
    standing = facts.talk
    verdict = last_verdict(verdicts, _uid(standing)) or facts.verdict
    unread = contexts is None or None in claims.values()
    states = [] if unread else list(contexts or ())
    seen = [] if unread else _seen(standing, states, facts.gone)
    partly = is_cut(states) or seen_contexts(states, _uid(standing)) != seen
    histories = {n: seen_claims(h or ()) for n, h in claims.items()}
    negotiation = negotiate(seen, histories, standing.drivers, cut=partly)
    lanes = lanes_of(standing, [t for r in negotiation.rounds for t in r.turns])
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
        pod_chip=outcome_chip(verdict.outcome if verdict else None),
        pod_sentence=cut(verdict.sentence) if verdict else "",
        pod_unjudged=standing.state == BOUND
        and verdict is not None
        and verdict.outcome not in (Outcome.BOUND, Outcome.TERMINATING),
        chip=STATES[standing.state],
        moves=tuple(move(m) for m in standing.moves[:SHOWN]),
        also=tuple(move(m) for m in standing.also[:SHOWN]),
        unnamed=max(0, len(standing.moves) - SHOWN) + max(0, len(standing.also) - SHOWN),
        since=standing.since,
        rules=tuple(_rule(r) for r in rules if id_of(r, standing.context) not in told)[:SHOWN],
        lanes=lanes,
        lane_hrefs=tuple((lane, "" if lane in (SCHEDULER, UNKNOWN_LANE) else driver_href(lane)) for lane in lanes),
        rounds=tuple(round_view(r, lanes) for r in rounds),
        unlisted=len(negotiation.rounds) - len(rounds),
        earlier="" if unread else earlier_said(negotiation, states),
        unread=unread,
        all_href=query.link(rounds="all"),
        answers=answers.present(facts.answers),
        selected=standing.context.spec.selected_node,
        command=kubectl.get(KIND, meta.namespace, meta.name),
        describe=kubectl.describe(KIND, meta.namespace, meta.name),
        yaml=as_yaml(msgspec.json.decode(facts.raw)),
    )


def _uid(standing: Talk) -> str:
    """The pod's."""
    return standing.pod.uid if standing.pod else next((r.uid for r in standing.context.metadata.owner_references), "")


def _seen(standing: Talk, contexts: Sequence[HistoryEntry], gone: float) -> list[SeenContext]:
    seen = seen_contexts(contexts, _uid(standing))
    if not seen and not gone:
        return [SeenContext(standing.since, standing.context)]  # its history was trimmed: the state is still known
    return seen


def _rule(rule: Invariant) -> RuleView:
    tone = "idle" if rule.code is InvariantCode.LIST_CUT else "bad"
    objects = tuple((kind, key, href(kind, key)) for kind, key in rule.objects if kind not in (KIND, "pods"))
    return RuleView(rule.code, rule.text, tone, rule.since, objects)
