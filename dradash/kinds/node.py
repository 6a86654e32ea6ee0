"""core/v1 Node and Namespace, as far as scheduling reads them."""

from __future__ import annotations

from dradash.kinds.meta import KubeObject, KubeStruct


class Taint(KubeStruct, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(KubeStruct, frozen=True, kw_only=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(KubeStruct, frozen=True, kw_only=True):
    allocatable: dict[str, str | int | float] = {}  # quantities


class Node(KubeObject, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(KubeObject, frozen=True, kw_only=True):
    pass
