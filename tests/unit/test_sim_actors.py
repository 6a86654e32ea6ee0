"""Actors: they follow watches that break, keep time, and end when told to."""

from __future__ import annotations

import threading

from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apiserver import APIServer
from dradash.sim.faults import Fault
from dradash.sim.scenarios.objects import namespace, node, pod
from dradash.sim.simulation import running
from tests import simworld
from tests.patience import PATIENCE


def names(world: simworld.World) -> set[tuple[str, str]]:
    return {(type_, obj["metadata"]["name"]) for _, kind, type_, obj in list(world.eyes.rows) if kind == "nodes"}


def test_changes_of_all_kinds_come_in_the_order_of_revisions() -> None:
    with simworld.world() as world:
        for i in range(20):
            world.put(node(f"node-{i}", "zone-a"), pod("team-a", f"pod-{i}"))
        world.until(lambda: len(world.eyes.rows) == 6 + 40 - 1)
        revisions = [int(obj["metadata"]["resourceVersion"]) for *_, obj in world.eyes.rows]
        assert revisions == sorted(revisions)


def test_what_happened_while_a_watch_was_down_is_found_by_listing() -> None:
    with simworld.world(node("gone", "zone-a"), node("changed", "zone-a"), node("same", "zone-a")) as world:
        world.until(lambda: len(names(world)) == 3)
        with world.server.lock:  # the eyes see nothing until all of it has happened
            world.server.inject(Fault("drop_watches"))
            world.server.delete("nodes", "gone")
            world.server.patch("nodes", "changed", {"spec": {"unschedulable": True}}, "application/merge-patch+json")
            world.server.create("nodes", node("new", "zone-a"))
        world.until(lambda: {("DELETED", "gone"), ("MODIFIED", "changed"), ("ADDED", "new")} <= names(world))
        told = [obj["metadata"]["name"] for _, kind, _, obj in world.eyes.rows if kind == "nodes"]
        assert told.count("same") == 1, "what has not changed is not told again"


def test_history_that_was_compacted_does_not_stop_a_follower() -> None:
    with simworld.world() as world:
        world.server.inject(Fault("compact"))
        world.server.inject(Fault("drop_watches"))
        world.put(node("later", "zone-a"))
        world.until(lambda: ("ADDED", "later") in names(world))


class Fragile(Actor):
    kinds = ("namespaces",)

    def __init__(self, server: APIServer) -> None:
        super().__init__(server, Clock(100.0))
        self.seen: list[str] = []
        self.done = threading.Event()

    def on_change(self, change: Change) -> None:
        self.seen.append(change.key)
        if change.key == "end":
            self.done.set()
        if change.key == "bad":
            raise ValueError("a bug in one handler")


def test_an_error_in_one_handler_does_not_end_the_actor() -> None:
    server = APIServer(namespaces=(), seed=1)
    actor = Fragile(server)
    with running([actor]):
        for name in ("bad", "end"):
            server.create("namespaces", namespace(name))
        assert actor.done.wait(PATIENCE)
    assert actor.seen == ["bad", "end"]


def test_an_actor_stops_at_once_whatever_it_waits_for() -> None:
    actor = Fragile(APIServer(seed=1))
    actor.later("far away", 1e6, lambda: None)
    actor.start()
    actor.stop()
    assert not [t for t in threading.enumerate() if t.name == "sim-Fragile"]


def test_of_two_plans_under_one_key_the_sooner_one_is_kept() -> None:
    done = []
    finished = threading.Event()
    actor = Fragile(APIServer(namespaces=(), seed=1))
    actor.later("answer", 5.0, lambda: done.append("late"))
    actor.later("answer", 1.0, lambda: done.append("soon"))
    actor.later("answer", 3.0, lambda: done.append("between"))
    actor.later("forgotten", 0.5, lambda: done.append("forgotten"))
    actor.forget("forgotten")
    actor.later("end", 6.0, finished.set)
    with running([actor]):
        assert finished.wait(PATIENCE)
    assert done == ["soon"]


def test_durations_are_scaled_and_time_stamps_are_not() -> None:
    clock = Clock(60.0, now=lambda: 1_796_011_200.25)
    assert clock.real(60.0) == 1.0
    assert clock.time() == "2026-11-30T04:00:00Z"
    assert clock.micro_time() == "2026-11-30T04:00:00.250000Z"
