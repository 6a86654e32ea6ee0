"""Since when a finding holds does not move while it holds, and every process says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dradash.reader import current
from dradash.scheduling.doctor.finding import Finding
from tests import build, devicecases
from tests import builddevices as make
from tests.scene import Scene

POD = build.pod("p", "ml", claims={"gpu": "c"})
OTHER = build.pod("q", "ml", claims={"gpu": "c"})
CLASS = build.resource_class()
CLAIM = build.claim("c", "ml")
FOO = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Foo"}]}]}
ROUNDS = 100  # more than the states that any process keeps of one object
GONE_BY = 100.0


def claim(number: int, **more: Any) -> build.Obj:
    return build.claim("c", "ml", annotations={"n": str(number)}, **more)


def allocated(number: int, **more: Any) -> build.Obj:
    return claim(number, allocation=build.allocation("node-0"), **more)


def talk(number: int, **more: Any) -> build.Obj:
    return build.context(POD, potential=["node-0", f"other-{number}"], **more)


def finished(number: int) -> build.Obj:
    return build.pod("p", "ml", claims={"gpu": "c"}, phase="Succeeded", node="node-0", labels={"n": str(number)})


# code -> (what is there, the object with the trouble as it changes on, how long it must last)
CASES: dict[str, tuple[tuple[build.Obj, ...], Callable[[int], build.Obj], float]] = {
    "allocated-idle": ((CLASS,), allocated, 700.0),
    "deallocation-unanswered": ((CLASS,), lambda n: allocated(n, deallocation_requested=True), GONE_BY),
    "reserved-by-several": ((CLASS, POD, OTHER), lambda n: allocated(n, reserved_for=[POD, OTHER]), 0),
    "reserved-for-gone": (
        (CLASS, build.claim("c", "ml", allocation=build.allocation("node-0"), reserved_for=[POD])),
        finished,
        GONE_BY,
    ),
    "class-filter-invalid": (
        (),
        lambda n: build.resource_class(suitable=FOO) | {"extra": n},
        0.0,
    ),
    "selected-not-potential": ((CLASS, POD, CLAIM), lambda n: talk(n, selected="elsewhere"), 0.0),
    "selected-unsuitable": (
        (CLASS, POD, CLAIM),
        lambda n: talk(n, selected="node-0", unsuitable={"gpu": ["node-0"]}),
        GONE_BY,
    ),
    "no-node-suits": ((CLASS, POD, CLAIM), lambda n: talk(n, unsuitable={"gpu": ["node-0", f"other-{n}"]}), GONE_BY),
    "potential-nodes-cut": (
        (CLASS, POD, CLAIM),
        lambda n: build.context(POD, potential=[f"node-{n + i}" for i in range(128)], unsuitable={"gpu": []}),
        0.0,
    ),
}


def only(web: current.Current, code: str, now: float) -> Finding:
    web.follower.step()
    (found,) = (f for f in web.doctor.look(now).findings if f.code == code)
    return found


def everybody(scene: Scene, code: str) -> Finding:
    """As this process, one that has just begun and the past see it: all the same."""
    found = only(scene.web, code, scene.now)
    again = current.build(scene.model)
    assert only(again, code, scene.now) == found
    (then,) = (f for f in again.doctor.report_at(again.past(scene.now)).findings if f.code == code)
    assert then == found
    return found


@pytest.mark.parametrize("code", CASES)
def test_it_does_not_move_when_the_object_changes_on(code: str) -> None:
    there, changed, least = CASES[code]
    scene = Scene(build.node("node-0"), *there)
    scene.put(changed(0))
    begun = scene.now
    scene.now += least
    first = everybody(scene, code)
    assert first.since == begun
    for number in range(1, ROUNDS):
        scene.put(changed(number))
    last = everybody(scene, code)
    assert (last.id, last.since) == (first.id, begun)


def test_a_node_that_is_refused_again_and_again_is_so_since_the_first_time() -> None:
    scene = Scene(build.node("node-0"), CLASS, POD, CLAIM)
    since = 0.0
    for _ in range(ROUNDS):
        scene.put(build.context(POD, potential=["node-0", "node-1"], selected="node-1"))
        scene.put(build.context(POD, potential=["node-0", "node-1"], selected="node-0", unsuitable={"gpu": ["node-0"]}))
        since = since or scene.now
        scene.look()
    found = everybody(scene, "node-refused-repeatedly")
    assert found.since == since
    assert f"selected and refused {ROUNDS} times" in found.sentence


def test_a_malformed_object_is_so_since_it_became_so() -> None:
    scene = Scene(build.node("node-0"), CLASS, CLAIM)
    bad = CLAIM | {"spec": 7}
    scene.put(bad)
    begun = scene.now
    for number in range(ROUNDS):
        scene.put(bad | {"extra": number})
        scene.look()
    assert everybody(scene, "malformed-object").since == begun


def test_words_that_are_repeated_disagree_since_the_first_time() -> None:
    scene = Scene(build.node("node-0"), CLASS, POD, CLAIM)
    begun = 0.0
    for number in range(1, 40):
        at = f"2026-11-30T04:{number:02}:00Z"
        scene.put(build.event(POD, "0/1 nodes are available: 1 resourceclaim in use.", at=at, name="words"))
        scene.now += 59.0
        begun = begun or scene.now - 59.0
        scene.look()
    found = everybody(scene, "words-disagree")
    assert found.since == begun


def test_what_several_miss_is_missing_since_the_first_of_them_though_it_is_gone() -> None:
    scene = Scene(build.node("node-0"), CLASS, POD)
    scene.now += 100
    first = only(scene.web, "claim-missing", scene.now)
    scene.put(OTHER)
    scene.delete(POD)
    scene.now += 100
    last = only(scene.web, "claim-missing", scene.now)
    assert (last.id, last.since) == (first.id, first.since)


def test_another_object_of_the_name_has_its_own_beginning() -> None:
    scene = Scene(build.node("node-0"), CLASS, allocated(0))
    scene.put(allocated(1, uid="another"))
    begun = scene.now
    scene.now += 700
    assert everybody(scene, "allocated-idle").since == begun


GPU = make.device("gpu-0")
HELD = make.claim("c", "ml", devices=[make.result("gpu-0", pool="node-3")], reserved_for=[POD])
WITHOUT_SLICES = (
    ("driver-publishes-nothing", [make.resource_slice(GPU)], [devicecases.CLASS]),
    ("device-vanished", [make.resource_slice(GPU, node="node-3")], [POD, HELD]),
    (
        "node-without-slice",
        devicecases.slices(["node-3"]),
        [*map(devicecases.node, devicecases.NAMES), *devicecases.slices(devicecases.NAMES[:3])],
    ),
)


@pytest.mark.parametrize(("code", "going", "there"), WITHOUT_SLICES)
def test_what_a_driver_took_back_is_missed_since_then(
    code: str, going: list[build.Obj], there: list[build.Obj]
) -> None:
    scene = Scene(*there, *going)
    scene.now += 1000
    scene.put(*going)
    scene.delete(*going)
    begun = scene.now
    scene.now += 300
    assert everybody(scene, code).since == begun


def test_a_pool_is_incomplete_since_it_was_first_found_so_though_its_slices_change() -> None:
    scene = Scene(make.resource_slice(GPU, count=2))
    scene.now += 100
    first = only(scene.web, "pool-incomplete", scene.now)
    scene.put(make.resource_slice(GPU, make.device("gpu-1"), count=2))
    scene.now += 100
    last = only(scene.web, "pool-incomplete", scene.now)
    assert (last.id, last.since) == (first.id, build.NOW + 1)
