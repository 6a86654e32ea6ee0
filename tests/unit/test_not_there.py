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
