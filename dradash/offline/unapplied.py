"""Pods of manifests that nobody has applied yet: judged as if their claims were made from their templates. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

from dradash.kinds.defaults import with_defaults
from dradash.kinds.pod import Pod
from dradash.scheduling.cluster import Cluster

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
CLAIMS, TEMPLATES = "resourceclaims", "resourceclaimtemplates"
SUFFIX: Final = "xxxxx"  # where the API server would put five letters and digits


def is_unapplied(pod: Pod) -> bool:
    """No API server has seen it: it would have set both."""
    return not pod.metadata.uid and not pod.metadata.creation_timestamp


def make_claims(cluster: Cluster) -> dict[str, list[str]]:
    """Put what the resourceclaim controller makes of the templates that there are: claims, and their names in the pods.

    Key of each pod that is not applied -> what was assumed for it, in words. A template that is missing makes nothing.
    """
    pods = [pod for pod in cluster.pods.values() if is_unapplied(pod)]
    return {pod.key: _make(cluster, pod) for pod in pods}


def _make(cluster: Cluster, pod: Pod) -> list[str]:
    body = cluster.body("pods", pod.key)
    uid = f"not applied: {pod.key}"
    body["metadata"] |= {"uid": uid}
    named = {s.name for s in pod.status.resource_claim_statuses}
    made: dict[str, str] = {}
    assumed = [f"Pod {pod.key} is not applied: it has neither uid nor creationTimestamp"]
    for entry in pod.spec.resource_claims:
        key = f"{pod.namespace}/{entry.template_name}"
        if entry.template_name is None or entry.name in named or key not in cluster.templates:
            continue
        claim = _claim(pod, uid, entry.name, cluster.body(TEMPLATES, key))
        name = claim["metadata"]["name"]
        cluster.put(CLAIMS, f"{pod.namespace}/{name}", json.dumps(claim).encode())
        made[entry.name] = name
        assumed.append(
            f"judged as if the resourceclaim controller had made the claim {name} of ResourceClaimTemplate {key}"
        )
    statuses = [{"name": entry, "resourceClaimName": name} for entry, name in made.items()]
    status = body.get("status") or {}
    body["status"] = status | {"resourceClaimStatuses": [*(status.get("resourceClaimStatuses") or ()), *statuses]}
    cluster.put("pods", pod.key, json.dumps(body).encode())
    return assumed


def _claim(pod: Pod, uid: str, entry: str, template: dict[str, Any]) -> dict[str, Any]:
    """The claim that the template makes for the pod's entry."""
    spec = template.get("spec") or {}
    given = spec.get("metadata") or {}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": uid, "controller": True}
    metadata = {
        "name": f"{pod.name}-{entry}-{SUFFIX}",
        "namespace": pod.namespace,
        "annotations": {**(given.get("annotations") or {}), POD_CLAIM_NAME: entry},
        "labels": given.get("labels") or {},
        "ownerReferences": [owner],
    }
    claim = {"apiVersion": template["apiVersion"], "kind": "ResourceClaim", "metadata": metadata}
    return with_defaults(claim | {"spec": spec.get("spec") or {}})
