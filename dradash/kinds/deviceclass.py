"""resource.k8s.io/v1 DeviceClass: a named set of selectors and configuration that requests refer to."""

from __future__ import annotations

from typing import Any

from dradash.kinds.deviceclaim import DeviceSelector
from dradash.kinds.meta import KubeObject, KubeStruct


class DeviceClassConfiguration(KubeStruct, frozen=True, kw_only=True):
    opaque: dict[str, Any] | None = None


class DeviceClassSpec(KubeStruct, frozen=True, kw_only=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(KubeObject, frozen=True, kw_only=True):
    spec: DeviceClassSpec = DeviceClassSpec()
