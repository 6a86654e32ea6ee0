"""Pods that use claims: the list, and one pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.findings import FindingRow, about
from dradash.api.paging import NEVER
from dradash.api.schemas import ROOT, Actor, Reason, Shape, actor, page, reasons, time_of, url
from dradash.kinds.pod import Pod
from dradash.reader.follower import Follower
from dradash.reader.world import World
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.reasons import codes_of
from dradash.scheduling.states import ACTORS
from dradash.scheduling.verdict import PERSON, Outcome, Verdict
from dradash.store.model import VERDICTS
from dradash.store.replica import Applied

KIND: Final = "pods"
NOT_JUDGED: Final = "NotJudged"
KEPT: Final = 20_000  # rows
ANY: Final = "any"
NO_CLAIM: Final = ("Missing", "Unreadable")  # states of verdict.ClaimRef in which it has no resource
_TELL: Final = frozenset({KIND, VERDICTS})  # a verdict has all that a row tells of claims, classes and nodes
_SETTLED: Final = (Outcome.BOUND, Outcome.TERMINATING)
_WHO: Final = tuple(code for code, _, _ in ACTORS)
_ORDER: Final = {str(o): i for i, o in enumerate((*Outcome, NOT_JUDGED))}


class PodClaim(Shape, frozen=True):
    """An entry of spec.resourceClaims. claim: the ResourceClaim's name, "" while there is none.

    url: null where there is no such claim.
    """

    name: str
    claim: str
    template: str
    resource_class: str
    driver: str
    state: str
    url: str | None


class PodRow(Shape, frozen=True):
    """A pod with its verdict in short. reasonCodes: of all reasons, each once. waitingSince: outcome and who must act
    are the same since then."""

    namespace: str
    name: str
    uid: str
    outcome: str
    sentence: str
    reason_codes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    nodes_fit: int
    nodes_total: int
    node: str
    claims: tuple[PodClaim, ...]
    acts_next: Actor | None
    agrees: bool | None
    created: str | None
    waiting_since: str | None
    judged_at: str | None
    revision: int
    url: str
    page: str


class EventRow(Shape, frozen=True):
    at: str | None
    reporter: str
    reason: str
    text: str
    times: int


class PodDetail(Shape, frozen=True):
    """gone: when it was deleted; the rest is then its last known state."""

    pod: PodRow
    gone: str | None
    deleting: str | None
    scheduler: str
    gates: tuple[str, ...]
    events: tuple[EventRow, ...]
    findings: tuple[FindingRow, ...]
    verdict: str
    nodes: str
    negotiation: str
    history: str


class Item(msgspec.Struct, frozen=True):
    key: str
    pod: Pod
    verdict: Verdict | None

    @property
    def outcome(self) -> str:
        return self.verdict.outcome if self.verdict else NOT_JUDGED


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Item]:
    pods, verdicts = world.cluster.pods, world.verdicts
    wanted = pods if keys is None else [k for k in keys if k in pods]
    for key in wanted:
        item = Item(key, pods[key], verdicts.get(key))
        if _matches(item, ask):
            yield item


def _matches(item: Item, ask: Ask) -> bool:
    given, verdict = ask.params, item.verdict
    outcome = given.get("outcome")
    if (item.outcome in _SETTLED) if outcome is None else outcome not in (ANY, item.outcome):
        return False
    if (namespace := given.get("namespace")) and item.pod.namespace != namespace:
        return False
    if (reason := given.get("reason")) and reason not in codes_of(verdict) and not _says(verdict, reason):
        return False
    claims = verdict.claims if verdict else ()
    if (name := given.get("class")) and all(name not in classes_in(c.resource_class) for c in claims):
        return False
    if (driver := given.get("driver")) and all(c.driver != driver for c in claims):
        return False
    if (node := given.get("node")) and node not in (item.pod.spec.node_name, verdict.node if verdict else ""):
        return False
    if (who := given.get("who")) and not (verdict and verdict.waits_for(who)):
        return False
    if "waiting" in given and not (verdict and 0 < verdict.since <= ask.now - given["waiting"]):
        return False
    text = given.get("q", "").casefold()
    return not text or text in f"{item.key} {verdict.sentence if verdict else ''}".casefold()


def _says(verdict: Verdict | None, text: str) -> bool:
    return verdict is not None and text in verdict.reason_texts


def _claims(item: Item) -> tuple[PodClaim, ...]:
    namespace = item.pod.namespace
    if item.verdict is None:
        return tuple(
            PodClaim(
                name=c.name,
                claim=c.claim_name or "",
                template=c.template_name or "",
                resource_class="",
                driver="",
                state="",
                url=None,
            )
            for c in item.pod.spec.resource_claims
        )
    return tuple(
        PodClaim(
            name=c.name,
            claim=c.claim,
            template=c.template,
            resource_class=c.resource_class,
            driver=c.driver,
            state=c.state,
            url=url("resourceclaims", f"{namespace}/{c.claim}") if c.claim and c.state not in NO_CLAIM else None,
        )
        for c in item.verdict.claims
    )


def row_of(item: Item) -> PodRow:
    pod, verdict = item.pod, item.verdict
    return PodRow(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        outcome=str(item.outcome),
        sentence=verdict.sentence if verdict else "",
        reason_codes=codes_of(verdict),
        reasons=reasons(verdict),
        nodes_fit=verdict.nodes_fit if verdict else 0,
        nodes_total=verdict.nodes_total if verdict else 0,
        node=pod.spec.node_name or (verdict.node if verdict else ""),
        claims=_claims(item),
        acts_next=actor(verdict.acts_next) if verdict else None,
        agrees=verdict.agreement.agrees if verdict else None,
        created=pod.metadata.creation_timestamp,
        waiting_since=time_of(verdict.since) if verdict else None,
        judged_at=time_of(verdict.judged_at) if verdict else None,
        revision=verdict.revision if verdict else 0,
        url=url(KIND, item.key) or "",
        page=page(KIND, item.key) or "",
    )


class _Made:
    """Rows that were made, by key: a row follows from its pod and verdict, which are replaced when they change."""

    def __init__(self, follower: Follower) -> None:  # noqa: ARG002 - as every part of Current
        self._rows: dict[str, tuple[Item, PodRow]] = {}

    def row(self, item: Item) -> PodRow:
        known = self._rows.get(item.key)
        if known is not None and known[0].pod is item.pod and known[0].verdict is item.verdict:
            return known[1]
        if len(self._rows) >= KEPT:
            self._rows.clear()  # many pods came and went
        made = row_of(item)
        self._rows[item.key] = (item, made)
        return made


def _row(ask: Ask, world: World, item: Item) -> PodRow:  # noqa: ARG001 - as every resource's
    return ask.here.part(_Made).row(item) if ask.at is None else row_of(item)


def touched(ask: Ask, world: World, applied: Applied) -> Iterable[str]:  # noqa: ARG001 - as every resource's
    return (applied.change.key,) if applied.change.kind in _TELL else ()


PODS: Final = Listing(
    row_type=PodRow,
    items=items,
    identity=lambda i: i.key,
    sortings={
        "since": lambda i: i.pod.metadata.creation_timestamp or "",
        "pod": lambda i: i.pod.name,
        "ns": lambda i: i.pod.namespace,
        "outcome": lambda i: _ORDER[i.outcome],
        "fit": lambda i: i.verdict.nodes_fit if i.verdict else -1,
        "claims": lambda i: len(i.pod.spec.resource_claims),
        "actor": lambda i: i.verdict.acts_next.who if i.verdict else "",
        "waiting": lambda i: (i.verdict.since if i.verdict else 0.0) or NEVER,
    },
    row=_row,
    touched=touched,
    decided_by=_TELL,
    since=lambda i: i.verdict.since if i.verdict else 0.0,
)


def find(ask: Ask) -> tuple[Item, float]:
    """The pod and its verdict, and when it was deleted (0.0: it exists). Raises Refusal."""
    key = ask.key
    with ask.world() as world:
        pod = world.cluster.pods.get(key)
        if pod is not None:
            return Item(key, pod, world.verdicts.get(key)), 0.0
    last, entry = ask.last(KIND, key)
    return Item(key, last, _last_verdict(ask, key, last.uid)), entry.at


def _last_verdict(ask: Ask, key: str, uid: str) -> Verdict | None:
    for entry in reversed(ask.history(VERDICTS, key)):
        try:
            verdict = msgspec.json.decode(entry.object, type=Verdict)
        except msgspec.DecodeError:
            continue
        if verdict.uid == uid:
            return verdict
    return None


def detail(ask: Ask) -> Any:
    item, gone = find(ask)
    with ask.world() as world:
        events = world.cluster.events_about("Pod", item.key)[-20:]
    where = row_of(item).url
    found = PodDetail(
        pod=row_of(item),
        gone=time_of(gone),
        deleting=item.pod.metadata.deletion_timestamp,
        scheduler=item.pod.spec.scheduler_name,
        gates=tuple(g.name for g in item.pod.spec.scheduling_gates),
        events=tuple(
            EventRow(at=e.last_seen, reporter=e.reporter, reason=e.reason, text=e.text, times=e.times)
            for e in reversed(events)
        ),
        findings=about(ask, KIND, item.key),
        verdict=f"{where}/verdict",
        nodes=f"{where}/verdict/nodes",
        negotiation=where.replace(f"{ROOT}/pods/", f"{ROOT}/negotiations/", 1),
        history=f"{where}/history",
    )
    return projected(found, ask)


FILTERS: Final = (
    params.text("namespace", "Only pods of this namespace.", "ml"),
    params.choice("outcome", "Only this verdict; any: also bound and ending pods.", (ANY, *Outcome, NOT_JUDGED)),
    params.reason("Only pods refused for this reason"),
    params.text("class", "Only pods with a claim of this ResourceClass.", "gpu"),
    params.text("driver", "Only pods with a claim of this driver.", "gpu.example.com"),
    params.text("node", "Only pods that are bound to this node, or would be.", "node-1"),
    params.choice("who", "Only pods whose `actsNext.who` is this; person: only a person can help.", (*_WHO, PERSON)),
    params.duration("waiting", "Only pods whose verdict has been the same for at least so long."),
    params.text("q", "Only pods whose key or sentence contains this text.", "train"),
)
ENDPOINTS: Final = (
    listed("pods", "/pods", "pods", "Pods that use claims, with their verdicts in short", PODS, *FILTERS),
    Endpoint(
        "pod",
        "/pods/{namespace}/{name}",
        "pods",
        "One pod, also one that is gone",
        PodDetail,
        detail,
        varies="findings",
    ),
)
