"""Rules of a negotiation that are broken (classic/invariants.py), and selections that go back and forth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.classic.invariants import Invariant, InvariantCode, Limits, broken
from dradash.scheduling.classic.negotiation import SeenContext
from dradash.scheduling.classic.standing import stood
from dradash.scheduling.doctor.exam import SEEN, Exam, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref, finding_id

CONTEXTS: Final = "podschedulingcontexts"
# Invariant -> code, and how long it may be so (a name in Thresholds; "": at once).
CODES: Final = {
    InvariantCode.SELECTED_NOT_POTENTIAL: ("selected-not-potential", ""),
    InvariantCode.SELECTED_UNSUITABLE: ("selected-unsuitable", "retry"),
    InvariantCode.NOTHING_LEFT: ("no-node-suits", "silent"),
    InvariantCode.LIST_CUT: ("potential-nodes-cut", ""),
    InvariantCode.FOREIGN_OWNER: ("context-owned-by-other", ""),
    InvariantCode.FLAPPING: ("node-refused-repeatedly", ""),
    InvariantCode.NEVER_ANSWERED: ("driver-silent", ""),
}


def check(exam: Exam) -> Iterator[Finding]:
    limits = Limits(silent=exam.thresholds.silent)
    for key, context in exam.cluster.contexts.items():
        pod = exam.cluster.pods.get(key)
        if pod is None or not pod.is_pending:
            continue  # nobody negotiates any more
        claims = _claims(exam, pod)
        drivers = {name: driver_of(c, exam.cluster) for name, c in claims.items() if c is not None}
        history = _history(exam, context)
        asked = {name: exam.observed.asked(key, name) for name in claims}
        standing = exam.observed.standing(key)
        if standing is None or standing.uid != context.uid:
            standing = stood(history)
        for one in broken(context, pod, claims, standing, drivers=drivers, now=exam.now, limits=limits, asked=asked):
            code, threshold = CODES[one.code]
            least = float(getattr(exam.thresholds, threshold)) if threshold else 0.0
            if exam.for_longer(one.since, least):
                yield _finding(exam, code, one, context, claims)
        yield from _flapping(exam, context, history)


def _claims(exam: Exam, pod: Pod) -> dict[str, ResourceClaim | None]:
    names = ((e.name, claim_name(pod, e).name) for e in pod.spec.resource_claims)
    return {entry: exam.cluster.claim(pod.namespace, name) if name else None for entry, name in names}


def _history(exam: Exam, context: PodSchedulingContext) -> Sequence[SeenContext]:
    known = exam.observed.contexts.get(context.key)
    if known and known[-1].context == context:
        return known
    return (SeenContext(exam.changed(CONTEXTS, context.key) or created(context), context),)


def id_of(one: Invariant, context: PodSchedulingContext) -> str:
    """The id that the finding about this broken rule has, once it is one."""
    return finding_id(CODES[one.code][0], Ref(CONTEXTS, context.key), identity(context), one.subject)


def _finding(
    exam: Exam,
    code: str,
    one: Invariant,
    context: PodSchedulingContext,
    claims: dict[str, ResourceClaim | None],
) -> Finding:
    claim = claims.get(one.subject) or next(filter(None, claims.values()), None)
    return exam.finding(
        code,
        (identity(context), one.subject),
        f"Pod {context.key}: {one.text}",
        (Ref(kind, key, absent=not exam.exists(kind, key)) for kind, key in one.objects),
        one.since or exam.changed(CONTEXTS, context.key) or created(context),
        namespace=context.namespace,
        resource_class=claim.spec.resource_class_name if claim else "",
        driver=driver_of(claim, exam.cluster) if claim else "",
    )


def _flapping(exam: Exam, context: PodSchedulingContext, history: Sequence[SeenContext]) -> Iterator[Finding]:
    begin = exam.now - exam.thresholds.window
    changes = []
    cut = len(history) >= SEEN and history[0].at >= begin
    before = history[0].context.spec.selected_node if cut and history[0].context else ""
    for seen in history:
        node = seen.context.spec.selected_node if seen.context else ""
        if node != before and begin <= seen.at <= exam.now:
            changes.append(seen.at)
        before = node
    if len(changes) >= exam.thresholds.changes:
        times = f"{'at least ' * cut}{len(changes)} times"
        yield exam.finding(
            "selected-node-flapping",
            (identity(context),),
            f"selectedNode of pod {context.key} changed {times} within {exam.thresholds.window:.0f} s.",
            (Ref(CONTEXTS, context.key), Ref("pods", context.key)),
            min(exam.observed.flapping.get((CONTEXTS, context.key), changes[0]), changes[0]),
            namespace=context.namespace,
        )
