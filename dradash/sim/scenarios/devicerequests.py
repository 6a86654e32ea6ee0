"""Scenarios on what a claim may ask for: a share of a device, access as an administrator, devices that go together."""

from __future__ import annotations

from typing import Any, Final

from dradash.kinds.node import Node
from dradash.sim.apiserver import APIServer
from dradash.sim.devicedrivers import Publisher
from dradash.sim.lifecycle import ADMIN_ACCESS
from dradash.sim.scenarios.deviceobjects import device, device_claim, device_pod, exactly
from dradash.sim.scenarios.model import Object, Scenario, Step, create
from dradash.sim.scenarios.objects import namespace
from dradash.sim.scenarios.structured import CLASS, DRIVER, GPU_CLASS, model_is, pod_at, scenario

ADMINS: Final = "gpu-admins"
FORMER_ADMINS: Final = "former-admins"
_MERGE: Final = "application/merge-patch+json"


def shared_capacity(_seed: int) -> Scenario:
    """One GPU whose memory several pods share, in steps of 8Gi: 30Gi become 32Gi, so the third does not fit."""

    def devices(item: Node) -> list[Object] | None:
        if item.name != "node-2":
            return None
        policy: Object = {"default": "8Gi", "validRange": {"min": "8Gi", "max": "64Gi", "step": "8Gi"}}
        memory = {"value": "80Gi", "requestPolicy": policy}
        made = device("gpu-0", {"model": "h100"})
        return [made | {"allowMultipleAllocations": True, "capacity": {"memory": memory}}]

    def share(name: str, memory: str = "") -> Object:
        more: dict[str, Any] = {"capacity": {"requests": {"memory": memory}}} if memory else {}
        return device_claim("team-a", name, exactly("gpu", CLASS, **more))

    claims = (share("large-0", "30Gi"), share("large-1", "30Gi"), share("large-2", "30Gi"), share("default"))
    names = ("large-0", "large-1", "large-2", "default")
    return scenario(
        GPU_CLASS,
        *claims,
        share("too-large", "72Gi"),
        publisher=Publisher(driver=DRIVER, devices=devices),
        script=(
            *(pod_at(0.5 + i, name, gpu=name) for i, name in enumerate(names)),
            pod_at(5.0, "too-large", gpu="too-large"),
        ),
    )


def _monitor(ns: str) -> Object:
    """All h100 of a node, used by others or not."""
    return device_claim(ns, "monitor", exactly("gpus", CLASS, model_is("h100"), count=4, adminAccess=True))


def _labelled(name: str, value: str) -> Object:
    made = namespace(name)
    made["metadata"]["labels"] = {ADMIN_ACCESS: value}
    return made


def _unlabel(server: APIServer) -> None:
    server.patch("namespaces", FORMER_ADMINS, {"metadata": {"labels": {ADMIN_ACCESS: None}}}, _MERGE)


def admin_access(_seed: int) -> Scenario:
    """An administrator's pod gets devices that are in use; where the namespace lost its label, the write is refused."""
    busy = tuple(
        device_claim("team-a", f"h100-{i}", exactly("gpu", CLASS, model_is("h100"), count=4)) for i in range(2)
    )
    return scenario(
        GPU_CLASS,
        *busy,
        _labelled(ADMINS, "true"),
        _labelled(FORMER_ADMINS, "true"),
        _monitor(ADMINS),
        _monitor(FORMER_ADMINS),
        script=(
            pod_at(0.5, "first", gpu="h100-0"),
            pod_at(1.0, "second", gpu="h100-1"),
            Step(2.0, _unlabel),
            Step(5.0, create(device_pod(ADMINS, "monitor", claims={"gpus": "monitor"}))),
            Step(6.0, create(device_pod(FORMER_ADMINS, "monitor", claims={"gpus": "monitor"}))),
        ),
    )


def constraints_clash(_seed: int) -> Scenario:
    """Each NUMA node has two GPUs: three of one there are not, nor two models on one node; two of one there are."""
    match, distinct = f"{DRIVER}/numa", f"{DRIVER}/model"
    claims = (
        device_claim("team-a", "two-together", exactly("gpus", CLASS, count=2), match=match),
        device_claim("team-a", "three-together", exactly("gpus", CLASS, count=3), match=match),
        device_claim("team-a", "two-models", exactly("one", CLASS), exactly("other", CLASS), distinct=distinct),
    )
    names = ("two-together", "three-together", "two-models")
    return scenario(GPU_CLASS, *claims, script=tuple(pod_at(0.5 + i, n, gpu=n) for i, n in enumerate(names)))
