"""One pod: why it is not scheduled, who must act next, and since when."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.pod import Pod
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.histories import is_cut, seen_claims, seen_contexts
from dradash.reader.talks import rules_broken, talk
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim
from dradash.scheduling.classic.awaiting import Stage
from dradash.scheduling.classic.claimstate import MISSING
from dradash.scheduling.classic.invariants import Invariant
from dradash.scheduling.classic.negotiation import Negotiation, SeenContext, negotiate
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.doctor.negotiations import id_of
from dradash.scheduling.generation import Generation
from dradash.scheduling.rfc3339 import deletion_asked
from dradash.scheduling.verdict import ActsNext, Agreement, Clause, HintNote, Outcome, Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters import kubectl
from dradash.web.presenters import nodes as node_groups
from dradash.web.presenters import steps as pipeline
from dradash.web.presenters.podclaims import CARDS, ClaimCard, cards
from dradash.web.presenters.rounds import bounded, earlier_said
from dradash.web.presenters.words import SHOWN, Actor, Chip, actor, claim_chip, cut, few, href, outcome_chip

DEFAULT_SCHEDULER: Final = "default-scheduler"
EVENTS: Final = 20
CLAUSES: Final = 50
WAITS_FOR_CONDITIONS: Final = "BindingConditionsPending"  # reason of the event that PreBind writes before it waits
NOT_REFUSED: Final = "Nothing yet: it has not refused the pod, in no event and no condition."
NO_CONTEXT: Final = "There is no PodSchedulingContext now: scheduler and drivers are not talking about this pod."
NEVER_ASKED: Final = (
    "The scheduler chooses the devices itself: of this version no driver is asked first, and there is no "
    "PodSchedulingContext."
)
# Newest ones: the conversation in lanes has more. All that are kept were 78 kB, sent anew with each word of a driver.
ROUNDS: Final = 5


class EventRow(msgspec.Struct, frozen=True):
    at: str
    reporter: str
    reason: str
    text: str
    times: int


class VerdictRow(msgspec.Struct, frozen=True):
    at: float
    revision: int
    chip: Chip
    sentence: str
    actor: Actor | None
    before: float  # time of the verdict before, 0 for the first one


class HintRow(msgspec.Struct, frozen=True):
    text: str
    href: str
    hint: str
    revision: int


BYPASSED: Final = Chip(
    "Bound without the scheduler", "bad", "alert", "Has a node, and claims that are not ready for it"
)
NO_ATTEMPT: Final = "The scheduler was never asked: spec.nodeName was set by somebody else. So no attempt is told."


class Headline(msgspec.Struct, frozen=True):
    chip: Chip
    sentence: str
    actor: Actor | None
    since: float
    judged_at: float
    revision: int
    node: str
    assumed: bool  # the node is one of several that may be taken, and not the one selected
    fit: int
    total: int
    alternatives: tuple[str, ...]
    other_scheduler: str  # spec.schedulerName where it is not the default one
    gates: tuple[str, ...]
    deleting: float | str  # since when its deletion is asked for; what stands there, when that is no time
    grace: int  # seconds that its containers have from then on
    waiting: bool


class PodView(msgspec.Struct, frozen=True):
    key: str
    namespace: str
    name: str
    uid: str
    created: str
    gone: float
    generation: str  # of the verdict, "" where there is none
    headline: Headline
    untold: str  # why there are no steps; "" when there are some
    steps: tuple[pipeline.StepView, ...]
    nodes: node_groups.NodesView
    claims: tuple[ClaimCard, ...]  # the first ones ...
    unlisted: int  # ... and how many more
    negotiation: Negotiation  # the newest rounds, and ...
    earlier_rounds: int  # ... how many more
    earlier: str  # why these are not all that there were; "" where they are
    more_awaited: int  # than are listed
    rules: tuple[str, ...]  # broken in the negotiation
    has_context: bool
    has_lanes: bool  # there is, or was, a PodSchedulingContext: its conversation has a page
    without_context: str  # why none is to be expected, or that there is none now; "" else
    effects: tuple[pipeline.EffectView, ...]
    agreement: Agreement
    clauses: tuple[Clause, ...]
    unsaid: str  # why the scheduler has said nothing that could be compared; "" where it has
    events: tuple[EventRow, ...]
    history: tuple[VerdictRow, ...]
    unread: bool  # the history cannot be read now: neither rounds nor earlier verdicts are told
    hints: tuple[HintRow, ...]
    not_modelled: tuple[str, ...]
    command: str
    describe: str
    context_command: str
    yaml: str


class PodFacts(msgspec.Struct, frozen=True):
    """What is taken from the world while it is held still."""

    key: str
    pod: Pod
    raw: bytes
    verdict: Verdict | None
    context: PodSchedulingContext | None
    claims: tuple[ClaimCard, ...]
    events: tuple[EventRow, ...]
    gone: float = 0.0
    waiting: Mapping[tuple[Stage, str], float] = {}  # what is awaited for which claim -> since when
    rules: tuple[Invariant, ...] = ()  # broken in its negotiation


class PodHistory(msgspec.Struct, frozen=True):
    """What the model kept: of the verdict, of the context, and of each claim by the pod's name for it."""

    verdicts: Sequence[HistoryEntry] = ()
    contexts: Sequence[HistoryEntry] = ()
    claims: Mapping[str, Sequence[HistoryEntry]] = {}


# --- taken while the world is held still -----------------------------------------------------------------------------


def gather(
    world: World,
    key: str,
    last: HistoryEntry | None = None,
    waits: Since | None = None,
    now: float = 0.0,
    left: Mapping[str, AnyClaim] = {},
) -> PodFacts | None:
    """None when there is no such pod. `last`: the last state of a pod that is gone; `world` is then of just before.

    waits, now: for its negotiation, of which nothing but the state is told without them. left: by the pod's name for
    it, the last state of a claim that went when the pod needed it no more.
    """
    pod, raw, gone = world.cluster.pods.get(key), world.cluster.raw["pods"].get(key, b""), 0.0
    if last is not None:
        try:
            pod, raw, gone = decode(Pod, last.object), last.object, last.at
        except MalformedObject:
            return None
    if pod is None:
        return None
    verdict = world.verdicts.get(key)
    context = world.cluster.contexts.get(key)
    negotiates = talk(world, key, context, waits) if context is not None and waits is not None else None
    return PodFacts(
        key=key,
        pod=pod,
        raw=raw,
        verdict=verdict,
        context=context,
        claims=cards(world, pod, verdict, left),
        events=_events(world, key),
        gone=gone,
        waiting={(m.stage, m.claim): m.since for m in negotiates.read} if negotiates else {},
        rules=rules_broken(negotiates, now) if negotiates else (),
    )


def missing(facts: PodFacts) -> dict[str, str]:
    """Keys of the claims that a pod which is over had, and which are no more; by the pod's name for them."""
    if not facts.gone and not facts.pod.is_finished:
        return {}
    return {c.name: c.key for c in facts.claims if c.key and c.chip == claim_chip(MISSING)}


def _events(world: World, key: str) -> tuple[EventRow, ...]:
    newest = world.cluster.events_about("Pod", key)[-EVENTS:]
    return tuple(
        EventRow(e.last_seen or "", cut(e.reporter, 100), cut(e.reason, 100), cut(e.text), e.times)
        for e in reversed(newest)
    )


# --- from what was taken ---------------------------------------------------------------------------------------------


def present(
    facts: PodFacts,
    history: PodHistory | None,
    sets: Mapping[str, int],
    names: node_groups.Names,
    told: Container[str] = (),
    bypassed: Finding | None = None,
) -> PodView:
    """history: None while it cannot be read. told: ids of findings that are on the page; not said twice.
    bypassed: the finding that the pod got its node without the scheduler, and cannot start."""
    verdict = verdict_of(facts, history)
    negotiation = _negotiation(facts, history)
    pod, said = facts.pod, verdict.agreement if verdict else Agreement()
    return PodView(
        key=facts.key,
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        created=pod.metadata.creation_timestamp or "",
        gone=facts.gone,
        generation=verdict.generation if verdict else "",
        headline=_bypassed(bypassed, _headline(pod, verdict, facts.context)),
        untold=NO_ATTEMPT if bypassed else pipeline.untold(verdict, gone=bool(facts.gone)),
        steps=pipeline.present(verdict),
        nodes=node_groups.present(verdict, sets, names),
        claims=facts.claims,
        unlisted=max(0, len(pod.spec.resource_claims) - CARDS),
        negotiation=bounded(negotiation, ROUNDS),
        earlier_rounds=max(0, len(negotiation.rounds) - ROUNDS),
        earlier="" if history is None else earlier_said(negotiation, history.contexts),
        more_awaited=max(0, len(negotiation.awaited) - SHOWN),
        rules=few([r.text for r in facts.rules if facts.context and id_of(r, facts.context) not in told]),
        has_context=facts.context is not None,
        has_lanes=facts.context is not None or bool(history and history.contexts),
        without_context=_without_context(facts, verdict),
        effects=pipeline.effects(verdict),
        agreement=msgspec.structs.replace(said, said=cut(said.said)),
        clauses=tuple(msgspec.structs.replace(c, text=cut(c.text, 200)) for c in said.clauses[:CLAUSES]),
        unsaid="" if said.said else pipeline.unsaid(verdict) or _not_refused(facts.events),
        events=facts.events,
        history=_history(history.verdicts, pod.uid) if history else (),
        unread=history is None,
        hints=tuple(_hint(h) for h in reversed(verdict.hints)) if verdict else (),
        not_modelled=verdict.not_modelled if verdict else (),
        command=kubectl.get("pods", pod.namespace, pod.name),
        describe=kubectl.describe("pods", pod.namespace, pod.name),
        context_command=kubectl.get("podschedulingcontexts", pod.namespace, pod.name),
        yaml=pipeline.raw_as_yaml(facts.raw),
    )


def _not_refused(events: Sequence[EventRow]) -> str:
    waits = next((e.text for e in events if e.reason == WAITS_FOR_CONDITIONS), "")
    return f"It has not refused the pod. It said that it waits: {waits}." if waits else NOT_REFUSED


def verdict_of(facts: PodFacts, history: PodHistory | None) -> Verdict | None:
    """The verdict in force, or the last one of a pod that is gone."""
    return facts.verdict or (last_verdict(history.verdicts, facts.pod.uid) if history else None)


def _headline(pod: Pod, verdict: Verdict | None, context: PodSchedulingContext | None) -> Headline:
    other = pod.spec.scheduler_name
    node = pod.spec.node_name or (verdict.node if verdict else "")
    selected = context.spec.selected_node if context else ""
    return Headline(
        chip=outcome_chip(verdict.outcome if verdict else None),
        sentence=cut(verdict.sentence) if verdict else "",
        actor=actor(verdict.acts_next) if verdict else None,
        since=verdict.since if verdict else 0.0,
        judged_at=verdict.judged_at if verdict else 0.0,
        revision=verdict.revision if verdict else 0,
        node=node,
        assumed=node not in (pod.spec.node_name, selected) and verdict is not None and verdict.nodes_fit > 1,
        fit=verdict.nodes_fit if verdict else 0,
        total=verdict.nodes_total if verdict else 0,
        alternatives=few(verdict.alternatives) if verdict else (),
        other_scheduler=other if other and other != DEFAULT_SCHEDULER else "",
        gates=few([g.name for g in pod.spec.scheduling_gates]),
        deleting=deletion_asked(pod.metadata) or pod.metadata.deletion_timestamp or "",
        grace=pod.metadata.deletion_grace_period_seconds or 0,
        waiting=verdict is not None and verdict.outcome not in (Outcome.BOUND, Outcome.TERMINATING),
    )


def _bypassed(finding: Finding | None, headline: Headline) -> Headline:
    """A pod with a node is Bound to the scheduler, whoever gave it the node; that it hangs only the doctor knows."""
    if finding is None:
        return headline
    acts = ActsNext(who="admin", what=finding.remedy)
    return msgspec.structs.replace(
        headline,
        chip=BYPASSED,
        sentence=cut(finding.sentence),
        actor=actor(acts),
        since=finding.since,
        waiting=True,
    )


def _without_context(facts: PodFacts, verdict: Verdict | None) -> str:
    if pipeline.is_mixed(verdict):
        return "" if facts.context else f"{NO_CONTEXT} Drivers are asked for its claims of v1alpha2 alone."
    if verdict is not None and verdict.generation == Generation.STRUCTURED:
        return NEVER_ASKED
    return "" if facts.context else NO_CONTEXT


def _negotiation(facts: PodFacts, history: PodHistory | None) -> Negotiation:
    states = history.contexts if history else ()
    contexts, partly = seen_contexts(states, facts.pod.uid), is_cut(states)
    if not contexts and facts.context is not None:
        contexts, partly = [SeenContext(0.0, facts.context)], True  # its history was trimmed: the state is still known
    drivers = {c.name: ", ".join(c.drivers) for c in facts.claims}
    claims = {name: seen_claims(h) for name, h in history.claims.items()} if history else {}
    told = negotiate(contexts, claims, drivers, cut=partly)
    # The history that is read ends somewhere; who has watched from the start knows better.
    awaited = (msgspec.structs.replace(m, since=facts.waiting.get((m.stage, m.claim)) or m.since) for m in told.awaited)
    return msgspec.structs.replace(told, awaited=tuple(awaited), rounds=told.rounds if history else ())


def _decoded(history: Sequence[HistoryEntry], uid: str) -> list[tuple[HistoryEntry, Verdict]]:
    """Newest first. Left out: verdicts on an earlier pod of the same name, and those that cannot be read."""
    found = []
    for entry in reversed(history):
        try:
            verdict = msgspec.json.decode(entry.object, type=Verdict)
        except msgspec.DecodeError:
            continue
        if verdict.uid == uid:
            found.append((entry, verdict))
    return found


def last_verdict(history: Sequence[HistoryEntry], uid: str) -> Verdict | None:
    return next((v for _, v in _decoded(history, uid)), None)


def _history(history: Sequence[HistoryEntry], uid: str) -> tuple[VerdictRow, ...]:
    """Newest first; a verdict that says the same as the one before it is left out."""
    rows: list[VerdictRow] = []
    for entry, verdict in reversed(_decoded(history, uid)):
        chip, before = outcome_chip(verdict.outcome), rows[-1].at if rows else 0.0
        row = VerdictRow(entry.at, verdict.revision, chip, cut(verdict.sentence), actor(verdict.acts_next), before)
        same = bool(rows) and _gist(rows[-1]) == _gist(row)
        if entry.type != "DELETED" and not same:
            rows.append(row)
    return tuple(reversed(rows))


def _gist(row: VerdictRow) -> tuple[Chip, str, str, tuple[str, ...]]:
    """What a reader would call the same verdict: the next node in a row that is waited for is nothing new."""
    who, names = (row.actor.who, row.actor.names) if row.actor else ("", ())
    return row.chip, row.sentence, who, names


def _hint(note: HintNote) -> HintRow:
    return HintRow(f"{note.kind} {note.key} {note.change.lower()}", href(note.kind, note.key), note.hint, note.revision)
