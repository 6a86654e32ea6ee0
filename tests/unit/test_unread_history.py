"""While the history cannot be read nobody is told that there is none: neither by pages, nor by the API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import html5lib
import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.reader.unpublished import unpublished_since
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import StoreUnavailable
from dradash.web.fragments import Renderer
from tests import build, pages
from tests.scene import Scene
from tests.unit import html

AWAY = "Redis at nowhere cannot be reached"
UNREAD = "The history cannot be read now"
GONE = build.claim("gone", pages.NAMESPACE)
READS = ("history", "histories", "history_start", "superseded_since")
OBJECTS = (
    "/ns/ml/pods/gone",
    "/ns/ml/claims/gone",
    "/ns/ml/negotiations/gone",
    "/nodes/gone",
    "/classes/gone",
    "/deviceclasses/gone",
    "/slices/gone",
)
PUBLISHED = ("/pools/gpu.example.com/gone", "/devices/gpu.example.com/gone/gpu-0")

Away = Callable[[], None]


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    made.put(GONE)
    made.delete(GONE)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


@pytest.fixture
def away(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Away:
    """Called: from then on the store answers nothing about what was."""

    def refuse(*_: object) -> None:
        raise StoreUnavailable(AWAY)

    def begin() -> None:
        for name in READS:
            monkeypatch.setattr(scene.model, name, refuse)
        scene.web.part(Renderer).forget()

    return begin


def get(path: str, status: int = 200) -> tuple[str, Any]:
    """The words in the middle of the page, and the response."""
    response = Client().get(path)
    assert response.status_code == status, response.content[:400]
    page = response.content.decode()
    assert html.read(page).faults == []
    html5lib.HTMLParser(strict=True).parse(page)
    main = page[page.index("<main") : page.index("</main>")].replace("<wbr>", "")
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", main).split())), response


@pytest.mark.parametrize("path", OBJECTS + PUBLISHED)
def test_what_is_not_there_may_have_been_there(scene: Scene, away: Away, path: str) -> None:
    away()
    words, response = get(path, 503)
    assert "dradash cannot tell: the history cannot be read now" in words
    assert AWAY in words
    assert response.headers["Retry-After"] == "2"
    assert "has not seen one" not in words
    title = re.search(r"<title>([^<]+)</title>", response.content.decode())
    assert title is not None
    assert title[1].startswith("Not known: ")
    assert "Not known: " in words


@pytest.mark.parametrize("path", OBJECTS + PUBLISHED)
def test_the_api_does_not_say_that_it_never_was(scene: Scene, away: Away, path: str) -> None:
    address = f"/api/v1{path.replace('/ns/', '/').replace('/ml/', '/')}"
    parts = path.split("/")
    if parts[1] == "ns":
        address = f"/api/v1/{parts[3]}/{parts[2]}/{parts[4]}"
    assert Client().get(address).status_code in (200, 404)
    away()
    response = Client().get(address)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "2"
    assert AWAY in response.json()["detail"]


@pytest.mark.usefixtures("scene")
def test_a_pool_of_which_nothing_can_be_read_is_not_one_that_nobody_published(away: Away) -> None:
    away()
    with pytest.raises(StoreUnavailable):
        unpublished_since(current.get(), PoolID("gpu.example.com", "gone"), "", None)


@pytest.mark.usefixtures("scene")
def test_a_pod_that_is_there_keeps_its_page_and_only_its_history_is_not_told(away: Away) -> None:
    before, _ = get("/ns/ml/pods/train")
    assert "Round 1" in before
    away()
    words, _ = get("/ns/ml/pods/train")
    assert words.count(UNREAD) == 3  # look back, negotiation, verdicts
    for wrong in ("Round 1", "unknown", "Nothing is kept"):
        assert wrong not in words
    assert "Must act next" in words


@pytest.mark.usefixtures("scene")
def test_a_conversation_that_cannot_be_read_is_not_one_of_a_single_round(away: Away) -> None:
    assert "Round 1" in get("/ns/ml/negotiations/train")[0]
    away()
    words, _ = get("/ns/ml/negotiations/train")
    assert "Round" not in words
    assert words.count(UNREAD) == 3  # look back, course, lanes
    assert "node-1" in words, "how it stands is known all the same"


@pytest.mark.usefixtures("scene")
def test_the_life_of_a_claim_is_not_called_empty(away: Away) -> None:
    assert "Nothing is kept" not in get("/ns/ml/claims/held")[0]
    away()
    words, _ = get("/ns/ml/claims/held")
    assert words.count(UNREAD) == 3  # look back, course, history
    assert "Nothing is kept" not in words


@pytest.mark.usefixtures("scene")
def test_what_was_named_in_full_is_not_said_to_be_kept_or_not(away: Away) -> None:
    assert "gone: its page shows the last state that is kept" in get("/search?q=claim/gone+-n+ml")[0]
    away()
    assert "whether there was one cannot be read now" in get("/search?q=claim/gone+-n+ml")[0]


def test_a_past_in_which_it_cannot_be_read_who_waited_is_not_remembered_as_one_in_which_nobody_did(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = scene.now
    context = build.context(pages.TRAIN, potential=pages.NODES, selected="node-2", unsuitable={"gpu": ["node-1"]})
    scene.put(context)
    scene.look()
    path = f"/negotiations?at={show(at)}"
    current.get().past(at)

    def refuse(*_: object) -> None:
        raise StoreUnavailable(AWAY)

    with monkeypatch.context() as broken:
        broken.setattr(scene.model, "history", refuse)
        words, response = get(path, 503)
        assert f"The past cannot be read: {AWAY}" in words
        assert 'ws-connect="/live/' in response.content.decode(), "it can be read later"
    words, _ = get(path)
    assert "unknown" not in words


def test_a_uid_finds_what_is_there_and_of_what_is_gone_is_said_that_it_cannot_be_looked_up(
    scene: Scene, away: Away
) -> None:
    uid = "1b4e28ba-2fa1-4d3b-a3f5-ef19b5a7633b"
    scene.put(build.pod("here", "ml", uid=uid, claims={"gpu": "gone"}))
    scene.look()
    away()
    words, _ = get(f"/search?q={uid}")
    assert "1 result" in words
    assert "here" in words
    unknown = "What is gone cannot be looked up by its uid now: the history cannot be read."
    assert unknown in get("/search?q=2b4e28ba-2fa1-4d3b-a3f5-ef19b5a7633b")[0]


@pytest.mark.usefixtures("scene")
def test_a_page_that_cannot_be_read_speaks_of_a_past_only_where_one_was_asked_for(away: Away) -> None:
    away()
    words, _ = get("/doctor/claim-missing.abc", 503)
    assert "The past" not in words
    assert "Try again" in words
