"""Types of the core kinds' fields that the simulator reads beside those that the structs in kinds/ know."""

from __future__ import annotations

from typing import Any, Final

from dradash.kinds.meta import Int64, KubeObject, KubeStruct
from dradash.kinds.registry import decode

Quantities = dict[str, str | int | float]


class _Resources(KubeStruct, frozen=True, kw_only=True):
    limits: Quantities = {}
    requests: Quantities = {}


class _Container(KubeStruct, frozen=True, kw_only=True):
    image: str = ""
    resources: _Resources = _Resources()


class _ReadinessGate(KubeStruct, frozen=True, kw_only=True):
    condition_type: str = ""


class _PodSpec(KubeStruct, frozen=True, kw_only=True):
    containers: tuple[_Container, ...] = ()
    init_containers: tuple[_Container, ...] = ()
    readiness_gates: tuple[_ReadinessGate, ...] = ()


class _Phase(KubeStruct, frozen=True, kw_only=True):
    reason: str = ""


class _ContainerStatus(KubeStruct, frozen=True, kw_only=True):
    ready: bool = False
    restart_count: Int64 = 0
    state: dict[str, _Phase] = {}


class _PodStatus(KubeStruct, frozen=True, kw_only=True):
    reason: str = ""
    container_statuses: tuple[_ContainerStatus, ...] = ()
    pod_ip: str = ""
    nominated_node_name: str = ""


class _Pod(KubeObject, frozen=True, kw_only=True):
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class _Address(KubeStruct, frozen=True, kw_only=True):
    type: str = ""
    address: str = ""


class _NodeStatus(KubeStruct, frozen=True, kw_only=True):
    addresses: tuple[_Address, ...] = ()


class _Node(KubeObject, frozen=True, kw_only=True):
    status: _NodeStatus = _NodeStatus()


class _NamespaceStatus(KubeStruct, frozen=True, kw_only=True):
    phase: str = ""


class _Namespace(KubeObject, frozen=True, kw_only=True):
    spec: dict[str, Any] = {}
    status: _NamespaceStatus = _NamespaceStatus()


class _EventSource(KubeStruct, frozen=True, kw_only=True):
    component: str = ""
    host: str = ""


class _Event(KubeObject, frozen=True, kw_only=True):
    source: _EventSource = _EventSource()


_SHAPES: Final[dict[str, type[KubeObject]]] = {"pods": _Pod, "nodes": _Node, "namespaces": _Namespace, "events": _Event}


def check(plural: str, obj: dict[str, Any]) -> None:
    """Raises MalformedObject."""
    if plural in _SHAPES:
        decode(_SHAPES[plural], obj)
