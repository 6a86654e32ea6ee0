"""Lists and counts of a kind that cannot be read now say themselves of when they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.store.model import SyncState
from tests import build, pages
from tests.scene import Scene
from tests.unit import html

LISTS = {
    "/pods": "pods",
    "/claims": "resourceclaims",
    "/negotiations": "podschedulingcontexts",
    "/nodes": "nodes",
    "/classes": "resourceclasses",
    "/drivers": "resourceclasses",
}
SAID = "As last seen at"


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    current.use(made.web)
    yield made
    current.use(None)


def lose(scene: Scene, kind: str, state: str) -> None:
    """Last heard of at 04:01:40, refused 20 s later."""
    seen, since = build.NOW + 100, build.NOW + 120
    scene.model.set_sync(scene.epoch, SyncState(kind, state, since=since, seen=seen, error="no role"), since)
    scene.look()


def get(path: str) -> str:
    text = Client().get(path).content.decode()
    assert html.read(text).faults == []
    return text


def block(text: str, id_: str) -> str:
    return text.partition(f'<div id="{id_}" class="block">')[2].partition('<div id="')[0]


@pytest.mark.parametrize("state", ["forbidden", "notServed", "stale"])
@pytest.mark.parametrize("path", LISTS)
def test_a_list_says_of_when_its_rows_are(scene: Scene, path: str, state: str) -> None:
    scene.look()
    assert SAID not in get(path)
    for kind in (LISTS[path], "deviceclasses", "resourceslices"):  # else the cluster just has the other generation
        lose(scene, kind, state)
    rows = block(get(path), "list")
    assert "<tbody><tr" in rows
    assert f'{SAID} <time datetime="2026-11-30T04:01:40' in rows
    assert "last-seen" in rows.partition(">")[0]


def test_a_list_of_another_kind_says_nothing(scene: Scene) -> None:
    lose(scene, "nodes", "stale")
    assert SAID not in block(get("/claims"), "list")


@pytest.mark.parametrize(
    ("kind", "id_"), [("pods", "pending"), ("resourceclaims", "claims"), ("podschedulingcontexts", "negotiations")]
)
def test_tables_and_counts_of_the_overview_say_it_too(scene: Scene, kind: str, id_: str) -> None:
    lose(scene, kind, "stale")
    text = get("/")
    assert f'{SAID} <time datetime="2026-11-30T04:01:40' in block(text, id_)
    totals = block(text, "totals")
    assert totals.count("as last seen <time") == (2 if kind == "pods" else 1)
    assert ">04:01:40<" in totals
