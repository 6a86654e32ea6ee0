"""Findings about devices lead to pages that there are, and stand on the pages of pools and devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client, override_settings

from dradash.api.schemas import url
from dradash.reader import current
from tests import build, devicecases
from tests import builddevices as make
from tests.scene import Scene

NOWHERE = "gpu.example.com/rack/9"
TAINTED = make.device("gpu-1", taints=[devicecases.BROKEN])


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(
        build.node("node-0"),
        devicecases.CLASS,
        make.resource_slice(make.device("gpu-0"), TAINTED, pool="rack/7"),
        make.resource_slice(make.device("gpu-0"), node="node-1", count=2),
        make.claim("twice", devices=[make.result("gpu-0", pool="rack/7")]),
        make.claim("again", devices=[make.result("gpu-0", pool="rack/7")]),
        make.claim("c", devices=[make.result("gpu-1", pool="rack/7")], reserved_for=[devicecases.POD]),
        make.claim("lost", devices=[make.result("gpu-9", pool="rack/7")]),
        make.claim("away", devices=[make.result("gpu-0", pool="rack/9")]),
        devicecases.POD,
        devicecases.wanting('device.driver == "none"', name="none"),
    )
    made.now += 1000
    made.look()
    made.web.doctor.look(made.now)
    current.use(made.web)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        yield made
    current.use(None)


def test_each_object_of_each_finding_has_a_page_and_a_resource_that_answer(scene: Scene) -> None:
    kinds = set()
    for finding in Client().get("/api/v1/findings").json()["items"]:
        for ref in finding["objects"]:
            kinds.add(ref["kind"])
            absent = ref["key"] == NOWHERE
            assert (ref["url"] is None) == absent, ref
            assert Client().get(ref["url"] or ref["page"]).status_code == (404 if absent else 200), ref
            assert Client().get(ref["page"]).status_code == (404 if absent else 200), ref
    assert {"pools", "devices", "resourceslices", "deviceclasses", "resourceclaims", "pods"} <= kinds
    assert {f.code for f in scene.web.doctor.report().findings} >= {
        "pool-incomplete",
        "device-allocated-twice",
        "device-vanished",
        "taint-not-tolerated",
        "request-matches-no-device",
    }


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("page", "title", "other"),
    [
        (
            "/pools/gpu.example.com/node-1",
            "Pool of devices is incomplete",
            "Allocated device is not published any more",
        ),
        (
            "/pools/gpu.example.com/rack/7",
            "Allocated device is not published any more",
            "Pool of devices is incomplete",
        ),
        (
            "/devices/gpu.example.com/rack/7/gpu-0",
            "Device is in more than one allocation",
            "Allocated device has a taint that is not tolerated",
        ),
        (
            "/devices/gpu.example.com/rack/7/gpu-1",
            "Allocated device has a taint that is not tolerated",
            "Device is in more than one allocation",
        ),
    ],
)
def test_pools_and_devices_show_what_is_found_about_them(page: str, title: str, other: str) -> None:
    text = Client().get(page).content.decode()
    assert title in text
    assert other not in text


def test_a_finding_links_the_device_that_it_is_about(scene: Scene) -> None:
    (finding,) = (f for f in scene.web.doctor.report().findings if f.code == "taint-not-tolerated")
    text = Client().get(f"/doctor/{finding.id}").content.decode()
    assert 'href="/devices/gpu.example.com/rack/7/gpu-1"' in text
    shown = Client().get("/doctor?about=devices/gpu.example.com/rack/7/gpu-1").content.decode()
    listed = [f.code for f in scene.web.doctor.report().findings if f"/doctor/{f.id}" in shown]
    assert listed == ["taint-not-tolerated"]


@pytest.mark.usefixtures("scene")
def test_a_pool_that_nobody_publishes_says_what_is_found_about_it() -> None:
    response = Client().get(f"/pools/{NOWHERE}")
    assert response.status_code == 404
    text = response.content.decode()
    assert "Allocated device is not published any more" in text
    (link,) = re.findall(r'<a href="([^"]*)" rel="alternate" type="application/json">', text)
    assert [f["code"] for f in Client().get(link).json()["items"]] == ["device-vanished"]


def test_the_json_of_each_pool_and_device_has_the_findings_of_its_page(scene: Scene) -> None:
    kinds = set()
    for (kind, key), found in scene.web.doctor.report().by_object.items():
        response = Client().get(url(kind, key) or "/")
        if response.status_code == 200:
            kinds.add(kind)
            assert [f["id"] for f in response.json()["findings"]] == [f.id for f in found], (kind, key)
    assert kinds >= {"pools", "devices", "resourceslices", "deviceclasses"}
