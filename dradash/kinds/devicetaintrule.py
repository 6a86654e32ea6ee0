"""resource.k8s.io DeviceTaintRule: a taint put on devices by an administrator. Off by default in Kubernetes 1.36."""

from __future__ import annotations

from dradash.kinds.meta import KubeObject, KubeStruct
from dradash.kinds.resourceslice import DeviceTaint


class DeviceTaintSelector(KubeStruct, frozen=True, kw_only=True):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(KubeStruct, frozen=True, kw_only=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(KubeObject, frozen=True, kw_only=True):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
