"""Control-plane drivers: how they answer, allocate and let go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dradash.sim.actors import Clock
from dradash.sim.drivers import Behaviour, Drivers
from dradash.sim.scenarios.objects import allocated, claim, node, pod, resource_class
from dradash.sim.simulation import running
from tests import build, simworld
from tests.simworld import Obj, World

DRIVER = "gpu.driver.example.com"
CLOCK = Clock(50.0)
NODES = tuple(f"node-{i}" for i in range(4))
CONTEXTS = "podschedulingcontexts"


@contextmanager
def world(behaviour: Behaviour, *more: Obj) -> Iterator[World]:
    nodes = [node(name, "zone-a") for name in NODES]
    given = (*nodes, resource_class("gpu.example.com", DRIVER), *more)
    with simworld.world(*given) as made, running([Drivers(made.server, CLOCK, [behaviour])]):
        yield made


def ask(made: World, *claims: str, selected: str = "", name: str = "p") -> None:
    """What the scheduler does: a pod's context with potential nodes."""
    entries = {f"dev{i}": c for i, c in enumerate(claims)}
    made.put(pod("team-a", name, claims=entries))
    owner = made.server.get("pods", name, "team-a")
    context = build.context(owner, potential=NODES, selected=selected)
    context["metadata"] = {k: v for k, v in context["metadata"].items() if k not in ("uid", "resourceVersion")}
    made.server.create(CONTEXTS, context, "team-a")


def answer(made: World, name: str = "p") -> dict[str, list[str]]:
    """The pod's name for the claim -> unsuitable nodes, for the claims that have been answered."""
    context = made.find(CONTEXTS, name, "team-a") or {"status": {}}
    return {e["name"]: e.get("unsuitableNodes", []) for e in context["status"].get("resourceClaims", [])}


def test_a_driver_tells_the_nodes_without_free_devices() -> None:
    with world(Behaviour(driver=DRIVER, per_node={"node-1": 0}), claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c")
        made.until(lambda: answer(made) == {"dev0": ["node-1"]})
        assert made.server.get("resourceclaims", "c", "team-a")["status"] == {}


def test_two_claims_of_one_pod_need_two_devices() -> None:
    claims = (claim("team-a", "c", "gpu.example.com"), claim("team-a", "d", "gpu.example.com"))
    with world(Behaviour(driver=DRIVER, devices=2, per_node={"node-2": 1}), *claims) as made:
        ask(made, "c", "d")
        made.until(lambda: answer(made) == {"dev0": ["node-2"], "dev1": ["node-2"]})


def test_it_allocates_on_the_selected_node_as_recorded() -> None:
    with world(Behaviour(driver=DRIVER), claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c", selected="node-2")
        status = made.until(lambda: made.server.get("resourceclaims", "c", "team-a")["status"])
        versions = [c for c in made.eyes.objects("resourceclaims") if c["metadata"]["name"] == "c"]
    requirement = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}
    assert status == {
        "driverName": DRIVER,
        "allocation": {
            "resourceHandles": [{"driverName": DRIVER, "data": '{"node":"node-2"}'}],
            "availableOnNodes": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]},
        },
    }
    # First the finalizer, then the allocation: a driver that dies between the two leaves no device behind.
    assert [("finalizers" in c["metadata"], bool(c["status"])) for c in versions][:2] == [(False, False), (True, False)]


def test_it_does_not_allocate_on_an_unsuitable_node() -> None:
    with world(Behaviour(driver=DRIVER, per_node={"node-2": 0}), claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c", selected="node-2")
        made.until(lambda: answer(made) == {"dev0": ["node-2"]})
        assert made.server.get("resourceclaims", "c", "team-a")["status"] == {}


def test_devices_in_use_are_not_given_twice_and_come_back() -> None:
    behaviour = Behaviour(driver=DRIVER, devices=0, per_node={"node-3": 1}, recheck=5.0)
    claims = (allocated(claim("team-a", "old", "gpu.example.com"), behaviour, "node-3"),)
    with world(behaviour, *claims, claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c", selected="node-3")
        made.until(lambda: answer(made) == {"dev0": list(NODES)})
        made.server.delete("resourceclaims", "old", "team-a")
        made.until(lambda: made.claim("team-a/old") is None)
        made.until(lambda: made.server.get("resourceclaims", "c", "team-a")["status"].get("allocation"))


def test_it_deallocates_on_request_and_takes_its_finalizer_away() -> None:
    behaviour = Behaviour(driver=DRIVER)
    with world(behaviour, allocated(claim("team-a", "c", "gpu.example.com"), behaviour, "node-3")) as made:
        found = made.server.get("resourceclaims", "c", "team-a")
        found["status"]["deallocationRequested"] = True
        made.server.update_status("resourceclaims", found, "team-a")
        made.until(lambda: "finalizers" not in made.server.get("resourceclaims", "c", "team-a")["metadata"])
        assert made.server.get("resourceclaims", "c", "team-a")["status"] == {}


def test_a_claim_in_use_is_not_taken_away() -> None:
    behaviour = Behaviour(driver=DRIVER)
    held = allocated(claim("team-a", "c", "gpu.example.com"), behaviour, "node-3")
    held["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
    other = claim("team-a", "after", "gpu.example.com", immediate=True)
    with world(behaviour, held) as made:
        made.server.delete("resourceclaims", "c", "team-a")
        made.put(other)  # what comes later is served, so this one was looked at
        made.until(lambda: made.server.get("resourceclaims", "after", "team-a")["status"].get("allocation"))
        assert made.server.get("resourceclaims", "c", "team-a")["status"]["allocation"]


def test_an_immediate_claim_is_allocated_everywhere_at_once() -> None:
    with world(Behaviour(driver=DRIVER, shareable=True)) as made:
        made.put(claim("team-a", "c", "gpu.example.com", immediate=True))
        status = made.until(lambda: made.server.get("resourceclaims", "c", "team-a")["status"])
    handles = [{"driverName": DRIVER, "data": '{"node":null}'}]
    assert status == {"driverName": DRIVER, "allocation": {"resourceHandles": handles, "shareable": True}}


def test_a_claim_of_another_drivers_class_is_left_alone() -> None:
    claims = (claim("team-a", "c", "gpu.example.com"), claim("team-a", "n", "nic.example.com"))
    nic = resource_class("nic.example.com", "nic.driver.example.com")
    with world(Behaviour(driver=DRIVER), nic, *claims) as made:
        ask(made, "n", "c")
        made.until(lambda: answer(made))
        assert answer(made) == {"dev1": []}


def test_a_class_that_comes_late_is_answered_for() -> None:
    with world(Behaviour(driver=DRIVER), claim("team-a", "c", "late.example.com")) as made:
        ask(made, "c")
        made.put(resource_class("late.example.com", DRIVER))
        made.until(lambda: answer(made) == {"dev0": []})


def test_a_driver_that_starts_late_finds_what_is_waiting() -> None:
    nodes = [node(name, "zone-a") for name in NODES]
    gpu = (resource_class("gpu.example.com", DRIVER), claim("team-a", "c", "gpu.example.com"))
    with simworld.world(*nodes, *gpu) as made:
        ask(made, "c")
        touched = {"metadata": {"labels": {"touched": "later-than-the-context"}}}
        made.server.patch("pods", "p", touched, "application/merge-patch+json", "team-a")
        with running([Drivers(made.server, CLOCK, [Behaviour(driver=DRIVER)])]):
            made.until(lambda: answer(made) == {"dev0": []})


def test_a_flaky_driver_gets_there_in_the_end() -> None:
    with world(Behaviour(driver=DRIVER, flaky=0.7), claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c", selected="node-0")
        made.until(lambda: made.server.get("resourceclaims", "c", "team-a")["status"].get("allocation"))


def test_a_drivers_failure_is_an_event_on_what_it_worked_at() -> None:
    with world(Behaviour(driver=DRIVER, flaky=1.0), claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c")
        event = made.until_event("team-a/p", "Failed")
        made.until(lambda: any(e.get("count", 0) > 1 for e in made.server.list("events", "team-a")))
        assert answer(made) == {}
    assert event["source"] == {"component": f"resource driver {DRIVER}"}
    assert event["involvedObject"]["kind"] == "PodSchedulingContext"


def test_a_moody_driver_changes_its_answer_only_when_it_looks_again() -> None:
    behaviour = Behaviour(driver=DRIVER, moody=0.5, recheck=10.0)
    with world(behaviour, claim("team-a", "c", "gpu.example.com")) as made:
        ask(made, "c")
        made.until(lambda: len(answers_so_far(made)) >= 4)
        before = len(answers_so_far(made))
        made.until(lambda: len(answers_so_far(made)) > before)
        times = [t for t, kind, _, obj in made.eyes.rows if kind == CONTEXTS and obj["status"]]
    # Rechecks are 10/50 s apart; with a new mood at each write there would be one every 0.02 s.
    assert len(times) <= 2 + (times[-1] - times[0]) / 0.1


def answers_so_far(made: World) -> list[Obj]:
    return [c for c in made.eyes.objects(CONTEXTS) if c["status"]]
