"""`manage.py sim` with a scenario or a recording, as a process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.processes import ROOT, until
from tests.acceptance.simcluster import Kubectl
from tests.patience import PATIENCE

RECORDING = ROOT / "tests" / "parity" / "data" / "classic-1.30.jsonl"
SIM = (sys.executable, "manage.py", "sim")


@contextmanager
def sim(config: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*SIM, "--kubeconfig", str(config), *options], cwd=ROOT, text=True)
    try:
        until(lambda: config.exists() or process.poll() is not None, "the kubeconfig")
        assert process.poll() is None
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert not config.exists()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_demo_lives_behind_the_port(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with sim(config, "--scenario", "demo", "--speed", "20"):
        kubectl = Kubectl(tmp_path, config)
        until(lambda: "Running" in kubectl("get", "pods", "-A"), "a pod that runs")
        assert "deletion-protection" in kubectl("get", "resourceclaims", "-A", "-o", "yaml")


def test_a_recording_is_played_and_stays(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with sim(config, "--replay", str(RECORDING), "--speed", "10000"):
        kubectl = Kubectl(tmp_path, config)
        until(lambda: "silent" in kubectl("get", "pods", "-n", "team-b"), "the last pod")
        assert "node-5" in kubectl("get", "pods", "-n", "team-b", "-o", "wide")


def test_what_the_scheduler_said_in_events_of_the_newer_group_is_there_for_kubectl(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with sim(config, "--replay", str(RECORDING.with_name("structured-1.36.jsonl")), "--speed", "10000"):
        kubectl = Kubectl(tmp_path, config)
        until(lambda: "Successfully assigned ops/monitor to node-0" in kubectl("get", "events", "-A"), "an event")
        until(lambda: "FailedScheduling" in kubectl("describe", "pod", "dreamer", "-n", "team-a"), "a refusal")


def test_a_large_cluster_ends_when_it_is_told(tmp_path: Path) -> None:
    with sim(tmp_path / "kubeconfig", "--scenario", "large") as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


def test_a_scenario_of_structured_parameters_serves_their_kinds(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with sim(config, "--scenario", "structured-single", "--speed", "10"):
        kubectl = Kubectl(tmp_path, config)
        until(lambda: "Running" in kubectl("get", "pods", "-n", "team-a"), "a pod that runs")
        assert "gpu.example.com" in kubectl("get", "resourceslices")
        assert "delete-protection" in kubectl("get", "resourceclaims.v1.resource.k8s.io", "-A", "-o", "yaml")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--scenario", "nope"), "sim: error: there is no scenario 'nope'; use one of: demo, "),
        (("--replay", "README.md"), "README.md is no recording"),
        (("--replay", "{broken}"), "broken.jsonl:2: "),
        (("--replay", "{broken}.not-there"), "No such file"),
        (("--speed", "0"), "above 0"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(
    tmp_path: Path, options: tuple[str, ...], line: str
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"t": 0, "kind": "nodes", "type": "LIST", "object": {"items": []}}\nnot JSON\n')
    config = tmp_path / "kubeconfig"
    arguments = [option.replace("{broken}", str(broken)) for option in options]
    done = subprocess.run(
        [*SIM, "--kubeconfig", str(config), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode != 0
    assert line in done.stderr
    assert "Traceback" not in done.stderr
    assert not config.exists()
