"""Why a pod gets no devices, as the pod page and the API tell it: live and of the past, on all nodes and on one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from tests import build, devicescene
from tests.devicescene import holder, request, waiting_pod
from tests.scene import Scene

API = "/api/v1/pods/team/train/devices"


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = devicescene.scene()
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str) -> Any:
    response = Client().get(path)
    assert response.status_code == 200, response.content
    return response.json()


def left(body: Any) -> dict[str, int]:
    return {s["stage"]: s["left"] for s in body["requests"][0]["stages"]}


# --- the API ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
def test_the_api_tells_what_each_stage_leaves_and_what_would_help() -> None:
    body = get(API)
    assert left(body) == {
        "seen": 12,
        "usable pool": 12,
        "class selectors": 12,
        "request selectors": 9,
        "tolerated taints": 6,
        "not allocated": 3,
        "constraints": 3,
    }
    assert [(h["kind"], h["verified"]) for h in body["hints"]] == [
        ("free", True),
        ("tolerate", True),
        ("selector", True),
    ]
    assert body["hints"][0]["pods"] == ["team/user-0"]
    assert (body["nodes"], body["nodesSeen"], body["refused"], body["node"]) == (3, 3, None, None)


@pytest.mark.usefixtures("scene")
def test_the_api_tells_of_one_node_alone() -> None:
    body = get(f"{API}?node=node-2")
    assert (body["node"], body["nodes"], left(body)["seen"]) == ("node-2", 1, 4)
    assert body["hints"][0]["sentence"] == "free gpu-2 (held by pod team/user-2)"
    refused = Client().get(f"{API}?node=nowhere")
    assert (refused.status_code, refused.json()["detail"]) == (404, "node: there is no Node nowhere")


def test_the_past_is_told_as_it_was(scene: Scene) -> None:
    before = scene.now
    scene.delete(holder("gpu-2", node="node-0", name="held-0", pod="user-0"))
    scene.look()
    assert left(get(API))["not allocated"] == 4
    assert left(get(f"{API}?at={show(before)}"))["not allocated"] == 3


def test_a_pod_with_all_it_asks_for_and_one_of_the_older_version_have_no_funnel(scene: Scene) -> None:
    done = holder("gpu-0", name="claim")
    older = [build.claim("old", "team"), build.pod("older", "team", claims={"c": "old"})]
    scene.put(done, *older)
    scene.look()
    for name in ("train", "older"):
        body = get(f"/api/v1/pods/team/{name}/devices")
        assert (body["requests"], body["hints"], body["nodes"]) == ([], [], 0)


def test_a_pod_that_is_gone_says_since_when(scene: Scene) -> None:
    scene.delete(waiting_pod(request())[1])
    scene.look()
    body = get(API)
    assert body["gone"] is not None
    assert body["requests"] == []
