"""What the doctor finds in the simulated cluster's scenarios with structured parameters, and that it finds no more."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dradash.kinds.registry import STRUCTURED
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.devicerules import DEVICE_RULES
from dradash.scheduling.doctor.diagnose import diagnose
from dradash.scheduling.doctor.exam import Exam, Observed
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.rfc3339 import seconds
from dradash.store.model import SyncState
from tests import build, simworld
from tests.simworld import ALL, World

KINDS = [kind for kind in ALL if kind not in ("resourceclasses", "podschedulingcontexts")]
CODES = frozenset(rule.code for rule in DEVICE_RULES)
LATER = 500.0  # seconds after the newest object was made: longer than every threshold


def findings(world: World) -> list[Finding]:
    """Those about structured parameters, some minutes on."""
    cluster = Cluster()
    newest = 0.0
    for kind in KINDS:
        version = STRUCTURED[0] if kind.startswith(("resource", "device")) else "v1"
        group = "resource.k8s.io/" if kind.startswith(("resource", "device")) else ""
        for obj in world.server.list(kind, ""):
            cluster.put(kind, build.key(obj), json.dumps({"apiVersion": f"{group}{version}", **obj}).encode())
            newest = max(newest, seconds(obj["metadata"]["creationTimestamp"]))
    verdicts = {key: evaluate(pod, cluster, 1).verdict for key, pod in cluster.pods.items()}
    sync = {kind: SyncState(kind, "synced", "v1") for kind in KINDS}
    exam = Exam(cluster, verdicts, sync, {}, Observed(), newest + LATER, Thresholds())
    return [f for f in diagnose(exam) if f.code in CODES]


def _single(world: World) -> None:
    world.until_bound("team-a/train-0")


def _said(*pods: str) -> Callable[[World], None]:
    def wait(world: World) -> None:
        for pod in pods:
            world.until_said(f"team-a/{pod}", "cannot allocate all claims")

    return wait


def _typo(world: World) -> None:
    _said("wants-b200")(world)
    world.until_said("team-a/misspelt", "no such key")


@pytest.mark.parametrize(
    ("scenario", "until", "expected"),
    [
        ("structured-single", _single, {}),
        (
            "structured-selector-matches-nothing",
            _typo,
            {"request-matches-no-device": "team-a/b200", "request-selector-fails": "team-a/typo"},
        ),
        ("structured-tainted", _said("careful"), {}),
        ("structured-incomplete-pool", _said("waits"), {"pool-incomplete": "team-a/waits"}),
        (
            "structured-binding-conditions",
            lambda world: world.until_event("team-a/waits", "BindingConditionsPending"),
            {"binding-waits": "team-a/never"},
        ),
        ("structured-extended-resource", _said("train-8"), {}),
    ],
)
def test_the_doctor_finds_what_the_scenario_is_about(
    scenario: str, until: Callable[[World], None], expected: dict[str, str]
) -> None:
    with simworld.scenario(scenario) as world:
        until(world)
        found = findings(world)
    assert {f.code for f in found} == set(expected)
    for code, named in expected.items():
        objects = {ref.key for f in found if f.code == code for ref in f.objects}
        assert named in objects
