"""Objects of structured parameters for tests: slices, device classes and claims as resource.k8s.io/v1 has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tests import build
from tests.build import Obj

V1: Final = "resource.k8s.io/v1"
DRIVER: Final = "gpu.example.com"


def device(name: str, model: str = "a100", **fields: Any) -> Obj:
    return {"name": name, "attributes": {"model": {"string": model}}, **fields}


def resource_slice(
    *devices: Obj,
    node: str = "node-0",
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    name: str = "",
    driver: str = DRIVER,
    **spec: Any,
) -> Obj:
    """A slice of the node's pool. spec: nodeSelector, allNodes ... in place of the node; sharedCounters."""
    where: Obj = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & set(spec) else {"nodeName": node}
    pool = pool or node
    body = {"driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": count}}
    return {
        "apiVersion": V1,
        "kind": "ResourceSlice",
        "metadata": build.meta(name or f"{pool.replace('/', '-')}-{driver}"),
        "spec": body | where | ({"devices": list(devices)} if devices else {}) | spec,
    }


def device_class(name: str = "gpu", *selectors: str, **spec: Any) -> Obj:
    chosen = {"selectors": [{"cel": {"expression": e}} for e in selectors]} if selectors else {}
    return {"apiVersion": V1, "kind": "DeviceClass", "metadata": build.meta(name), "spec": chosen | spec}


def request(name: str = "gpu", device_class: str = "gpu", count: int = 1, selectors: Iterable[str] = ()) -> Obj:
    return {"name": name, "exactly": exactly(device_class, count, selectors)}


def exactly(device_class: str = "gpu", count: int = 1, selectors: Iterable[str] = ()) -> Obj:
    chosen = [{"cel": {"expression": e}} for e in selectors]
    asked = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return asked | ({"selectors": chosen} if chosen else {})


def result(name: str, *, pool: str = "node-0", driver: str = DRIVER, request: str = "gpu", **more: Any) -> Obj:
    """A device that was chosen."""
    return {"request": request, "driver": driver, "pool": pool, "device": name, **more}


def claim(
    name: str = "claim",
    ns: str = "default",
    *requests: Obj,
    devices: Sequence[Obj] = (),
    on: Obj | None = None,
    reserved_for: Iterable[Obj] = (),
    status: Obj | None = None,
    spec: Obj | None = None,
    **metadata: Any,
) -> Obj:
    """A claim; allocated where `devices` (results) are given. on: its node selector. status, spec: come on top."""
    told: Obj = dict(status or {})
    if devices:
        told["allocation"] = {"devices": {"results": list(devices)}} | ({"nodeSelector": on} if on else {})
    reserved = [build.consumer(p) for p in reserved_for]
    if reserved:
        told["reservedFor"] = reserved
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": build.meta(name, ns, **metadata),
        "spec": {"devices": {"requests": list(requests or [request()])} | (spec or {})},
        "status": told,
    }


def taint_rule(name: str, effect: str = "NoExecute", cel: Iterable[str] = (), **selector: str) -> Obj:
    """A DeviceTaintRule for devices of this driver, pool and name; without any of them for all.

    cel, deviceClassName: in v1alpha3 of 1.33 and 1.34.
    """
    chosen = [{"cel": {"expression": e}} for e in cel]
    taint = {"key": "maintenance", "value": "planned", "effect": effect, "timeAdded": build.CREATED}
    return {
        "apiVersion": "resource.k8s.io/v1alpha3" if cel or "deviceClassName" in selector else "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": build.meta(name),
        "spec": {"deviceSelector": selector | ({"selectors": chosen} if chosen else {}), "taint": taint},
    }
