"""Pools, devices and device classes in the search: they are parts of slices, and there are many of them."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from dradash.reader import current
from dradash.web.presenters import found
from dradash.web.presenters.query import Query
from tests import build, builddevices
from tests.scene import Scene

NIC = "nic.example.com"


def slice_of(pool: str, *names: str, driver: str = "gpu.example.com", node: str = "node-0") -> build.Obj:
    return builddevices.resource_slice(*map(builddevices.device, names), node=node, pool=pool, driver=driver)


@pytest.fixture(scope="module")
def scene() -> Scene:
    made = Scene(
        build.node("node-0"),
        builddevices.device_class("a100", 'device.driver == "gpu.example.com"'),
        slice_of("rack/one", "gpu-0", "gpu-1", "H100"),
        slice_of("rack/two", "gpu-0"),
        slice_of("ports", "eth0", "gpu-0-port", driver=NIC),
    )
    made.put(builddevices.claim("held", "ml", devices=[builddevices.result("gpu-1", pool="rack/one")]))
    made.look()
    return made


def find(scene: Scene, text: str, **more: str) -> dict[str, list[str]]:
    """Kind -> addresses, in the order of the page; pools and devices alone."""
    query = Query.of({"q": text} | more, found.PARAMS)
    with scene.web.follower.world() as world:
        view = found.present(world, query, found.Haystacks())
    return {g.kind: [h.href for h in g.hits] for g in view.groups if g.kind in ("pools", "devices", "deviceclasses")}


@pytest.mark.parametrize(
    ("text", "found_there"),
    [
        ("a100", {"deviceclasses": ["/deviceclasses/a100"]}),
        ("deviceclass/a100", {"deviceclasses": ["/deviceclasses/a100"]}),
        ("eth0", {"devices": ["/devices/nic.example.com/ports/eth0"]}),
        ("h100", {"devices": ["/devices/gpu.example.com/rack/one/H100"]}),
        ("ports", {"pools": ["/pools/nic.example.com/ports"]}),  # not each of its devices
        ("device ports eth", {"devices": ["/devices/nic.example.com/ports/eth0"]}),
        ("pool one", {"pools": ["/pools/gpu.example.com/rack/one"]}),
        ("rack/one/gpu-1", {"devices": ["/devices/gpu.example.com/rack/one/gpu-1"]}),
        ("gpu.example.com/rack/two/gpu-0", {"devices": ["/devices/gpu.example.com/rack/two/gpu-0"]}),
        ("/devices/gpu.example.com/rack/two/gpu-0", {"devices": ["/devices/gpu.example.com/rack/two/gpu-0"]}),
        ("gpu.example.com/rack/one", {"pools": ["/pools/gpu.example.com/rack/one"]}),
        ("two gpu-0", {"devices": ["/devices/gpu.example.com/rack/two/gpu-0"]}),
        ("zone=a", {}),
        ("1b4e28ba-2fa1-11d2-883f-0016d3cca427", {}),
    ],
)
def test_pools_and_devices_are_found_by_what_they_are_called(
    scene: Scene, text: str, found_there: dict[str, list[str]]
) -> None:
    assert find(scene, text) == found_there


def test_a_devices_own_name_comes_before_names_that_begin_like_it(scene: Scene) -> None:
    assert find(scene, "gpu-0")["devices"] == [
        "/devices/gpu.example.com/rack/one/gpu-0",
        "/devices/gpu.example.com/rack/two/gpu-0",
        "/devices/nic.example.com/ports/gpu-0-port",
    ]


def test_a_kind_alone_finds_all_of_it(scene: Scene) -> None:
    assert len(find(scene, "devices")["devices"]) == 6
    assert len(find(scene, "pools")["pools"]) == 3
    assert len(find(scene, "device gpu.example.com")["devices"]) == 4


def test_a_device_is_found_as_long_as_a_slice_publishes_it() -> None:
    scene = Scene(slice_of("rack", "old"))
    scene.look()
    assert find(scene, "old")
    scene.put(slice_of("rack", "new"))
    scene.look()
    assert not find(scene, "old")
    assert find(scene, "new") == {"devices": ["/devices/gpu.example.com/rack/new"]}


def test_what_is_found_says_where_it_is_and_who_holds_it(scene: Scene) -> None:
    current.use(scene.web)
    try:
        page = Client().get("/search?q=gpu-1").content.decode()
    finally:
        current.use(None)
    hit = page.partition('<a class="hit" href="/devices/gpu.example.com/rack/one/gpu-1">')[2].partition("</a>")[0]
    assert "gpu.example.com/rack/one" in hit
    assert "Held" in hit
    assert re.search(r"<h2>Devices <span[^>]*>1<", page)


def test_of_forty_thousand_devices_all_are_counted_and_a_few_shown() -> None:
    names = [f"gpu-{i}" for i in range(8)]
    scene = Scene(*(slice_of(f"pool-{i}", *names, node=f"node-{i}") for i in range(5000)))
    scene.look()
    haystacks = found.Haystacks()
    for text, count in (("gpu-7", 5000), ("device gpu", 40_000), ("pool-77/gpu-0", 1), ("zzz", 0)):
        query = Query.of({"q": text}, found.PARAMS)
        with scene.web.follower.world() as world:
            view = found.present(world, query, haystacks)
        devices = [g for g in view.groups if g.kind == "devices"]
        assert sum(g.count for g in devices) == count
        assert all(len(g.hits) <= found.SHOWN for g in view.groups)
