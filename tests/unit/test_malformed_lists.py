"""Objects that cannot be read are on the list of their kind, with what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.web.presenters import status
from tests import build, builddevices
from tests.scene import Scene
from tests.unit import html

NO_NUMBER = "Expected `str`, got `int`"


def bad_class(name: str = "broken") -> build.Obj:
    return build.resource_class(name) | {"driverName": 5}


def bad_device_class(name: str = "broken") -> build.Obj:
    return builddevices.device_class(name) | {"spec": "none"}


@pytest.fixture
def served() -> Iterator[None]:
    yield
    current.use(None)


def get(path: str, *objects: build.Obj) -> str:
    scene = Scene(*objects)
    scene.look()
    current.use(scene.web)
    return listed(path)


def listed(path: str) -> str:
    text = Client().get(path).content.decode()
    assert html.read(text).faults == []
    return text.partition('<div id="list" class="block">')[2].partition("</main>")[0]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("path", "bad", "href", "wrong"),
    [
        ("/classes", bad_class(), "/classes/broken", NO_NUMBER),
        ("/deviceclasses", bad_device_class(), "/deviceclasses/broken", "Expected `object`, got `str`"),
        ("/claims", build.claim("broken", "ml") | {"spec": "none"}, "/ns/ml/claims/broken", "Expected `object`"),
        ("/pods", build.pod("broken", "ml") | {"spec": 7}, "/ns/ml/pods/broken", "Expected `object`, got `int`"),
    ],
)
def test_a_malformed_object_is_on_its_list_with_what_is_wrong(path: str, bad: build.Obj, href: str, wrong: str) -> None:
    text = get(path, bad)
    assert "Malformed" in text
    assert f'<a href="{href}">' in text
    assert wrong in text
    assert "There are no" not in text
    assert "There is no" not in text
    assert Client().get(href).status_code == 404  # it is there, and its page says what is wrong
    assert wrong in Client().get(href).content.decode()


@pytest.mark.usefixtures("served")
def test_those_that_can_be_read_are_listed_beside_it() -> None:
    text = get("/classes", build.resource_class("gpu"), bad_class("a<b>"))
    assert ">gpu</a>" in text
    assert "a&lt;b&gt;" in text
    assert "<b>" not in text.partition("Malformed")[2].partition("</ul>")[0]


@pytest.mark.usefixtures("served")
def test_a_list_without_malformed_objects_says_nothing_of_them() -> None:
    assert "Malformed" not in get("/classes", build.resource_class("gpu"), bad_device_class())


@pytest.mark.usefixtures("served")
def test_no_more_are_named_than_can_be_read_at_a_glance() -> None:
    text = get("/classes", *(bad_class(f"broken-{i:03}") for i in range(status.LISTED + 5)))
    assert text.count("<li data-key=") == status.LISTED
    assert f"The first {status.LISTED} of {status.LISTED + 5}." in text


@pytest.mark.usefixtures("served")
def test_a_past_moment_shows_what_was_malformed_then() -> None:
    scene = Scene(bad_class())
    before = scene.now
    scene.put(build.resource_class("broken"))
    scene.look()
    current.use(scene.web)
    assert "Malformed" not in listed("/classes")
    assert "Malformed" in listed(f"/classes?at={show(before)}")


def test_a_malformed_claim_of_a_negotiation_is_not_called_missing() -> None:
    pod = build.pod("train", "ml", claims={"gpu": "broken", "nic": "absent"})
    scene = Scene(pod, build.claim("broken", "ml") | {"spec": "none"}, build.context(pod, potential=["node-0"]))
    scene.look()
    current.use(scene.web)
    text = Client().get("/ns/ml/negotiations/train").content.decode()
    current.use(None)
    columns = text.partition('data-key="the claims"')[2].partition("</tr>")[0]
    gpu, nic = columns.partition('data-label="nic"')[::2]
    assert "Unreadable" in gpu
    assert "Missing" not in gpu
    assert "Missing" in nic
    assert '<a href="/ns/ml/claims/broken">gpu</a>' in text
