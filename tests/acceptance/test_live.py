"""From a change at the API server to the fragment that an open page gets: watch, Redis, Celery, websocket."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests import build
from tests.acceptance.pipeline import Pipeline
from tests.acceptance.processes import until
from tests.patience import PATIENCE


@pytest.fixture
def running() -> Iterator[tuple[Pipeline, str]]:
    with Pipeline() as pipeline:
        pipeline.api.load([*build.nodes(3), build.resource_class(), build.namespace("team")])
        pipeline.api.load([build.claim("claim", "team"), build.pod("pod", "team", claims={"gpu": "claim"})])
        pipeline.watch()
        pipeline.judge()
        pipeline.until_equal()
        yield pipeline, pipeline.web()


def page(address: str, path: str) -> str:
    """The page's text, also when it says 503 because the web process has not read the model yet."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def until_shown(address: str, path: str, text: str) -> None:
    until(lambda: text in page(address, path), f"{path} shows {text!r}")


def live(address: str, path: str, origin: str = "") -> ClientConnection:
    return connect(f"ws://{address}/live{path}", origin=Origin(origin or f"http://{address}"))


def until_said(socket: ClientConnection, text: str) -> str:
    """The first message with the text in it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        message = socket.recv(timeout=max(0.0, deadline - time.monotonic()))
        if text in str(message):
            return str(message)


def test_a_change_reaches_an_open_page_as_a_fragment(running: tuple[Pipeline, str]) -> None:
    pipeline, address = running
    until_shown(address, "/ns/team/pods/pod", "waiting for resource driver")
    with live(address, "/ns/team/pods/pod") as socket:
        until_said(socket, "waiting for resource driver")
        for node in build.nodes(3, taints=[{"key": "broken", "value": "fan", "effect": "NoSchedule"}]):
            pipeline.api.update("nodes", node | {"metadata": {"name": node["metadata"]["name"]}})
        fragment = until_said(socket, "3 node(s) had untolerated taint {broken: fan}")
    assert "hx-swap-oob" in fragment
    assert re.search(r'id="[\w-]+"', fragment)
    pipeline.until_equal()


def test_a_pod_that_appears_reaches_the_open_list(running: tuple[Pipeline, str]) -> None:
    pipeline, address = running
    until_shown(address, "/pods", "team/pods/pod")
    with live(address, "/pods") as socket:
        until_said(socket, "team/pods/pod")
        pipeline.api.load([build.pod("newcomer", "team", claims={"gpu": "absent"})])
        assert "not found" in until_said(socket, "newcomer")
    pipeline.until_equal()


def test_a_socket_from_another_site_is_refused(running: tuple[Pipeline, str]) -> None:
    _, address = running
    with pytest.raises(Exception, match="403"), live(address, "/", origin="http://evil.example"):
        pass


def test_the_page_tells_that_redis_is_gone_and_still_shows_the_last_state(running: tuple[Pipeline, str]) -> None:
    pipeline, address = running
    assert pipeline.redis is not None
    until_shown(address, "/ns/team/pods/pod", "waiting for resource driver")
    pipeline.redis.end()
    until_shown(address, "/ns/team/pods/pod", "Redis")
    assert "waiting for resource driver" in page(address, "/ns/team/pods/pod")
