"""Scenarios in which something is wrong with devices: taints, lost and doubled devices, broken pools and bindings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dradash.kinds.deviceclaim import FINALIZER, MAX_RESERVED_FOR
from dradash.kinds.node import Node
from dradash.sim.apiserver import APIServer
from dradash.sim.devicedrivers import Publisher
from dradash.sim.scenarios.deviceobjects import DRA, device, device_claim, device_pod, exactly
from dradash.sim.scenarios.model import WATCHED, Action, Object, Scenario, Step, create, delete, place
from dradash.sim.scenarios.structured import ATTACHED, CLASS, DRIVER, GPU_CLASS, gpus, model_is, pod_at, scenario
from dradash.sim.workloads import RUN_SECONDS

FAILED: Final = "gpu.example.com/attach-failed"
LOST: Final = {"key": "gpu.example.com/lost", "value": "xid-79", "effect": "NoExecute"}


def _change(slice_name: str, change: Callable[[list[Object]], list[Object]]) -> Action:
    """The driver publishes other devices, as a new generation of its pool."""

    def do(server: APIServer) -> None:
        item = server.get("resourceslices", slice_name)
        item["spec"]["devices"] = change(item["spec"]["devices"])
        item["spec"]["pool"]["generation"] += 1
        server.update("resourceslices", item, field_manager=DRIVER)

    return do


def evicted(_seed: int) -> Scenario:
    """All GPUs of node-2 are lost: who does not tolerate that is evicted at once, who does for a while then, one stays.

    A driver taints them; each pod has one of them.
    """

    def tolerating(name: str, *tolerations: Object) -> Object:
        more = {"tolerations": list(tolerations)} if tolerations else {}
        return device_claim("team-a", name, exactly("gpu", CLASS, **more))

    # Only tolerations that name the effect count for the controller.
    always: Object = {"key": LOST["key"], "operator": "Exists", "effect": "NoExecute"}
    claims = (
        tolerating("evicted"),
        tolerating("later", {**always, "tolerationSeconds": 20}),
        tolerating("stays", always),
    )
    names = ("evicted", "later", "stays")
    publisher = Publisher(driver=DRIVER, devices=lambda item: gpus(item) if item.name == "node-2" else None)
    taint = _change(f"node-2-{DRIVER}", lambda devices: [{**d, "taints": [LOST]} for d in devices])
    return scenario(
        GPU_CLASS,
        *claims,
        publisher=publisher,
        script=(*(pod_at(0.5 + 0.5 * i, name, gpu=name) for i, name in enumerate(names)), Step(WATCHED, taint)),
    )


def binding_fails(_seed: int) -> Scenario:
    """The fabric cannot attach what the claim got: the scheduler gives it up and tries again, in vain."""

    def devices(item: Node) -> list[Object] | None:
        made = gpus(item)
        for each in made or ():
            each |= {"bindsToNode": True, "bindingConditions": [ATTACHED], "bindingFailureConditions": [FAILED]}
        return made

    publisher = Publisher(driver=DRIVER, devices=devices, attaches=lambda _result: None, breaks=lambda _result: 3.0)
    made = device_claim("team-a", "gpu-1", exactly("gpu", CLASS))
    return scenario(GPU_CLASS, made, publisher=publisher, script=(pod_at(0.5, "train-0", gpu="gpu-1"),))


def _held(claim: Object, node: str, device_name: str, pods: list[str]) -> Action:
    """The claim as it is long after its allocation, with pods that run; the scheduler had no part in it."""

    def do(server: APIServer) -> None:
        ns, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        reserved = []
        for pod in pods:
            made = device_pod(ns, pod, claims={"gpu": name})
            made["spec"]["nodeName"] = node
            uid = server.create("pods", made, ns, "scenario")["metadata"]["uid"]
            reserved.append({"resource": "pods", "name": pod, "uid": uid})
        result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": device_name}
        only = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation: Object = {
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [only]}]},
            "allocationTimestamp": server.now(),
        }
        metadata = {**claim["metadata"], "finalizers": [FINALIZER]}
        place(server, {**claim, "metadata": metadata, "status": {"allocation": allocation, "reservedFor": reserved}})

    return do


def _one(name: str) -> Object:
    return device_claim("team-a", name, exactly("gpu", CLASS))


def reserved_for_full(_seed: int) -> Scenario:
    """256 pods share a claim; the next one is too much, until one of them is gone."""
    users = [f"user-{i}" for i in range(MAX_RESERVED_FOR)]
    return scenario(
        GPU_CLASS,
        script=(
            Step(0.2, _held(_one("shared"), "node-0", "gpu-0", users)),
            pod_at(WATCHED, "one-more", gpu="shared"),
            Step(120.0, delete("pods", "user-0", "team-a")),
        ),
    )


def device_vanishes(_seed: int) -> Scenario:
    """The GPU that a running pod has is published no more."""
    lose = _change(f"node-2-{DRIVER}", lambda devices: devices[1:])
    made = device_claim("team-a", "gpu-1", exactly("gpu", CLASS, model_is("h100")))
    on_node_2 = device_pod("team-a", "train-0", claims={"gpu": "gpu-1"}, selects={"kubernetes.io/hostname": "node-2"})
    return scenario(GPU_CLASS, made, script=(Step(0.5, create(on_node_2)), Step(WATCHED, lose)))


def allocated_twice(_seed: int) -> Scenario:
    """Somebody wrote the status of two claims, both with the same GPU."""
    return scenario(
        GPU_CLASS,
        script=tuple(Step(0.5 + i, _held(_one(f"gpu-{i}"), "node-2", "gpu-0", [f"train-{i}"])) for i in range(2)),
    )


def _second_slice(node: str, generation: int, devices: list[Object]) -> Object:
    pool = {"name": node, "generation": generation, "resourceSliceCount": 2}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": f"{node}-second"}, "spec": spec}


def invalid_pool(_seed: int) -> Scenario:
    """A device name twice in the pool of node-2; of node-3's new generation one slice of two has come."""
    doubled = _second_slice("node-2", 1, [device("gpu-0", {"model": "h100"}, memory="80Gi")])
    newer = _second_slice("node-3", 2, [device("gpu-4", {"model": "h100"}, memory="80Gi")])
    publisher = Publisher(driver=DRIVER, devices=gpus, slices={"node-2": 2})
    claims = (
        device_claim("team-a", "one", exactly("gpu", CLASS, model_is("h100"))),
        device_claim("team-a", "other", exactly("gpu", CLASS, model_is("a100"))),
    )
    return scenario(
        GPU_CLASS,
        *claims,
        doubled,
        newer,
        publisher=publisher,
        script=(pod_at(0.5, "waits", gpu="one"), pod_at(1.0, "runs", gpu="other")),
    )


def unprepare_fails(_seed: int) -> Scenario:
    """A pod is done, and the driver cannot unprepare its GPUs: it does not end, and the next one waits."""
    publisher = Publisher(driver=DRIVER, devices=lambda item: gpus(item) if item.name == "node-2" else None, keeps=True)
    claims = tuple(device_claim("team-a", f"all-{i}", exactly("gpus", CLASS, count=4)) for i in range(2))
    done = device_pod("team-a", "done", claims={"gpus": "all-0"})
    done["metadata"]["annotations"] = {RUN_SECONDS: "5"}
    return scenario(
        GPU_CLASS,
        *claims,
        publisher=publisher,
        script=(Step(0.5, create(done)), pod_at(10.0, "next", gpus="all-1")),
    )
