"""How claims and negotiations went: read from the history of all rows at once, drawn in the lists, told in tables."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from channels.layers import channel_layers
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.reader.trails import CLAIM, TALK, WATCHED, WINDOW, ClaimMark, TalkMark, Trails, marks_of
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.store.model import HistoryEntry, StoreUnavailable
from dradash.web.presenters.lines import STATE_LOOKS, Window, claim_course, claim_strip, talk_course, talk_line
from tests import build, builddevices, devicescene
from tests.scene import Scene
from tests.unit import html
from tests.unit.test_consumers import Socket

POD = build.pod("train", "ml", claims={"gpu": "gpu"})
FREE = build.claim("gpu", "ml")
TAKEN = build.claim("gpu", "ml", allocation=build.allocation("node-0"), reserved_for=[POD])
PENDING, ALLOCATED, RESERVED = ClaimState.PENDING, ClaimState.ALLOCATED, ClaimState.RESERVED
HOUR = Window(0.0, WINDOW, "hour")


def after(minutes: float) -> float:
    return minutes * 60.0


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Ten minutes ago a pod and its claim came; three nodes are proposed, all but one refused, then none is left."""
    made = Scene(*build.nodes(3), build.resource_class())
    nodes = ["node-0", "node-1", "node-2"]
    made.now = time.time() - after(10)
    made.put(POD, FREE)
    for selected, refused in (("", []), ("node-0", ["node-0", "node-1"]), ("node-2", nodes)):
        made.now += 60.0
        made.put(build.context(POD, potential=nodes, selected=selected, unsuitable={"gpu": refused}))
    made.now += 60.0
    made.put(TAKEN)
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200
    text = response.content.decode()
    assert html.read(text).faults == []
    return text


def told(page: str) -> list[str]:
    return re.findall(r'class="spark trail"[^>]*aria-label="([^"]*)"', page)


# --- noting ----------------------------------------------------------------------------------------------------------


def entry(at: float, obj: build.Obj | bytes, type_: str = "MODIFIED") -> HistoryEntry:
    return HistoryEntry(int(at), at, type_, obj if isinstance(obj, bytes) else build.raw(obj))


def test_of_a_claim_its_states_are_noted_whichever_version_it_is_of() -> None:
    same = build.claim("gpu", "ml", labels={"seen": "again"})
    entries = [
        entry(1, TAKEN),
        entry(2, TAKEN, "DELETED"),
        entry(3, FREE),
        entry(4, same),
        entry(5, b"?"),
        entry(6, TAKEN),
    ]
    assert marks_of(CLAIM, entries) == [ClaimMark(3.0, PENDING), ClaimMark(6.0, RESERVED)]
    structured = builddevices.claim("gpu", "ml", builddevices.request("gpu", "a100"))
    held = builddevices.claim(
        "gpu", "ml", builddevices.request("gpu", "a100"), devices=[builddevices.result("gpu-0", pool="p")]
    )
    assert marks_of(CLAIM, [entry(1, structured), entry(2, held)]) == [
        ClaimMark(1.0, PENDING),
        ClaimMark(2.0, ALLOCATED),
    ]


def test_of_a_negotiation_what_nobody_refuses_and_what_is_selected_is_noted() -> None:
    states = [
        build.context(POD),
        build.context(POD, potential=["a", "b", "c"]),
        build.context(POD, potential=["a", "b", "c"], selected="b", unsuitable={"gpu": ["a", "z"], "nic": ["a"]}),
        build.context(POD, potential=["a", "b"], selected="b", unsuitable={"gpu": ["a", "b"]}),
    ]
    assert marks_of(TALK, [entry(n, s) for n, s in enumerate(states)]) == [
        TalkMark(0.0, None, ""),
        TalkMark(1.0, 3, ""),
        TalkMark(2.0, 2, "b"),
        TalkMark(3.0, 0, "b"),
    ]


def test_no_more_objects_are_watched_than_somebody_looks_at() -> None:
    trails = Trails(CLAIM)
    for n in range(WATCHED):
        assert trails.watch(f"ml/{n}")
    assert not trails.watch("ml/0")
    assert trails.watch("ml/new")
    assert not trails.watch("ml/0"), "looked at again a moment ago"
    assert trails.watch("ml/1"), "looked at longest ago"


# --- drawing ---------------------------------------------------------------------------------------------------------


def test_a_strip_has_a_height_for_each_state_and_says_how_it_went() -> None:
    marks = (
        ClaimMark(-9.0, RESERVED),
        ClaimMark(-5.0, PENDING),
        ClaimMark(after(15), ALLOCATED),
        ClaimMark(after(30), PENDING),
        ClaimMark(after(45), RESERVED),
    )
    strip = claim_strip(marks, HOUR)
    assert strip is not None
    assert [(s.css, s.path) for s in strip.spans] == [
        ("fill-g4", "M0,18V11H20V18ZM40,18V11H60V18Z"),
        ("fill-g8", "M20,18V5H40V18Z"),
        ("fill-g0", "M60,18V1H80V18Z"),
    ]
    assert strip.text == (
        "State over the last hour: pending then, reserved now; changed 3 times, allocated 1 time in between"
    )
    assert set(STATE_LOOKS) == set(ClaimState)
    assert len({height for height, _ in STATE_LOOKS.values()}) == len(ClaimState), "nobody needs the colours"


def test_a_strip_begins_where_the_claim_is_known_and_what_was_brief_can_be_seen() -> None:
    strip = claim_strip((ClaimMark(after(30), PENDING), ClaimMark(after(30) + 1.0, RESERVED)), HOUR)
    assert strip is not None
    assert [s.path for s in strip.spans] == ["M40,18V11H41V18Z", "M40,18V1H80V18Z"]
    assert claim_strip((ClaimMark(after(60) - 1.0, PENDING),), HOUR) is not None
    assert claim_strip((), HOUR) is None
    steady = claim_strip((ClaimMark(-after(600), RESERVED),), HOUR)
    assert steady is not None
    assert steady.text == "State over the last hour: reserved all the time"


def test_a_negotiations_line_falls_with_what_is_refused_and_ticks_with_each_selection() -> None:
    marks = (
        TalkMark(0.0, 4, ""),
        TalkMark(after(15), 2, "a"),
        TalkMark(after(30), 2, "b"),
        TalkMark(after(45), 0, ""),
    )
    line = talk_line(marks, HOUR)
    assert line is not None
    assert line.path == "M0,1H20V9H40V9H60V17H80"
    assert line.ticks == "M20,0V4M40,0V4"
    assert line.text == (
        "Proposed nodes that no driver refuses over the last hour: 4 then, 0 now, at most 4; "
        "another node selected 2 times"
    )
    silent = talk_line((TalkMark(0.0, None, ""),), HOUR)
    assert silent is not None
    assert (silent.path, silent.text) == ("", "No node was proposed in the last hour; no other node selected")


def test_the_tables_say_the_same_newest_first_and_not_too_much() -> None:
    marks = [TalkMark(0.0, None, ""), TalkMark(60.0, 1, "node-0"), TalkMark(90.0, 0, "")]
    course = talk_course(marks, 100.0)
    assert course is not None
    assert [(r.at, r.text) for r in course.rows] == [
        (90.0, "0 proposed nodes not refused; none selected"),
        (60.0, "1 proposed node not refused; node-0 selected"),
        (0.0, "no node proposed; none selected"),
    ]
    assert (course.window, course.count) == ("5 minutes", 3)
    flapping = claim_course([ClaimMark(float(n), (PENDING, RESERVED)[n % 2]) for n in range(50)], 100.0)
    assert flapping is not None
    assert (len(flapping.rows), flapping.count, flapping.rows[0].at) == (12, 50, 49.0)
    assert claim_course([], 100.0) is None


def test_what_is_read_only_in_part_is_counted_as_at_least() -> None:
    marks = [TalkMark(float(n), 2, f"node-{n % 2}") for n in range(200)]
    whole, cut = (talk_course(marks, 200.0, cut=cut) for cut in (False, True))
    assert whole is not None
    assert cut is not None
    assert whole.picture.text.endswith("; another node selected 199 times")
    assert cut.picture.text.endswith("; another node selected at least 199 times")
    assert (whole.cut, cut.cut) == (False, True)
    long_ago = talk_course(marks, 7200.0, cut=True)
    assert long_ago is not None
    assert long_ago.picture.text.endswith("no other node selected"), "the window is known as a whole"
    claim = claim_course([ClaimMark(float(n), (PENDING, RESERVED)[n % 2]) for n in range(50)], 100.0, cut=True)
    assert claim is not None
    assert "changed at least 49 times" in claim.picture.text


# --- showing ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
def test_the_lists_draw_each_row_and_say_the_same_in_words() -> None:
    page = get("/claims")
    assert told(page) == ["State over the last 15 minutes: pending then, reserved now; changed 1 time"]
    assert re.search(r'<path class="span fill-g4" d="M\d+,18V11H\d+V18Z" /><path class="span fill-g0"', page)
    assert told(get("/negotiations")) == [
        "Proposed nodes that no driver refuses over the last 15 minutes: 3 then, 0 now, at most 3; "
        "another node selected 2 times"
    ]


def test_the_lists_of_a_past_moment_draw_what_was_then(scene: Scene) -> None:
    at = show(scene.now - after(2) + 10.0)
    assert told(get(f"/claims?at={at}")) == ["State over the last 5 minutes: pending all the time"]
    (talk,) = told(get(f"/negotiations?at={at}"))
    assert "3 then, 1 now, at most 3; another node selected 1 time" in talk


def test_the_objects_pages_carry_a_table(scene: Scene) -> None:
    def rows(path: str) -> list[str]:
        table = get(path).partition('<details id="course-table">')[2].partition("</details>")[0]
        return re.findall(r"</th><td>([^<]*)</td>", table)

    assert rows("/ns/ml/claims/gpu") == ["Reserved", "Pending"]
    assert rows(f"/ns/ml/claims/gpu?at={show(scene.now - 30.0)}") == ["Pending"]
    talk = rows("/ns/ml/negotiations/train")
    assert (len(talk), talk[0]) == (3, "0 proposed nodes not refused; node-2 selected")
    scene.delete(TAKEN)
    scene.look()
    assert rows("/ns/ml/claims/gpu") == [], "it is gone: what follows is its last state"


def test_all_rows_are_read_at_once_and_only_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[tuple[str, str]]] = []
    read = scene.model.histories

    def counted(names: list[tuple[str, str]], *rest: Any) -> list[list[HistoryEntry]]:
        asked.append(list(names))
        return read(names, *rest)

    scene.put(build.claim("other", "ml"))
    scene.look()
    monkeypatch.setattr(scene.model, "histories", counted)
    keys = ["ml/gpu", "ml/other"]
    assert [m.state for m in scene.web.trails(CLAIM, keys, None)["ml/gpu"]] == [PENDING, RESERVED]
    scene.put(FREE)
    scene.look()
    assert [m.state for m in scene.web.trails(CLAIM, keys, None)["ml/gpu"]] == [PENDING, RESERVED, PENDING]
    assert asked == [[("resourceclaims", key) for key in keys]]


def test_while_the_model_cannot_be_read_rows_have_no_line(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("gone")

    with monkeypatch.context() as patched:
        patched.setattr(scene.model, "histories", refuse)
        assert told(get("/claims")) == []
    assert len(scene.web.trails(CLAIM, ["ml/gpu"], None)["ml/gpu"]) == 2


async def test_a_strip_goes_on_in_the_open_list(scene: Scene) -> None:
    socket = Socket("/claims")
    assert await socket.open()
    heard = await socket.receive()
    assert "pending then, reserved now" in heard
    scene.now = time.time()
    scene.put(FREE)
    scene.look()
    while "pending then, pending now; changed 2 times, reserved 1 time in between" not in heard:
        heard = await socket.receive()
    assert heard.startswith("<tr ")
    await socket.close()
    channel_layers.backends.clear()


def test_device_classes_show_who_waited_for_them_and_not_for_a_class_of_the_same_name() -> None:
    made = devicescene.scene()
    made.now = time.time() - after(5)
    for step in range(3):
        made.now += 60.0
        made.put(*devicescene.waiting_pod(devicescene.request(), name=f"more-{step}", claim=f"more-{step}"))
    made.look()
    current.use(made.web)
    try:
        assert made.web.follower.observations.series.until(time.time())[-1].waiting == {"deviceclasses/gpu": 4}
        assert 'aria-label="Pods waiting: 1 then, 4 now, at most 4"' in get("/deviceclasses")
        table = get("/deviceclasses/gpu").partition('<details id="spark-table">')[2].partition("</details>")[0]
        assert re.findall(r'</th><td class="num">(\d+)</td>', table)[-1] == "4"
    finally:
        current.use(None)
