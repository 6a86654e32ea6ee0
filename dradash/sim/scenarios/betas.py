"""Clusters that serve no v1 of structured parameters: the same objects in the shape of a beta version."""

from __future__ import annotations

from dradash.sim.scenarios.deviceobjects import device_claim, device_pod, device_template, exactly
from dradash.sim.scenarios.model import Scenario, Step, create, delete
from dradash.sim.scenarios.structured import CLASS, DRIVER, GPU_CLASS, GPUS, model_is, pod_at, world


def v1beta1(_seed: int) -> Scenario:
    """As of 1.32: one pod runs, one from a template too, one finds no device, and one waits until another is gone."""
    return _beta("v1beta1")


def v1beta2(_seed: int) -> Scenario:
    return _beta("v1beta2")


def _beta(version: str) -> Scenario:
    h100 = exactly("gpus", CLASS, model_is("h100"), count=4)
    claims = (
        device_claim("team-a", "gpu-1", exactly("gpu", CLASS)),
        device_claim("team-a", "b200", exactly("gpu", CLASS, model_is("b200"))),
        *(device_claim("team-a", f"h100-{i}", h100) for i in range(3)),
    )
    pair = device_template("team-a", "pair", exactly("gpus", CLASS, count=2), match=f"{DRIVER}/numa")
    return Scenario(
        objects=world(GPU_CLASS, pair, *claims),
        versions=(version,),
        publishers=(GPUS,),
        script=(
            pod_at(0.5, "wants-b200", gpu="b200"),
            pod_at(1.0, "first", gpus="h100-0"),
            pod_at(1.5, "second", gpus="h100-1"),
            Step(5.0, create(device_pod("team-a", "from-template", templates={"gpus": "pair"}))),
            pod_at(6.0, "train-0", gpu="gpu-1"),
            pod_at(7.0, "third", gpus="h100-2"),
            Step(35.0, delete("pods", "first", "team-a")),
        ),
    )
