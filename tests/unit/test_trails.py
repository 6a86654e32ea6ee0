"""How a pod's verdict went: noted as it changes, read from the history once, drawn in the pods list."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from channels.layers import channel_layers
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.reader.trails import KEPT, VERDICT, WINDOW, Trails, VerdictMark, marks_of
from dradash.scheduling.verdict import Outcome
from dradash.store.model import HistoryEntry, StoreUnavailable
from dradash.web.presenters import lines, pods
from dradash.web.presenters.pods import PodsView
from dradash.web.presenters.query import Query
from tests import build
from tests.scene import Scene
from tests.unit.test_consumers import Socket
from tests.unit.test_presenters_lists import WORLD

POD = build.pod("train", "ml", claims={"gpu": "gpu"})
KEY = "ml/train"
WAITING, BLOCKED = Outcome.WAITING, Outcome.BLOCKED


@pytest.fixture
def scene() -> Iterator[Scene]:
    """The pod is blocked for want of its claim, then fits on three nodes, then on two: a minute between them."""
    made = Scene(*build.nodes(3), build.resource_class())
    made.now = time.time() - 600.0
    made.put(POD)
    made.now += 60.0
    made.put(build.claim("gpu", "ml"))
    made.now += 60.0
    made.put(build.node("node-0", unschedulable=True))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def went(marks: object) -> list[tuple[int | None, str]]:
    return [(m.fit, m.outcome) for m in marks]  # type: ignore[attr-defined]


def trail_of(page: str) -> str:
    found = re.search(r'class="spark trail"[^>]*aria-label="([^"]*)"', page)
    return found[1] if found else ""


def get(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200
    return response.content.decode()


# --- noting ----------------------------------------------------------------------------------------------------------


def test_only_a_change_is_noted_and_only_of_a_watched_pod() -> None:
    trails = Trails(VERDICT)
    verdict = build.verdict(POD, WAITING, nodes_fit=3, nodes_total=8)
    trails.feed(1.0, KEY, verdict)
    assert trails.marks(KEY) == ()
    assert trails.watch(KEY)
    assert not trails.watch(KEY)
    for at in (2.0, 3.0):
        trails.feed(at, KEY, verdict)
    trails.feed(4.0, KEY, build.verdict(POD, BLOCKED, nodes_fit=3, nodes_total=8))
    assert trails.marks(KEY) == (VerdictMark(2.0, 3, WAITING), VerdictMark(4.0, 3, BLOCKED))


def test_what_was_before_comes_before_what_was_noted_meanwhile() -> None:
    trails = Trails(VERDICT)
    trails.watch(KEY)
    trails.feed(5.0, KEY, build.verdict(POD, WAITING, nodes_fit=2, nodes_total=8))
    trails.fill(KEY, [VerdictMark(1.0, 0, BLOCKED), VerdictMark(3.0, 3, WAITING), VerdictMark(5.0, 2, WAITING)])
    assert trails.marks(KEY) == (
        VerdictMark(1.0, 0, BLOCKED),
        VerdictMark(3.0, 3, WAITING),
        VerdictMark(5.0, 2, WAITING),
    )


def test_a_pod_that_is_gone_takes_its_trail_along() -> None:
    trails = Trails(VERDICT)
    trails.watch(KEY)
    trails.feed(1.0, KEY, build.verdict(POD))
    trails.feed(2.0, KEY, None)
    trails.fill(KEY, [VerdictMark(0.0, 1, WAITING)])
    assert trails.marks(KEY) == ()
    assert trails.watch(KEY)


def test_a_flapping_pod_costs_no_more_than_the_newest_changes() -> None:
    trails = Trails(VERDICT)
    trails.watch(KEY)
    for at in range(3 * KEPT):
        trails.feed(float(at), KEY, build.verdict(POD, WAITING, nodes_fit=at % 2, nodes_total=8))
    marks = trails.marks(KEY)
    assert (len(marks), marks[-1].at) == (KEPT, 3.0 * KEPT - 1)


def test_the_history_of_an_earlier_pod_of_the_name_and_what_cannot_be_read_are_left_out() -> None:
    def entry(at: float, body: bytes, type_: str = "MODIFIED") -> HistoryEntry:
        return HistoryEntry(int(at), at, type_, body)

    said = b'{"outcome":"Waiting","nodesFit":%d,"nodesTotal":9}'
    entries = [entry(1, said % 9), entry(2, said % 9, "DELETED"), entry(3, said % 4), entry(4, b'{"outcome":"New"}')]
    unasked = entry(5, b'{"outcome":"Waiting"}')
    assert marks_of(VERDICT, [*entries, unasked]) == [VerdictMark(3.0, 4, WAITING), VerdictMark(5.0, None, WAITING)]


# --- reading ---------------------------------------------------------------------------------------------------------


def test_the_history_is_read_once_for_each_pod(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    here = scene.web
    first = here.trails(VERDICT, [KEY], None)[KEY]
    assert went(first) == [(None, BLOCKED), (3, WAITING), (2, WAITING)]

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(scene.model, "histories", refuse)
    scene.put(build.node("node-0"))
    scene.look()
    assert went(here.trails(VERDICT, [KEY], None)[KEY]) == [*went(first), (3, WAITING)]


def test_what_could_not_be_read_is_asked_for_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(scene.model, "histories", refuse)
        assert scene.web.trails(VERDICT, [KEY], None) == {KEY: ()}
        assert scene.web.trails(VERDICT, [KEY], time.time()) == {KEY: ()}
    assert len(scene.web.trails(VERDICT, [KEY], None)[KEY]) == 3


def test_a_past_moment_ends_with_what_was_then(scene: Scene) -> None:
    assert went(scene.web.trails(VERDICT, [KEY], scene.now - 30.0)[KEY]) == [(None, BLOCKED), (3, WAITING)]


# --- showing ---------------------------------------------------------------------------------------------------------


def drawn(*marks: VerdictMark, now: float) -> lines.Line | None:
    view: PodsView = pods.present(WORLD, Query.of({"q": "one/a"}, pods.PARAMS))
    (row,) = pods.with_trails(view, {"one/a": marks}, now).rows
    return row.trail


def test_the_line_goes_by_time_and_ticks_where_the_outcome_changed() -> None:
    now = 10 * WINDOW
    start = now - WINDOW
    trail = drawn(
        VerdictMark(start - 900, 9, BLOCKED),
        VerdictMark(start - 60, 0, BLOCKED),
        VerdictMark(start + WINDOW / 2, 4, WAITING),
        VerdictMark(start + WINDOW * 3 / 4, 2, WAITING),
        now=now,
    )
    assert trail is not None
    assert trail.path == "M0,17H40V1H60V9H80"
    assert trail.ticks == "M40,0V4"
    assert trail.text == "Nodes that fit over the last hour: 0 then, 2 now, at most 4; the verdict changed 1 time"


def test_where_no_node_was_looked_at_there_is_no_line() -> None:
    now = 10 * WINDOW
    start = now - WINDOW
    quarters = [start, *(start + WINDOW * n / 4 for n in (1, 2, 3))]
    trail = drawn(
        *(VerdictMark(at, fit, BLOCKED) for at, fit in zip(quarters, (None, 2, None, 1), strict=True)), now=now
    )
    assert trail is not None
    assert trail.path == "M20,1H40M60,9H80"
    assert trail.text == "Nodes that fit over the last hour: 2 then, 1 now, at most 2; the same verdict"
    ended = drawn(VerdictMark(start, 2, WAITING), VerdictMark(quarters[2], None, Outcome.BOUND), now=now)
    assert ended is not None
    assert (ended.path, ended.ticks) == ("M0,1H40", "M40,0V4")
    assert "2 then, not looked at now, at most 2" in ended.text
    never = drawn(VerdictMark(start, None, BLOCKED), now=now)
    assert never == lines.Line("", "", "No node was looked at in the last hour; the same verdict")
    assert drawn(now=now) is None


@pytest.mark.parametrize(
    ("age", "words", "begins"), [(60.0, "5 minutes", 64), (600.0, "15 minutes", 27), (900.0 * 4, "hour", 0)]
)
def test_a_page_of_young_pods_shows_the_shorter_time_that_they_are_known(age: float, words: str, begins: int) -> None:
    trail = drawn(VerdictMark(10 * WINDOW - age, 3, WAITING), now=10 * WINDOW)
    assert trail is not None
    assert trail.path == f"M{begins},1H80"
    assert trail.text == f"Nodes that fit over the last {words}: 3 all the time; the same verdict"


def test_a_line_stays_as_it_is_until_there_is_something_to_see() -> None:
    marks = tuple(VerdictMark(10 * WINDOW - ago, fit, WAITING) for ago, fit in ((3000, 1), (600, 3), (300, 0)))
    assert drawn(*marks, now=10 * WINDOW - 80.0) == drawn(*marks, now=10 * WINDOW)
    assert drawn(*marks, now=10 * WINDOW) != drawn(*marks, now=10 * WINDOW + 91.0)


@pytest.mark.usefixtures("scene")
def test_the_list_draws_each_pod_and_says_the_same_in_words() -> None:
    page = get("/pods")
    assert trail_of(page).startswith("Nodes that fit over the last 15 minutes: 3 then, 2 now, at most 3; ")
    assert trail_of(page).endswith("; the verdict changed 1 time")
    assert re.search(r'<path d="M\d+,1H\d+V6.3H80" /><path class="ticks" d="M\d+,0V4" />', page)


def test_the_list_of_a_past_moment_draws_what_was_then(scene: Scene) -> None:
    page = get(f"/pods?at={show(scene.now - 30.0)}")
    assert trail_of(page).startswith("Nodes that fit over the last 5 minutes: 3 then, 3 now, at most 3; ")


async def test_a_line_goes_on_in_the_open_list(scene: Scene) -> None:
    socket = Socket("/pods")
    assert await socket.open()
    heard = await socket.receive()
    assert "3 then, 2 now" in heard
    scene.now = time.time()
    scene.put(build.node("node-1", unschedulable=True))
    scene.look()
    while "3 then, 1 now, at most 3" not in heard:
        heard = await socket.receive()
    assert heard.startswith("<tr ")
    await socket.close()
    channel_layers.backends.clear()
