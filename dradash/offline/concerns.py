"""Which of the doctor's findings are told with a pod. Pure."""

from __future__ import annotations

from typing import Final

from dradash.kinds.pod import Pod
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.structured.extended import pod_requests
from dradash.scheduling.verdict import Verdict

OF_NODE: Final = "kubelet-too-old"  # pods with claims do not start there
BY_RESOURCE: Final = "extended-resource-twice"  # only pods that ask for the resource meet it
# Findings on classes that keep all back who ask for one; others that name a class are about some claims of it.
ABOUT_CLASSES: Final = frozenset(
    {
        "class-missing",
        "class-matches-no-node",
        "class-filter-invalid",
        "class-matches-no-device",
        "selector-fails",
        "driver-publishes-nothing",
        BY_RESOURCE,
    }
)


def concerns(finding: Finding, pod: Pod, verdict: Verdict, cluster: Cluster) -> bool:
    """About the pod, its negotiation, a claim of it or its kubelet; or about what is wrong with a class of theirs."""
    namespace = verdict.pod.partition("/")[0]
    claims = {f"{namespace}/{c.claim}" for c in verdict.claims if c.claim}
    for ref in finding.objects:
        if ref.kind in ("pods", "podschedulingcontexts") and ref.key == verdict.pod:
            return True
        if ref.kind == "resourceclaims" and ref.key in claims:
            return True
        if finding.code == OF_NODE and ref.key and ref.key == (pod.spec.node_name or verdict.node):
            return True
    return finding.code in ABOUT_CLASSES and _names_class(finding, pod, verdict, cluster)


def _names_class(finding: Finding, pod: Pod, verdict: Verdict, cluster: Cluster) -> bool:
    named = {ref.key for ref in finding.objects if ref.kind in ("resourceclasses", "deviceclasses")}
    if finding.code == BY_RESOURCE:
        resources = {c.spec.extended_resource_name for n, c in cluster.device_classes.items() if n in named}
        return not resources.isdisjoint(pod_requests(pod))
    return any(not named.isdisjoint(classes_in(c.resource_class)) for c in verdict.claims)
