"""A pod as scheduling sees it, which is all that anybody is shown of one: the rest may hold secrets. Pure.

Whoever may look at dradash need not be allowed to `kubectl get pod`. Environment, commands, volumes and annotations may
hold secrets as plain values, a status the last lines that a container logged. What is shown is named, field by field:
naming what to hide instead would show the next field that Kubernetes invents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_METADATA: Final = frozenset(
    (
        *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "labels"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "ownerReferences"),
    )
)
_SPEC: Final = frozenset(
    (
        *("schedulerName", "schedulingGates", "schedulingGroup", "nodeName", "nodeSelector", "affinity", "tolerations"),
        *("topologySpreadConstraints", "resourceClaims", "resources", "overhead", "priority", "priorityClassName"),
        *("preemptionPolicy", "runtimeClassName", "restartPolicy", "os", "terminationGracePeriodSeconds"),
    )
)
_CONTAINERS: Final = frozenset(("containers", "initContainers", "ephemeralContainers"))
_OF_CONTAINER: Final = frozenset(("name", "image", "resources", "restartPolicy"))
_STATUS: Final = frozenset(
    (
        *("phase", "reason", "conditions", "startTime", "qosClass", "nominatedNodeName", "observedGeneration"),
        *("resourceClaimStatuses", "extendedResourceClaimStatus"),
    )
)


def without_secrets(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object of any kind as decoded from JSON, perhaps malformed; of a pod no more than scheduling is about."""
    if obj.get("kind") != "Pod":
        return dict(obj)
    shown = {k: v for k, v in obj.items() if k in ("apiVersion", "kind")}
    for part, fields in (("metadata", _METADATA), ("spec", _SPEC), ("status", _STATUS)):
        held = obj.get(part)
        if isinstance(held, dict):
            shown[part] = {k: v for k, v in held.items() if k in fields}
            if part == "spec":
                shown[part] |= {k: _containers(v) for k, v in held.items() if k in _CONTAINERS}
    return shown


def _containers(entries: Any) -> list[dict[str, Any]]:
    """What is no list of objects is no list of containers either: nothing of it is shown."""
    if not isinstance(entries, list):
        return []
    return [{k: v for k, v in entry.items() if k in _OF_CONTAINER} for entry in entries if isinstance(entry, dict)]
