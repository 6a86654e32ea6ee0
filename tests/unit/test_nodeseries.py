"""How pending pods fared on each node: counted each minute, taken back from the change stream, drawn in the list."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.reader.nodeseries import KEPT, MOST, STEP, NodeMark, NodeSample, NodeSeries, marks_of, rewound, sample
from dradash.reader.series import node_groups
from dradash.reader.trails import WINDOW
from dradash.store.model import StoreUnavailable
from dradash.web.presenters.lines import Window, begin_of_now, node_course, node_line
from tests import build
from tests.scene import Scene
from tests.unit import html

POD = build.pod("train", "ml", claims={"gpu": "gpu"})
HOUR = Window(0.0, WINDOW, "hour")


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Since eight minutes a pod fits on three nodes, less node-0 from six to four minutes ago: it was cordoned."""
    made = Scene(*build.nodes(3), build.resource_class())
    made.now = time.time() - 480.0
    made.put(POD, build.claim("gpu", "ml"))
    made.now += 120.0
    made.put(build.node("node-0", unschedulable=True))
    made.now += 120.0
    made.put(build.node("node-0"))
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


def told(path: str) -> list[str]:
    return re.findall(r'class="spark trail"[^>]*aria-label="([^"]*)"', get(path))


# --- counting --------------------------------------------------------------------------------------------------------


def test_a_sample_counts_pods_for_each_node() -> None:
    groups = {("a", True): 3, ("b", False): 5, ("c", False): 1, ("gone", True): 9, ("all", True): MOST + 7}
    one = sample(7.0, groups, {"a": 0b101, "b": 0b010, "c": 0b011, "all": 1 << 4})
    assert one.at == 7.0
    assert one.of([0, 1, 2, 3, 4, 5, 900]) == [(3, 1), (0, 6), (3, 0), (0, 0), (MOST, 0), (0, 0), (0, 0)]
    assert sample(7.0, {}, {}).of([0, 1]) == [(0, 0), (0, 0)]


def test_a_sample_of_a_large_cluster_is_small() -> None:
    every_third = sum(1 << n for n in range(0, 5000, 3))
    assert (
        len(sample(0.0, {("a", True): 700, ("b", False): 300}, {"a": every_third, "b": every_third << 1}).packed) < 4096
    )


def test_samples_are_taken_each_minute_and_kept_for_a_day() -> None:
    series, packed = NodeSeries(), sample(0.0, {("a", True): 1}, {"a": 1}).packed
    assert series.is_due(0.0)
    for n in range(KEPT + 10):
        series.add(NodeSample(n * STEP, bytes(packed)))
    series.add(NodeSample(3.0, packed))
    end = (KEPT + 9) * STEP
    assert (series.is_due(end + STEP - 1.0), series.is_due(end + STEP)) == (False, True)
    found = series.until(end)
    assert (found[0].at, found[-1].at, len(found)) == (end - WINDOW, end, 61)
    assert found[0].packed is found[-1].packed, "a quiet cluster costs nothing"
    assert [s.at for s in series.until(10 * STEP)] == [10 * STEP]
    assert (series.reaches(end), series.reaches(10 * STEP)) == (True, False)


def test_only_changes_are_marked() -> None:
    sets = {"a": 0b01, "b": 0b11}
    samples = [sample(float(n), {("a", True): fit, ("b", False): 2}, sets) for n, fit in enumerate((1, 1, 4))]
    assert marks_of(samples, [0, 1]) == {0: [NodeMark(0.0, 1, 2), NodeMark(2.0, 4, 2)], 1: [NodeMark(0.0, 0, 2)]}


def test_what_was_before_is_what_would_have_been_counted_then(scene: Scene) -> None:
    with scene.web.follower.world() as world:
        changes = scene.model.changes_before(world.revision + 1, 1000)
        undone = list(zip(changes, scene.model.states_before(changes), strict=True))
        found = rewound(world, scene.now + 1.0, undone)
    assert len(found) > 4
    for at, groups in found:
        assert groups == node_groups(scene.web.past(at)), at
    assert len({tuple(sorted(groups.items())) for _, groups in found}) > 1


def test_another_model_numbers_its_nodes_anew(scene: Scene) -> None:
    assert len(scene.web.node_samples(None)) > 1
    scene.model.wipe()
    scene.model.acquire("test", 60.0)
    scene.look()
    assert len(scene.web.node_samples(None)) == 1


# --- drawing ---------------------------------------------------------------------------------------------------------


def test_the_line_is_what_was_refused_and_dashed_what_fitted_on_one_scale() -> None:
    marks = (NodeMark(-60.0, 9, 9), NodeMark(0.0, 4, 0), NodeMark(WINDOW / 2, 1, 2))
    line = node_line(marks, HOUR)
    assert line is not None
    assert (line.path, line.dashed, line.ticks) == ("M0,17H40V9H80", "M0,1H40V13H80", "")
    assert (
        line.text == "Pending pods over the last hour: refused 0 then, 2 now, at most 2; fit 4 then, 1 now, at most 4"
    )
    assert node_line((), HOUR) is None
    assert begin_of_now(HOUR) == WINDOW - 90.0


def test_the_table_says_the_same() -> None:
    course = node_course([NodeMark(0.0, 4, 0), NodeMark(60.0, 1, 2)], 100.0)
    assert course is not None
    assert [(r.at, r.text) for r in course.rows] == [(60.0, "2 refused, 1 fit"), (0.0, "0 refused, 4 fit")]
    assert node_course([], 100.0) is None


# --- showing ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("scene")
def test_the_list_draws_each_node_from_what_the_change_stream_tells() -> None:
    free, *others = told("/nodes")
    assert free.startswith("Pending pods over the last hour: refused 0 then, 0 now, at most 1; fit ")
    assert "fit 0 then, 1 now, at most 1" in free
    assert others == ["Pending pods over the last hour: refused 0 all the time; fit 0 then, 1 now, at most 1"] * 2


def test_a_past_moment_ends_with_what_was_then_also_of_before_this_process(scene: Scene) -> None:
    fresh = current.build(scene.model)
    fresh.follower.step()
    current.use(fresh)
    at = scene.now - 60.0
    (cordoned, free, _) = told(f"/nodes?at={show(at)}")
    assert "over the last hour: refused 0 then, 1 now, at most 1; fit 0 then, 0 now, at most 1" in cordoned
    assert "refused 0 all the time" in free
    page = get(f"/nodes/node-0?at={show(at)}")
    table = page.partition('<details id="course-table">')[2].partition("</details>")[0]
    assert re.findall(r"</th><td>([^<]*)</td>", table)[:2] == ["1 refused, 0 fit", "0 refused, 1 fit"]


def test_without_the_model_a_past_moment_has_no_lines(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("gone")

    scene.web.past(scene.now - 60.0)
    monkeypatch.setattr(scene.model, "states_before", refuse)
    assert scene.web.node_samples(scene.now - 60.0) == []
