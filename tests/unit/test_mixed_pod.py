"""A pod with claims of both generations is not judged: its page says why, and promises nothing that is not there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from tests import build
from tests import builddevices as make
from tests.scene import Scene

MIXED = build.pod("mixed", "ml", claims={"old": "old-too", "new": "new-too"})
CLASSIC = build.pod("classic", "ml", claims={"old": "old-too"})
WHY = "No attempt is told: claims of v1alpha2 and claims of later versions need different schedulers"
NOT_KNOWN = "Nothing can be said before the kinds"
LANES = "The conversation in lanes"
NO_CONTEXT = "There is no PodSchedulingContext now: scheduler and drivers are not talking about this pod."


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(
        build.node("node-0"),
        build.resource_class(),
        make.device_class(),
        build.claim("old-too", "ml"),
        make.claim("new-too", "ml", make.request()),
        MIXED,
        CLASSIC,
    )
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def page(name: str) -> str:
    response = Client().get(f"/ns/ml/pods/{name}")
    assert response.status_code == 200
    return response.content.decode()


def block(text: str, title: str) -> str:
    start = text.index(f'id="{title}-title"')
    return text[start : text.index("</section>", start)]


@pytest.mark.usefixtures("scene")
def test_the_page_says_that_its_claims_are_of_both_generations() -> None:
    text = page("mixed")
    assert NOT_KNOWN not in text
    assert WHY in block(text, "devices")
    assert "No claim of the pod waits for devices" not in text
    assert text.count(WHY) >= 3  # extension points, devices, nodes


@pytest.mark.usefixtures("scene")
def test_its_negotiation_is_neither_denied_nor_linked_before_there_is_one() -> None:
    talk = block(page("mixed"), "negotiation")
    assert f"{NO_CONTEXT} Drivers are asked for its claims of v1alpha2 alone." in talk
    assert "no driver is asked first" not in talk
    assert LANES not in talk
    assert Client().get("/ns/ml/negotiations/mixed").status_code == 404


def test_the_conversation_is_linked_once_there_is_a_context(scene: Scene) -> None:
    assert LANES not in page("classic")
    context = build.context(CLASSIC)
    scene.put(context)
    scene.look()
    assert LANES in page("classic")
    assert Client().get("/ns/ml/negotiations/classic").status_code == 200
    scene.delete(context)
    scene.look()
    assert LANES in page("classic")  # it is over, and has its page
    assert NO_CONTEXT in page("classic")
    assert Client().get("/ns/ml/negotiations/classic").status_code == 200


def test_a_pod_whose_claim_cannot_be_read_says_that_and_not_that_kinds_are_unknown(scene: Scene) -> None:
    scene.put(make.claim("new-too", "ml", make.request()) | {"spec": 7})
    scene.put(build.pod("train", "ml", claims={"new": "new-too"}))
    scene.look()
    text = page("train")
    assert NOT_KNOWN not in text
    assert "No attempt is told: an object that it rests on cannot be read." in text
