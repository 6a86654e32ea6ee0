"""The page of changes: filters, pages, pausing, the past."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client

from dradash.reader import current
from dradash.store.model import StoreUnavailable
from dradash.web.pages.changes import ChangesPage
from dradash.web.presenters.changes import ROWS
from tests import build
from tests.scene import Scene
from tests.unit import html

P = build.pod("p", "ml", claims={"gpu": "c"})


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(build.node("node-0"), build.resource_class(), P, build.claim("c", "ml"))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200, response.content[:300]
    page = response.content.decode()
    assert html.read(page).faults == []
    return page


def keys(page: str) -> list[str]:
    found = re.findall(r'data-label="Object">.*?(?:<a[^>]*>)?([^<>]+)(?:</a>)?</th>', page)
    return [key.strip() for key in found]


def older(page: str) -> str:
    found = re.search(r'<a href="([^"]+)" rel="next">', page)
    return unescape(found[1]) if found else ""


def test_it_tells_what_happened_newest_first(scene: Scene) -> None:
    scene.put(build.claim("c", "ml", allocation=build.allocation("node-0"), reserved_for=[P]))
    scene.look()
    page = get("/changes")
    assert page.index("allocation set on node-0") < page.index("with claims gpu")
    assert "verdict Waiting → Schedulable" in page


def test_each_change_links_to_the_page_as_it_was_right_after_it(scene: Scene) -> None:
    scene.put(build.claim("c", "ml", mode="Immediate"))
    scene.put(build.claim("c", "ml", allocation=build.allocation("node-0")))
    scene.look()
    links = re.findall(r'href="(/ns/ml/claims/c\?at=[^"]+)"', get("/changes?kind=resourceclaims"))
    assert len(links) == 3
    assert ["<dd>Immediate</dd>" in get(unescape(link)) for link in links] == [False, True, False]


def test_filters_leave_what_they_say(scene: Scene) -> None:
    scene.put(build.claim("other", "web"))
    scene.delete(build.claim("other", "web"))
    scene.look()
    assert set(keys(get("/changes?kind=resourceclaims"))) == {"ml/c", "web/other"}
    assert set(keys(get("/changes?ns=web"))) == {"web/other"}
    assert keys(get("/changes?ns=web&type=DELETED")) == ["web/other"]
    assert set(keys(get("/changes?q=NODE-"))) == {"node-0"}
    assert "synced (v1)" not in get("/changes")
    assert "synced (v1)" in get("/changes?kind=sync")
    assert "No change that is kept matches" in get("/changes?q=nowhere")


def test_older_pages_reach_back_to_the_first_change_and_none_is_left_out(scene: Scene) -> None:
    for number in range(2 * ROWS):
        scene.model.apply(
            scene.epoch, [build.write(build.claim("c", "ml", annotations={"n": str(number)}))], [], scene.now
        )
    scene.look()
    path, revisions = "/changes?kind=resourceclaims", []
    while path:
        page = get(path)
        revisions += [int(r) for r in re.findall(r'class="num muted">(\d+)<', page)]
        path = f"/changes{address}" if (address := older(page)) else ""
    assert len(revisions) == len(set(revisions)) == 2 * ROWS + 1
    assert revisions == sorted(revisions, reverse=True)


def test_a_paused_page_stands_still_and_a_live_one_does_not(scene: Scene) -> None:
    page = get("/changes")
    pause = unescape(re.search(r'class="button" href="([^"]+)">Pause here', page)[1])  # type: ignore[index]  # it is there
    assert "paused=1" in pause
    scene.put(build.node("node-new"))
    scene.look()
    assert "node-new" in get("/changes")
    standing = get(f"/changes{pause}")
    assert "node-new" not in standing
    assert "Stands still" in standing
    assert ChangesPage({"before": "5", "paused": "1"}).fixed
    assert not ChangesPage({"before": "nonsense"}).fixed


def test_before_the_first_change_there_is_nothing_but_that_is_not_all(scene: Scene) -> None:
    for path in ("/changes?before=0", "/changes?before=1"):
        page = get(path)
        assert f"Nothing has happened before revision {path[-1]} in what is kept." in page
        assert "kept from here on" not in " ".join(page.split())
    assert "Nothing has happened" not in get(f"/changes?before={scene.model.revision()}")
    assert "No change that is kept from before revision 0 matches." in get("/changes?before=0&kind=pods")


def test_the_past_ends_at_its_moment(scene: Scene) -> None:
    scene.put(build.node("node-new"))
    scene.look()
    page = get("/changes?at=2026-11-30T04:00:01Z")
    assert "with claims gpu" in page
    assert "node-new" not in page
    assert "Pause here" not in page


def test_without_the_store_what_is_remembered_is_shown(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.put(build.claim("c", "ml", mode="Immediate"))
    scene.look()

    def refuse(*_: object) -> None:
        raise StoreUnavailable("gone away")

    before = scene.model.revision() - 3
    monkeypatch.setattr(scene.model, "changes_before", refuse)
    page = get("/changes")
    assert "Only what this process remembers" in page
    assert "ml/c" in page
    assert "what it was before cannot be read now" in page
    assert "kept any more" not in page
    assert "The change stream is kept from" not in page
    assert older(page), "there may be older ones"
    for path in (f"/changes?before={before}&paused=1&q=c", "/changes?at=2026-11-30T04:00:01Z"):
        response = Client().get(path)
        page = response.content.decode()
        assert html.read(page).faults == []
        assert (response.status_code, response.headers["Retry-After"]) == (503, "2")
        assert "The changes of then cannot be read: gone away" in page
        assert 'class="rows stream"' not in page, "the newest are not those that are asked for"
        assert 'ws-connect="/live/changes?' in page, "it can be read later"
    assert re.search(r'<a href="\?"[^>]*>As it is now</a>', page)
