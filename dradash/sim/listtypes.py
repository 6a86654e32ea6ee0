"""Which lists of the served kinds merge, and by what: the types' patchMergeKey and listType markers as a table.

A list that is not named here is replaced as a whole, both by a strategic merge patch and by an apply.
"""

from __future__ import annotations

from typing import Final

SET: Final = ""  # the "merge key" of a list of plain values without duplicates

_META: Final[dict[str, str]] = {"metadata.ownerReferences": "uid", "metadata.finalizers": SET}

_CONTAINER: Final[dict[str, str]] = {
    "": "name",
    ".ports": "containerPort",
    ".env": "name",
    ".volumeMounts": "mountPath",
    ".volumeDevices": "devicePath",
    ".resources.claims": "name",
}

_POD: Final[dict[str, str]] = {
    "spec.volumes": "name",
    "spec.imagePullSecrets": "name",
    "spec.hostAliases": "ip",
    "spec.topologySpreadConstraints": "topologyKey",
    "spec.resourceClaims": "name",
    "spec.schedulingGates": "name",
    "status.conditions": "type",
    "status.resourceClaimStatuses": "name",
    "status.podIPs": "ip",
    "status.hostIPs": "ip",
    **{
        f"spec.{containers}{path}": key
        for containers in ("containers", "initContainers", "ephemeralContainers")
        for path, key in _CONTAINER.items()
    },
}

_LISTS: Final[dict[str, dict[str, str]]] = {
    "pods": _POD,
    "nodes": {"status.conditions": "type", "status.addresses": "type", "spec.podCIDRs": SET},
    "namespaces": {"status.conditions": "type"},
    "resourceclaims": {"status.reservedFor": "uid"},
    "podschedulingcontexts": {"status.resourceClaims": "name"},
}

# structType=atomic and mapType=atomic: an apply owns and replaces them as a whole.
_ATOMIC: Final = frozenset(
    {"spec.nodeSelector", "status.allocation.availableOnNodes", "suitableNodes", "involvedObject", "source"}
)


def merge_key(plural: str, path: str) -> str | None:
    """Key by which the list at the dotted `path` merges; SET for plain values, None when it does not merge."""
    key = _META.get(path)
    return key if key is not None else _LISTS.get(plural, {}).get(path)


def is_atomic(path: str) -> bool:
    return path in _ATOMIC


def child(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
