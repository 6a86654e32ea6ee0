"""A cluster that serves both generations of DRA: each pod is judged by the generation of its claims."""

from __future__ import annotations

from dradash.kinds.registry import CLASSIC
from dradash.sim.scenarios.deviceobjects import device_claim, device_pod, exactly
from dradash.sim.scenarios.model import Scenario, Step, create
from dradash.sim.scenarios.objects import claim, pod, resource_class, selector
from dradash.sim.scenarios.small import GPU as CLASSIC_GPU
from dradash.sim.scenarios.structured import CLASS, GPU_CLASS, GPUS, MODEL, VERSIONS, world


def both(_seed: int) -> Scenario:
    """One pod with a claim of v1alpha2, one with a claim of v1, and one with both, which no scheduler can place."""
    claims = (
        claim("team-a", "old", "classic.example.com"),
        claim("team-a", "old-too", "classic.example.com"),
        device_claim("team-a", "new", exactly("gpu", CLASS)),
        device_claim("team-a", "new-too", exactly("gpu", CLASS)),
    )
    classic = resource_class("classic.example.com", CLASSIC_GPU.driver, selector(MODEL))
    return Scenario(
        objects=world(GPU_CLASS, classic, *claims),
        versions=(*VERSIONS, CLASSIC),
        drivers=(CLASSIC_GPU,),
        publishers=(GPUS,),
        script=(
            Step(0.5, create(pod("team-a", "classic", claims={"gpu": "old"}))),
            Step(1.0, create(device_pod("team-a", "structured", claims={"gpu": "new"}))),
            Step(1.5, create(device_pod("team-a", "mixed", claims={"old": "old-too", "new": "new-too"}))),
        ),
    )
