"""Why a pod gets no devices, as the pod page and the API tell it: live and of the past, on all nodes and on one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current, topics
from dradash.reader.moment import show
from dradash.web.pages.pods import PodPage
from tests import build, devicescene
from tests.devicescene import DRIVER, device, holder, pool, request, selectors, waiting_pod
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


# --- the page --------------------------------------------------------------------------------------------------------

PAGE = "/ns/team/pods/train"


def shown(path: str = PAGE) -> str:
    """The block's text, white space made one."""
    html = Client().get(path).content.decode()
    block = html.partition('id="devices"')[2].partition('id="nodes"')[0]
    return " ".join(re.sub(r"<[^>]*>", " ", block).split())


@pytest.mark.usefixtures("scene")
def test_the_page_says_what_would_help_and_what_each_stage_loses() -> None:
    text = shown()
    assert "Devices how far they get for each request, on 3 nodes" in text
    assert "free gpu-2 on node-0 (held by pod team/user-0) for request gpus" in text
    assert "tolerated taints 3 6 3 devices: taint broken=fan:NoSchedule" in text
    assert "3 devices: the request wants model == &quot;h100&quot; met a100 (3)" in text
    assert "3 nodes : cannot allocate all claims excludes these nodes alone" in text


@pytest.mark.usefixtures("scene")
def test_the_page_shows_one_node_and_says_when_there_is_none() -> None:
    assert "for each request, on node-1" in shown(f"{PAGE}?node=node-1")
    assert "free gpu-2 (held by pod team/user-1)" in shown(f"{PAGE}?node=node-1")
    assert "There is no node &lt;b&gt;" in shown(f"{PAGE}?node=%3Cb%3E")


def test_the_page_shows_the_past_as_it_was(scene: Scene) -> None:
    before = scene.now
    scene.delete(holder("gpu-2", node="node-0", name="held-0", pod="user-0"))
    scene.look()
    assert "not allocated 2 4" in shown()
    assert "not allocated 3 3" in shown(f"{PAGE}?at={show(before)}")


def test_an_error_that_ends_the_attempt_is_told_from_one_that_excludes_nodes(scene: Scene) -> None:
    wrong = f'device.attributes["{DRIVER}"].nothing == 1'
    scene.put(*waiting_pod(request(selectors=selectors(wrong))))
    scene.look()
    text = shown()
    assert "such a device ends the attempt, whatever other nodes have" in text
    assert "ends the whole attempt" in text


def test_a_pod_that_got_all_it_wanted_says_so_and_older_ones_have_no_such_block(scene: Scene) -> None:
    scene.put(holder("gpu-0", name="claim"))
    scene.put(build.claim("old", "team"), build.pod("older", "team", claims={"c": "old"}))
    scene.look()
    assert "No claim of the pod waits for devices" in shown()
    assert 'id="devices"' not in Client().get("/ns/team/pods/older").content.decode()


def test_what_is_typed_and_published_is_shown_as_text(scene: Scene) -> None:
    hostile = "<script>alert(1)</script>"
    taint = {"key": hostile, "effect": "NoSchedule"}
    scene.put(pool(device("gpu-0", taints=[taint])), *waiting_pod(request(selectors=selectors(f'"{hostile}" == "x"'))))
    scene.look()
    html = Client().get(f"{PAGE}?node=node-0").content.decode()
    assert hostile not in html
    assert "the request wants &quot;&lt;script&gt;" in html


def test_a_page_of_structured_devices_is_woken_by_devices(scene: Scene) -> None:
    page = PodPage({}, namespace="team", name="train")
    assert page.topics() == {topics.pod("team/train"), topics.DEVICES}
    scene.put(build.claim("old", "team"), build.pod("older", "team", claims={"c": "old"}))
    scene.look()
    assert PodPage({}, namespace="team", name="older").topics() == {topics.pod("team/older")}


@pytest.mark.usefixtures("scene")
def test_a_nodes_page_leads_to_what_its_devices_are_for_a_pod() -> None:
    html = Client().get("/nodes/node-1").content.decode()
    assert 'href="/ns/team/pods/train?node=node-1#devices"' in html


def test_a_pod_of_more_requests_than_are_told_says_so_on_its_page_and_in_the_api() -> None:
    wanted = [request(f"r{i}", selectors=selectors("false")) for i in range(70)]
    made = Scene(devicescene.device_class(), build.node("node-0"), pool(device("a")), *waiting_pod(*wanted))
    made.look()
    current.use(made.web)
    try:
        body = get(API)
        assert (body["complete"], len(body["requests"]), body["requestsLeftOut"]) == (False, 64, 6)
        text = shown()
        assert "The first 64 of 70 requests are told: the rest was not looked at." in text
    finally:
        current.use(None)
