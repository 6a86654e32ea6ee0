"""What a hostile page, client or object tries, and what it gets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.store.model import Write
from tests import build
from tests.scene import Scene

POD = build.pod("train", "ml", claims={"gpu": "train-gpu"})


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(*build.nodes(2), build.resource_class(), POD, build.claim("train-gpu", "ml"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("path", ["/", "/pods", "/ns/ml/pods/train", "/healthz", "/static/dradash.css", "/nowhere"])
def test_a_foreign_host_name_is_refused_on_every_path(path: str) -> None:
    assert Client().get(path, headers={"host": "evil.example"}).status_code == 400
    assert Client().get(path, headers={"host": "127.0.0.1:8000"}).status_code != 400


@pytest.mark.parametrize("created", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "0000-00-00", "soon"])
def test_impossible_times_spoil_no_page(scene: Scene, created: str) -> None:
    scene.put(build.pod("odd", "ml", claims={"gpu": "train-gpu"}, created=created))
    scene.look()
    for path in ("/", "/pods", "/ns/ml/pods/odd"):
        assert Client().get(path).status_code == 200, path


def test_a_time_that_no_calendar_shows_spoils_no_answer_of_the_api(scene: Scene) -> None:
    odd = build.claim("odd", "ml", created="0001-01-01T00:00:00+14:00")
    odd["metadata"] |= {"deletionTimestamp": "0001-01-01T00:00:00+14:00", "finalizers": ["gpu.example.com/held"]}
    scene.put(odd)
    scene.look()
    for path in ("/findings", "/claims", "/claims/ml/odd", "/pods"):
        assert Client().get(f"/api/v1{path}").status_code == 200, path
    for path in ("/claims", "/ns/ml/claims/odd", "/doctor"):
        assert Client().get(path).status_code == 200, path


@pytest.mark.usefixtures("scene")
def test_more_parameters_than_any_page_has_are_refused_in_words(caplog: pytest.LogCaptureFixture) -> None:
    answer = Client().get("/pods?" + "&".join(["ns=x"] * 1200))
    assert answer.status_code == 400
    assert "more parameters than any page" in answer.content.decode()
    assert "django.security" in {r.name.rpartition(".")[0] for r in caplog.records}


@pytest.mark.usefixtures("scene")
def test_control_characters_never_come_back_in_a_page() -> None:
    page = Client().get("/classes?sort=%00&q=a%07b&driver=%1b[31m").content.decode()
    assert not set(page) & set("\x00\x07\x1b")


def test_a_malformed_pod_is_called_malformed_and_not_absent(scene: Scene) -> None:
    raw = b'{"metadata":{"name":"broken","namespace":"ml"},"spec":{"resourceClaims":[7]}}'
    scene.model.apply(scene.epoch, [Write("pods", "ml/broken", "ADDED", raw)], [], scene.now)
    scene.look()
    answer = Client().get("/ns/ml/pods/broken")
    assert answer.status_code == 404
    assert "it is no valid Pod" in answer.content.decode()


def test_the_page_of_a_bound_pod_does_not_say_that_it_was_not_judged(scene: Scene) -> None:
    scene.put(build.pod("train", "ml", claims={"gpu": "train-gpu"}, node="node-0"))
    scene.look()
    page = Client().get("/ns/ml/pods/train").content.decode()
    assert "The scheduler was never asked" in page  # its claim is not allocated
    assert "Not judged yet" not in page
    assert "Filter was not reached" not in page


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("at", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00", "2026-13-01T00:00:00Z"])
def test_impossible_moments_are_refused_on_every_page(at: str) -> None:
    for path in ("/", "/pods", "/ns/ml/pods/train", "/claims", "/nodes", "/doctor", "/changes", "/negotiations"):
        assert Client().get(f"{path}?at={at}").status_code == 400, path
