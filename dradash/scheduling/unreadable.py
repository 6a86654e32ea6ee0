"""An object that a pod's verdict rests on and that is there, but cannot be read: no answer may call it absent."""

from __future__ import annotations

from typing import Final

from dradash.kinds.pod import Pod
from dradash.kinds.registry import KINDS
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import pod_claims
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.generation import Generation, generations_of
from dradash.scheduling.structured import claims as structured_claims
from dradash.scheduling.structured.listers import Claims
from dradash.scheduling.structured.requests import class_names

_CONTEXTS: Final = "podschedulingcontexts"
_CLAIMS: Final = "resourceclaims"
_CLASSES: Final = "resourceclasses"
_DEVICE_CLASSES: Final = "deviceclasses"
_TEMPLATES: Final = "resourceclaimtemplates"
_ASKED_FOR: Final = (_CLAIMS, _CLASSES, _DEVICE_CLASSES, _TEMPLATES, _CONTEXTS)


def unreadable(pod: Pod, cluster: Cluster) -> tuple[str, str] | None:
    """(kind, key) of the first malformed object that the attempt would ask for; None: all of them can be read."""
    if pod.spec.scheduling_gates:
        return None  # refused before it asks for any object
    if not any(cluster.malformed[kind] for kind in _ASKED_FOR):
        return None
    if Generation.STRUCTURED in generations_of(pod, cluster):
        return _of_structured(pod, cluster)
    lookup = pod_claims(pod, cluster)
    if lookup.error:
        return _stopped_by(pod, cluster)
    if not lookup.found:
        return None  # the attempt ends before it asks for a context or a class
    if pod.key in cluster.malformed[_CONTEXTS]:
        return _CONTEXTS, pod.key
    claims = (found.claim for found in lookup.found if found.claim.status.allocation is None)
    classes = (claim.spec.resource_class_name for claim in claims)
    return next(((_CLASSES, name) for name in classes if name in cluster.malformed[_CLASSES]), None)


def _of_structured(pod: Pod, cluster: Cluster) -> tuple[str, str] | None:
    lookup = structured_claims.pod_claims(pod, Claims(cluster))
    if lookup.error:
        return _stopped_by(pod, cluster)
    claims = (held.claim for held in lookup.found if held.claim.status.allocation is None)
    classes = (name for claim in claims for name in sorted(class_names(claim.spec.devices)))
    return next(((_DEVICE_CLASSES, n) for n in classes if n in cluster.malformed[_DEVICE_CLASSES]), None)


def _stopped_by(pod: Pod, cluster: Cluster) -> tuple[str, str] | None:
    """What is malformed of the first claim that does not let the pod into the queue."""
    claims = cluster.objects(_CLAIMS)
    for entry in pod.spec.resource_claims:
        name = claim_name(pod, entry)
        if name.error:
            key = f"{pod.namespace}/{entry.template_name}"
            return (_TEMPLATES, key) if key in cluster.malformed[_TEMPLATES] else None
        key = f"{pod.namespace}/{name.name}"
        if name.name is not None and key not in claims:
            return (_CLAIMS, key) if key in cluster.malformed[_CLAIMS] else None
        if name.name is not None and claims[key].metadata.deletion_timestamp is not None:
            return None
    return None


def sentence(kind: str, key: str, cluster: Cluster) -> str:
    return f"cannot be judged: {KINDS[kind].kind} {key} cannot be read: {cluster.malformed[kind][key]}"
