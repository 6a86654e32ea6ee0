"""A small simulated cluster behind a port, and the real clients' view of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from dradash.sim import kubeconfig
from dradash.sim.apiserver import APIServer
from dradash.sim.http import Application
from dradash.sim.listener import Listener
from tests.patience import PATIENCE

TOKEN: Final = "a-token-of-the-tests"  # noqa: S105 - of a server that lives for one test


def populated() -> APIServer:
    """One node, one class, and in team-a a pod that waits for its claim, with the scheduler's event about it."""
    server = APIServer(seed=1)
    server.create("namespaces", {"metadata": {"name": "team-a"}})
    ready = {"type": "Ready", "status": "True"}
    labels = {"accelerator": "a100"}
    server.create("nodes", {"metadata": {"name": "node-0", "labels": labels}, "status": {"conditions": [ready]}})
    server.create("resourceclasses", {"metadata": {"name": "gpu.example.com"}, "driverName": "gpu.driver.example.com"})
    server.create("resourceclaims", claim("gpu-1"), "team-a")
    pod = server.create("pods", pod_using("train-0", "gpu-1"), "team-a")
    about = {"kind": "Pod", "name": "train-0", "namespace": "team-a", "uid": pod["metadata"]["uid"]}
    event = {
        "metadata": {"name": "train-0.1"},
        "involvedObject": about,
        "reason": "FailedScheduling",
        "type": "Warning",
        "message": "waiting for resource driver",
        "reportingComponent": "default-scheduler",
        "eventTime": "2026-11-30T04:00:00.000000Z",
    }
    server.create("events", event, "team-a")
    return server


def claim(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"resourceClassName": "gpu.example.com"}}


def pod_using(name: str, claim_name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"app": "train"}},
        "spec": {
            "containers": [{"name": "c", "image": "registry.invalid/x"}],
            "resourceClaims": [{"name": "gpu", "source": {"resourceClaimName": claim_name}}],
        },
    }


class Kubectl:
    """The real kubectl, with a home of its own (its discovery cache lives there)."""

    def __init__(self, home: Path, config: Path) -> None:
        path = os.environ.get("KUBECTL") or shutil.which("kubectl")
        assert path is not None, "these tests need kubectl 1.32: `make test` finds or fetches one (.ci/kubectl)"
        self._command = path
        self._env = {"HOME": str(home), "KUBECONFIG": str(config), "PATH": os.environ["PATH"]}

    def __call__(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """Its output, stderr included where it is expected to fail."""
        done = subprocess.run(
            [self._command, *arguments],
            env=self._env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode != 0) == fails, f"kubectl {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr if fails else done.stdout

    @contextmanager
    def running(self, *arguments: str) -> Iterator[IO[str]]:
        """Its stdout while it runs; it is ended behind the block."""
        process = subprocess.Popen([self._command, *arguments], env=self._env, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@contextmanager
def served(server: APIServer, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of the server behind a port."""
    config = tmp_path / "kubeconfig"
    with Listener(Application(server, TOKEN)) as listener:
        server.faults.on_unreachable = listener.go_away
        kubeconfig.write(config, listener.url, TOKEN)
        yield config
