"""The selector bench over HTTP: page and REST, links that lead there, and what people may type there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.web.pages.bench import SelectorsPage, within
from tests import build
from tests import builddevices as make
from tests.scene import Scene
from tests.unit import html

MODEL = 'device.attributes["gpu.example.com"].model'
EVIL = "<b>evil</b>"
POD = build.pod("train", "ml", claims={"gpu": "wants"})
OBJECTS = (
    *(build.node(f"node-{i}") for i in range(2)),
    *(
        make.resource_slice(make.device("gpu-0"), make.device("gpu-1", "h100"), make.device("gpu-2", EVIL), node=n)
        for n in ("node-0", "node-1")
    ),
    make.resource_slice(make.device("half"), node="node-1", count=2, name="half", pool="half"),
    make.device_class("gpu", 'device.driver == "gpu.example.com"'),
    make.device_class("two", f'{MODEL} != "l4"', f'{MODEL} != "t4"'),
    POD,
    make.claim("wants", "ml", make.request("gpu", "gpu", 4, [f'{MODEL} == "h100"'])),
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*OBJECTS)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def address(expression: str = "", **more: str) -> str:
    return "/selectors?" + urlencode({"expression": expression, **more})


def get(path: str, status: int = 200) -> str:
    response = Client().get(path)
    assert response.status_code == status, response.content[:500]
    text = response.content.decode()
    assert EVIL not in text
    assert html.read(text).faults == []
    return text


def ask(path: str, status: int = 200) -> Any:
    response = Client().get("/api/v1" + path)
    assert response.status_code == status, response.content
    return response.json()


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.mark.usefixtures("scene")
def test_it_says_what_matches_and_what_the_others_are() -> None:
    page = words(get(address(f'{MODEL} == "h100"')))
    assert "2 of 6 devices in usable pools match." in page
    assert "Not asked: 1 device of incomplete or invalid pools" in page
    assert "model = a100 (2)" in page
    assert "2 of 2 with a match" in page
    said = ask(address(f'{MODEL} == "h100"', limit="1"))
    assert (said["matching"], said["asked"], said["devices"], said["unusable"], said["complete"]) == (2, 6, 6, 1, True)
    assert said["parts"][0]["met"][1] == {"values": {"model": "a100"}, "devices": 2}
    assert [(n["node"], n["matching"], n["devices"]) for n in said["nodes"]] == [("node-0", 1, 3), ("node-1", 1, 3)]
    assert [(d["pool"], d["device"], d["node"]) for d in said["items"]] == [("node-0", "gpu-1", "node-0")]


@pytest.mark.usefixtures("scene")
def test_a_class_comes_first_and_can_be_taken_as_text() -> None:
    page = get(address(f'{MODEL} == "a100"', **{"class": "two"}))
    assert '<option value="two" selected>' in page
    assert [p["ofClass"] for p in ask(address("true", **{"class": "two"}))["parts"]] == [True, True, False]
    joined = f'({MODEL} != "l4") && ({MODEL} != "t4")'
    assert f"expression={quote(joined, safe='').replace('%20', '+')}" in page
    assert "6 of 6 devices" in words(get(address(joined)))
    assert "there is no DeviceClass none" in get(address("", **{"class": "none"}))


@pytest.mark.usefixtures("scene")
def test_an_error_is_shown_at_its_place() -> None:
    page = get(address('device.driver == "x" &&\nfoo'))
    assert "line 2, column 1" in page
    assert "undeclared reference to &#x27;foo&#x27;" in page
    (error,) = ask(address('device.driver == "x" &&\nfoo'))["errors"]
    assert (error["line"], error["column"]) == (2, 1)


@pytest.mark.usefixtures("scene")
def test_a_failure_is_told_with_the_devices() -> None:
    page = words(get(address('device.attributes["gpu.example.com"].numa == 1')))
    assert "missing key on 6 devices" in page
    assert "no such key: numa" in page
    assert "numa nothing (6)" in page
    assert "node-0/gpu-0" in page
    assert ask(address('device.attributes["gpu.example.com"].numa == 1'))["faultKinds"] == {"missing key": 6}


@pytest.mark.usefixtures("scene")
def test_lines_that_were_typed_stay_in_the_address_and_in_the_form() -> None:
    page = get(address(f"// two\r\n{MODEL} ==\r\n\t'h100'"))
    assert "2 of 6 devices" in words(page)
    assert "// two\n" in page
    assert "\r" not in page


@pytest.mark.usefixtures("scene")
def test_what_is_too_long_is_refused_and_not_cut() -> None:
    long = "true" + " && true" * 600
    assert "longer than 4096 characters" in get(address(long))
    assert ask(address(long), 400)["detail"] == "expression: at most 4096 characters"


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("expression", [EVIL, "\x00", "\u202e", "]]>", "'\"><script>", "%", "{{ view }}", "\ud800"])
def test_whatever_is_typed_the_page_stands(expression: str) -> None:
    get("/selectors?expression=" + quote(expression.encode("utf-8", "surrogatepass")))


@pytest.mark.usefixtures("scene")
def test_the_form_works_without_scripts_and_its_page_has_its_json() -> None:
    page = get("/selectors")
    assert re.search(r'<form class="[^"]*bench"[^>]* action="/selectors" method="get"', page)
    assert "6 of 6 devices" in words(page)
    page = get(address("true", driver="gpu.example.com"))
    assert "/api/v1/selectors?expression=true&amp;driver=gpu.example.com" in page


@pytest.mark.usefixtures("scene")
def test_classes_devices_and_the_funnel_of_a_pod_lead_there() -> None:
    assert 'href="/selectors"' in get("/deviceclasses")
    assert 'href="/selectors?driver=gpu.example.com"' in get("/devices?driver=gpu.example.com")
    assert 'href="/selectors?class=two"' in get("/deviceclasses/two")
    query = urlencode({"class": "gpu", "expression": f'{MODEL} == "h100"'}).replace("&", "&amp;")
    assert f'href="/selectors?{query}"' in get("/ns/ml/pods/train")


def test_it_asks_the_devices_of_then(scene: Scene) -> None:
    then = show(scene.now)
    scene.now += 60
    scene.put(make.resource_slice(make.device("gpu-0", "h100"), node="node-1", generation=2))
    scene.look()
    assert ask(address(f'{MODEL} == "h100"'))["devices"] == 4
    assert ask(address(f'{MODEL} == "h100"', at=then))["devices"] == 6
    assert "2 of 6 devices" in words(get(address(f'{MODEL} == "h100"', at=then)))


def test_other_pages_do_not_wait_for_it_and_its_time_ends() -> None:
    assert SelectorsPage({}).looks_back
    assert within(-1.0)()
    assert not within(600.0)()


@pytest.mark.usefixtures("scene")
def test_time_that_was_over_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dradash.web.pages.bench.SECONDS", -1.0)
    monkeypatch.setattr("dradash.api.selectors.SECONDS", -1.0)
    assert "the time was over before all 6 devices" in words(get(address("true")))
    said = ask(address("true"))
    assert (said["complete"], said["asked"]) == (False, 0)
    assert json.dumps(said["nodes"]) == "[]"
