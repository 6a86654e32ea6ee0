"""Scenarios with one thing to see in each: six nodes, two namespaces, and the classes of the recorded cluster."""

from __future__ import annotations

from typing import Final

from dradash.sim.drivers import Behaviour
from dradash.sim.scenarios.model import WATCHED, Object, Scenario, Step, create, delete
from dradash.sim.scenarios.objects import (
    ZONE,
    allocated,
    claim,
    namespace,
    node,
    pod,
    resource_class,
    selector,
    template,
)

GPU: Final = Behaviour(driver="gpu.driver.example.com", per_node={"node-1": 0})
NIC: Final = Behaviour(driver="nic.driver.example.com")
FPGA: Final = Behaviour(driver="fpga.driver.example.com")
TPU: Final = Behaviour(driver="tpu.driver.example.com")


def world(*more: Object) -> tuple[Object, ...]:
    """Four nodes with an accelerator (node-1 has none free) and two without."""
    nodes = [node(f"node-{i}", f"zone-{'ab'[i % 2]}", {"accelerator": "a100"} if i < 4 else {}) for i in range(6)]
    classes = [
        resource_class("gpu.example.com", GPU.driver, selector("accelerator")),
        resource_class("nic.example.com", NIC.driver),
        resource_class("fpga.example.com", FPGA.driver),
    ]
    return (namespace("team-a"), namespace("team-b"), *nodes, *classes, *more)


def single_claim(_seed: int) -> Scenario:
    made = claim("team-a", "gpu-1", "gpu.example.com")
    return Scenario(
        objects=world(made),
        drivers=(GPU,),
        script=(Step(WATCHED, create(pod("team-a", "train-0", claims={"gpu": "gpu-1"}))),),
    )


def two_drivers(_seed: int) -> Scenario:
    templates = (template("team-a", "gpu-tmpl", "gpu.example.com"), template("team-a", "nic-tmpl", "nic.example.com"))
    both = pod("team-a", "train-2", templates={"gpu": "gpu-tmpl", "nic": "nic-tmpl"})
    return Scenario(objects=world(*templates), drivers=(GPU, NIC), script=(Step(WATCHED, create(both)),))


def slow_driver(_seed: int) -> Scenario:
    slow = Behaviour(driver=GPU.driver, answers_after=(12.0, 15.0), allocates_after=(4.0, 6.0))
    made = template("team-a", "gpu-tmpl", "gpu.example.com")
    return Scenario(
        objects=world(made),
        drivers=(slow,),
        script=(Step(WATCHED, create(pod("team-a", "patient", templates={"gpu": "gpu-tmpl"}))),),
    )


def silent_driver(_seed: int) -> Scenario:
    ghost = resource_class("ghost.example.com", "ghost.driver.example.com")
    claims = (claim("team-b", "ghost-claim", "ghost.example.com"), claim("team-b", "gpu-1", "gpu.example.com"))
    silent = pod("team-b", "silent", claims={"ghost": "ghost-claim", "gpu": "gpu-1"})
    return Scenario(
        objects=world(ghost, *claims),
        drivers=(GPU, Behaviour(driver="ghost.driver.example.com", silent=True)),
        script=(Step(0.5, create(silent)),),
    )


def every_node_unsuitable(_seed: int) -> Scenario:
    made = claim("team-b", "gpu-1", "gpu.example.com")
    return Scenario(
        objects=world(made),
        drivers=(Behaviour(driver=GPU.driver, refuses=True),),
        script=(Step(0.5, create(pod("team-b", "train-stuck", claims={"gpu": "gpu-1"}))),),
    )


def missing_class(_seed: int) -> Scenario:
    """The class comes after half a minute."""
    made = claim("team-b", "tpu-1", "tpu.example.com")
    return Scenario(
        objects=world(made),
        drivers=(TPU,),
        script=(
            Step(0.5, create(pod("team-b", "tpu-job", claims={"tpu": "tpu-1"}))),
            Step(30.0, create(resource_class("tpu.example.com", TPU.driver))),
        ),
    )


def claim_in_use(_seed: int) -> Scenario:
    """`second` gets the claim when `first` is deleted, after half a minute."""
    made = claim("team-b", "gpu-shared", "gpu.example.com")
    return Scenario(
        objects=world(made),
        drivers=(GPU,),
        script=(
            Step(0.5, create(pod("team-b", "first", claims={"gpu": "gpu-shared"}))),
            Step(8.0, create(pod("team-b", "second", claims={"gpu": "gpu-shared"}))),
            Step(38.0, delete("pods", "first", "team-b")),
        ),
    )


def immediate(_seed: int) -> Scenario:
    made = claim("team-b", "fpga-now", "fpga.example.com", immediate=True)
    slow = Behaviour(driver=FPGA.driver, answers_after=(10.0, 12.0))
    return Scenario(
        objects=world(),
        drivers=(slow,),
        script=(
            Step(WATCHED, create(made)),
            Step(WATCHED + 0.5, create(pod("team-b", "fpga-job", claims={"fpga": "fpga-now"}))),
        ),
    )


def deallocation_and_move(_seed: int) -> Scenario:
    """The claim is allocated on node-0 (zone-a), the pod wants zone-b."""
    made = allocated(claim("team-a", "gpu-move", "gpu.example.com"), GPU, "node-0")
    mover = pod("team-a", "mover-1", claims={"gpu": "gpu-move"}, selects={ZONE: "zone-b"})
    return Scenario(objects=world(made), drivers=(GPU,), script=(Step(WATCHED, create(mover)),))


def deletion_with_finalizer(_seed: int) -> Scenario:
    """A claim is deleted under its pod: it stays until the pod is gone and the driver has let go of it."""
    made = claim("team-a", "gpu-old", "gpu.example.com")
    return Scenario(
        objects=world(made),
        drivers=(GPU,),
        script=(
            Step(0.5, create(pod("team-a", "holder", claims={"gpu": "gpu-old"}))),
            Step(WATCHED, delete("resourceclaims", "gpu-old", "team-a")),
            Step(WATCHED + 1.0, create(pod("team-a", "late", claims={"gpu": "gpu-old"}))),
            Step(WATCHED + 30.0, delete("pods", "holder", "team-a")),
        ),
    )


def template_missing(_seed: int) -> Scenario:
    """The template comes after half a minute."""
    return Scenario(
        objects=world(),
        drivers=(GPU,),
        script=(
            Step(0.5, create(pod("team-b", "waiting", templates={"gpu": "gpu-tmpl"}))),
            Step(30.0, create(template("team-b", "gpu-tmpl", "gpu.example.com"))),
        ),
    )
