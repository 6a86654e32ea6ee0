"""What of a pod nobody is shown: environment, commands, volumes and the like may hold secrets as plain values. Pure.

Whoever may look at dradash need not be allowed to `kubectl get pod`. Of containers is kept what scheduling is about;
naming what to hide instead would show the next field that Kubernetes invents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"  # all of it once more
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_OF_CONTAINER: Final = ("name", "image", "resources", "restartPolicy")
_OF_VOLUME: Final = ("name",)


def without_secrets(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The object as decoded from JSON, of any kind and perhaps malformed, without what may be a secret of a pod."""
    shown = dict(obj)
    if shown.get("kind") != "Pod":
        return shown
    metadata, spec = shown.get("metadata"), shown.get("spec")
    if isinstance(metadata, dict) and isinstance(annotations := metadata.get("annotations"), dict):
        left = {k: v for k, v in annotations.items() if k != APPLIED}
        shown["metadata"] = {k: left if k == "annotations" else v for k, v in metadata.items()}
    if isinstance(spec, dict):
        shown["spec"] = {k: _part(k, v) for k, v in spec.items()}
    return shown


def _part(name: str, value: Any) -> Any:
    if name in _CONTAINERS:
        return _only(_OF_CONTAINER, value)
    return _only(_OF_VOLUME, value) if name == "volumes" else value


def _only(fields: tuple[str, ...], entries: Any) -> Any:
    """What is no list of objects is no list of containers either: nothing of it is shown."""
    if not isinstance(entries, list):
        return []
    return [{k: v for k, v in entry.items() if k in fields} for entry in entries if isinstance(entry, dict)]
