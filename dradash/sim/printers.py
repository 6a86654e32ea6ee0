"""The cells of `kubectl get` for each kind (pkg/printers/internalversion of Kubernetes 1.30)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from dradash.sim.duration import since

Object = dict[str, Any]
NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"


class Column(msgspec.Struct, frozen=True):
    """priority 0 is always shown, 1 with `-o wide` only; format "name" marks the object's name."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""


class Printer(msgspec.Struct, frozen=True):
    """`cells` gets the object and the time now (Unix seconds)."""

    columns: tuple[Column, ...]
    cells: Callable[[Object, float], list[Any]]


def _wide(name: str, type_: str = "string") -> Column:
    return Column(name, type_, 1)


_NAME: Final = Column("Name", format="name", description="Name must be unique within a namespace.")
_AGE: Final = Column("Age", description="CreationTimestamp is the server time when the object was created.")


def _name(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


def _age(obj: Object, now: float) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now)


def _part(obj: Object, name: str) -> Object:
    part = obj.get(name)
    return part if isinstance(part, dict) else {}


def _condition(status: Object, type_: str) -> Object:
    return next((c for c in status.get("conditions") or () if c.get("type") == type_), {})


def _pod_reason(pod: Object) -> str:
    status = _part(pod, "status")
    reason = str(status.get("reason") or status.get("phase") or "")
    if _condition(status, "PodScheduled").get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        for phase in ("waiting", "terminated"):
            reason = (state.get(phase) or {}).get("reason") or reason
    return "Terminating" if pod["metadata"].get("deletionTimestamp") else reason


def _pod(pod: Object, now: float) -> list[Any]:
    spec, status = _part(pod, "spec"), _part(pod, "status")
    statuses = status.get("containerStatuses") or ()
    ready = sum(1 for c in statuses if c.get("ready"))
    return [
        _name(pod),
        f"{ready}/{len(spec.get('containers') or ())}",
        _pod_reason(pod),
        str(sum(c.get("restartCount", 0) for c in statuses)),
        _age(pod, now),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _readiness_gates(spec: Object, status: Object) -> str:
    gates = [g.get("conditionType", "") for g in spec.get("readinessGates") or ()]
    if not gates:
        return NONE
    ready = sum(1 for gate in gates if _condition(status, gate).get("status") == "True")
    return f"{ready}/{len(gates)}"


def _node_status(node: Object) -> str:
    ready = _condition(_part(node, "status"), "Ready").get("status")
    text = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return text + (",SchedulingDisabled" if _part(node, "spec").get("unschedulable") else "")


def _node_roles(node: Object) -> str:
    labels = node["metadata"].get("labels") or {}
    prefix = "node-role.kubernetes.io/"
    roles = {k.removeprefix(prefix) for k in labels if k.startswith(prefix) and k != prefix}
    roles |= {v for k, v in labels.items() if k == "kubernetes.io/role" and v}
    return ",".join(sorted(roles)) or NONE


def _node(node: Object, now: float) -> list[Any]:
    status = _part(node, "status")
    info = _part(status, "nodeInfo")
    addresses = {a.get("type"): a.get("address") for a in status.get("addresses") or ()}
    return [
        _name(node),
        _node_status(node),
        _node_roles(node),
        _age(node, now),
        info.get("kubeletVersion") or "",
        addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE,
        info.get("osImage") or UNKNOWN,
        info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _namespace(namespace: Object, now: float) -> list[Any]:
    return [_name(namespace), _part(namespace, "status").get("phase", ""), _age(namespace, now)]


def _event_seen(event: Object, now: float) -> tuple[str, str, int]:
    """First seen, last seen, count."""
    first = since(event.get("firstTimestamp"), now)
    if not event.get("firstTimestamp"):
        first = since(event.get("eventTime"), now)
    last = since(event.get("lastTimestamp"), now) if event.get("lastTimestamp") else first
    count = event.get("count", 0)
    series = event.get("series")
    if isinstance(series, dict):
        return first, since(series.get("lastObservedTime"), now), series.get("count", 0)
    return first, last, count or 1


def _event(event: Object, now: float) -> list[Any]:
    about, source = _part(event, "involvedObject"), _part(event, "source")
    first, last, count = _event_seen(event, now)
    component = source.get("component") or event.get("reportingComponent") or ""
    host = source.get("host") or event.get("reportingInstance") or ""
    target = f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}" if about.get("name") else ""
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        target or str(about.get("kind", "")).lower(),
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        str(event.get("message", "")).strip(),
        first,
        count,
        _name(event),
    ]


def _claim_state(claim: Object) -> str:
    """resourceClaimState."""
    status = _part(claim, "status")
    deleted = bool(claim["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is None:  # an allocation without any field is one
        states += [] if deleted else ["pending"]
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states)


def _claim(claim: Object, now: float) -> list[Any]:
    spec = _part(claim, "spec")
    class_name, mode = spec.get("resourceClassName", ""), spec.get("allocationMode", "")
    return [_name(claim), class_name, mode, _claim_state(claim), _age(claim, now)]


def _template(template: Object, now: float) -> list[Any]:
    spec = _part(_part(template, "spec"), "spec")
    return [_name(template), spec.get("resourceClassName", ""), spec.get("allocationMode", ""), _age(template, now)]


def _only_name(obj: Object, now: float) -> list[Any]:
    return [_name(obj), _age(obj, now)]


def _slice(item: Object, now: float) -> list[Any]:
    spec = _part(item, "spec")
    where = spec.get("nodeName") or ("<AllNodes>" if spec.get("allNodes") else "<ByNodeSelector>")
    return [_name(item), where, spec.get("driver", ""), _part(spec, "pool").get("name", ""), _age(item, now)]


def _device_claim(claim: Object, now: float) -> list[Any]:
    return [_name(claim), _claim_state(claim), _age(claim, now)]


PRINTERS: Final[dict[str, Printer]] = {
    "pods": Printer(
        (
            _NAME,
            Column("Ready"),
            Column("Status"),
            Column("Restarts"),
            _AGE,
            _wide("IP"),
            _wide("Node"),
            _wide("Nominated Node"),
            _wide("Readiness Gates"),
        ),
        _pod,
    ),
    "nodes": Printer(
        (
            _NAME,
            Column("Status"),
            Column("Roles"),
            _AGE,
            Column("Version"),
            _wide("Internal-IP"),
            _wide("External-IP"),
            _wide("OS-Image"),
            _wide("Kernel-Version"),
            _wide("Container-Runtime"),
        ),
        _node,
    ),
    "namespaces": Printer((_NAME, Column("Status"), _AGE), _namespace),
    "events": Printer(
        (
            Column("Last Seen"),
            Column("Type"),
            Column("Reason"),
            Column("Object"),
            _wide("Subobject"),
            _wide("Source"),
            Column("Message"),
            _wide("First Seen"),
            _wide("Count", "integer"),
            Column("Name", priority=1, format="name"),
        ),
        _event,
    ),
    "resourceclaims": Printer(
        (_NAME, Column("ResourceClassName"), Column("AllocationMode"), Column("State"), _AGE), _claim
    ),
    "resourceclasses": Printer(
        (_NAME, Column("DriverName"), _AGE), lambda obj, now: [_name(obj), obj.get("driverName", ""), _age(obj, now)]
    ),
    "deviceclasses": Printer((_NAME, _AGE), _only_name),
    "resourceslices": Printer((_NAME, Column("Node"), Column("Driver"), Column("Pool"), _AGE), _slice),
    "resourceclaimtemplates": Printer((_NAME, Column("ResourceClassName"), Column("AllocationMode"), _AGE), _template),
    "podschedulingcontexts": Printer(
        (_NAME, Column("SelectedNode"), _AGE),
        lambda obj, now: [_name(obj), _part(obj, "spec").get("selectedNode", ""), _age(obj, now)],
    ),
}

DEFAULT: Final = Printer(
    (_NAME, Column("Created At")), lambda obj, _: [_name(obj), obj["metadata"].get("creationTimestamp")]
)

# With structured parameters these have other columns.
STRUCTURED: Final[dict[str, Printer]] = {
    "resourceclaims": Printer((_NAME, Column("State"), _AGE), _device_claim),
    "resourceclaimtemplates": Printer((_NAME, _AGE), _only_name),
}


def printer(plural: str, *, structured: bool) -> Printer:
    return (STRUCTURED.get(plural) if structured else None) or PRINTERS.get(plural, DEFAULT)
