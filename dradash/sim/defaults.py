"""What the API server fills in when an object is created, as far as scheduling and kubectl show it."""

from __future__ import annotations

from typing import Any, Final

from dradash.kinds.defaults import with_defaults
from dradash.sim import defaults_dra
from dradash.sim.resources import Resource

_CONTAINER: Final = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
_POD_SPEC: Final = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def apply_defaults(resource: Resource, obj: dict[str, Any], now: str) -> None:
    """Fill in the defaults of a new object, in place. now: RFC 3339."""
    plural = resource.plural
    if plural == "resourceclaims":
        obj.setdefault("spec", {})
    elif plural == "resourceclaimtemplates":
        obj.setdefault("spec", {}).setdefault("spec", {})
    filled = with_defaults(obj | {"apiVersion": resource.api_version(), "kind": resource.kind})
    if plural != "nodes":  # writes of a status do not come here: what is filled in of it would go again
        obj.update({field: filled[field] for field in ("spec", "status") if field in filled})
    if resource.is_structured:
        defaults_dra.apply_defaults(plural, obj, now)
        if resource.has_status:
            obj["status"] = {}
    elif plural == "pods":
        _pod(obj)
    elif plural == "resourceclaims":
        obj["status"] = {}
    elif plural == "podschedulingcontexts":
        obj.setdefault("spec", {})
        obj["status"] = {}
    elif plural == "namespaces":
        obj["spec"] = {"finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}
        labels = obj["metadata"].setdefault("labels", {})
        labels["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")
    elif plural == "nodes":
        obj.setdefault("spec", {})
        obj.setdefault("status", {})


def _pod(obj: dict[str, Any]) -> None:
    spec = obj.setdefault("spec", {})
    for name, value in _POD_SPEC.items():
        spec.setdefault(name, value)
    containers = [c for c in spec.get("containers") or [] if isinstance(c, dict)]
    for container in containers:
        container.setdefault("resources", {})
        for name, text in _CONTAINER.items():
            container.setdefault(name, text)
        container.setdefault("imagePullPolicy", "IfNotPresent" if _is_tagged(container.get("image")) else "Always")
    tolerations = spec.get("tolerations") or []
    for key in _TOLERATED:
        if not any(isinstance(t, dict) and t.get("key") in (key, None, "") for t in tolerations):
            toleration = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            tolerations = [*tolerations, toleration]
    spec["tolerations"] = tolerations
    obj["status"] = {"phase": "Pending", "qosClass": _qos_class(containers)}


def _is_tagged(image: Any) -> bool:
    last = str(image or "").rpartition("/")[2]
    return ":" in last and not last.endswith(":latest")


def _qos_class(containers: list[dict[str, Any]]) -> str:
    """v1.PodQOSClass from the containers' cpu and memory."""
    guaranteed, any_set = bool(containers), False
    for container in containers:
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        any_set = any_set or bool({"cpu", "memory"} & (set(limits) | set(requests)))
        for name in ("cpu", "memory"):
            if name not in limits or requests.get(name, limits[name]) != limits[name]:
                guaranteed = False
    return "Guaranteed" if guaranteed else "Burstable" if any_set else "BestEffort"
