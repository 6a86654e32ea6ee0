"""Named and seeded scenarios of the simulated cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dradash.sim.scenarios import betas, devicefaults, devicerequests, generations, small, structured
from dradash.sim.scenarios.demo import demo, faults
from dradash.sim.scenarios.large import large
from dradash.sim.scenarios.model import Scenario

DEFAULT: Final = "demo"

_SCENARIOS: Final[dict[str, tuple[str, Callable[[int], Scenario]]]] = {
    "demo": ("everything at once: 24 nodes, seven drivers, pods that come and go", demo),
    "single-claim": ("one pod, one claim, one driver that answers", small.single_claim),
    "two-drivers": ("one pod whose two claims belong to two drivers that must agree on a node", small.two_drivers),
    "slow-driver": ("a driver that takes its time", small.slow_driver),
    "silent-driver": ("a driver that never answers", small.silent_driver),
    "every-node-unsuitable": ("a driver that finds no node suitable", small.every_node_unsuitable),
    "missing-class": ("a claim of a class that does not exist yet", small.missing_class),
    "claim-in-use": ("two pods, one claim: the second waits until the first is gone", small.claim_in_use),
    "immediate": ("a claim that is allocated at once, by a slow driver", small.immediate),
    "deallocation-and-move": ("a claim allocated where its pod cannot run", small.deallocation_and_move),
    "deletion-with-finalizer": ("a claim that is deleted while it is in use", small.deletion_with_finalizer),
    "template-missing": ("a pod whose template does not exist yet", small.template_missing),
    "structured-single": ("structured parameters: one pod, one GPU, and pods that come and go", structured.single),
    "structured-selector-matches-nothing": (
        "a selector that no device meets, and one that misspells an attribute",
        structured.selector_matches_nothing,
    ),
    "structured-all-in-use": ("all devices are in use; the pod waits until one is freed", structured.all_in_use),
    "structured-tainted": ("devices with a taint, tolerated by one of two claims", structured.tainted),
    "structured-taint-rule": ("a DeviceTaintRule that evicts pods from the devices of a node", structured.taint_rule),
    "structured-incomplete-pool": ("pools of which a slice is missing", structured.incomplete_pool),
    "structured-class-missing": ("a claim of a DeviceClass that does not exist yet", structured.class_missing),
    "structured-prioritized": ("alternatives in order: the best of them that there is", structured.prioritized),
    "structured-extended-resource": ("devices behind an extended resource", structured.extended_resource),
    "structured-binding-conditions": ("devices that are attached before binding", structured.binding_conditions),
    "structured-partitions": ("partitions of a device that share its counters", structured.partitions),
    "structured-prepare-fails": ("a driver that cannot prepare the device of a bound pod", structured.prepare_fails),
    "structured-unprepare-fails": (
        "a driver that cannot unprepare what a finished pod had",
        devicefaults.unprepare_fails,
    ),
    "structured-shared-capacity": (
        "pods that share the memory of one GPU, in steps of a request policy",
        devicerequests.shared_capacity,
    ),
    "structured-admin-access": (
        "an administrator's pod gets devices in use, another one's namespace has lost the label",
        devicerequests.admin_access,
    ),
    "structured-constraints-clash": (
        "devices that must have an attribute in common or not, and cannot",
        devicerequests.constraints_clash,
    ),
    "structured-evicted": ("a NoExecute taint: at once, tolerated for a while, tolerated", devicefaults.evicted),
    "structured-binding-fails": ("devices that the fabric cannot attach", devicefaults.binding_fails),
    "structured-reserved-for-full": ("256 pods share a claim, and one more wants it", devicefaults.reserved_for_full),
    "structured-device-vanishes": ("a device in use that is published no more", devicefaults.device_vanishes),
    "structured-allocated-twice": ("one device in two allocations", devicefaults.allocated_twice),
    "structured-invalid-pool": (
        "a device name twice in a pool, and a new generation that is not complete",
        devicefaults.invalid_pool,
    ),
    "structured-v1beta1": ("a cluster that serves v1beta1 alone, as Kubernetes 1.32 does", betas.v1beta1),
    "structured-v1beta2": ("a cluster that serves v1beta2 alone", betas.v1beta2),
    "both-generations": ("claims of v1alpha2 and of v1 in one cluster, and a pod that has both", generations.both),
    "large": ("5,000 nodes, 12 classes, hundreds of pods", large),
    "faults": ("the demo, with an API server that drops watches and refuses requests", faults),
}

# Name -> one line on it.
NAMES: Final[dict[str, str]] = {name: line for name, (line, _) in _SCENARIOS.items()}


# The same as text, for --help.
HELP: Final = "; ".join(f"{name}: {line}" for name, line in NAMES.items())


class UnknownScenario(ValueError):
    """The message lists the scenarios that there are, in one line."""


def check(name: str) -> None:
    """Raises UnknownScenario."""
    if name not in _SCENARIOS:
        raise UnknownScenario(f"there is no scenario {name!r}; use one of: {', '.join(NAMES)}")


def build(name: str, seed: int = 0) -> Scenario:
    """Raises UnknownScenario."""
    check(name)
    return _SCENARIOS[name][1](seed)
