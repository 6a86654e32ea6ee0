"""Objects with structured parameters, as tests of the funnel, its page and its API want them; a scene made of them."""

from __future__ import annotations

from typing import Any

from tests import build
from tests.scene import Scene

Raw = dict[str, Any]
DRIVER = "gpu.example.com"


def model(value: str) -> str:
    return f'device.attributes["{DRIVER}"].model == "{value}"'


def selectors(*expressions: str) -> list[Raw]:
    return [{"cel": {"expression": e}} for e in expressions]


def request(name: str = "gpus", count: int = 1, **fields: Any) -> Raw:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **fields}
    if exactly["allocationMode"] == "All":
        del exactly["count"]
    return {"name": name, "exactly": exactly}


def device(name: str, kind: str = "a100", numa: Any = None, **fields: Any) -> Raw:
    attributes: Raw = {"model": {"string": kind}} | ({} if numa is None else {"numa": {"int": numa}})
    return {"name": name, "attributes": attributes, **fields}


def pool(*devices: Raw, node: str = "node-0", name: str = "", suffix: str = "0", **spec: Any) -> Raw:
    pool_name = name or node
    of = {"name": pool_name, "generation": spec.pop("generation", 1), "resourceSliceCount": spec.pop("slices", 1)}
    where = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & set(spec) else {"nodeName": node}
    return kube(
        "ResourceSlice",
        f"{pool_name}-{suffix}",
        spec={"driver": DRIVER, "pool": of, "devices": list(devices), **where, **spec},
    )


def kube(kind: str, name: str, namespace: str = "", **more: Any) -> Raw:
    version = "v1" if kind in ("Pod", "Node") else "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": build.meta(name, namespace), **more}


def device_class(*expressions: str, name: str = "gpu") -> Raw:
    return kube("DeviceClass", name, spec={"selectors": selectors(*expressions)})


def holder(*devices: str, node: str = "node-0", name: str = "held", pod: str = "user", **result: Any) -> Raw:
    """A claim that holds these devices for a pod."""
    results = [{"request": "r", "driver": DRIVER, "pool": node, "device": d, **result} for d in devices]
    reserved = [{"resource": "pods", "name": pod, "uid": f"uid-team-{pod}"}] if pod else []
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": reserved}
    return kube("ResourceClaim", name, "team", spec={"devices": {"requests": [request("r")]}}, status=status)


def waiting_pod(*requests: Raw, name: str = "train", claim: str = "claim", **devices: Any) -> list[Raw]:
    """The pod team/train and its claim, which has these requests."""
    spec = {"devices": {"requests": list(requests), **devices}}
    return [
        kube("ResourceClaim", claim, "team", spec=spec),
        kube("Pod", name, "team", spec={"resourceClaims": [{"name": "c", "resourceClaimName": claim}]}),
    ]


def scene(nodes: int = 3) -> Scene:
    """team/train wants two h100, free of taints; each node has one, one tainted and one that team/user holds."""
    objects = [device_class(f'device.driver == "{DRIVER}"')]
    for i in range(nodes):
        taint = {"key": "broken", "value": "fan", "effect": "NoSchedule"}
        devices = [
            device("gpu-0", "h100"),
            device("gpu-1", "h100", taints=[taint]),
            device("gpu-2", "h100"),
            device("gpu-3", "a100"),
        ]
        objects += [build.node(f"node-{i}"), pool(*devices, node=f"node-{i}")]
        objects += [holder("gpu-2", node=f"node-{i}", name=f"held-{i}", pod=f"user-{i}")]
    wanted = request(count=2, selectors=selectors(f'device.driver == "{DRIVER}" && {model("h100")}'))
    return Scene(*objects, *waiting_pod(wanted))
