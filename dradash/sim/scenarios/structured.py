"""Scenarios with structured parameters (resource.k8s.io/v1): six nodes, four of them with GPUs."""

from __future__ import annotations

from typing import Final

from dradash.kinds.node import Node
from dradash.kinds.registry import STRUCTURED
from dradash.sim.devicedrivers import Publisher
from dradash.sim.scenarios.deviceobjects import (
    asked,
    device,
    device_claim,
    device_class,
    device_pod,
    device_template,
    exactly,
    first_available,
)
from dradash.sim.scenarios.model import WATCHED, Object, Scenario, Step, create, delete
from dradash.sim.scenarios.objects import namespace, node
from dradash.sim.workloads import Stream

DRIVER: Final = "gpu.example.com"
CLASS: Final = "gpu.example.com"
MODEL: Final = "accelerator"
VERSIONS: Final = STRUCTURED[:1]
ATTACHED: Final = "gpu.example.com/attached"
BROKEN: Final = {"key": "gpu.example.com/unhealthy", "value": "ecc", "effect": "NoSchedule"}
_MEMORY: Final = {"a100": "40Gi", "h100": "80Gi"}


def model_is(*names: str) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f'device.attributes["{DRIVER}"].model in [{listed}]'


def gpus(item: Node, taints: tuple[dict[str, str], ...] = ()) -> list[Object] | None:
    model = item.metadata.labels.get(MODEL, "")
    if not model:
        return None
    return [
        device(f"gpu-{i}", {"model": model, "index": i, "numa": i // 2}, memory=_MEMORY[model], taints=taints)
        for i in range(4)
    ]


GPUS: Final = Publisher(driver=DRIVER, devices=gpus)


def world(*more: Object) -> tuple[Object, ...]:
    """node-0 and node-1 have four a100 each, node-2 and node-3 four h100, the others nothing."""
    models = ["a100", "a100", "h100", "h100", "", ""]
    nodes = [node(f"node-{i}", f"zone-{'ab'[i % 2]}", {MODEL: m} if m else {}) for i, m in enumerate(models)]
    return (namespace("team-a"), namespace("team-b"), *nodes, *more)


GPU_CLASS: Final = device_class(CLASS, f'device.driver == "{DRIVER}"')


def scenario(*objects: Object, script: tuple[Step, ...], publisher: Publisher = GPUS) -> Scenario:
    return Scenario(objects=world(*objects), versions=VERSIONS, publishers=(publisher,), script=script)


def pod_at(at: float, name: str, **claims: str) -> Step:
    return Step(at, create(device_pod("team-a", name, claims=claims)))


def single(_seed: int) -> Scenario:
    """One pod, one GPU; others come, run and go, and leave their GPUs behind."""
    template = device_template("team-b", "gpu", exactly("gpu", CLASS))
    pair = device_template("team-b", "pair", exactly("gpus", CLASS, count=2), match=f"{DRIVER}/numa")
    made = device_claim("team-a", "gpu-1", exactly("gpu", CLASS))
    streams = tuple(
        Stream(
            name=name,
            make=lambda pod_name, name=name: device_pod("team-b", pod_name, templates={"gpu": name}),  # type: ignore[misc]
            every=6.0,
            most=4,
            runs=(10.0, 30.0),
        )
        for name in ("gpu", "pair")
    )
    return Scenario(
        objects=world(GPU_CLASS, template, pair, made),
        versions=VERSIONS,
        publishers=(GPUS,),
        script=(pod_at(0.5, "train-0", gpu="gpu-1"),),
        streams=streams,
    )


def selector_matches_nothing(_seed: int) -> Scenario:
    """The claim asks for a model that no node has, another one misspells an attribute."""
    wrong = device_claim("team-a", "b200", exactly("gpu", CLASS, model_is("b200")))
    typo = device_claim("team-a", "typo", exactly("gpu", CLASS, f'device.attributes["{DRIVER}"].modle == "h100"'))
    return scenario(
        GPU_CLASS, wrong, typo, script=(pod_at(0.5, "wants-b200", gpu="b200"), pod_at(1.0, "misspelt", gpu="typo"))
    )


def all_in_use(_seed: int) -> Scenario:
    """Two pods hold all h100; the third waits until the first is gone, after half a minute."""
    every = exactly("gpu", CLASS, model_is("h100"), count=4)
    claims = (
        *(device_claim("team-a", f"h100-{i}", every) for i in range(2)),
        device_claim("team-a", "h100-2", exactly("gpu", CLASS, model_is("h100"))),
    )
    return scenario(
        GPU_CLASS,
        *claims,
        script=(
            pod_at(1.0, "first", gpu="h100-0"),
            pod_at(1.5, "second", gpu="h100-1"),
            pod_at(5.0, "third", gpu="h100-2"),
            Step(35.0, delete("pods", "first", "team-a")),
        ),
    )


def tainted(_seed: int) -> Scenario:
    """All GPUs are tainted; the pod whose claim tolerates it runs, the other one waits."""
    key = BROKEN["key"]
    claims = (
        device_claim("team-a", "careful", exactly("gpu", CLASS)),
        device_claim("team-a", "brave", exactly("gpu", CLASS, tolerates=(key,))),
    )
    publisher = Publisher(driver=DRIVER, devices=lambda item: gpus(item, (BROKEN,)))
    return scenario(
        GPU_CLASS,
        *claims,
        publisher=publisher,
        script=(pod_at(0.5, "careful", gpu="careful"), pod_at(1.0, "brave", gpu="brave")),
    )


def taint_rule(_seed: int) -> Scenario:
    """A rule drains node-2: one pod goes at once, one after ten seconds, one stays; a fourth waits until it is over."""
    key = "example.com/maintenance"
    wanted = model_is("h100")
    patient = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}
    stays = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    requests = {
        "plain": exactly("gpu", CLASS, wanted),
        "patient": exactly("gpu", CLASS, wanted),
        "stays": exactly("gpu", CLASS, wanted),
        "late": exactly("gpu", CLASS, wanted, count=4),
    }
    for name, toleration in (("patient", patient), ("stays", stays)):
        requests[name]["exactly"]["tolerations"] = [toleration]
    claims = [device_claim("team-a", name, request) for name, request in requests.items()]
    pods = [device_pod("team-a", name, claims={"gpu": name}) for name in requests]
    for pod in pods[:3]:
        pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node-2"}
    made: Object = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "drain-node-2"},
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": "node-2"},
            "taint": {"key": key, "value": "planned", "effect": "NoExecute"},
        },
    }
    full = device_claim("team-a", "full", exactly("gpu", CLASS, wanted, count=4))
    filler = device_pod("team-a", "full", claims={"gpu": "full"})
    filler["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "node-3"}
    return Scenario(
        objects=world(GPU_CLASS, full, *claims),
        versions=("v1", "v1beta2"),
        publishers=(GPUS,),
        script=(
            Step(0.5, create(filler, *pods[:3])),
            Step(WATCHED, create(made)),
            Step(WATCHED + 15.0, create(pods[3])),
            Step(WATCHED + 25.0, delete("pods", "stays", "team-a")),
            Step(WATCHED + 35.0, delete("devicetaintrules", "drain-node-2")),
        ),
    )


def incomplete_pool(_seed: int) -> Scenario:
    """The pools of the h100 are said to have two slices, of which one never comes."""
    claims = (
        device_claim("team-a", "one", exactly("gpu", CLASS, model_is("h100"))),
        device_claim("team-a", "other", exactly("gpu", CLASS, model_is("a100"))),
    )
    publisher = Publisher(driver=DRIVER, devices=gpus, slices={"node-2": 2, "node-3": 2})
    return scenario(
        GPU_CLASS,
        *claims,
        publisher=publisher,
        script=(pod_at(0.5, "waits", gpu="one"), pod_at(1.0, "runs", gpu="other")),
    )


def class_missing(_seed: int) -> Scenario:
    """The class comes after half a minute."""
    made = device_claim("team-a", "gpu-1", exactly("gpu", CLASS))
    return scenario(made, script=(pod_at(0.5, "train-0", gpu="gpu-1"), Step(30.0, create(GPU_CLASS))))


def prioritized(_seed: int) -> Scenario:
    """Rather eight b200, else two h100, else one a100: four pods get the second, the fifth the last."""
    wanted = first_available(
        "gpu",
        {
            "best": asked(CLASS, model_is("b200"), count=8),
            "good": asked(CLASS, model_is("h100"), count=2),
            "enough": asked(CLASS, model_is("a100")),
        },
    )
    claims = tuple(device_claim("team-a", f"gpu-{i}", wanted) for i in range(5))
    script = tuple(pod_at(0.5 + i, f"train-{i}", gpu=f"gpu-{i}") for i in range(5))
    return scenario(GPU_CLASS, *claims, script=script)


def extended_resource(_seed: int) -> Scenario:
    """Pods that request a resource by its name alone and get a device for it; the ninth waits for good."""
    behind = device_class(CLASS, f'device.driver == "{DRIVER}"', model_is("h100"))
    behind["spec"]["extendedResourceName"] = "example.com/gpu"

    def asking(name: str) -> Object:
        made = device_pod("team-a", name)
        made["spec"]["containers"][0]["resources"] = {"requests": {"example.com/gpu": "1"}}
        return made

    return scenario(behind, script=tuple(Step(0.5 + i, create(asking(f"train-{i}"))) for i in range(9)))


def binding_conditions(_seed: int) -> Scenario:
    """Devices that a fabric attaches to the node before the pod is bound: one is attached, the other one never."""

    def devices(item: Node) -> list[Object] | None:
        made = gpus(item)
        for each in made or ():
            each |= {"bindsToNode": True, "bindingConditions": [ATTACHED], "bindingFailureConditions": ["Failed"]}
        return made

    claims = (
        device_claim("team-a", "quick", exactly("gpu", CLASS, model_is("a100"))),
        device_claim("team-a", "never", exactly("gpu", CLASS, model_is("h100"))),
    )
    publisher = Publisher(
        driver=DRIVER, devices=devices, attaches=lambda result: 3.0 if result.pool in ("node-0", "node-1") else None
    )
    return scenario(
        GPU_CLASS,
        *claims,
        publisher=publisher,
        script=(pod_at(0.5, "waits", gpu="never"), pod_at(WATCHED, "attached", gpu="quick")),
    )


def partitions(_seed: int) -> Scenario:
    """A GPU in partitions that share its memory: three halves are asked for, there are two."""

    def devices(item: Node) -> list[Object] | None:
        if item.name != "node-2":
            return None
        sizes = {"whole": 80, "half-0": 40, "half-1": 40}
        return [
            device(name, {"model": "h100", "profile": name.partition("-")[0]})
            | {"consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": f"{size}Gi"}}}]}
            for name, size in sizes.items()
        ]

    counters = [{"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}]
    publisher = Publisher(driver=DRIVER, devices=devices, shared_counters=counters)
    half = f'device.attributes["{DRIVER}"].profile == "half"'
    claims = tuple(device_claim("team-a", f"half-{i}", exactly("gpu", CLASS, half)) for i in range(3))
    script = tuple(pod_at(0.5 + i, f"train-{i}", gpu=f"half-{i}") for i in range(3))
    return scenario(GPU_CLASS, *claims, publisher=publisher, script=script)


def prepare_fails(_seed: int) -> Scenario:
    """The pod is bound, and the driver cannot prepare its GPU."""
    made = device_claim("team-a", "gpu-1", exactly("gpu", CLASS))
    publisher = Publisher(driver=DRIVER, devices=gpus, fails=True)
    return scenario(GPU_CLASS, made, publisher=publisher, script=(pod_at(0.5, "train-0", gpu="gpu-1"),))
