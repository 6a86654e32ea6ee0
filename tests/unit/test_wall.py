"""The overview on a wall: large facts in fixed places, the longest wait first, and nothing invented."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import html5lib
import msgspec
import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.scheduling.verdict import ActsNext, Outcome
from dradash.store.model import SyncState
from dradash.web.presenters import longest, wall
from dradash.web.presenters.query import WALL_ROWS
from tests import build, pages
from tests.scene import Scene
from tests.unit import html
from tests.unit.test_presenters_lists import World

OLD = build.pod("old", "ml", created="2026-11-30T03:00:00Z")
NEW = build.pod("new", "ml", created="2026-11-30T03:30:00Z")
HELD = build.pod("held", "ml", created="2026-11-30T01:00:00Z")
BOUND = build.pod("bound", "ml", node="node-0", created="2026-11-30T01:00:00Z")
FIRST = build.pod("first", "ml", created="2026-11-30T02:00:00Z")


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = pages.scene()
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200
    page = response.content.decode()
    assert html.read(page).faults == []
    html5lib.HTMLParser(strict=True).parse(page)
    return page


def test_each_outcome_has_its_place_and_counts_what_waits() -> None:
    person = ActsNext(who="admin", what="Create the claim.")
    world = World(
        OLD,
        NEW,
        HELD,
        BOUND,
        FIRST,
        verdicts=(
            build.verdict(OLD, Outcome.BLOCKED, acts_next=person),
            build.verdict(NEW, Outcome.WAITING),
            build.verdict(HELD, Outcome.GATED),
            build.verdict(BOUND, Outcome.BOUND),
        ),
    )
    view = wall.present(world)
    assert (view.pending, view.person) == (4, 1)
    assert {t.chip.text: t.count for t in view.tiles} == {
        "Blocked": 1,
        "Unschedulable": 0,
        "Error": 0,
        "Unknown": 0,
        "Waiting": 1,
        "Schedulable": 0,
        "Gated": 1,
        "Not judged yet": 1,
    }
    assert sum(t.count for t in view.tiles) == view.pending
    assert [p.name for p in view.pods] == ["first", "old", "new"]
    assert view.pods[1].actor is not None
    assert (view.pods[1].actor.who, view.pods[0].actor) == ("admin", None)


def test_what_has_no_room_is_counted() -> None:
    many = [build.pod(f"p{i:02}", "ml") for i in range(wall.PODS + 5)]
    view = wall.present(World(*many))
    assert (len(view.pods), view.more) == (wall.PODS, 5)


def test_the_overview_names_the_pods_that_wait_longest_and_counts_the_others() -> None:
    many = [build.pod(f"p{i:02}", "ml", created=f"2026-11-30T03:{59 - i:02}:00Z") for i in range(longest.ROWS + 3)]
    person = ActsNext(who="admin", what="Create the claim.")
    last = msgspec.structs.replace(build.verdict(many[-1], Outcome.BLOCKED, acts_next=person), since=7.0)
    view = longest.present(World(*many, HELD, BOUND, verdicts=(last, build.verdict(HELD, Outcome.GATED))))
    assert [p.name for p in view.pods] == [f"p{i:02}" for i in range(longest.ROWS + 2, 2, -1)]
    assert view.more == 3
    first = view.pods[0]
    assert first.actor is not None
    assert (first.chip.text, first.sentence, first.since) == ("Blocked", last.sentence, 7.0)
    assert (first.actor.who, first.actor.what, first.href) == ("admin", "Create the claim.", "/ns/ml/pods/p12")


def test_the_overview_says_which_pods_hang_who_must_act_and_how_many_more(scene: Scene) -> None:
    for n in range(longest.ROWS + 2):
        scene.put(build.pod(f"hung-{n:02}", "ml", claims={"gpu": f"none-{n}"}, created=f"2026-11-29T03:{n:02}:00Z"))
    scene.look()
    page = get("/")
    block = page.split('id="longest-title"')[1].split("</section>")[0]
    assert re.findall(r'href="/ns/ml/pods/([^"]*)"', block) == [f"hung-{n:02}" for n in range(longest.ROWS)]
    assert block.count("Blocked") == longest.ROWS
    assert block.count("<b>admin</b>") == longest.ROWS
    assert re.search(r'<a href="/pods">and \d+ more pods</a>', block)
    doctor = page.split('id="doctor-title"')[1].split("</section>")[0]
    assert re.search(r'<a href="/doctor">and \d+ more findings</a>', doctor)


def test_the_overview_does_not_call_unknown_pods_none() -> None:
    world = World()
    world.sync = {"pods": SyncState("pods", "forbidden")}
    assert longest.present(world) == longest.LongestView(known=False)
    assert longest.present(World()) == longest.LongestView(known=True)


def test_the_same_trouble_is_told_once_with_how_often_and_the_oldest_case(scene: Scene) -> None:
    many = [
        build.pod(f"lost-{i}", "ml", claims={"gpu": f"none-{i}"}, created=f"2026-11-30T03:0{i}:00Z") for i in (3, 2)
    ]
    scene.put(*many)
    scene.look()
    report = scene.web.doctor.look(build.NOW + 3600)
    troubles = {t.row.code: t for t in wall.worst(report.findings)}
    assert troubles["claim-missing"].count == 2
    assert troubles["claim-missing"].row.since == min(f.since for f in report.findings if f.code == "claim-missing")
    assert [t.row.chip.text for t in troubles.values()] == sorted(t.row.chip.text for t in troubles.values())
    assert "2 \u00d7 Claim does not exist" in get("/?kiosk=1")


@pytest.mark.parametrize("state", ["unknown", "notServed", "forbidden", "syncing"])
def test_unknown_pods_are_not_no_pods(state: str) -> None:
    world = World()
    world.sync["pods"] = SyncState("pods", state)
    assert wall.present(world) == wall.WallView(None, None, (), (), 0)


def test_the_wall_says_who_must_act_what_is_found_and_how_old_it_is(scene: Scene) -> None:
    scene.web.doctor.look(build.NOW + 3600)
    page = get("/?kiosk=1")
    for words in ("Need a person", "Waiting longest", "ml/</span>train", "must act for", "Findings", "Data read"):
        assert words in page, words
    assert re.search(r'class="wall"', page)
    assert 'class="wall"' not in get("/")


def test_the_wall_of_a_past_moment_is_as_it_was_then(scene: Scene) -> None:
    then = scene.now
    scene.now += 100.0
    scene.delete(pages.TRAIN)
    scene.look()
    assert "ml/</span>train" in get(f"/?kiosk=1&at={show(then + 50)}")
    assert "ml/</span>train" not in get("/?kiosk=1")


def test_an_empty_wall_says_so(scene: Scene) -> None:
    scene.delete(pages.TRAIN, pages.NEW)
    scene.look()
    assert "No pod that uses claims is waiting." in get("/?kiosk=1")


@pytest.mark.parametrize("asked", ["", "&page=2"])
def test_a_list_on_a_wall_begins_at_its_head_and_has_more_rows_than_fit(scene: Scene, asked: str) -> None:
    """Nobody turns pages there."""
    scene.put(*(build.pod(f"p{i:02}", "ml", claims={"gpu": "none"}) for i in range(50)))
    scene.look()
    page = get(f"/pods?kiosk=1{asked}")
    assert page.count('<th scope="row" data-label="Pod"') == WALL_ROWS
    assert f"1\N{EN DASH}{WALL_ROWS} of 52" in page


@pytest.mark.parametrize("path", ["/pods", "/pods?kiosk=0"])
def test_a_list_that_is_on_no_wall_has_all_its_rows(scene: Scene, path: str) -> None:
    scene.put(*(build.pod(f"p{i:02}", "ml", claims={"gpu": "none"}) for i in range(50)))
    scene.look()
    assert get(path).count('<th scope="row" data-label="Pod"') == 52


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("asked", ["0", "true", "1\u202e", "\u202etxt", "<b>", "11"])
@pytest.mark.parametrize("path", ["/", "/pods", "/compare"])
def test_what_asks_for_no_wall_is_carried_nowhere(path: str, asked: str) -> None:
    page = get(f"{path}?{urlencode({'kiosk': asked})}")
    assert '<body class="">' in page
    assert "kiosk" not in page
    assert "\u202e" not in page


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("name", ["sort", "page", "at", "with", "q"])
def test_what_is_no_name_goes_on_without_what_turns_text(name: str) -> None:
    turned = {name: "2026-11-30T03:12:00Z\u202e"}
    for path in ("/pods", "/ns/ml/pods/train", "/compare"):
        page = Client().get(path, turned).content.decode()
        assert "\u202e" not in page
        assert "%E2%80%AE" not in page
