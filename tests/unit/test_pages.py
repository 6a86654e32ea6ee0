"""Each page in each state that a cluster can be in, read by a strict parser."""

from __future__ import annotations

import html as html_module
import re
from collections.abc import Callable, Iterator
from typing import Any

import html5lib
import pytest
from django.test import Client

from dradash.kinds.registry import ONE_GENERATION
from dradash.reader import current
from dradash.store.model import StoreUnavailable
from dradash.web.pages.about import AboutPage
from tests import build, pages
from tests.pages import PageLine
from tests.scene import Scene
from tests.unit import html

by_path = pytest.mark.parametrize("line", pages.served(), ids=lambda line: line.path)
objects = pytest.mark.parametrize("line", [p for p in pages.served() if p.is_object], ids=lambda line: line.path)


@pytest.fixture
def serve() -> Iterator[Callable[[Scene], Scene]]:
    def use(scene: Scene) -> Scene:
        scene.look()
        current.use(scene.web)
        return scene

    yield use
    current.use(None)


Serve = Callable[[Scene], Scene]


def get(path: str, *statuses: int, **more: Any) -> str:
    response = Client(**more).get(path)
    assert response.status_code in (statuses or (200,)), response.content[:400]
    text = response.content.decode()
    assert html.read(text).faults == []
    return text


def text_of(page: str) -> str:
    """What a reader reads in the middle of the page."""
    main = page[page.index("<main") : page.index("</main>")]
    whole = main.replace("<wbr>", "")  # where a name may break, not where it ends
    return html_module.unescape(" ".join(re.sub(r"<[^>]+>", " ", whole).split()))


@by_path
def test_a_page_shows_what_there_is_and_is_valid(serve: Serve, line: PageLine) -> None:
    serve(pages.scene())
    page = get(line.path)
    html5lib.HTMLParser(strict=True).parse(page)
    for words in line.shows:
        assert words in text_of(page)
    assert page.count("<h1") == 1
    assert re.search(r"<title>[^<]+ · dradash</title>", page)


@by_path
def test_a_page_for_a_wall_has_no_navigation_and_stays_one(serve: Serve, line: PageLine) -> None:
    serve(pages.scene())
    path = f"{line.path}{'&' if '?' in line.path else '?'}kiosk=1"
    page = get(path)
    html5lib.HTMLParser(strict=True).parse(page)
    assert '<body class="kiosk">' in page
    links = re.findall(r'href="(/[^"]*)"', page)
    assert [link for link in links if "kiosk=1" not in link and not link.startswith("/static/")] == []


@by_path
def test_an_empty_cluster_says_so_in_words(serve: Serve, line: PageLine) -> None:
    serve(Scene())
    text = text_of(get(line.path, 200, 404))
    assert len(text.split()) > 8
    for value in ("None", "NaN", "undefined", "{{", "<"):
        assert value not in text.split()


@by_path
def test_before_the_first_load_a_page_is_a_valid_waiting_room(line: PageLine) -> None:
    scene = Scene()
    current.use(scene.web)
    try:
        page = get(line.path, 503)
        html5lib.HTMLParser(strict=True).parse(page)
        assert "Loading the cluster" in page
        assert 'ws-connect="/live/' in page
    finally:
        current.use(None)


@by_path
@pytest.mark.parametrize(
    ("state", "words"), [("notServed", "Not served"), ("forbidden", "Forbidden"), ("stale", "Stale")]
)
def test_kinds_that_cannot_be_read_are_named_on_every_page(
    serve: Serve, line: PageLine, state: str, words: str
) -> None:
    scene = pages.scene() if state == "stale" else Scene()
    kinds = line.kinds or ("pods",)
    # Where the other generation is served, the kinds of this one are not missed (see test_other_generation.py).
    for kind in {*kinds, *(ONE_GENERATION if state == "notServed" and ONE_GENERATION & set(kinds) else ())}:
        scene.sync(kind, state, error=f"{kind} cannot be read: a reason")
    serve(scene)
    page = get(line.path, 200, 404, 503)
    html5lib.HTMLParser(strict=True).parse(page)
    text = text_of(page)
    for kind in kinds:
        assert kind in text
    assert words in text
    if state == "stale":
        for shown in line.shows:
            assert shown in text


@by_path
def test_unknown_is_not_called_none(serve: Serve, line: PageLine) -> None:
    """Where the kind cannot be read, a page must not say that there are no such objects."""
    scene = Scene()
    for kind in build.PLURALS.values():
        scene.sync(kind, "forbidden", error="no")
    serve(scene)
    text = text_of(get(line.path, 200, 404, 503))
    for claim in ("There are no claims", "There is no pod", "There are no nodes", "There are no classes", "has none"):
        assert claim not in text


@by_path
def test_while_the_model_cannot_be_read_a_page_says_how_old_it_is(
    serve: Serve, line: PageLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = serve(pages.scene())

    def refuse(*_: object) -> None:
        raise StoreUnavailable("Redis cannot be reached")

    for name in ("changes", "history", "histories", "node_sets", "lease"):
        monkeypatch.setattr(scene.model, name, refuse)
    assert not scene.web.follower.step()
    page = get(line.path)
    html5lib.HTMLParser(strict=True).parse(page)
    assert "This is old." in text_of(page)
    for words in line.shows:
        assert words in text_of(page)


@objects
def test_an_object_that_never_was_is_a_404_that_says_so(serve: Serve, line: PageLine) -> None:
    serve(Scene())
    page = get(line.path, 404)
    html5lib.HTMLParser(strict=True).parse(page)


def test_pages_outside_of_the_shell_are_valid(serve: Serve, settings: Any) -> None:
    serve(pages.scene())
    train = "/ns/ml/pods/train"
    for path, status in (("/nowhere", 404), (f"{train}?at=nonsense", 400), (f"{train}?at=1999-01-01T00:00:00Z", 404)):
        html5lib.HTMLParser(strict=True).parse(get(path, status))


@pytest.mark.parametrize("path", ["/pods", "/nowhere", "/go?pod=lost&namespace=ml", "/broken"])
def test_a_page_names_the_keys_where_they_work_and_only_there(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    serve(pages.scene())
    monkeypatch.setattr(AboutPage, "parts", broken)
    response = Client(raise_request_exception=False).get("/about" if path == "/broken" else path)
    page = response.content.decode()
    assert html.read(page).faults == []
    html5lib.HTMLParser(strict=True).parse(page)
    assert ("<kbd>" in page, "/keys." in page) == (response.status_code < 500,) * 2


def broken(*_: object) -> None:
    raise RuntimeError("a mistake")
