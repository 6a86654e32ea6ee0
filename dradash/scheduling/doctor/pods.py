"""Pods that hang for a reason of their own: by-passed, blocked without a word, not tried again, misunderstood."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.kinds.pod import Pod
from dradash.scheduling.claimfacts import claims_of
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.doctor.exam import SEEN, Exam, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.doctor.lasting import BLOCKED, DISAGREES, VERDICTS
from dradash.scheduling.doctor.references import late_claim
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.verdict import Outcome, Verdict

_SCHEDULED: Final = "PodScheduled"


def check(exam: Exam) -> Iterator[Finding]:
    for pod in exam.cluster.pods.values():
        if pod.is_pending:
            verdict = exam.verdict(pod)
            if verdict is not None:
                yield from _blocked(exam, pod, verdict)
                yield from _not_retried(exam, pod, verdict)
                yield from _disagrees(exam, pod, verdict)
        elif pod.spec.node_name and not pod.is_finished and pod.metadata.deletion_timestamp is None:
            yield from _bypassed(exam, pod)
    yield from _flapping(exam)


def _of(verdict: Verdict, pod: Pod) -> dict[str, str]:
    """What the finding is filtered by."""
    one = verdict.claims[0] if verdict.claims else None
    of_claim = {"resource_class": one.resource_class, "driver": one.driver} if one else {}
    return {"namespace": pod.namespace} | of_claim


def _bypassed(exam: Exam, pod: Pod) -> Iterator[Finding]:
    wrong = [text for text in (_lacks(exam, pod, i) for i in range(len(pod.spec.resource_claims))) if text]
    if not wrong:
        return
    condition = pod.status.condition(_SCHEDULED)
    scheduled = seconds(condition.last_transition_time) if condition is not None and condition.status == "True" else 0.0
    since = scheduled or created(pod)
    if exam.for_longer(since, exam.thresholds.bypass):
        yield exam.finding(
            "scheduler-bypassed",
            (identity(pod),),
            f"Pod {pod.key} is on node {pod.spec.node_name}, but {' and '.join(wrong)}.",
            (Ref("pods", pod.key), *(Ref("resourceclaims", k) for k in _claims(exam, pod))),
            since,
            namespace=pod.namespace,
        )


def _claims(exam: Exam, pod: Pod) -> list[str]:
    names = (claim_name(pod, e).name for e in pod.spec.resource_claims)
    return [f"{pod.namespace}/{n}" for n in names if n and f"{pod.namespace}/{n}" in claims_of(exam.cluster)]


def _lacks(exam: Exam, pod: Pod, index: int) -> str:
    """What a placed pod's claim lacks; "" when it may start."""
    entry = pod.spec.resource_claims[index]
    name = claim_name(pod, entry)
    if name.error:
        return f"its claim “{entry.name}” was not created"
    if name.name is None:
        return ""
    claim = claims_of(exam.cluster).get(f"{pod.namespace}/{name.name}")
    if claim is None:
        malformed = exam.exists("resourceclaims", f"{pod.namespace}/{name.name}")
        return "" if malformed else f"its claim {name.name} does not exist"
    if claim.status.allocation is None:
        return f"its claim {name.name} is not allocated"
    return (
        ""
        if any(r.uid == pod.uid for r in claim.status.reserved_for)
        else f"its claim {name.name} is not reserved for it"
    )


def _blocked(exam: Exam, pod: Pod, verdict: Verdict) -> Iterator[Finding]:
    if verdict.outcome is not Outcome.BLOCKED or pod.status.condition(_SCHEDULED) is not None:
        return
    # Who must act may change meanwhile, and with it the verdict's own `since`.
    since = exam.observed.lasting(VERDICTS, pod.key, BLOCKED) or verdict.since or created(pod)
    if not exam.for_longer(since, exam.thresholds.blocked):
        return
    if any(not e.about.uid or e.about.uid == pod.uid for e in exam.cluster.events_about("Pod", pod.key)):
        return
    yield exam.finding(
        "blocked-silently",
        (identity(pod),),
        f"Pod {pod.key} is not in the scheduler's queue, and no event says so: {verdict.sentence}.",
        (Ref("pods", pod.key),),
        since,
        command=("-n", pod.namespace, "describe", "pod", pod.name),
        **_of(verdict, pod),
    )


def _not_retried(exam: Exam, pod: Pod, verdict: Verdict) -> Iterator[Finding]:
    """The verdict leaves the move to the scheduler, which has not said anything since."""
    fits = verdict.outcome is Outcome.SCHEDULABLE
    if not fits and verdict.acts_next.who != "scheduler":
        return
    if verdict.not_modelled or not exam.for_longer(verdict.since, exam.thresholds.retry):
        return  # another scheduler's turns are not known
    if late_claim(exam, pod, verdict) is not None:
        return  # reference-not-retried tells, and why
    if seconds(verdict.agreement.at) > verdict.since:
        return  # it tried, and said something else: words-disagree tells
    turn = f"fits on {verdict.nodes_fit} of {verdict.nodes_total} nodes" if fits else "waits for the scheduler"
    yield exam.finding(
        "fits-not-retried",
        (identity(pod),),
        f"Pod {pod.key} {turn}, which has not tried it since. Next: {verdict.acts_next.what or 'bind it'}."
        if not fits
        else f"Pod {pod.key} {turn}, but the scheduler has not tried it since.",
        (Ref("pods", pod.key),),
        verdict.since,
        command=("-n", pod.namespace, "describe", "pod", pod.name),
        **_of(verdict, pod),
    )


def _disagrees(exam: Exam, pod: Pod, verdict: Verdict) -> Iterator[Finding]:
    said = verdict.agreement
    if said.agrees is not False:
        return
    # The scheduler repeats its words with every attempt.
    since = exam.observed.lasting(VERDICTS, pod.key, DISAGREES) or seconds(said.at) or verdict.since
    if exam.for_longer(since, exam.thresholds.disagree):
        yield exam.finding(
            "words-disagree",
            (identity(pod),),
            f"Of pod {pod.key} the scheduler said “{said.said}”; our verdict is “{verdict.sentence}”.",
            (Ref("pods", pod.key),),
            since,
            command=("-n", pod.namespace, "describe", "pod", pod.name),
            **_of(verdict, pod),
        )


def _flapping(exam: Exam) -> Iterator[Finding]:
    begin = exam.now - exam.thresholds.window
    for key, changes in exam.observed.statuses.items():
        pod = exam.cluster.pods.get(key)
        recent = [at for at in changes if begin <= at <= exam.now]
        if pod is None or len(recent) < exam.thresholds.changes:
            continue
        least = "at least " if len(changes) >= SEEN and changes[0] >= begin else ""
        yield exam.finding(
            "statuses-flapping",
            (identity(pod),),
            f"resourceClaimStatuses of pod {pod.key} changed {least}{len(recent)} times within "
            f"{exam.thresholds.window:.0f} s.",
            (Ref("pods", pod.key),),
            min(exam.observed.flapping.get(("pods", key), recent[0]), recent[0]),
            namespace=pod.namespace,
        )
