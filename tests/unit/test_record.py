"""Recording a cluster: the simulator in-process, and the command over HTTP."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dradash.informer.record import Summary, record
from dradash.informer.recording import Row, Writer, read
from dradash.informer.redact import Redactor
from dradash.kinds.registry import KINDS, STRUCTURED
from dradash.sim import kubeconfig
from dradash.sim.apiserver import APIServer
from dradash.sim.faults import Fault
from dradash.sim.http import Application
from dradash.sim.listener import Listener
from dradash.sim.resources import served
from dradash.sim.source import SimSource
from tests.patience import PATIENCE

MANAGE = Path(__file__).parents[2] / "manage.py"
CLAIM_PODS = {"resource": "pods", "name": "plain", "uid": "u"}
CLASSIC = [resource.plural for resource in served()]  # what the server of most of these tests serves


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "registry.invalid/x"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def claiming(name: str) -> dict[str, Any]:
    return pod(name, resourceClaims=[{"name": "gpu", "source": {"resourceClaimName": "c"}}])


class Output(io.BytesIO):
    """What was written, with a way to wait for a line."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Condition()

    def flush(self) -> None:
        with self.written:
            self.written.notify_all()

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def wait_for(self, found: Callable[[dict[str, Any]], bool]) -> None:
        with self.written:
            assert self.written.wait_for(lambda: any(found(row) for row in self.rows()), PATIENCE), self.rows()


class Recording:
    """A recording under way in a thread."""

    def __init__(self, server: APIServer, **options: Any) -> None:
        self.out = Output()
        self.stop = threading.Event()
        self.summary: Summary | None = None
        self._options = options
        self._source = SimSource(server, bookmark_interval=0.05)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        writer = Writer(self.out, KINDS, time.monotonic)
        self.summary = record(self._source, writer, stop=self.stop, **self._options)

    def end(self) -> Summary:
        self.stop.set()
        self._thread.join(PATIENCE)
        assert self.summary is not None
        return self.summary


@pytest.fixture
def server() -> APIServer:
    return APIServer(seed=1, first_revision=1000)


@pytest.fixture
def start(server: APIServer) -> Iterator[Callable[..., Recording]]:
    begun: list[Recording] = []

    def begin(**options: Any) -> Recording:
        begun.append(Recording(server, **options))
        return begun[-1]

    yield begin
    for recording in begun:
        recording.end()


def is_list(kind: str) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row["kind"] == kind and row["type"] == "LIST"


def names(kind: str, name: str, type_: str = "ADDED") -> Callable[[dict[str, Any]], bool]:
    return lambda row: (row["kind"], row["type"]) == (kind, type_) and row["object"]["metadata"].get("name") == name


Start = Callable[..., Recording]


def test_lists_come_first_and_changes_follow(server: APIServer, start: Start) -> None:
    server.create("pods", claiming("p0"))
    recording = start()
    for kind in CLASSIC:
        recording.out.wait_for(is_list(kind))
    server.create("pods", claiming("p1"))
    recording.out.wait_for(names("pods", "p1"))
    server.delete("pods", "p1", "default")
    recording.out.wait_for(names("pods", "p1", "DELETED"))
    summary = recording.end()

    rows = recording.out.rows()
    assert {row["kind"] for row in rows[: len(CLASSIC)]} == set(CLASSIC)
    assert all((row["t"], row["type"]) == (0, "LIST") for row in rows[: len(CLASSIC)])
    pods = next(row for row in rows if is_list("pods")(row))["object"]
    assert [item["metadata"]["name"] for item in pods["items"]] == ["p0"]
    assert pods["kind"] == "PodList"
    assert int(pods["metadata"]["resourceVersion"]) >= 1000
    assert summary.problems == {}
    assert "pods" in summary.text


def test_a_cluster_of_today_is_recorded_without_the_kinds_of_the_older_generation(tmp_path: Path) -> None:
    resources = served(versions=STRUCTURED)
    recording = Recording(APIServer(seed=1, first_revision=1000, resources=resources))
    for resource in resources:
        recording.out.wait_for(is_list(resource.plural))
    summary = recording.end()

    rows = {row["kind"]: row["object"] for row in recording.out.rows() if row["type"] == "LIST"}
    assert rows.keys() == {resource.plural for resource in resources}
    assert rows["resourceslices"]["apiVersion"] == "resource.k8s.io/v1"
    assert summary.problems == {}


def test_a_cluster_without_dra_is_said_to_be_one() -> None:
    recording = Recording(APIServer(seed=1, resources=served(versions=())))
    recording.out.wait_for(is_list("pods"))
    summary = recording.end()

    assert summary.problems["resourceclaims"].startswith("notServed")
    assert summary.problems["resourceslices"].startswith("notServed")


def test_it_can_be_read_again(server: APIServer, start: Start, tmp_path: Path) -> None:
    server.create("pods", claiming("p0"))
    recording = start()
    recording.out.wait_for(lambda row: row["type"] == "BOOKMARK")
    recording.end()
    path = tmp_path / "r.jsonl"
    path.write_bytes(recording.out.getvalue())

    rows: list[Row] = list(read(path))

    assert {row.type for row in rows} == {"LIST", "BOOKMARK"}


def test_managed_fields_and_pods_without_claims_are_never_written(server: APIServer, start: Start) -> None:
    made = claiming("p0")
    made["metadata"]["managedFields"] = [{"manager": "x", "operation": "Update", "apiVersion": "v1"}]
    server.create("pods", made)
    server.create("pods", pod("other"))
    recording = start()
    recording.out.wait_for(is_list("pods"))
    server.create("pods", pod("another"))
    server.create("pods", claiming("last"))
    recording.out.wait_for(names("pods", "last"))
    summary = recording.end()

    text = recording.out.getvalue()
    assert b"managedFields" not in text
    assert b"other" not in text
    assert summary.left_out["pods"] == 2


def test_a_pod_is_written_once_a_claim_is_reserved_for_it(server: APIServer, start: Start) -> None:
    server.create("pods", pod("plain"))
    claim = server.create("resourceclaims", {"metadata": {"name": "c"}, "spec": {"resourceClassName": "gpu"}})
    recording = start()
    for kind in CLASSIC:
        recording.out.wait_for(is_list(kind))
    claim["status"] = {"driverName": "d", "allocation": {"shareable": True}, "reservedFor": [CLAIM_PODS]}
    server.update("resourceclaims", claim, subresource="status")

    recording.out.wait_for(names("pods", "plain"))


def test_a_kind_that_is_forbidden_does_not_hold_the_recording_up(server: APIServer, start: Start) -> None:
    server.inject(Fault(fault="answer", kind="nodes", code=403, count=1))
    recording = start()
    for kind in set(CLASSIC) - {"nodes"}:
        recording.out.wait_for(is_list(kind))
    server.create("pods", claiming("p1"))
    recording.out.wait_for(names("pods", "p1"))
    summary = recording.end()

    assert summary.problems["nodes"].startswith("forbidden")
    assert "nodes: forbidden" in summary.text


def test_a_relist_is_written_as_a_list_at_its_time(server: APIServer, start: Start) -> None:
    recording = start()
    for kind in CLASSIC:
        recording.out.wait_for(is_list(kind))
    server.inject(Fault(fault="answer", kind="pods", code=410, verbs=("watch",)))
    server.inject(Fault(fault="drop_watches", kind="pods"))

    recording.out.wait_for(lambda row: is_list("pods")(row) and row["t"] > 0)


def test_a_redacted_recording_tells_no_names(server: APIServer, start: Start) -> None:
    server.create("pods", claiming("secret-project"))
    recording = start(redactor=Redactor())
    recording.out.wait_for(is_list("pods"))
    recording.end()

    text = recording.out.getvalue()
    assert b"secret-project" not in text
    assert b"registry.invalid" not in text
    assert b"pod-x1" in text


def test_it_ends_by_itself_after_some_seconds(server: APIServer, start: Start) -> None:
    recording = start(seconds=0.2)

    recording.out.wait_for(is_list("pods"))
    assert recording.end().counts["pods", "LIST"] == 1


def test_a_disk_that_is_full_ends_it_with_the_reason(server: APIServer) -> None:
    class Full(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        record(SimSource(server), Writer(Full(), KINDS, time.monotonic), seconds=20)


@pytest.fixture
def config(server: APIServer, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "kubeconfig"
    with Listener(Application(server, "secret-token")) as listener:
        kubeconfig.write(path, listener.url, "secret-token")
        yield path


def command(*arguments: str) -> subprocess.Popen[bytes]:
    line = [sys.executable, "-W", "error::ResourceWarning", str(MANAGE), "record", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_ctrl_c_ends_the_command_with_a_valid_file_and_a_summary(
    server: APIServer, config: Path, tmp_path: Path
) -> None:
    server.create("pods", claiming("p0"))
    path = tmp_path / "r.jsonl"
    with command(str(path), "--kubeconfig", str(config)) as process:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:
            if path.exists() and path.read_bytes().count(b'"LIST"') == len(CLASSIC):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0, errors
    assert [row.type for row in read(path)] == ["LIST"] * len(CLASSIC)
    assert f"{len(CLASSIC)} rows written".encode() in errors
    assert b"Traceback" not in errors
    assert b"ResourceWarning" not in errors


def test_a_server_that_is_gone_costs_no_older_recording(tmp_path: Path) -> None:
    config, path = tmp_path / "kubeconfig", tmp_path / "r.jsonl"
    kubeconfig.write(config, "http://127.0.0.1:1", "secret-token")  # nobody listens on port 1
    path.write_text("the older one")
    with command(str(path), "--seconds", "0.5", "--kubeconfig", str(config)) as process:
        _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1
    assert b"nothing could be recorded" in errors
    assert path.read_text() == "the older one"


def test_a_recording_may_go_to_stdout(config: Path) -> None:
    with command("-", "--seconds", "1", "--kubeconfig", str(config)) as process:
        out, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0, errors
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["LIST"] * len(CLASSIC)


def test_a_kubeconfig_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with command(str(tmp_path / "r"), "--kubeconfig", str(tmp_path / "none")) as process:
        _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1
    assert b"cannot use kubeconfig" in errors
    assert b"Traceback" not in errors
    assert not (tmp_path / "r").exists()


def test_a_full_disk_is_said_with_the_file_and_the_rows_that_were_written(config: Path) -> None:
    with command("/dev/full", "--kubeconfig", str(config)) as process:
        _, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 1
    assert b"/dev/full cannot be written any more: No space left on device; 0 rows were written" in errors
    assert b"Traceback" not in errors
