"""PreBind that waits for binding conditions: what is open, who must act, and when it gives up."""

from __future__ import annotations

from typing import Any

import pytest

from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import Outcome, Step, StepState, Verdict
from tests import build
from tests import builddevices as make

POD = build.pod("train", "ml", claims={"gpu": "two"})
SINCE = "2026-03-01T10:00:00Z"
BINDS: dict[str, Any] = {"bindingConditions": ["Attached", "Powered"], "bindingFailureConditions": ["Failed"]}
WAITS = "waiting for binding conditions for device on node node-0"
GPU_1 = "conditions Attached, Powered of device gpu.example.com/node-0/gpu-1 (claim ml/two)"


def judged(after: float, *, conditions: tuple[tuple[str, str], ...] = (), since: str | None = SINCE) -> Verdict:
    """Both devices allocated to the pod's claim at SINCE; conditions are reported of gpu-0."""
    claim = make.claim(
        "two",
        "ml",
        make.request(count=2),
        devices=[make.result("gpu-0", **BINDS), make.result("gpu-1", **BINDS)],
        on=build.on_nodes("node-0"),
        reserved_for=[POD],
    )
    if since is not None:
        claim["status"]["allocation"]["allocationTimestamp"] = since
    said = [{"type": t, "status": s, "reason": "Fabric"} for t, s in conditions]
    claim["status"]["devices"] = [{"driver": make.DRIVER, "pool": "node-0", "device": "gpu-0", "conditions": said}]
    devices = make.resource_slice(make.device("gpu-0", **BINDS), make.device("gpu-1", **BINDS))
    cluster = build.cluster(build.node("node-0"), make.device_class(), devices, claim, POD)
    return evaluate(cluster.pods["ml/train"], cluster, 1, now=seconds(SINCE) + after).verdict


def pre_bind(verdict: Verdict) -> Step:
    return next(s for s in verdict.steps if s.point == "PreBind")


def test_until_the_time_is_up_pre_bind_is_pending_and_names_what_is_open() -> None:
    verdict = judged(30.0, conditions=(("Attached", "True"), ("Powered", "False")))
    gpu_0 = "condition Powered of device gpu.example.com/node-0/gpu-0 (claim ml/two)"
    assert (verdict.outcome, verdict.sentence) == (Outcome.WAITING, WAITS)
    assert pre_bind(verdict).code is Code.PENDING
    assert pre_bind(verdict).reasons == (f"{WAITS}: {gpu_0}; {GPU_1}; times out at 2026-03-01T10:10:00Z",)
    assert (verdict.acts_next.who, verdict.acts_next.names) == ("driver", ("gpu.example.com",))
    assert verdict.acts_next.what == f"report as true {gpu_0}; {GPU_1}"


def test_ten_minutes_after_the_allocation_it_has_timed_out() -> None:
    assert pre_bind(judged(600.0)).code is Code.PENDING
    late = judged(601.0)
    assert pre_bind(late).state is StepState.NOT_REACHED
    assert late.outcome is Outcome.UNSCHEDULABLE
    assert "deallocation of ResourceClaim completed" in late.sentence


@pytest.mark.parametrize("since", [None, "once upon a time"])
def test_an_allocation_without_a_time_names_no_moment(since: str | None) -> None:
    (said,) = pre_bind(judged(30.0, since=since)).reasons
    assert said.endswith("(claim ml/two); times out 600 s after the allocation")


def test_a_device_that_failed_is_no_wait() -> None:
    verdict = judged(30.0, conditions=(("Failed", "True"),))
    assert pre_bind(verdict).state is StepState.NOT_REACHED
    assert verdict.outcome is Outcome.UNSCHEDULABLE
