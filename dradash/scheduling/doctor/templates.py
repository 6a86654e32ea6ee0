"""Claims that are made from templates: not made, or not this pod's."""

from __future__ import annotations

from collections.abc import Iterator

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaimTemplate
from dradash.kinds.pod import Pod, PodResourceClaim
from dradash.scheduling.classic.claims import is_for_pod
from dradash.scheduling.doctor.exam import Exam, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.structured.requests import class_names


def check(exam: Exam) -> Iterator[Finding]:
    for pod in exam.cluster.pods.values():
        if pod.is_finished or pod.metadata.deletion_timestamp is not None:
            continue
        generated = {s.name: s.resource_claim_name for s in pod.status.resource_claim_statuses}
        for entry in pod.spec.resource_claims:
            if entry.claim_name is not None or entry.template_name is None:
                continue
            if entry.name not in generated:
                template = exam.cluster.templates.get(f"{pod.namespace}/{entry.template_name}")
                if template is not None:
                    yield from _not_created(exam, pod, entry, template)
            elif name := generated[entry.name]:
                yield from _not_owned(exam, pod, entry, name)


AnyTemplate = ResourceClaimTemplate | deviceclaim.ResourceClaimTemplate


def _class_of(template: AnyTemplate) -> str:
    if isinstance(template, deviceclaim.ResourceClaimTemplate):
        return ", ".join(sorted(class_names(template.spec.spec.devices)))
    return template.spec.spec.resource_class_name


def _not_created(exam: Exam, pod: Pod, entry: PodResourceClaim, template: AnyTemplate) -> Iterator[Finding]:
    since = max(created(pod), created(template))
    late = created(template) > created(pod)
    code = "reference-not-retried" if late else "claim-not-created"
    if not exam.for_longer(since, exam.thresholds.retry if late else exam.thresholds.create):
        return
    if late:
        sentence = (
            f"ResourceClaimTemplate {template.key} was created after pod {pod.key}, and the claim controller has not "
            f"tried again to create the claim “{entry.name}”."
        )
    else:
        sentence = f"No claim “{entry.name}” was created for pod {pod.key} from ResourceClaimTemplate {template.key}."
    yield exam.finding(
        code,
        (identity(pod), "resourceclaimtemplates", entry.name),
        sentence,
        (Ref("pods", pod.key), Ref("resourceclaimtemplates", template.key)),
        since,
        command=("-n", pod.namespace, "describe", "pod", pod.name),
        namespace=pod.namespace,
        resource_class=_class_of(template),
    )


def _not_owned(exam: Exam, pod: Pod, entry: PodResourceClaim, name: str) -> Iterator[Finding]:
    claim = exam.cluster.claim(pod.namespace, name)
    if claim is None or not is_for_pod(pod, claim):
        return
    owner = next((r for r in claim.metadata.owner_references if r.controller), None)
    whose = f"belongs to {owner.kind} {owner.name} ({owner.uid})" if owner else "has no controlling owner"
    yield exam.finding(
        "claim-owned-by-other",
        (identity(pod), entry.name, identity(claim)),
        f"ResourceClaim {claim.key} stands for “{entry.name}” of pod {pod.key}, but {whose}.",
        (Ref("resourceclaims", claim.key), Ref("pods", pod.key)),
        max(created(pod), created(claim)),
        namespace=pod.namespace,
        resource_class=claim.spec.resource_class_name,
        driver=claim.status.driver_name,
    )
