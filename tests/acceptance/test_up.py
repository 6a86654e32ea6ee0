"""`manage.py up` as a person sees it: one URL, clear refusals, and nothing left behind however it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from tests import build
from tests.acceptance.processes import Up, is_free, until
from tests.patience import PATIENCE
from tests.redis_server import running_redis


def status_of(url: str) -> int:
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:  # noqa: S310 - our own
        return int(response.status)


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PATIENCE) as response:  # noqa: S310 - our own
        return str(response.read().decode())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_demo_starts_serves_a_page_and_stops_without_a_trace(number: signal.Signals) -> None:
    with Up("--demo", "--port", "0") as up:
        url = up.url()
        assert status_of(url) == 200
        port = up.port
        assert len(up.left()) == 7  # redis, cluster, watch, judge with two children, web
        assert up.stop(number) == 0
        assert up.left() == {}
        assert is_free(port)
        assert list(up.tmpdir.glob("dradash-*")) == []
        assert up.urls() == [url]
        names = {line.partition("|")[0] for line in up.err.all()}
        assert names <= {f"{name:8}" for name in ("up", "redis", "cluster", "watch", "judge", "web")}


def test_a_recording_is_replayed_as_a_cluster(tmp_path: Path) -> None:
    claim = build.claim("my-claim", "team")
    objects = [
        build.node("my-node"),
        build.resource_class(),
        claim,
        build.pod("my-pod", "team", claims={"c": "my-claim"}),
    ]
    recording = tmp_path / "recording.jsonl"
    with recording.open("w") as file:
        for obj in objects:
            items = {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [obj]}
            file.write(json.dumps({"t": 0, "kind": build.plural(obj), "type": "LIST", "object": items}) + "\n")
    with Up("--replay", str(recording), "--speed", "10", "--port", "0") as up:
        pods = up.url() + "pods"
        until(lambda: "my-pod" in page(pods), "the recorded pod is on the page")


def test_two_demos_run_side_by_side_even_on_one_redis_of_the_users() -> None:
    with (
        running_redis() as url,
        Up("--demo", "--port", "0", env={"REDIS_URL": url}) as one,
        Up("--demo", "--port", "0", env={"REDIS_URL": url}) as two,
    ):
        assert f"demo-{one.port}" in page(one.url())
        assert f"demo-{two.port}" in page(two.url())
        one.stop()
        assert page(two.url() + "healthz")


@pytest.mark.parametrize(
    ("victim", "name"),
    [
        ("redis.sock", "redis"),
        ("manage.py sim", "cluster"),
        ("watch@", "watch"),
        ("judge@", "judge"),
        ("web --fd", "web"),
    ],
)
def test_a_process_that_dies_is_named_in_one_line_and_takes_the_rest_with_it(victim: str, name: str) -> None:
    with Up("--demo", "--port", "0") as up:
        port = up.port
        os.kill(up.pid_of(victim), signal.SIGKILL)
        assert up.process.wait(PATIENCE) == 1
        assert f"error: {name} ended by itself while running (killed by SIGKILL)" in up.error()
        assert up.left() == {}
        assert is_free(port)


def test_a_supervisor_that_is_killed_leaves_no_process_and_no_port() -> None:
    with Up("--demo", "--port", "0") as up:
        port = up.port
        up.process.kill()
        until(lambda: not up.left() and is_free(port), "all children are gone")


def test_stopping_while_it_starts_leaves_nothing() -> None:
    with Up("--demo", "--port", "0") as up:
        until(lambda: any("redis is ready" in line for line in up.err.so_far()), "the first child is up")
        up.stop()
        assert up.left() == {}
        assert up.urls() == []


def test_a_taken_port_is_one_line_and_nothing_is_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Up("--demo", "--port", str(port)) as up:
            assert up.process.wait(PATIENCE) == 1
            assert f"port {port} on 127.0.0.1 is taken" in up.error()
            assert len(up.err.all()) == 1


@pytest.mark.parametrize(
    ("arguments", "env", "says"),
    [
        ([], {}, "there is no kubeconfig"),
        (["--kubeconfig", "/no/such/file"], {}, "there is no kubeconfig /no/such/file"),
        (["--demo", "--host", "0.0.0.0"], {}, "DRADASH_AUTH=token"),
        (["--demo"], {"DRADASH_PORT": "x"}, "DRADASH_PORT='x'"),
        (["--demo"], {"REDIS_URL": "redis://127.0.0.1:1/0"}, "127.0.0.1:1 cannot be reached"),
        (["--replay", "/no/such/recording"], {}, "there is no recording /no/such/recording"),
        (["--replay", "README.md"], {}, "README.md is no recording: it looks like text that is not JSON"),
        (["--scenario", "two-drivers"], {}, "--scenario goes with --demo"),
        (["--demo", "--scenario", "no-such"], {}, "there is no scenario 'no-such'"),
        (["--demo", "--context", "prod"], {}, "--context names a real cluster"),
    ],
)
def test_what_cannot_work_is_one_line(arguments: list[str], env: dict[str, str], says: str) -> None:
    with Up(*arguments, env=env) as up:
        assert up.process.wait(PATIENCE) == 1
        assert says in up.error()
        assert len(up.err.all()) == 1
