"""Since when somebody must move: the same on every page, now and in the past."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.debts import debts
from dradash.reader.doctor import Report
from dradash.reader.moment import show
from dradash.reader.observed import STATES, Run
from dradash.reader.talks import talk
from dradash.scheduling.classic.awaiting import Stage
from dradash.scheduling.doctor.thresholds import Thresholds
from tests import build
from tests.scene import Scene

POD = build.pod("train", "ml", claims={"gpu": "gpu"})
CLASS = build.resource_class()
CLAIM = build.claim("gpu", "ml")
NODES = ["node-0", "node-1", "node-2"]
DRIVER = "gpu.example.com"
PLACES = {  # page -> what comes before the time there
    "/negotiations": r'data-label="Silent for"[^>]*>',
    "/ns/ml/negotiations/train": r"silent for</span>\s*",
    "/drivers": r'data-label="Silent for"[^>]*>',
    f"/drivers/{DRIVER}": r'data-label="Waits for"[^>]*>',
    "/ns/ml/pods/train": r'<ul class="awaited">.*?',
}


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    current.use(None)


def begun(*objects: build.Obj) -> Scene:
    scene = Scene(*build.nodes(3), *objects)
    current.use(scene.web)
    scene.look()
    return scene


def put(scene: Scene, *objects: build.Obj) -> float:
    scene.put(*objects)
    scene.look()
    return scene.now


def asked(**spec: Any) -> build.Obj:
    return build.context(POD, potential=NODES, **spec)


def silence(scene: Scene, at: float | None = None) -> float:
    here = scene.web
    with here.follower.world() as live:
        world = live if at is None else here.past(at)
        found = talk(world, "ml/train", world.cluster.contexts["ml/train"], here.waits(at))
        (move,) = found.moves
        assert move.since == found.since
        return found.since


def api(path: str) -> Any:
    answer = Client().get(path)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_driver_that_never_answered_is_silent_since_it_was_first_asked_wherever_one_looks() -> None:
    scene = begun(CLASS, POD, CLAIM)
    first = put(scene, asked())
    put(scene, asked(selected="node-0"))
    moment = put(scene, asked(selected="node-1"))
    put(scene, asked(selected="node-2"))
    for at in (None, moment):
        assert silence(scene, at) == first
        query = f"?at={show(at)}" if at else ""
        assert api(f"/api/v1/negotiations{query}")["items"][0]["silentSince"] == show(first)
        assert api(f"/api/v1/negotiations/ml/train{query}")["negotiation"]["silentSince"] == show(first)
        driver = api(f"/api/v1/drivers/{DRIVER}{query}")
        assert (driver["driver"]["silentSince"], driver["debts"][0]["since"]) == (show(first), show(first))
        for path, before in PLACES.items():
            page = Client().get(path + query).content.decode()
            assert re.findall(before + r'<time datetime="([^"]*)"', page, re.DOTALL) == [show(first)], path


def test_a_process_that_starts_later_says_the_same() -> None:
    scene = begun(CLASS, POD, CLAIM)
    first = put(scene, asked())
    put(scene, asked(selected="node-0"))
    scene.web = current.build(scene.model)
    scene.look()
    assert silence(scene) == first


def test_a_context_that_was_seen_before_its_class_pod_and_claim_is_owed_an_answer_since_it_asked() -> None:
    scene = begun()
    first = put(scene, asked())
    put(scene, POD)
    put(scene, CLAIM)
    put(scene, CLASS)
    put(scene, asked(selected="node-0"))
    assert silence(scene) == first
    assert silence(scene, scene.now) == first


def test_after_its_answer_a_driver_owes_the_allocation_since_the_selection() -> None:
    scene = begun(CLASS, POD, CLAIM)
    put(scene, asked())
    put(scene, asked(unsuitable={"gpu": ["node-1"]}))
    selected = put(scene, asked(unsuitable={"gpu": ["node-1"]}, selected="node-0"))
    put(scene, asked(unsuitable={"gpu": ["node-1", "node-2"]}, selected="node-0"))
    assert silence(scene) == selected
    refused = put(scene, asked(unsuitable={"gpu": ["node-0"]}, selected="node-0"))
    put(scene, asked(unsuitable={"gpu": ["node-0", "node-1"]}, selected="node-0"))
    assert silence(scene) == refused, "now the scheduler's move is awaited"
    assert silence(scene, refused - 0.5) == selected
    put(scene, asked(unsuitable={"gpu": ["node-0"]}, selected="node-1"))
    assert silence(scene) == scene.now


def test_an_allocation_that_was_taken_back_is_owed_again() -> None:
    scene = begun(CLASS, POD, CLAIM)
    put(scene, asked(selected="node-0", unsuitable={"gpu": []}))
    put(scene, build.claim("gpu", "ml", allocation=build.allocation("node-0")))
    with scene.web.follower.world():
        assert scene.web.waits(None).since("ml/train", Stage.FINISH, "") == scene.now
    back = put(scene, CLAIM)
    put(scene, asked(selected="node-0", unsuitable={"gpu": []}))
    assert silence(scene) == back


def owed(scene: Scene, at: float | None = None) -> list[tuple[str, str, float]]:
    here = scene.web
    with here.follower.world() as live:
        world = live if at is None else here.past(at)
        return [(d.claim, d.what.split()[0], d.since) for d in debts(world, here.waits(at)).get(DRIVER, ())]


def test_a_requested_deallocation_is_owed_since_it_was_requested() -> None:
    held = build.claim("gpu", "ml", allocation=build.allocation("node-0"))
    scene = begun(CLASS, held)
    assert owed(scene) == []
    requested = held | {"status": held["status"] | {"deallocationRequested": True}}
    since = put(scene, requested)
    again = requested | {"metadata": requested["metadata"] | {"labels": {"touched": "yes"}}}
    put(scene, again)
    assert owed(scene) == owed(scene, scene.now) == [("ml/gpu", "deallocate,", since)]
    assert owed(scene, since - 0.5) == []
    row = api("/api/v1/drivers")["items"][0]
    assert (row["owed"], row["silentSince"]) == (1, show(since))
    assert "Owes a move" in Client().get("/drivers").content.decode()
    assert "/ns/ml/claims/gpu" in Client().get(f"/drivers/{DRIVER}").content.decode()
    scene.web = current.build(scene.model)
    scene.look()
    assert owed(scene) == [("ml/gpu", "deallocate,", since)]
    put(scene, CLAIM)
    assert owed(scene) == []


def test_an_immediate_claim_is_owed_an_allocation_and_a_deleting_one_only_under_the_drivers_finalizer() -> None:
    immediate = build.claim("now", "ml", mode="Immediate")
    going = build.claim("going", "ml", allocation=build.allocation("node-0"))
    going["metadata"] = going["metadata"] | {"deletionTimestamp": "2023-11-14T22:00:00Z"}
    mine = going | {"metadata": going["metadata"] | {"finalizers": [f"{DRIVER}/deletion-protection"]}}
    others = going | {"metadata": going["metadata"] | {"name": "kept", "finalizers": ["backup.example.com/keep"]}}
    scene = begun(CLASS, immediate, mine, others)
    assert sorted((claim, what) for claim, what, _ in owed(scene)) == [
        ("ml/going", "deallocate"),
        ("ml/now", "allocate"),
    ]
    assert all(since > 0 for _, _, since in owed(scene))


def test_a_driver_that_refuses_every_node_is_no_innocent() -> None:
    scene = begun(CLASS, POD, CLAIM, asked(unsuitable={"gpu": NODES}))
    page = Client().get("/drivers").content.decode()
    assert "Refuses all nodes" in page
    assert "Owes nothing" not in page
    assert api("/api/v1/drivers")["items"][0]["refusals"] == 3, "refusals that were there at the start count"
    assert scene.web.follower.observations.drivers.summary(DRIVER, scene.now).refusals == 3


# --- the doctor ------------------------------------------------------------------------------------------------------


def since_of(report: Report) -> dict[str, float]:
    return {f.code: f.since for f in report.findings}


def test_what_the_doctor_finds_keeps_its_since_however_often_the_scheduler_writes() -> None:
    scene = begun(CLASS, POD, CLAIM)
    scene.web.doctor.look(scene.now)
    first = put(scene, asked(selected="node-0"))
    for n in range(1, 2 * STATES + 1):
        put(scene, asked(selected=NODES[n % 3]))
        scene.now += 9.0
    late = current.build(scene.model)
    late.follower.step()
    for here in (scene.web, late):
        found = since_of(here.doctor.look(scene.now))
        assert (found["driver-silent"], found["selected-node-flapping"]) == (first, first)
        then = since_of(here.doctor.report_at(here.past(scene.now - 500.0)))
        assert (then["driver-silent"], then["selected-node-flapping"]) == (first, first)


def test_what_came_to_rest_flaps_anew() -> None:
    window, changes = 600.0, 3
    run = Run.of((1.0, 2.0, 3.0, 600.0), Thresholds(changes=changes, window=window))
    assert run.since == 1.0
    run.add(1500.0)
    assert run.since == 0.0, "a pause: two changes within the window"
    run.add(1501.0)
    run.add(1502.0)
    assert run.since == 1500.0


def test_answers_that_were_there_at_the_start_count_without_a_duration_also_where_no_history_is_kept() -> None:
    scene = begun(CLASS, POD, CLAIM, asked(unsuitable={"gpu": ["node-1"]}))
    seen = scene.web.follower.observations
    with scene.web.follower.world() as world:
        seen.restart(world, lambda _kind, _key: [], scene.now)
    summary = seen.drivers.summary(DRIVER, scene.now)
    assert (summary.refusals, summary.responses, summary.last_took) == (1, 0, None)
