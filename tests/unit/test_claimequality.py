"""Whether a claim's status changed is asked of its meaning, not of how it is written."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dradash.kinds.pod import Pod
from dradash.kinds.registry import decode
from dradash.scheduling.structured.claimwrites import HeldClaim, held
from dradash.scheduling.structured.hints import Hint, claim_hint
from tests import build, builddevices
from tests.build import Obj

POD = decode(Pod, build.pod("worker", claims={"gpu": "claim"}))
CONDITION: Obj = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
STATUS: Obj = {
    "allocation": {
        "devices": {"results": [builddevices.result("gpu-0", consumedCapacity={"memory": "1Gi"})]},
        "allocationTimestamp": "2026-01-01T00:00:00Z",
    },
    "devices": [{"driver": builddevices.DRIVER, "pool": "node-0", "device": "gpu-0", "conditions": [CONDITION]}],
}


def change(path: str, value: Any) -> HeldClaim:
    status = copy.deepcopy(STATUS)
    at: Any = status
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        at = at[step]
    at[last] = value
    return held(builddevices.claim("claim", status=status))


def hint(old: HeldClaim, new: HeldClaim) -> Hint:
    return claim_hint(POD, {"default/claim": new}, old.claim, new.claim)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("allocation.devices.results.0.consumedCapacity", {"memory": "1024Mi"}),
        ("allocation.allocationTimestamp", "2026-01-01T01:00:00+01:00"),
        ("devices.0.conditions.0.lastTransitionTime", "2025-12-31T23:00:00-01:00"),
        ("devices.0.conditions.0.observedGeneration", 0),
        ("allocation.devices.config", []),
        ("reservedFor", []),
    ],
)
def test_the_same_written_otherwise_is_no_reason_to_try_the_pod_again(path: str, value: Any) -> None:
    before = held(builddevices.claim("claim", status=STATUS))
    assert hint(before, change(path, value)) == Hint.SKIP


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("allocation.devices.results.0.consumedCapacity", {"memory": "1025Mi"}),
        ("allocation.devices.results.0.consumedCapacity", {}),
        ("allocation.devices.results.0.adminAccess", False),
        ("allocation.allocationTimestamp", "2026-01-01T00:00:01Z"),
        ("allocation.allocationTimestamp", None),
        ("devices.0.conditions.0.lastTransitionTime", "2026-01-01T00:00:00.5Z"),
        ("devices.0.conditions.0.lastTransitionTime", None),
        ("devices.0.conditions.0.observedGeneration", 7),
        ("devices.0.networkData", {}),
        ("devices.0.networkData", {"ips": ["10.0.0.1/24"]}),
        ("devices.0.conditions", []),
    ],
)
def test_another_status_is(path: str, value: Any) -> None:
    before = held(builddevices.claim("claim", status=STATUS))
    assert hint(before, change(path, value)) == Hint.QUEUE


def test_network_data_with_empty_fields_is_as_without_them() -> None:
    old = change("devices.0.networkData", {"interfaceName": "eth0"})
    new = change("devices.0.networkData", {"interfaceName": "eth0", "ips": [], "hardwareAddress": ""})
    assert hint(old, new) == Hint.SKIP


def test_an_unset_time_is_the_first_of_all_times() -> None:
    old = change("devices.0.conditions.0.lastTransitionTime", None)
    new = change("devices.0.conditions.0.lastTransitionTime", "0001-01-01T00:00:00Z")
    assert hint(old, new) == Hint.SKIP
