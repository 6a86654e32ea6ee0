"""resource.k8s.io/v1alpha2 ResourceClass."""

from __future__ import annotations

from dradash.kinds.claim import ParametersReference
from dradash.kinds.meta import KubeObject
from dradash.kinds.selectors import NodeSelector


class ResourceClass(KubeObject, frozen=True, kw_only=True):
    driver_name: str = ""
    parameters_ref: ParametersReference | None = None
    suitable_nodes: NodeSelector | None = None
