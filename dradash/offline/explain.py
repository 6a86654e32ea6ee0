"""What can be said of a pod from a dump alone: verdict, nodes, negotiation, findings, and what is not known. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.offline.concerns import concerns
from dradash.offline.dump import Dump, Missing, judged_versions
from dradash.offline.unapplied import make_claims
from dradash.scheduling.agreement import agreement, last_words
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.classic.invariants import broken
from dradash.scheduling.classic.negotiation import SeenClaim, SeenContext, negotiate
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.diagnose import diagnose
from dradash.scheduling.doctor.exam import Exam, Observed
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.generation import Generation
from dradash.scheduling.reasons import code_of
from dradash.scheduling.structured.devicereport import DeviceReport, device_report
from dradash.scheduling.verdict import ActsNext, Agreement, ClaimRef, Evaluation, Outcome, Verdict

SCHEDULABLE: Final = frozenset({Outcome.SCHEDULABLE, Outcome.BOUND})
# That the scheduler does not come to a pod: of one that nobody has applied it knows nothing.
OF_THE_QUEUE: Final = frozenset({"blocked-silently", "fits-not-retried"})
NO_AGREEMENT: Final = Agreement()


class Said(msgspec.Struct, frozen=True, rename="camel"):
    """Base of what is told."""


class Group(Said, frozen=True, rename="camel"):
    """Nodes with the same answer at Filter; without reason they pass."""

    reason: str
    code: str
    plugin: str
    count: int
    nodes: tuple[str, ...]


class StepSaid(Said, frozen=True, rename="camel"):
    point: str
    state: str
    plugin: str
    status: str
    reasons: tuple[str, ...]
    effects: tuple[str, ...]  # what the scheduler would write


class Move(Said, frozen=True, rename="camel"):
    """Awaited in the negotiation."""

    actor: str
    claim: str
    what: str


class Talk(Said, frozen=True, rename="camel"):
    """The PodSchedulingContext. answers: the pod's name for the claim -> nodes that its driver calls unsuitable."""

    potential_nodes: tuple[str, ...]
    selected_node: str
    answers: dict[str, tuple[str, ...]]
    awaited: tuple[Move, ...]
    warnings: tuple[str, ...]


class FindingSaid(Said, frozen=True, rename="camel"):
    """command: "" where it is about a pod that nobody has applied yet."""

    id: str
    severity: str
    sentence: str
    remedy: str
    command: str


class OneNode(Said, frozen=True, rename="camel"):
    """What Filter says of the node that was asked about."""

    name: str
    exists: bool
    fits: bool
    reason: str
    code: str


class Explanation(Said, frozen=True, rename="camel"):
    """decided: there is a verdict; else `missing` says what the input lacks."""

    pod: str
    outcome: str
    decided: bool
    schedulable: bool
    sentence: str
    reason_codes: tuple[str, ...]
    acts_next: ActsNext | None
    claims: tuple[ClaimRef, ...]
    node: str
    nodes_fit: int
    nodes_total: int
    groups: tuple[Group, ...]
    devices: DeviceReport | None
    steps: tuple[StepSaid, ...]
    negotiation: Talk | None
    agreement: Agreement
    findings: tuple[FindingSaid, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    asked_node: OneNode | None


class _Known(msgspec.Struct, frozen=True):
    state: str = "synced"
    version: str = ""
    since: float = 0.0
    error: str = ""


class Explainer:
    """Over a whole dump: the findings are looked for once."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self._unapplied = make_claims(dump.cluster)
        if any(len(assumed) > 1 for assumed in self._unapplied.values()):
            dump.claims_made()
        self._findings: list[Finding] | None = None

    def pod(self, key: str, node: str = "") -> Explanation | None:
        """None: there is no such pod in the dump. node: also answer about this one."""
        pod = self._dump.cluster.pods.get(key)
        return None if pod is None else self._explain(pod, node)

    def all(self, node: str = "") -> Iterator[Explanation]:
        for pod in self._dump.pods():
            yield self._explain(pod, node)

    def findings(self) -> list[Finding]:
        if self._findings is None:
            dump = self._dump
            sync = {kind: _Known(version=dump.versions.get(kind, "")) for kind in dump.known}
            sync |= {kind: _Known("notServed") for kind in dump.foregone}
            verdicts = {p.key: evaluate(p, dump.cluster, 0, now=dump.now).verdict for p in dump.pods()}
            exam = Exam(dump.cluster, verdicts, sync, {}, Observed(), dump.now, Thresholds())
            # A dump shows a version that is served, not that no newer one is.
            self._findings = [f for f in diagnose(exam) if f.code != "version-beta"]
        return self._findings

    def _explain(self, pod: Pod, node: str) -> Explanation:
        dump = self._dump
        lacks = [] if pod.spec.node_name else list(dump.missing(pod))
        evaluation = evaluate(pod, dump.cluster, 0, now=dump.now)
        verdict = evaluation.verdict
        if verdict.outcome is Outcome.UNKNOWN:
            lacks.append(Missing("object", verdict.sentence, True))
        decided = not any(m.decides for m in lacks)
        words = last_words(pod, dump.cluster.events_about("Pod", pod.key))
        texts = verdict.reason_texts
        return Explanation(
            pod=pod.key,
            outcome=str(verdict.outcome if decided else Outcome.UNKNOWN),
            decided=decided,
            schedulable=decided and verdict.outcome in SCHEDULABLE,
            sentence=verdict.sentence if decided else "; ".join(m.what for m in lacks if m.decides),
            reason_codes=tuple(dict.fromkeys(map(code_of, texts))) if decided else (),
            acts_next=verdict.acts_next if decided else None,
            claims=verdict.claims,
            node=verdict.node if decided else "",
            nodes_fit=verdict.nodes_fit if decided else 0,
            nodes_total=verdict.nodes_total,
            groups=_groups(evaluation, dump.cluster) if decided else (),
            devices=_devices(verdict, dump, node) if decided else None,
            steps=_steps(verdict) if decided else (),
            negotiation=_talk(pod, dump.cluster, dump.now),
            agreement=agreement(words, verdict, None) if decided and verdict.steps else NO_AGREEMENT,
            findings=tuple(
                self._finding(f)
                for f in self.findings()
                if concerns(f, pod, verdict, dump.cluster)
                and not (pod.key in self._unapplied and f.code in OF_THE_QUEUE)
            ),
            missing=tuple(m.what for m in lacks),
            notes=(*self._unapplied.get(pod.key, ()), *_notes(dump, verdict)),
            asked_node=_one(node, evaluation, dump.cluster) if node and decided else None,
        )

    def _finding(self, finding: Finding) -> FindingSaid:
        # Of what no API server has, kubectl shows nothing.
        absent = any(ref.kind == "pods" and ref.key in self._unapplied for ref in finding.objects)
        command = "" if absent else shlex.join(["kubectl", *finding.command])
        return FindingSaid(finding.id, str(finding.severity), finding.sentence, finding.remedy, command)


def _devices(verdict: Verdict, dump: Dump, node: str) -> DeviceReport | None:
    """On the node that was asked about, else on all."""
    if verdict.generation != Generation.STRUCTURED or not verdict.steps:
        return None
    pod = dump.cluster.pods[verdict.pod]
    return device_report(pod, dump.cluster, dump.now, node if node in dump.cluster.nodes.by_name else "")


def _groups(evaluation: Evaluation, cluster: Cluster) -> tuple[Group, ...]:
    return tuple(
        Group(
            reason=group.reason,
            code=code_of(group.reason) if group.reason else "",
            plugin=group.plugin,
            count=group.count,
            nodes=tuple(sorted(cluster.nodes.names(evaluation.node_sets.get(group.nodes, 0)))),
        )
        for step in evaluation.verdict.steps
        for group in step.groups
    )


def _steps(verdict: Verdict) -> tuple[StepSaid, ...]:
    return tuple(
        StepSaid(
            point=s.point,
            state=str(s.state),
            plugin=s.plugin,
            status=str(s.code),
            reasons=s.reasons,
            effects=tuple(f"{e.verb} {e.resource} {e.namespace}/{e.name} {e.subresource}".rstrip() for e in s.effects),
        )
        for s in verdict.steps
    )


def _talk(pod: Pod, cluster: Cluster, now: float) -> Talk | None:
    context = cluster.context_of(pod)
    if context is None:
        return None
    claims: dict[str, ResourceClaim | None] = {}
    for entry in pod.spec.resource_claims:
        name = claim_name(pod, entry).name
        claims[entry.name] = cluster.claim(pod.namespace, name) if name else None
    drivers: Mapping[str, str] = {name: driver_of(c, cluster) for name, c in claims.items() if c is not None}
    seen = {name: (SeenClaim(0.0, claim),) for name, claim in claims.items()}
    found = negotiate((SeenContext(0.0, context),), seen, drivers)
    return Talk(
        potential_nodes=context.spec.potential_nodes,
        selected_node=context.spec.selected_node,
        answers={s.name: s.unsuitable_nodes for s in context.status.resource_claims},
        awaited=tuple(Move(a.actor, a.claim, a.what) for a in found.awaited),
        warnings=tuple(one.text for one in broken(context, pod, claims, drivers=drivers, now=now)),
    )


def _notes(dump: Dump, verdict: Verdict) -> tuple[str, ...]:
    judged = judged_versions("resourceclaims")
    foreign = (f"{count} {name} left out: judged are {judged}" for name, count in dump.foreign.items())
    return (*foreign, *(f"not modelled: {what}" for what in verdict.not_modelled), *dump.notes)


def _one(name: str, evaluation: Evaluation, cluster: Cluster) -> OneNode:
    if name not in cluster.nodes.by_name:
        return OneNode(name, False, False, "no Node of this name in the input", "")
    bit = cluster.nodes.named((name,))
    verdict = evaluation.verdict
    if verdict.node == name:
        return OneNode(name, True, True, "", "")
    for step in verdict.steps:
        for group in step.groups:
            if evaluation.node_sets.get(group.nodes, 0) & bit:
                return OneNode(
                    name, True, not group.reason, group.reason, code_of(group.reason) if group.reason else ""
                )
    reason = verdict.reason_texts[0] if verdict.reason_texts else "Filter was not reached"
    return OneNode(name, True, False, reason, code_of(reason))
