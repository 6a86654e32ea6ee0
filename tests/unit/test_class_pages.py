"""Classes and drivers over HTTP: the lists, one class, one driver."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from tests import build
from tests.scene import Scene
from tests.unit import html

EVIL = "<b>evil</b>"
POD = build.pod("train", "ml", claims={"gpu": "gpu"})
WAITS = build.pod("waits", "ml", claims={"nic": "nic"})


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(
        *(build.node(f"node-{i}", labels={"zone": "ab"[i % 2]}) for i in range(4)),
        build.resource_class(suitable=build.with_labels(zone="a")),
        build.resource_class("nowhere", suitable=build.with_labels(zone="z"), driver="nic.example.com"),
        POD,
        WAITS,
        build.claim("gpu", "ml"),
        build.claim("nic", "ml", resource_class="nowhere"),
        build.claim("lost", "ml", resource_class="absent"),
    )
    made.look()
    made.put(build.context(POD, potential=["node-0", "node-2"]), build.context(WAITS, potential=["node-1"]))
    made.put(build.context(POD, potential=["node-0", "node-2"], unsuitable={"gpu": ["node-2"]}, selected="node-0"))
    made.put(build.claim("gpu", "ml", allocation=build.allocation("node-0")))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200) -> str:
    response = Client().get(path)
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    "path",
    [
        "/classes",
        "/classes?driver=nic.example.com&sort=-waiting&q=zone",
        "/classes?q=nothing+like+it",
        "/classes/gpu",
        "/classes/nowhere",
        "/drivers",
        "/drivers?q=gpu&sort=p95",
        "/drivers?q=nothing+like+it",
        "/drivers/gpu.example.com",
        "/drivers/nic.example.com",
    ],
)
def test_the_pages_are_well_formed(path: str) -> None:
    assert html.read(get(path)).faults == []


@pytest.mark.usefixtures("scene")
def test_a_class_tells_its_filter_in_words_and_what_it_leaves() -> None:
    page = get("/classes")
    assert "label zone is a" in page
    assert "2 of 4" in page
    assert "0 of 4" in page
    assert page.count("never heard of") == 1, "the other driver has answered"
    assert "<code>absent</code> (1 claim)" in page
    one = get("/classes/gpu")
    assert '<a href="/nodes/node-0">' in one
    assert "/claims?class=gpu&amp;state=Allocated" in one
    assert "/ns/ml/pods/waits" in get("/classes/nowhere")
    assert "never heard of" in get("/classes/nowhere")


@pytest.mark.usefixtures("scene")
def test_classes_are_filtered() -> None:
    page = get("/classes?driver=nic.example.com")
    assert '"/classes/nowhere"' in page
    assert '"/classes/gpu"' not in page


@pytest.mark.usefixtures("scene")
def test_a_driver_that_owes_comes_before_one_that_does_not() -> None:
    page = get("/drivers")
    assert page.index('"/drivers/nic.example.com"') < page.index('"/drivers/gpu.example.com"')
    assert "Never heard of" in page
    assert "Owes nothing" in page
    assert "1.0 s" in page


@pytest.mark.usefixtures("scene")
def test_a_driver_tells_who_waits_what_it_refuses_and_how_long_it_takes() -> None:
    page = get("/drivers/nic.example.com")
    assert "/ns/ml/negotiations/waits" in page
    assert "say which nodes are unsuitable" in page
    other = get("/drivers/gpu.example.com")
    assert '<a href="/nodes/node-2">' in other
    assert "1 to 3 s" in other, "from the first question to the allocation it took two seconds"
    assert "Nobody." in other


def test_a_driver_tells_how_long_each_pod_has_waited(scene: Scene) -> None:
    with scene.web.follower.world() as world:
        since = world.verdicts["ml/waits"].since
    page = get("/drivers/nic.example.com").partition('id="waiting-title"')[2]  # behind what the driver owes
    assert "Waiting</th>" in page
    told = re.search(r'data-label="Waiting" class="num"><time datetime="([^"]+)"', page)
    assert told is not None
    assert since == build.NOW + 1
    assert told[1] == show(since)


@pytest.mark.usefixtures("scene")
def test_a_driver_that_nobody_names_is_missing() -> None:
    assert "No driver" in get("/drivers/never", 404)
    assert "No ResourceClass" in get("/classes/never", 404)


def test_a_class_that_is_gone_shows_its_last_state(scene: Scene) -> None:
    scene.delete(build.resource_class("nowhere"))
    scene.look()
    page = get("/classes/nowhere")
    assert "This class is gone" in page
    assert html.read(page).faults == []


def test_a_past_moment_counts_only_what_was_before_it(scene: Scene) -> None:
    at = show(scene.now - 1.5)  # asked, not answered yet
    page = get(f"/drivers/gpu.example.com?at={at}")
    assert "Nothing was allocated through this driver" in page
    assert '<a href="/nodes/node-2' not in page
    for path in ("/classes", "/drivers", "/classes/gpu"):
        assert html.read(get(f"{path}?at={at}")).faults == []


def test_hostile_names_stay_text(scene: Scene) -> None:
    scene.put(
        build.resource_class(EVIL, driver=EVIL, suitable=build.with_labels(**{EVIL: EVIL})),
        build.claim("evil", "ml", resource_class=EVIL + "!"),
    )
    scene.look()
    for path in ("/classes", "/drivers"):
        page = get(path)
        assert EVIL not in page
        assert html.read(page).faults == []
