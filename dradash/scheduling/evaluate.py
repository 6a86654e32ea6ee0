"""evaluate(pod, cluster): the verdict on one pod. The only door from the rest of dradash to the scheduler's logic."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS
from dradash.scheduling.choice import Seed
from dradash.scheduling.claimrefs import claim_refs
from dradash.scheduling.classic.actsnext import acts_next as classic_acts_next
from dradash.scheduling.classic.attempt import Attempt as ClassicAttempt
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.generation import Generation, generations_of
from dradash.scheduling.structured.actsnext import acts_next as structured_acts_next
from dradash.scheduling.structured.attempt import Attempt as StructuredAttempt
from dradash.scheduling.unreadable import sentence, unreadable
from dradash.scheduling.verdict import ActsNext, Evaluation, Outcome, Verdict

DEFAULT_SCHEDULER: Final = "default-scheduler"
MIXED: Final = "cannot be judged: some of the pod's claims are v1alpha2, others of a later version"


def evaluate(
    pod: Pod, cluster: Cluster, revision: int, *, seed: str = "", keep_selected: bool = True, now: float = 0.0
) -> Evaluation:
    """What the scheduler's next attempt on the pod says, at this revision of the model.

    seed: decides what upstream leaves to chance; the pod's UID unless given, so that a verdict is stable.
    keep_selected: take the node selected before if it still fits, instead of one of the seed's.
    now: Unix seconds, for conditions that devices must have met in time.
    """
    generations = generations_of(pod, cluster)
    generation = max(generations)
    verdict = Verdict(
        pod=pod.key,
        uid=pod.uid,
        revision=revision,
        outcome=Outcome.UNKNOWN,
        sentence="",
        generation=str(generation),
        claims=claim_refs(pod, cluster),
    )
    if (settled := _settled(pod)) is not None:
        outcome, words = settled
        return Evaluation(replace(verdict, outcome=outcome, sentence=words, node=pod.spec.node_name), {})
    if len(generations) > 1 and not pod.spec.scheduling_gates:
        what = "make all claims of the pod of one version"
        return Evaluation(replace(verdict, sentence=MIXED, acts_next=ActsNext(who="admin", what=what)), {})
    if (wrong := unreadable(pod, cluster)) is not None:
        return Evaluation(_unread(verdict, cluster, *wrong), {})
    return _attempted(verdict, pod, cluster, Seed.of(seed or pod.uid), keep_selected=keep_selected, now=now)


def _attempted(
    verdict: Verdict, pod: Pod, cluster: Cluster, chance: Seed, *, keep_selected: bool, now: float
) -> Evaluation:
    attempt: ClassicAttempt | StructuredAttempt
    if verdict.generation == Generation.STRUCTURED:
        attempt = StructuredAttempt(pod, cluster, chance, now=now).run()
        mover = structured_acts_next(attempt)
    else:
        attempt = ClassicAttempt(pod, cluster, chance, keep_selected=keep_selected).run()
        mover = classic_acts_next(attempt)
    verdict = replace(
        verdict,
        outcome=attempt.outcome,
        sentence=attempt.sentence,
        steps=attempt.all_steps(),
        nodes_fit=attempt.feasible.bit_count(),
        # A pod outside the queue is compared with no node, and need not be judged again when their number changes.
        nodes_total=0 if attempt.outcome in (Outcome.BLOCKED, Outcome.GATED) else len(cluster.nodes),
        node=attempt.node,
        acts_next=mover,
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


def _unread(verdict: Verdict, cluster: Cluster, kind: str, key: str) -> Verdict:
    """The verdict on a pod that rests on a malformed object: the scheduler may well be able to read it."""
    what = f"correct the {KINDS[kind].kind} {key}: dradash cannot read it"
    return replace(
        verdict, sentence=sentence(kind, key, cluster), acts_next=ActsNext(who="admin", names=(key,), what=what)
    )


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
