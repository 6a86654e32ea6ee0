"""A finding that is over: any process finds it again in the history, with when it was over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from dradash.reader import current, lookback
from dradash.reader.doctor import Doctor
from dradash.reader.lookback import Resolved
from dradash.reader.moment import show
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.store.model import ReadModel, StoreUnavailable
from dradash.store.past import Past
from tests import build, devicecases
from tests import builddevices as make
from tests.scene import Scene

CLASS = build.resource_class()
LOST = build.pod("lost", "ml", claims={"gpu": "none"})
WANTED = build.claim("none", "ml")
HOLDER = build.pod("holder", "ml", claims={"gpu": "held"})
HELD = build.claim("held", "ml", allocation=build.allocation("node-0"), reserved_for=[HOLDER])
DAY = 86_400.0


@pytest.fixture
def scene() -> Iterator[Scene]:
    made = Scene(build.node("node-0"), CLASS)
    current.use(made.web)
    yield made
    current.use(None)


def found(scene: Scene, code: str) -> Finding:
    """As the process that has been there all the time sees it now."""
    scene.look()
    (finding,) = (f for f in scene.web.doctor.look(scene.now).findings if f.code == code)
    return finding


def restarted(scene: Scene) -> Doctor:
    """Another process, which has just begun."""
    web = current.build(scene.model)
    web.follower.step()
    web.doctor.look(scene.now)
    return web.doctor


def over(scene: Scene, finding: Finding, at: float | None = None) -> Resolved:
    """What is said of it now, whoever is asked."""
    scene.look()
    assert finding.id not in scene.web.doctor.look(scene.now).by_id
    mine, others = scene.web.doctor.resolved(finding.id, at), restarted(scene).resolved(finding.id, at)
    assert mine is not None
    assert mine == others
    return mine


def later(scene: Scene, seconds: float) -> None:
    scene.now += seconds


def test_a_finding_that_a_change_of_its_object_ended_is_told_to_the_moment(scene: Scene) -> None:
    scene.put(LOST)
    later(scene, 100)
    finding = found(scene, "claim-missing")
    later(scene, 50)
    scene.put(WANTED)
    came = scene.now
    later(scene, 1000)
    resolved = over(scene, finding)
    assert resolved.at == came
    assert (resolved.finding.since, resolved.finding.sentence) == (finding.since, finding.sentence)


def test_one_that_holds_again_is_not_over_and_the_last_end_counts(scene: Scene) -> None:
    scene.put(LOST)
    later(scene, 100)
    finding = found(scene, "claim-missing")
    scene.put(WANTED)
    assert over(scene, finding).at == scene.now
    scene.delete(WANTED)
    later(scene, 100)
    assert found(scene, "claim-missing").id == finding.id
    later(scene, 100)
    scene.put(WANTED)
    assert over(scene, finding).at == scene.now


def test_what_ended_when_its_pod_went_is_found_though_its_own_object_never_was(scene: Scene) -> None:
    scene.put(LOST)
    later(scene, 100)
    finding = found(scene, "claim-missing")
    scene.delete(LOST)
    assert over(scene, finding).at == scene.now


def test_what_is_about_an_object_that_is_gone_is_found(scene: Scene) -> None:
    scene.put(HOLDER, HELD)
    scene.delete(HOLDER)
    later(scene, 100)
    finding = found(scene, "reserved-for-gone")
    scene.delete(HELD)
    resolved = over(scene, finding)
    assert (resolved.at, resolved.finding.since) == (scene.now, finding.since)


def test_a_reservation_that_was_removed_ends_it(scene: Scene) -> None:
    scene.put(HOLDER, HELD)
    scene.delete(HOLDER)
    later(scene, 100)
    finding = found(scene, "reserved-for-gone")
    scene.put(build.claim("held", "ml", allocation=build.allocation("node-0")))
    resolved = over(scene, finding)
    assert (resolved.at, resolved.finding.since) == (scene.now, finding.since)


def test_a_kind_that_can_be_read_again_ends_it(scene: Scene) -> None:
    scene.sync("nodes", "forbidden", error="no role")
    finding = found(scene, "kind-forbidden")
    later(scene, 100)
    scene.sync("nodes", "synced")
    resolved = over(scene, finding)
    assert (resolved.at, resolved.finding.sentence) == (scene.now, finding.sentence)


def test_a_negotiation_that_was_mended_ends_it(scene: Scene) -> None:
    pod, claim = build.pod("talk", "ml", claims={"gpu": "c"}), build.claim("c", "ml")
    scene.put(pod, claim, build.context(pod, potential=["node-0"], selected="other"))
    finding = found(scene, "selected-not-potential")
    scene.put(build.context(pod, potential=["node-0"], selected="node-0"))
    assert over(scene, finding).at == scene.now


GPU = make.device("gpu-0")


@pytest.mark.parametrize(
    ("code", "there", "cures"),
    [
        (
            "pool-incomplete",
            [make.resource_slice(GPU, count=2)],
            make.resource_slice(make.device("gpu-1"), count=2, name="other"),
        ),
        (
            "node-without-slice",
            [*map(devicecases.node, devicecases.NAMES), *devicecases.slices(devicecases.NAMES[:3])],
            make.resource_slice(GPU, node="node-3"),
        ),
        (
            "device-vanished",
            [HOLDER, make.claim("c", "ml", devices=[make.result("gpu-0")], reserved_for=[HOLDER])],
            make.resource_slice(GPU),
        ),
    ],
)
def test_a_slice_that_came_ends_it(scene: Scene, code: str, there: list[build.Obj], cures: build.Obj) -> None:
    scene.put(*there)
    later(scene, 200)
    finding = found(scene, code)
    later(scene, 777)
    scene.put(cures)
    came = scene.now
    later(scene, 5000)
    assert over(scene, finding).at == came


def test_one_that_time_alone_ended_is_found_to_the_second(scene: Scene) -> None:
    pod = build.pod("talk", "ml", claims={"gpu": "c"})
    scene.put(pod, build.claim("c", "ml"))
    for number in range(6):
        scene.put(build.context(pod, potential=["node-0", "node-1"], selected=f"node-{number % 2}"))
    first = scene.now - 5
    finding = found(scene, "selected-node-flapping")
    later(scene, 5000)
    resolved = over(scene, finding)
    assert first + Thresholds().window <= resolved.at <= first + Thresholds().window + 1.0


def test_one_that_something_else_ended_is_found_to_the_second(scene: Scene) -> None:
    """No pod uses the class, so nothing around it says that nodes were labelled."""
    scene.put(build.resource_class("tpu", suitable=build.with_labels(tpu="v4")))
    later(scene, 5000)
    finding = found(scene, "class-matches-no-node")
    scene.put(build.node("node-0", labels={"tpu": "v4"}))
    labelled = scene.now
    later(scene, 700)
    resolved = over(scene, finding)
    assert labelled <= resolved.at <= labelled + 1.0


def test_at_a_past_moment_it_was_over_or_not_yet(scene: Scene) -> None:
    scene.put(LOST)
    later(scene, 100)
    finding = found(scene, "claim-missing")
    scene.put(WANTED)
    came = scene.now
    later(scene, 100)
    scene.delete(LOST)
    over(scene, finding)
    assert over(scene, finding, came + 10).at == came
    assert restarted(scene).resolved(finding.id, came - 90) is None, "it had not begun"


def test_what_was_too_brief_for_the_history_is_told_by_whoever_saw_it(scene: Scene) -> None:
    scene.put(LOST)
    scene.look()
    finding = next(f for f in scene.web.doctor.look(scene.now + 5000).findings if f.code == "claim-missing")
    scene.put(WANTED)  # by the clock of the history it was missing for a second
    scene.look()
    scene.web.doctor.look(scene.now + 5001)
    assert scene.web.doctor.resolved(finding.id) == Resolved(finding, scene.now + 5001)


def test_what_never_held_is_not_found_and_costs_no_look(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.put(LOST)
    doctor = restarted(scene)
    monkeypatch.setattr(scene.web.follower, "rebuild", pytest.fail)
    assert doctor.resolved("claim-missing.0123456789ab000000") is None
    assert doctor.resolved("nonsense.0123456789ab000000") is None


def test_the_work_is_bounded_and_done_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.put(LOST)
    for number in range(300):
        later(scene, 1)
        scene.put(build.pod("lost", "ml", claims={"gpu": "none"}, labels={"n": str(number)}))
    later(scene, DAY)
    web = current.build(scene.model)
    web.follower.step()
    looks: list[float] = []
    rebuild = web.follower.rebuild

    def counted(model: ReadModel, at: float) -> Past:
        looks.append(at)
        return rebuild(model, at)

    monkeypatch.setattr(web.follower, "rebuild", counted)
    finding = found(scene, "claim-missing")
    never = finding.id.replace("claim-missing", "template-missing")
    web.doctor.look(scene.now)
    for _ in range(2):
        assert web.doctor.resolved(never) is None
    assert 0 < len(looks) <= lookback.PROBES
    assert web.doctor.recalls(never)


def test_what_searches_of_one_past_moment_share_is_read_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.put(LOST)
    scene.put(build.pod("other", "ml", claims={"gpu": "nothing"}))
    later(scene, 600)
    ids = [f.id for f in missing_claims(scene)]
    later(scene, DAY)
    scene.put(WANTED)
    scene.put(build.claim("nothing", "ml"))
    later(scene, DAY)
    at = scene.now
    later(scene, DAY)
    web = current.build(scene.model)
    web.follower.step()
    calls = {"rebuild": 0, "superseded_since": 0}

    def counted(name: str, asked: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            calls[name] += 1
            return asked(*given)

        return call

    monkeypatch.setattr(web.follower, "rebuild", counted("rebuild", web.follower.rebuild))
    never = [i.replace("claim-missing", "template-missing") for i in ids]
    assert web.doctor.resolved(never[0], at) is None
    first = calls["rebuild"]
    monkeypatch.setattr(scene.model, "superseded_since", counted("superseded_since", scene.model.superseded_since))
    scene.put(build.node("late"))  # now goes on, that moment does not
    web.follower.step()
    assert web.doctor.resolved(never[1], at) is None
    assert calls["superseded_since"] == 0
    assert calls["rebuild"] - first <= first - lookback.EVENLY
    over_at = {web.doctor.resolved(i, at) for i in ids}
    assert {r.finding.id for r in over_at if r is not None} == set(ids)


def missing_claims(scene: Scene) -> list[Finding]:
    scene.look()
    found = [f for f in scene.web.doctor.look(scene.now).findings if f.code == "claim-missing"]
    assert len(found) == 2
    return found


def test_its_page_and_the_api_answer_after_a_restart(scene: Scene) -> None:
    scene.put(LOST)
    later(scene, 100)
    finding = found(scene, "claim-missing")
    scene.put(WANTED)
    later(scene, 10)
    web = current.build(scene.model)
    web.follower.step()
    web.doctor.look(scene.now)
    current.use(web)
    page = Client().get(f"/doctor/{finding.id}").content.decode()
    assert "Resolved" in page
    assert finding.sentence in page
    told = Client().get(f"/api/v1/findings/{finding.id}").json()
    assert (told["holds"], told["resolved"]) == (False, show(scene.now - 10))
    assert told["finding"]["sentence"] == finding.sentence


def test_without_the_model_nothing_is_said(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> float:
        raise StoreUnavailable("Redis is away")

    scene.put(LOST)
    doctor = restarted(scene)
    monkeypatch.setattr(scene.model, "history_start", away)
    with pytest.raises(StoreUnavailable):
        doctor.resolved("claim-missing.0123456789ab000000")
