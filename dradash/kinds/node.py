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


class NodeCondition(KubeStruct, frozen=True, kw_only=True):
    """Without the heartbeat, which says nothing new."""

    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class NodeSystemInfo(KubeStruct, frozen=True, kw_only=True):
    kubelet_version: str = ""


class NodeStatus(KubeStruct, frozen=True, kw_only=True):
    """capacity, allocatable: quantities."""

    capacity: dict[str, str | int | float] = {}
    allocatable: dict[str, str | int | float] = {}
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(KubeObject, frozen=True, kw_only=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(KubeObject, frozen=True, kw_only=True):
    pass
