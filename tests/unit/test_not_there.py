"""Pages about what is not there, or cannot be known to be: live and at a past moment they say one thing only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import html5lib
import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.store.model import Write
from tests import build, pages
from tests.scene import Scene
from tests.unit import html

BAD = b'{"metadata":{"name":"bad","namespace":"ml","labels":7}}'
NONE = "There was none at the moment that this page shows."


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int) -> tuple[str, str, Any]:
    """The title, the words in the middle of the page, and the response."""
    response = Client().get(path)
    page = response.content.decode()
    assert response.status_code == status, page[:400]
    assert html.read(page).faults == []
    html5lib.HTMLParser(strict=True).parse(page)
    title = re.search(r"<title>([^<]*) · dradash</title>", page)
    assert title is not None
    main = page[page.index("<main") : page.index("</main>")].replace("<wbr>", "")
    words = " ".join(re.sub(r"<[^>]+>", " ", main).split()).replace(" .", ".")
    return unescape(title[1]), unescape(words), response


def test_what_is_malformed_is_there(scene: Scene) -> None:
    scene.now += 10.0
    scene.model.apply(scene.epoch, [Write("pods", "ml/bad", "ADDED", BAD)], [], scene.now)
    scene.look()
    path = "/ns/ml/pods/bad"
    title, words, _ = get(path, 404)
    assert title == "Malformed Pod ml/bad"
    assert "The API server has an object of that name, but it is no valid Pod" in words
    assert "If it becomes a valid Pod while this page is open and live, it is shown here." in words
    title, words, _ = get(f"{path}?at={show(scene.now + 1)}", 404)
    assert title == "Malformed Pod ml/bad"
    assert "The API server had an object of that name, but it was no valid Pod" in words
    assert NONE not in words


@pytest.mark.parametrize(
    ("kind", "path", "named"),
    [
        ("nodes", "/nodes/lost", "Node lost"),
        ("pods", "/ns/ml/pods/lost", "Pod ml/lost"),
        ("resourceslices", "/pools/gpu.example.com/lost", "pool gpu.example.com/lost"),
        ("resourceslices", "/devices/gpu.example.com/p/lost", "device gpu.example.com/p/lost"),
        ("resourceslices", "/drivers/lost.example.com", "driver lost.example.com"),
    ],
)
def test_what_could_not_be_read_is_not_called_absent_now_or_then(
    scene: Scene, kind: str, path: str, named: str
) -> None:
    scene.now += 10.0
    scene.sync(kind, "syncing")
    syncing = scene.now
    scene.look()
    title, words, response = get(path, 503)
    assert title == f"Not known: {named}"
    assert f"Not known: {named}" in words
    assert "dradash cannot tell" in words
    assert "If it can be read while this page is open and live, it is shown here." in words
    assert response.headers["Retry-After"] == "2", "it may be read in a moment"
    scene.now += 10.0
    scene.sync(kind, "synced")
    scene.look()
    title, words, response = get(f"{path}?at={show(syncing + 1)}", 404)
    assert title == f"Not known: {named}"
    assert "dradash cannot tell" in words
    assert NONE not in words
    assert "open and live" not in words
    assert "Retry-After" not in response.headers, "what is over does not change"
    assert "ws-connect" not in response.content.decode() or 'ws-connect=""' in response.content.decode()
    title, words, _ = get(f"{path}?at={show(scene.now + 1)}", 404)
    assert title == f"No {named}"
    assert "dradash cannot tell" not in words


def test_before_an_object_was_there_its_page_leads_to_when_it_was(scene: Scene) -> None:
    scene.now += 100.0
    made = build.pod("later", "ml", claims={"gpu": "x"}, created=show(scene.now))
    scene.put(made)
    first = scene.now
    scene.put(build.pod("later", "ml", claims={"gpu": "x"}, created=show(first - 1), labels={"a": "b"}))
    scene.look()
    path = "/ns/ml/pods/later"
    _, words, response = get(f"{path}?at={show(first - 30)}", 404)
    assert "It did not exist yet: dradash saw it first at 2026-11-30 " in words
    assert "has not seen one" not in words
    link = re.search(r'<a href="(\?at=[^"]+)">[^<]*<time[^>]*>[^<]+</time></a>', response.content.decode())
    assert link is not None
    _, words, _ = get(path + unescape(link[1]), 200)
    assert "later" in words
    detail = Client().get("/api/v1/pods/ml/later", {"at": show(first - 30)}).json()["detail"]
    assert detail == f"there was no Pod ml/later then: it is known since {show(first)}"


def test_what_existed_before_dradash_saw_it_is_not_said_not_to_have_existed(scene: Scene) -> None:
    scene.now += 100.0
    scene.put(build.pod("late", "ml", claims={"gpu": "x"}, created=show(scene.now - 90)))
    scene.look()
    _, words, _ = get(f"/ns/ml/pods/late?at={show(scene.now - 30)}", 404)
    assert "dradash had not seen it yet: it saw it first at 2026-11-30 " in words
    assert "did not exist" not in words
    assert NONE not in words
