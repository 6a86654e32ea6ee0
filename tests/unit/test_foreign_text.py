"""What others wrote does not make a page grow beyond measure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import cut
from tests import build
from tests.scene import Scene

LONG = "0/1 nodes are available: " + "x" * 900_000
LARGEST = 200_000  # bytes of a page


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(1), build.resource_class(), build.claim("claim"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def test_a_long_text_is_cut_and_says_how_much_is_left_out() -> None:
    assert cut("x" * 1000) == "x" * 1000
    assert cut("x" * 3000) == "x" * 1000 + "… (2,000 more characters)"


def test_an_event_of_megabytes_leaves_the_page_readable(scene: Scene) -> None:
    pod = build.pod("p", claims={"gpu": "claim"}, conditions=[build.unschedulable(LONG)])
    scene.put(pod, build.event(pod, LONG))
    scene.look()
    page = Client().get("/ns/default/pods/p").content.decode()
    assert len(page) < LARGEST
    assert "more characters)" in page
    for path in ("/pods", "/changes", "/", "/claims", "/doctor"):
        assert len(Client().get(path).content) < LARGEST, path


def test_a_node_of_thousands_of_labels_shows_the_first_and_where_all_are(scene: Scene) -> None:
    scene.put(build.node("node-0", labels={f"label-{i:04}": "v" * 60 for i in range(5000)}))
    scene.look()
    page = Client().get("/nodes/node-0").content.decode()
    assert len(page) < LARGEST
    assert "5,001 other labels" in page
    assert 'The first 100 are shown: <a href="/api/v1/nodes/node-0">' in page
    assert len(Client().get("/api/v1/nodes/node-0").json()["labels"]) == 5001


def test_yaml_shows_all_of_a_usual_object_and_the_beginning_of_a_vast_one() -> None:
    assert as_yaml({"a": {"b": [1, "x"]}}) == "a:\n  b:\n  - 1\n  - x\n"
    vast = as_yaml({"a": {f"k{i:04}": "v" for i in range(5000)}, "text": "x" * 900_000, "l": [["y"] * 300] * 300})
    assert vast.startswith("# Not all of it is shown here")
    assert len(vast) < 20_000
    assert "…: 4,800 more" in vast
