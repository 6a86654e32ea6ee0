"""Objects that are named but absent, and those that exist by now but were not tried again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.kinds.registry import KINDS
from dradash.scheduling.claimfacts import AnyClaim, claims_of, class_names_of, drivers_in_charge
from dradash.scheduling.doctor.exam import Exam, count, created
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.generation import served_instead
from dradash.scheduling.gotext import quote
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured.requests import class_names
from dradash.scheduling.verdict import Outcome, Verdict

_ABSENT: Final = "does not exist"
_WORDS: Final = {"resourceclasses": "resource class", "deviceclasses": "device class"}


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


class _Naming(msgspec.Struct, frozen=True):
    """An object that names a class by (kind, name)."""

    wanted: tuple[str, str]
    by: Ref
    since: float


def _namings(exam: Exam) -> Iterator[_Naming]:
    """All that name a class: claims that still need one, and templates."""
    cluster = exam.cluster
    for key, claim in cluster.claims.items():
        name = claim.spec.resource_class_name
        if name in cluster.classes or claim.status.allocation is not None or claim.metadata.deletion_timestamp:
            continue
        since = _refused_since(exam, key, f"resource class {name} {_ABSENT}") or created(claim)
        yield _Naming(("resourceclasses", name), Ref("resourceclaims", key), since)
    for key, device_claim in cluster.device_claims.items():
        if device_claim.status.allocation is not None or device_claim.metadata.deletion_timestamp:
            continue
        for name in sorted(class_names(device_claim.spec.devices) - cluster.device_classes.keys()):
            since = _refused_since(exam, key, f"device class {name} {_ABSENT}") or created(device_claim)
            yield _Naming(("deviceclasses", name), Ref("resourceclaims", key), since)
    for key, template in cluster.templates.items():
        by = Ref("resourceclaimtemplates", key)
        if isinstance(template, deviceclaim.ResourceClaimTemplate):
            for name in sorted(class_names(template.spec.spec.devices)):
                yield _Naming(("deviceclasses", name), by, created(template))
        else:
            yield _Naming(("resourceclasses", template.spec.spec.resource_class_name), by, created(template))


def _missing_classes(exam: Exam) -> Iterator[Finding]:
    users: defaultdict[tuple[str, str], list[_Naming]] = defaultdict(list)
    for naming in _namings(exam):
        # A left-over of the other generation: nothing is known of its classes.
        if not exam.exists(*naming.wanted) and not served_instead(naming.wanted[0], exam.sync):
            users[naming.wanted].append(naming)
    for (kind, name), namings in users.items():
        refs = [n.by for n in namings]
        since = min(n.since for n in namings)
        if exam.for_longer(since, exam.thresholds.missing):
            namespaces = {r.key.partition("/")[0] for r in refs}
            yield exam.finding(
                "class-missing",
                (kind, name),
                f"{KINDS[kind].kind} {name or 'without a name'} does not exist; {_users(refs)}.",
                (Ref(kind, name, absent=True), *refs, *_pods_of(exam, refs)),
                since,
                namespace=namespaces.pop() if len(namespaces) == 1 else "",
                resource_class=name,
            )


def _pods_of(exam: Exam, namers: list[Ref]) -> tuple[Ref, ...]:
    """The claim of a template comes to be without the class: until then it is not the class that its pods wait for."""
    return exam.hanging(r.key for r in namers if r.kind == "resourceclaims")


def _users(refs: list[Ref]) -> str:
    claims = sum(r.kind == "resourceclaims" for r in refs)
    templates = len(refs) - claims
    parts = [count(n, word) for n, word in ((claims, "claim"), (templates, "template")) if n]
    return f"{' and '.join(parts)} {'names' if len(refs) == 1 else 'name'} it"


def _refused_since(exam: Exam, claim: str, words: str) -> float:
    """Since when a pod with the claim is refused with these words; 0.0 when none is."""
    times = []
    for pod in exam.cluster.pods_by_claim.members(claim):
        verdict = exam.verdicts.get(pod)
        if verdict is not None and words in verdict.sentence:
            times.append(verdict.since)
    return min(times, default=0.0)


def _class_not_retried(exam: Exam, pending: list[Pod]) -> Iterator[Finding]:
    for pod in pending:
        verdict = exam.verdict(pod)
        if verdict is None or _ABSENT not in verdict.agreement.said or _ABSENT in verdict.sentence:
            continue
        for kind, name, driver in _classes_of(verdict):
            known = exam.cluster.objects(kind).get(name)
            if known is None or f"{_WORDS[kind]} {name} {_ABSENT}" not in verdict.agreement.said:
                continue
            since = max(created(known), seconds(verdict.agreement.at))
            if exam.for_longer(since, exam.thresholds.retry):
                yield exam.finding(
                    "reference-not-retried",
                    (pod.uid or pod.key, kind, name),
                    f"{KINDS[kind].kind} {name} exists, but the scheduler has not tried pod {pod.key} again.",
                    (Ref("pods", pod.key), Ref(kind, name)),
                    since,
                    namespace=pod.namespace,
                    resource_class=name,
                    driver=driver,
                )


def _classes_of(verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    """(kind, name, driver) of each class that the pod's claims name."""
    for ref in verdict.claims:
        if verdict.generation == "classic":
            yield "resourceclasses", ref.resource_class, ref.driver
        else:
            yield from (("deviceclasses", name, "") for name in ref.resource_class.split(", "))


# --- claims that came late -------------------------------------------------------------------------------------------

_NOT_TRIED: Final = frozenset({Outcome.WAITING, Outcome.SCHEDULABLE, Outcome.UNSCHEDULABLE})
CONTEXTS: Final = "podschedulingcontexts"


def late_claim(exam: Exam, pod: Pod, verdict: Verdict) -> tuple[AnyClaim, float] | None:
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
        claim = claims_of(exam.cluster).get(f"{pod.namespace}/{entry.claim_name}") if entry.claim_name else None
        if claim is None:
            continue
        came = created(claim)
        # Times are of whole seconds; these words leave no doubt which came first.
        named = any(words in said for words in _not_found(claim)) and tried == said_at
        if named or (came > created(pod) and came > tried and not undated):
            found.append((max(came, said_at), claim))
    if not found:
        return None
    since, last = max(found, key=lambda f: f[0])
    return last, since


def _not_found(claim: AnyClaim) -> tuple[str, str]:
    """What either plugin says of a claim that is not there."""
    return (
        f"resourceclaim.resource.k8s.io {quote(claim.name)} not found",
        f"could not find ResourceClaim {quote(claim.key)}",
    )


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
            resource_class=", ".join(class_names_of(claim)),
            driver=", ".join(drivers_in_charge(claim, exam.cluster)),
        )
