"""The demo: a small company's cluster in which everything that the dashboard can show happens at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dradash.sim.drivers import Behaviour
from dradash.sim.faults import Fault
from dradash.sim.scenarios.model import Object, Scenario, Step, create, delete, inject
from dradash.sim.scenarios.objects import (
    ZONE,
    allocated,
    asked_back,
    claim,
    namespace,
    node,
    pod,
    resource_class,
    selector,
    template,
)
from dradash.sim.workloads import Stream

NAMESPACES: Final = ("vision", "speech", "genomics", "batch", "platform")
NODES: Final = 24

GPU: Final = Behaviour(
    driver="gpu.driver.example.com", devices=4, answers_after=(0.4, 1.4), recheck=10.0, per_node={"node-03": 0}
)
NIC: Final = Behaviour(
    driver="nic.driver.example.com", devices=6, answers_after=(4.0, 9.0), allocates_after=(1.0, 3.0), recheck=20.0
)
FPGA: Final = Behaviour(driver="fpga.driver.example.com", devices=2, flaky=0.35, recheck=10.0)
TPU: Final = Behaviour(driver="tpu.driver.example.com", devices=1, moody=0.4, recheck=7.0)
CACHE: Final = Behaviour(driver="cache.driver.example.com", shareable=True, devices=2)
LEGACY: Final = Behaviour(driver="legacy.driver.example.com", refuses=True, keeps=True)
GHOST: Final = Behaviour(driver="ghost.driver.example.com", silent=True)
DRIVERS: Final = (GPU, NIC, FPGA, TPU, CACHE, LEGACY, GHOST)


def _node(number: int) -> Object:
    """00-11 have GPUs, 12-15 FPGAs, 16-19 TPUs behind a taint, 20-23 nothing; 07 is cordoned, 21 under maintenance."""
    labels = {"network": "100g" if number % 4 else "10g"}
    if number < 12:
        labels["accelerator"] = "a100" if number < 6 else "h100"
    elif number < 16:
        labels["fpga"] = "agilex"
    elif number < 20:
        labels["tpu"] = "v4"
    taint = "tpu=only:NoSchedule" if 16 <= number < 20 else "maintenance=planned:NoSchedule" if number == 21 else ""
    return node(f"node-{number:02}", f"zone-{'abc'[number % 3]}", labels, taint=taint, unschedulable=number == 7)


def _classes() -> list[Object]:
    return [
        resource_class("gpu.example.com", GPU.driver, selector("accelerator")),
        resource_class("gpu-h100.example.com", GPU.driver, selector("accelerator", "h100")),
        resource_class("nic.example.com", NIC.driver, selector("network", "100g")),
        resource_class("fpga.example.com", FPGA.driver, selector("fpga")),
        resource_class("tpu.example.com", TPU.driver, selector("tpu")),
        resource_class("cache.example.com", CACHE.driver),
        resource_class("legacy.example.com", LEGACY.driver, selector(ZONE, "zone-a", "zone-b")),
        resource_class("ghost.example.com", GHOST.driver),
    ]


def _templates() -> list[Object]:
    return [
        template(ns, kind, f"{kind}.example.com")
        for ns in NAMESPACES
        for kind in ("gpu", "gpu-h100", "nic", "fpga", "tpu", "ghost")
    ]


def _stream(
    ns: str,
    name: str,
    templates: Mapping[str, str],
    *,
    claims: Mapping[str, str] = {},
    tolerates: Sequence[str] = (),
    selects: Mapping[str, str] = {},
    every: float = 8.0,
    most: int = 4,
    runs: tuple[float, float] = (20.0, 60.0),
) -> Stream:
    def make(pod_name: str) -> Object:
        labels = {"app": name}
        return pod(
            ns, pod_name, claims=claims, templates=templates, tolerates=tolerates, selects=selects, labels=labels
        )

    return Stream(name=name, make=make, every=every, most=most, runs=runs)


def _streams() -> list[Stream]:
    return [
        _stream("vision", "train", {"gpu": "gpu"}, every=5.0, most=10, runs=(30.0, 80.0)),
        _stream("vision", "finetune", {"gpu": "gpu-h100", "nic": "nic"}, every=9.0, most=6),
        _stream("speech", "decoder", {"gpu": "gpu", "nic": "nic"}, every=11.0, most=5),
        _stream("genomics", "align", {"fpga": "fpga"}, every=9.0, most=6),
        _stream("batch", "sweep", {"tpu": "tpu"}, tolerates=("tpu",), every=6.0, most=6, runs=(15.0, 30.0)),
        _stream("batch", "render", {"first": "gpu", "second": "gpu"}, selects={ZONE: "zone-b"}, every=12.0, most=4),
        # One claim that several pods use at once, and one that only one pod can have at a time.
        _stream("platform", "reader", {}, claims={"cache": "shared-cache"}, every=6.0, most=4),
        _stream("speech", "notebook", {}, claims={"gpu": "workbench"}, every=7.0, most=2, runs=(40.0, 60.0)),
    ]


def _claims() -> list[Object]:
    return [
        claim("platform", "shared-cache", "cache.example.com"),
        claim("speech", "workbench", "gpu.example.com"),
        claim("genomics", "quantum", "ghost.example.com"),
        claim("genomics", "quantum-gpu", "gpu.example.com"),
        claim("batch", "tape", "legacy.example.com"),
        claim("vision", "npu", "npu.example.com"),
        claim("platform", "reserved-now", "ghost.example.com", immediate=True),
        claim("batch", "not-used", "gpu.example.com"),
        allocated(claim("platform", "old-volume", "legacy.example.com"), LEGACY, "node-09"),
        allocated(claim("vision", "in-use", "gpu.example.com"), GPU, "node-02"),
        asked_back(allocated(claim("batch", "tape-old", "legacy.example.com"), LEGACY, "node-04")),
    ]


def _stuck() -> tuple[Object, ...]:
    """Pods that wait for good, each for another reason."""
    return (
        pod("genomics", "quantum-sim", claims={"qpu": "quantum", "gpu": "quantum-gpu"}),  # a driver that never answers
        pod("genomics", "quantum-probe", templates={"qpu": "ghost"}),  # the same: it never allocates
        pod("batch", "archive", claims={"tape": "tape"}),  # every node unsuitable
        pod("vision", "npu-trial", claims={"npu": "npu"}),  # no such class
        pod("speech", "evaluate", templates={"gpu": "gpu-big"}),  # no such template
        pod("vision", "keeper", claims={"gpu": "in-use"}),  # runs for ever ...
        pod("vision", "latecomer", claims={"gpu": "in-use"}),  # ... so this one never gets the claim
        pod("platform", "ingest", claims={"dev": "reserved-now"}),  # Immediate, not allocated
        pod("platform", "restore", claims={"disk": "old-volume"}),  # the claim is being deleted
        pod("batch", "rewind", claims={"tape": "tape-old"}),  # the driver does not deallocate
        pod("platform", "typo", claims={"gpu": "gpu-misspelt"}),  # no such claim
        pod("batch", "nightly", templates={"gpu": "gpu"}, gates=("example.com/approval",)),
        pod("batch", "nowhere", templates={"gpu": "gpu"}, selects={"accelerator": "b200"}),  # no such node
    )


def _moves() -> tuple[Step, ...]:
    """Every three minutes a claim that is allocated in one zone is wanted in another one."""
    made = allocated(claim("vision", "mover", "gpu.example.com"), GPU, "node-00")
    wants = pod("vision", "mover", claims={"gpu": "mover"}, selects={ZONE: "zone-b"})
    return (
        Step(2.5, create(made, wants), every=180.0),
        Step(120.0, delete("pods", "mover", "vision"), every=180.0),
        Step(121.0, delete("resourceclaims", "mover", "vision"), every=180.0),
    )


def _incidents() -> tuple[Step, ...]:
    """The missing class comes for a minute and goes, with its pod, so that this is seen again and again."""
    return (
        Step(150.0, create(resource_class("npu.example.com", GPU.driver)), every=240.0),
        Step(210.0, delete("resourceclasses", "npu.example.com"), every=240.0),
        Step(211.0, delete("pods", "npu-trial", "vision"), every=240.0),
        Step(212.0, delete("resourceclaims", "npu", "vision"), every=240.0),
        Step(
            220.0,
            create(
                claim("vision", "npu", "npu.example.com"),
                pod("vision", "npu-trial", claims={"npu": "npu"}),
            ),
            every=240.0,
        ),
    )


def demo(_seed: int) -> Scenario:
    objects = [*map(namespace, NAMESPACES), *map(_node, range(NODES)), *_classes(), *_templates(), *_claims()]
    script = (
        Step(0.1, delete("resourceclaims", "old-volume", "platform")),
        *(Step(0.3 + 0.1 * i, create(stuck)) for i, stuck in enumerate(_stuck())),
        *_moves(),
        *_incidents(),
    )
    return Scenario(objects=tuple(objects), drivers=DRIVERS, script=script, streams=tuple(_streams()), event_ttl=300.0)


def faults(seed: int) -> Scenario:
    """The demo with an API server that loses watches and history and refuses requests at intervals."""
    living = demo(seed)
    trouble = (
        Step(10.0, inject(Fault("drop_watches")), every=23.0),
        Step(15.0, inject(Fault("answer", code=429, retry_after=2, count=5)), every=31.0),
        Step(20.0, inject(Fault("answer", code=500, count=5)), every=37.0),
        Step(25.0, inject(Fault("compact")), every=47.0),
        Step(25.1, inject(Fault("drop_watches")), every=47.0),
        Step(35.0, inject(Fault("answer", code=503, count=10, verbs=("list", "watch"))), every=61.0),
        Step(40.0, inject(Fault("conflict", kind="podschedulingcontexts", count=3)), every=29.0),
        Step(50.0, inject(Fault("delay", seconds=2.0, count=3)), every=53.0),
    )
    return Scenario(
        objects=living.objects,
        drivers=living.drivers,
        script=(*living.script, *trouble),
        streams=living.streams,
        event_ttl=living.event_ttl,
    )
