"""Objects that are named but absent, and those that exist by now but were not tried again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.doctor.exam import Exam, count, created
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.gotext import quote
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.verdict import Outcome, Verdict

_ABSENT: Final = "does not exist"


def check(exam: Exam) -> Iterator[Finding]:
    pending = exam.pending()
    yield from _missing(exam, pending)
    yield from _missing_classes(exam)
    yield from _class_not_retried(exam, pending)
    yield from _claim_not_retried(exam, pending)


def _generated(pod: Pod, entry: PodResourceClaim) -> tuple[bool, str | None]:
    """Whether the pod's status has an entry for the template's claim, and the claim's name in it."""
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return True, status.resource_claim_name
    return False, None


def _missing(exam: Exam, pending: list[Pod]) -> Iterator[Finding]:
    claims: defaultdict[str, list[Pod]] = defaultdict(list)
    templates: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in pending:
        for entry in pod.spec.resource_claims:
            name = entry.claim_name
            if name is None and entry.template_name is not None:
                known, name = _generated(pod, entry)
                if not known and not exam.exists("resourceclaimtemplates", f"{pod.namespace}/{entry.template_name}"):
                    templates[f"{pod.namespace}/{entry.template_name}"].append(pod)
            if name and not exam.exists("resourceclaims", f"{pod.namespace}/{name}"):
                claims[f"{pod.namespace}/{name}"].append(pod)
    for kind, code, word, found in (
        ("resourceclaims", "claim-missing", "ResourceClaim", claims),
        ("resourceclaimtemplates", "template-missing", "ResourceClaimTemplate", templates),
    ):
        for key, pods in found.items():
            since = min(exam.stuck_since(p) for p in pods)
            if exam.for_longer(since, exam.thresholds.missing):
                yield exam.finding(
                    code,
                    (kind, key),
                    f"{word} {key} does not exist; {_named_by(pods)}.",
                    (Ref(kind, key, absent=True), *(Ref("pods", p.key) for p in pods)),
                    since,
                    namespace=pods[0].namespace,
                )


def _named_by(pods: list[Pod]) -> str:
    return f"pod {pods[0].key} names it" if len(pods) == 1 else f"{count(len(pods), 'pending pod')} name it"


def _missing_classes(exam: Exam) -> Iterator[Finding]:
    cluster = exam.cluster
    users: defaultdict[str, list[Ref]] = defaultdict(list)
    since: defaultdict[str, float] = defaultdict(lambda: exam.now)
    for key, claim in cluster.claims.items():
        name = claim.spec.resource_class_name
        if name in cluster.classes or claim.status.allocation is not None or claim.metadata.deletion_timestamp:
            continue
        if not exam.exists("resourceclasses", name):
            users[name].append(Ref("resourceclaims", key))
            since[name] = min(since[name], _refused_since(exam, key, name) or created(claim))
    for key, template in cluster.templates.items():
        name = template.spec.spec.resource_class_name
        if not exam.exists("resourceclasses", name):
            users[name].append(Ref("resourceclaimtemplates", key))
            since[name] = min(since[name], created(template))
    for name, refs in users.items():
        if exam.for_longer(since[name], exam.thresholds.missing):
            namespaces = {r.key.partition("/")[0] for r in refs}
            yield exam.finding(
                "class-missing",
                ("resourceclasses", name),
                f"ResourceClass {name or 'without a name'} does not exist; {_users(refs)}.",
                (Ref("resourceclasses", name, absent=True), *refs),
                since[name],
                namespace=namespaces.pop() if len(namespaces) == 1 else "",
                resource_class=name,
            )


def _users(refs: list[Ref]) -> str:
    claims = sum(r.kind == "resourceclaims" for r in refs)
    templates = len(refs) - claims
    parts = [count(n, word) for n, word in ((claims, "claim"), (templates, "template")) if n]
    return f"{' and '.join(parts)} {'names' if len(refs) == 1 else 'name'} it"


def _refused_since(exam: Exam, claim: str, name: str) -> float:
    """Since when a pod is refused for want of the class; 0.0 when none is."""
    times = []
    for pod in exam.cluster.pods_by_claim.members(claim):
        verdict = exam.verdicts.get(pod)
        if verdict is not None and f"resource class {name} {_ABSENT}" in verdict.sentence:
            times.append(verdict.since)
    return min(times, default=0.0)


def _class_not_retried(exam: Exam, pending: list[Pod]) -> Iterator[Finding]:
    for pod in pending:
        verdict = exam.verdict(pod)
        if verdict is None or _ABSENT not in verdict.agreement.said or _ABSENT in verdict.sentence:
            continue
        for ref in verdict.claims:
            known = exam.cluster.classes.get(ref.resource_class)
            if known is None or f"resource class {ref.resource_class} {_ABSENT}" not in verdict.agreement.said:
                continue
            since = max(created(known), seconds(verdict.agreement.at))
            if exam.for_longer(since, exam.thresholds.retry):
                yield exam.finding(
                    "reference-not-retried",
                    (pod.uid or pod.key, "resourceclasses", ref.resource_class),
                    f"ResourceClass {ref.resource_class} exists, but the scheduler has not tried pod {pod.key} again.",
                    (Ref("pods", pod.key), Ref("resourceclasses", ref.resource_class)),
                    since,
                    namespace=pod.namespace,
                    resource_class=ref.resource_class,
                    driver=ref.driver,
                )


# --- claims that came late -------------------------------------------------------------------------------------------

_NOT_TRIED: Final = frozenset({Outcome.WAITING, Outcome.SCHEDULABLE, Outcome.UNSCHEDULABLE})
CONTEXTS: Final = "podschedulingcontexts"


def late_claim(exam: Exam, pod: Pod, verdict: Verdict) -> tuple[ResourceClaim, float] | None:
    """The claim that the pod was refused for want of and that exists by now, and since when the pod waits for a retry.

    The last one, where several came late. None: there is no such claim, or the scheduler has tried since.
    """
    if verdict.outcome not in _NOT_TRIED or verdict.not_modelled:
        return None  # rightly not tried, or another scheduler's turns are not known
    said, said_at = verdict.agreement.said, seconds(verdict.agreement.at)
    tried = max(said_at, exam.changed(CONTEXTS, pod.key))
    # A condition's time is of its first words, whatever it says by now.
    undated = verdict.agreement.source == "condition"
    found = []
    for entry in pod.spec.resource_claims:
        claim = exam.cluster.claim(pod.namespace, entry.claim_name) if entry.claim_name else None
        if claim is None:
            continue
        came = created(claim)
        # Times are of whole seconds; these words leave no doubt which came first.
        named = f"resourceclaim.resource.k8s.io {quote(claim.name)} not found" in said and tried == said_at
        if named or (came > created(pod) and came > tried and not undated):
            found.append((max(came, said_at), claim))
    if not found:
        return None
    since, last = max(found, key=lambda f: f[0])
    return last, since


def _claim_not_retried(exam: Exam, pending: list[Pod]) -> Iterator[Finding]:
    for pod in pending:
        verdict = exam.verdict(pod)
        late = late_claim(exam, pod, verdict) if verdict is not None else None
        if verdict is None or late is None or not exam.for_longer(late[1], exam.thresholds.retry):
            continue
        claim, since = late
        refused = "the scheduler last refused" if verdict.agreement.said else "the scheduler left aside"
        yield exam.finding(
            "reference-not-retried",
            (pod.uid or pod.key, "resourceclaims", claim.name),
            f"ResourceClaim {claim.key} was created after {refused} pod {pod.key}, which it has not tried again.",
            (Ref("pods", pod.key), Ref("resourceclaims", claim.key)),
            since,
            command=("-n", pod.namespace, "describe", "pod", pod.name),
            namespace=pod.namespace,
            resource_class=claim.spec.resource_class_name,
            driver=driver_of(claim, exam.cluster),
        )
