"""evaluate(pod, cluster): the verdict on one pod. The only door from the rest of dradash to the scheduler's logic."""

from __future__ import annotations

from typing import Final

from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.kinds.registry import KINDS
from dradash.scheduling.classic.actsnext import acts_next
from dradash.scheduling.classic.attempt import Attempt
from dradash.scheduling.classic.choice import Seed
from dradash.scheduling.classic.claims import claim_name, driver_of, no_claim
from dradash.scheduling.classic.claimstate import claim_state
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.unreadable import sentence, unreadable
from dradash.scheduling.verdict import ActsNext, ClaimRef, Evaluation, Outcome, Verdict

DEFAULT_SCHEDULER: Final = "default-scheduler"


def evaluate(pod: Pod, cluster: Cluster, revision: int, *, seed: str = "", keep_selected: bool = True) -> Evaluation:
    """What the scheduler's next attempt on the pod says, at this revision of the model.

    seed: decides what upstream leaves to chance; the pod's UID unless given, so that a verdict is stable.
    keep_selected: take the node selected before if it still fits, instead of one of the seed's.
    """
    settled = _settled(pod)
    if settled is not None:
        outcome, words = settled
        verdict = Verdict(
            pod=pod.key,
            uid=pod.uid,
            revision=revision,
            outcome=outcome,
            sentence=words,
            claims=_claim_refs(pod, cluster),
            node=pod.spec.node_name,
        )
        return Evaluation(verdict, {})
    wrong = unreadable(pod, cluster)
    if wrong is not None:
        return _unread(pod, cluster, revision, *wrong)
    attempt = Attempt(pod, cluster, Seed.of(seed or pod.uid), keep_selected).run()
    verdict = Verdict(
        pod=pod.key,
        uid=pod.uid,
        revision=revision,
        outcome=attempt.outcome,
        sentence=attempt.sentence,
        steps=attempt.all_steps(),
        claims=_claim_refs(pod, cluster),
        nodes_fit=attempt.feasible.bit_count(),
        # A pod outside the queue is compared with no node, and need not be judged again when their number changes.
        nodes_total=0 if attempt.outcome in (Outcome.BLOCKED, Outcome.GATED) else len(cluster.nodes),
        node=attempt.node,
        acts_next=acts_next(attempt),
        alternatives=attempt.alternatives,
        not_modelled=_not_modelled(pod),
    )
    return Evaluation(verdict, attempt.node_sets)


def failed(pod: str, uid: str, revision: int, message: str) -> Evaluation:
    """The verdict on a pod (by key) whose judging raised: a bug of ours, told as such; the other pods go on."""
    what = "report this: dradash could not judge the pod"
    return _without_steps(pod, uid, revision, Outcome.ERROR, f"dradash could not judge this pod: {message}", what)


def malformed(pod: str, revision: int, message: str) -> Evaluation:
    """The verdict on a pod (by key) that is no valid Pod object."""
    return _without_steps(pod, "", revision, Outcome.ERROR, f"not a valid Pod: {message}", "correct the pod object")


def unknown(pod: str, uid: str, revision: int, missing: dict[str, str]) -> Evaluation:
    """The verdict on a pod (by key) while kinds that it depends on are not known: kind -> state of its watch."""
    words = "cannot be judged: " + ", ".join(f"{kind} {state}" for kind, state in missing.items())
    what = "" if _passes(missing) else "see the state of these kinds on the overview"
    return _without_steps(pod, uid, revision, Outcome.UNKNOWN, words, what)


def _unread(pod: Pod, cluster: Cluster, revision: int, kind: str, key: str) -> Evaluation:
    """The verdict on a pod that rests on a malformed object: the scheduler may well be able to read it."""
    what = f"correct the {KINDS[kind].kind} {key}: dradash cannot read it"
    verdict = Verdict(
        pod=pod.key,
        uid=pod.uid,
        revision=revision,
        outcome=Outcome.UNKNOWN,
        sentence=sentence(kind, key, cluster),
        claims=_claim_refs(pod, cluster),
        acts_next=ActsNext(who="admin", names=(key,), what=what),
        not_modelled=_not_modelled(pod),
    )
    return Evaluation(verdict, {})


def _passes(missing: dict[str, str]) -> bool:
    """The first lists are under way: nobody has to do anything."""
    return set(missing.values()) <= {"unknown", "syncing"}


def _without_steps(pod: str, uid: str, revision: int, outcome: Outcome, words: str, what: str) -> Evaluation:
    verdict = Verdict(
        pod=pod,
        uid=uid,
        revision=revision,
        outcome=outcome,
        sentence=words,
        acts_next=ActsNext(who="admin", what=what) if what else ActsNext(who="nobody"),
    )
    return Evaluation(verdict, {})


def _settled(pod: Pod) -> tuple[Outcome, str] | None:
    """Pods that the scheduler does not look at."""
    if pod.spec.node_name:
        return Outcome.BOUND, f"Successfully assigned {pod.namespace}/{pod.name} to {pod.spec.node_name}"
    if pod.metadata.deletion_timestamp is not None:
        return Outcome.TERMINATING, "the pod is being deleted; the scheduler leaves it alone"
    if pod.is_finished:
        return Outcome.TERMINATING, f"the pod has finished ({pod.status.phase}) without a node"
    return None


def _not_modelled(pod: Pod) -> tuple[str, ...]:
    if pod.spec.scheduler_name and pod.spec.scheduler_name != DEFAULT_SCHEDULER:
        return (f"scheduler {pod.spec.scheduler_name}",)
    return ()


def _claim_refs(pod: Pod, cluster: Cluster) -> tuple[ClaimRef, ...]:
    return tuple(_claim_ref(pod, entry, cluster) for entry in pod.spec.resource_claims)


def _claim_ref(pod: Pod, entry: PodResourceClaim, cluster: Cluster) -> ClaimRef:
    name = claim_name(pod, entry).name or ""
    claim = cluster.claim(pod.namespace, name) if name else None
    template = entry.template_name or ""
    if claim is None:
        state = no_claim(f"{pod.namespace}/{name}", cluster)
        return ClaimRef(name=entry.name, claim=name, template=template, state=state)
    return ClaimRef(
        name=entry.name,
        claim=name,
        template=template,
        resource_class=claim.spec.resource_class_name,
        driver=driver_of(claim, cluster),
        state=str(claim_state(claim)),
    )
