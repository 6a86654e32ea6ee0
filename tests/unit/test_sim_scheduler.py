"""The simulated scheduler: its queue, and how an attempt is carried out and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from dradash.sim import apierrors
from dradash.sim.actors import Clock
from dradash.sim.drivers import Behaviour, Drivers
from dradash.sim.faults import FOREVER, Fault
from dradash.sim.scenarios.objects import allocated, claim, node, pod, resource_class
from dradash.sim.scheduler import Scheduler
from dradash.sim.schedulingqueue import MAX_IN_UNSCHEDULABLE, QueuedPod, SchedulingQueue, Strategy
from dradash.sim.simulation import running
from tests import simworld
from tests.simworld import World, condition

GPU = Behaviour(driver="gpu.driver.example.com")
PLUGIN = frozenset(("DynamicResources",))
CLOCK = Clock(50.0)


def cluster(*more: simworld.Obj) -> tuple[simworld.Obj, ...]:
    return (*(node(f"node-{i}", "zone-a") for i in range(4)), resource_class("gpu.example.com", GPU.driver), *more)


@contextmanager
def acting(*more: simworld.Obj) -> Iterator[World]:
    """A cluster with a scheduler at work in it."""
    with simworld.world(*cluster(*more)) as world, running([Scheduler(world.server, CLOCK)]):
        yield world


# --- the queue -------------------------------------------------------------------------------------------------------


def failed(queue: SchedulingQueue, at: float, **refused: frozenset[str]) -> QueuedPod:
    taken = queue.pop()
    assert taken is not None
    taken.unschedulable, taken.pending = refused.get("unschedulable", frozenset()), refused.get("pending", frozenset())
    queue.put_back(taken, at)
    return taken


def queue_with(*keys: str) -> SchedulingQueue:
    queue = SchedulingQueue(lambda _: True)
    for i, key in enumerate(keys):
        queue.add(QueuedPod(key, key, 0), float(i))
    return queue


def test_backoff_doubles_from_one_second_to_ten() -> None:
    queue, now, waits = queue_with("a"), 0.0, []
    for _ in range(6):
        failed(queue, now)
        ends = queue.next_backoff()
        assert ends is not None
        queue.end_backoffs(ends - 0.001)
        assert queue.pop() is None, "its backoff has not ended yet"
        queue.end_backoffs(ends)
        waits.append(ends - now)
        now = ends
    assert waits == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_a_pod_that_was_refused_waits_for_an_event() -> None:
    queue = queue_with("a")
    waiting = failed(queue, 0.0, unschedulable=PLUGIN)
    queue.end_backoffs(100.0)
    assert queue.pop() is None
    queue.move([waiting], lambda _: Strategy.SKIP, 100.0)
    assert queue.pop() is None
    queue.move([waiting], lambda _: Strategy.AFTER_BACKOFF, 100.0)
    assert queue.pop() is waiting


def test_an_event_during_backoff_waits_for_its_end_unless_the_plugin_was_pending() -> None:
    queue = queue_with("refused", "pending")
    refused = failed(queue, 0.0, unschedulable=PLUGIN)
    pending = failed(queue, 0.0, pending=PLUGIN)
    queue.move([refused], lambda _: Strategy.AFTER_BACKOFF, 0.5)
    queue.move([pending], lambda _: Strategy.IMMEDIATELY, 0.5)
    assert queue.pop() is pending
    assert queue.pop() is None
    queue.end_backoffs(1.0)
    assert queue.pop() is refused


def test_pods_without_an_event_are_flushed_after_five_minutes() -> None:
    queue = queue_with("a")
    failed(queue, 0.0, unschedulable=PLUGIN)
    queue.flush(MAX_IN_UNSCHEDULABLE)
    assert queue.pop() is None
    queue.flush(MAX_IN_UNSCHEDULABLE + 1)
    assert queue.pop() is not None


def test_the_higher_priority_comes_first_then_who_waits_longest() -> None:
    queue = queue_with("first", "second")
    queue.add(QueuedPod("important", "u", 1000), 9.0)
    taken = [p.key for p in (queue.pop(), queue.pop(), queue.pop()) if p is not None]
    assert taken == ["important", "first", "second"]


def test_a_gated_pod_is_not_tried_until_pre_enqueue_admits_it() -> None:
    admitted = False
    queue = SchedulingQueue(lambda _: admitted)
    gated = QueuedPod("a", "a", 0)
    queue.add(gated, 0.0)
    assert gated.gated
    assert queue.pop() is None
    admitted = True
    queue.move([gated], lambda _: Strategy.AFTER_BACKOFF, 0.0)
    assert queue.pop() is gated


# --- attempts --------------------------------------------------------------------------------------------------------


def recorded_shape(event: simworld.Obj) -> set[str]:
    return {*event, *(f"involvedObject.{k}" for k in event["involvedObject"])} - {"kind", "apiVersion", "metadata"}


SHAPE = {
    *("action", "eventTime", "involvedObject", "message", "reason", "reportingComponent", "reportingInstance"),
    *("source", "type"),
    *(f"involvedObject.{k}" for k in ("apiVersion", "kind", "name", "namespace", "resourceVersion", "uid")),
}


def test_events_have_the_shape_that_a_real_scheduler_gives_them() -> None:
    with acting(claim("team-a", "c", "gpu.example.com")) as world, running([Drivers(world.server, CLOCK, [GPU])]):
        world.put(pod("team-a", "p", claims={"gpu": "c"}))
        failed_event = world.until_event("team-a/p", "FailedScheduling")
        scheduled = world.until_event("team-a/p", "Scheduled")
    assert recorded_shape(failed_event) == recorded_shape(scheduled) == SHAPE
    assert (failed_event["type"], failed_event["action"]) == ("Warning", "Scheduling")
    assert (scheduled["type"], scheduled["action"]) == ("Normal", "Binding")
    assert failed_event["reportingComponent"] == "default-scheduler"
    assert failed_event["metadata"]["name"].startswith("p.18")
    assert failed_event["message"] == "waiting for resource driver"


def test_a_repeated_failure_becomes_a_series_that_keeps_its_first_text() -> None:
    def series() -> list[simworld.Obj]:
        return [e for e in world.server.list("events", "team-a") if "series" in e]

    with acting(claim("team-a", "c", "npu.example.com")) as world:
        world.put(pod("team-a", "p", claims={"npu": "c"}))
        world.until_said("team-a/p", "npu.example.com does not exist")
        # The condition changed the pod, so the next event is about another version of it; the one after repeats.
        for i in range(2):
            before = len(world.eyes.rows)
            world.put(resource_class(f"other-{i}", GPU.driver))
            world.until(partial(events_since, world, before))
        found = world.until(series)
        events = world.server.list("events", "team-a")
    assert found[0]["series"]["count"] == 2
    assert found[0]["series"]["lastObservedTime"].endswith("Z")
    assert len(events) == 2
    assert events[0]["message"] == events[1]["message"]


def events_since(world: World, seen: int) -> bool:
    return any(kind == "events" for _, kind, _, _ in list(world.eyes.rows)[seen:])


def test_the_condition_keeps_its_transition_time_while_the_status_stays() -> None:
    with simworld.world(*cluster(claim("team-a", "c", "gpu.example.com"))) as world:
        with running([Scheduler(world.server, Clock(50.0, now=iter_clock()))]):
            world.put(pod("team-a", "p", claims={"gpu": "c"}))
            world.until_said("team-a/p", "waiting for resource driver to provide information")
        texts = [condition(p) for p in world.eyes.objects("pods") if condition(p)]
    assert len({c["message"] for c in texts}) == 2
    assert len({c["lastTransitionTime"] for c in texts}) == 1
    assert {(c["status"], c["reason"]) for c in texts} == {("False", "Unschedulable")}


def iter_clock() -> Callable[[], float]:
    """A clock that never shows the same second twice."""
    seconds = iter(range(1_796_011_200, 1_796_021_200))
    return lambda: float(next(seconds))


def test_a_gated_pod_gets_its_condition_and_no_event() -> None:
    with simworld.world(*cluster()) as world:
        with running([Scheduler(world.server, CLOCK)]):
            world.put(pod("team-a", "p", gates=("example.com/wait",)))
            world.until_said("team-a/p", "Scheduling is blocked due to non-empty scheduling gates")
            assert condition(world.pod("team-a/p"))["reason"] == "SchedulingGated"
            world.server.patch(
                "pods", "p", {"spec": {"schedulingGates": None}}, "application/merge-patch+json", "team-a"
            )
            assert world.until_bound("team-a/p")
        assert not [e for e in world.eyes.objects("events") if e["reason"] == "FailedScheduling"]


def test_a_conflict_on_the_context_update_leads_to_an_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two drivers, so that the context is updated after its creation; every update by the scheduler is answered 409."""
    nic = Behaviour(driver="nic.driver.example.com")
    claims = (claim("team-a", "g", "gpu.example.com"), claim("team-a", "n", "nic.example.com"))
    with simworld.world(*cluster(resource_class("nic.example.com", nic.driver), *claims)) as world:
        server = world.server
        update, apply, applied = server.update, server.apply, []

        def conflicting(plural: str, *args: Any, **more: Any) -> simworld.Obj:
            if plural == "podschedulingcontexts" and more.get("field_manager") == "kube-scheduler":
                raise apierrors.modified(server.resources[plural], "p")
            return update(plural, *args, **more)

        def noted(plural: str, body: simworld.Obj, *args: Any, **more: Any) -> simworld.Obj:
            applied.append((plural, body["spec"], args[0], more["force"]))
            return apply(plural, body, *args, **more)

        monkeypatch.setattr(server, "update", conflicting)
        monkeypatch.setattr(server, "apply", noted)
        with running([Scheduler(server, CLOCK), Drivers(server, CLOCK, [GPU, nic])]):
            world.put(pod("team-a", "p", claims={"gpu": "g", "nic": "n"}))
            node_name = world.until_bound("team-a/p")
    nodes = [f"node-{i}" for i in range(4)]
    spec = {"selectedNode": node_name, "potentialNodes": nodes}
    assert applied[-1] == ("podschedulingcontexts", spec, "kube-scheduler", True)


def test_two_pods_do_not_both_get_one_claim_even_from_two_schedulers() -> None:
    made = allocated(claim("team-a", "c", "gpu.example.com"), GPU, "node-1")
    with simworld.world(*cluster(made)) as world:
        schedulers = [Scheduler(world.server, CLOCK, instance=f"{i}") for i in range(2)]
        with running([*schedulers]):
            world.put(*(pod("team-a", f"p{i}", claims={"gpu": "c"}) for i in range(6)))
            waiting = world.until(lambda: said_in_use(world) if len(said_in_use(world)) == 5 else None)
            bound = [p for p in world.server.list("pods", "team-a") if p["spec"].get("nodeName")]
            held = world.server.get("resourceclaims", "c", "team-a")["status"]["reservedFor"]
    assert [p["spec"]["nodeName"] for p in bound] == ["node-1"]
    assert [h["uid"] for h in held] == [bound[0]["metadata"]["uid"]]
    assert len(waiting) == 5


def said_in_use(world: World) -> list[str]:
    pods = world.server.list("pods", "team-a")
    return [p["metadata"]["name"] for p in pods if "resourceclaim in use" in condition(p).get("message", "")]


def test_a_reservation_is_given_back_when_the_binding_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    made = allocated(claim("team-a", "c", "gpu.example.com"), GPU, "node-1")

    def refused(*_: str) -> None:
        raise apierrors.unavailable()

    with simworld.world(*cluster(made)) as world:
        monkeypatch.setattr(world.server, "bind", refused)
        with running([Scheduler(world.server, CLOCK)]):
            world.put(pod("team-a", "p", claims={"gpu": "c"}))
            text = world.until_said("team-a/p", "binding rejected")
        assert text.startswith('binding rejected: running Bind plugin "DefaultBinder": ')
        assert condition(world.pod("team-a/p"))["reason"] == "SchedulerError"
        reserved = [c["status"].get("reservedFor") for c in world.eyes.objects("resourceclaims")]
        assert any(reserved), "it was reserved before"
        assert not world.server.get("resourceclaims", "c", "team-a")["status"].get("reservedFor")


def test_a_write_that_is_refused_is_the_schedulers_error_and_is_tried_again() -> None:
    made = allocated(claim("team-a", "c", "gpu.example.com"), GPU, "node-1")
    with simworld.world(*cluster(made)) as world:
        world.server.inject(Fault("conflict", kind="resourceclaims", count=FOREVER))
        with running([Scheduler(world.server, CLOCK)]):
            world.put(pod("team-a", "p", claims={"gpu": "c"}))
            text = world.until_said("team-a/p", "running PreBind plugin")
            assert condition(world.pod("team-a/p"))["reason"] == "SchedulerError"
            world.server.inject(Fault("clear"))
            assert world.until_bound("team-a/p") == "node-1"
        assert text.startswith('running PreBind plugin "DynamicResources": Operation cannot be fulfilled')


def test_a_change_that_concerns_other_pods_does_not_wake_a_refused_one() -> None:
    with acting(claim("team-a", "c", "npu.example.com"), claim("team-a", "d", "gpu.example.com")) as world:
        world.put(pod("team-a", "refused", claims={"npu": "c"}))
        world.until_said("team-a/refused", "does not exist")
        told = count_events(world, "refused")
        assert told
        world.put(pod("team-a", "other", claims={"gpu": "d"}))
        world.until_said("team-a/other", "waiting for resource driver to provide information")
        assert count_events(world, "refused") == told


def test_a_node_wakes_a_refused_pod_by_its_labels_and_not_by_its_annotations() -> None:
    merge = "application/merge-patch+json"
    with acting(claim("team-a", "c", "npu.example.com"), claim("team-a", "d", "gpu.example.com")) as world:
        world.put(pod("team-a", "refused", claims={"npu": "c"}))
        world.until_said("team-a/refused", "does not exist")
        told = count_events(world, "refused")
        world.server.patch("nodes", "node-0", {"metadata": {"annotations": {"a": "b"}}}, merge)
        # Two attempts on a pod that comes later, the second after a backoff of its own: time enough for a first one.
        world.put(pod("team-a", "other", claims={"gpu": "d"}))
        world.until_said("team-a/other", "waiting for resource driver to provide information")
        assert count_events(world, "refused") == told
        world.server.patch("nodes", "node-0", {"metadata": {"labels": {"a": "b"}}}, merge)
        world.until(lambda: count_events(world, "refused") > told)


def test_without_queueing_hints_every_event_wakes_every_pod() -> None:
    """As a real 1.30 with its default gates does."""
    made = cluster(claim("team-a", "c", "npu.example.com"))
    with simworld.world(*made) as world, running([Scheduler(world.server, CLOCK, hints=False)]):
        world.put(pod("team-a", "refused", claims={"npu": "c"}))
        world.until_said("team-a/refused", "does not exist")
        told = count_events(world, "refused")
        world.put(claim("team-a", "of-nobody", "gpu.example.com"))
        world.until(lambda: count_events(world, "refused") > told)


def count_events(world: World, name: str) -> int:
    return sum(e["involvedObject"]["name"] == name for e in world.eyes.objects("events"))


def test_pods_of_other_schedulers_are_left_alone() -> None:
    foreign = pod("team-a", "foreign")
    foreign["spec"]["schedulerName"] = "my-scheduler"
    with simworld.world(*cluster()) as world:
        with running([Scheduler(world.server, CLOCK)]):
            world.put(foreign, pod("team-a", "own"))
            assert world.until_bound("team-a/own")
        assert "nodeName" not in world.server.get("pods", "foreign", "team-a")["spec"]
