"""The claim controller, garbage collection, and workloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from dradash.sim.actors import Actor, Clock
from dradash.sim.claimcontroller import POD_CLAIM_NAME, ClaimController
from dradash.sim.drivers import Behaviour
from dradash.sim.garbage import GarbageCollector
from dradash.sim.scenarios.objects import allocated, claim, node, pod, template
from dradash.sim.simulation import running
from dradash.sim.workloads import RUN_SECONDS, Kubelet, Stream, Workloads
from tests import build, simworld
from tests.simworld import Obj, World

CLOCK = Clock(50.0)
GPU = Behaviour(driver="gpu.driver.example.com")
MERGE = "application/merge-patch+json"


@contextmanager
def controlled(*more: Obj) -> Iterator[World]:
    with simworld.world(node("node-0", "zone-a"), *more) as world, running([ClaimController(world.server, CLOCK)]):
        yield world


def test_a_claim_is_made_from_the_template_and_named_in_the_pod() -> None:
    made = template("team-a", "gpu-tmpl", "gpu.example.com")
    made["spec"]["metadata"] = {"labels": {"team": "a"}, "annotations": {"note": "x"}}
    with controlled(made) as world:
        world.put(pod("team-a", "train", templates={"gpu": "gpu-tmpl"}, claims={"other": "named"}))
        statuses = world.until(
            lambda: world.server.get("pods", "train", "team-a")["status"].get("resourceClaimStatuses")
        )
        owner = world.server.get("pods", "train", "team-a")
        found = world.server.list("resourceclaims", "team-a")
    assert statuses == [{"name": "gpu", "resourceClaimName": found[0]["metadata"]["name"]}]
    assert len(found) == 1
    metadata = found[0]["metadata"]
    assert metadata["name"].startswith("train-gpu-")
    assert metadata["generateName"] == "train-gpu-"
    assert metadata["labels"] == {"team": "a"}
    assert metadata["annotations"] == {"note": "x", POD_CLAIM_NAME: "gpu"}
    assert metadata["ownerReferences"] == [{**build.owner(owner), "blockOwnerDeletion": True}]
    assert found[0]["spec"] == {"resourceClassName": "gpu.example.com", "allocationMode": "WaitForFirstConsumer"}


def test_a_missing_template_is_told_again_and_again_in_one_event() -> None:
    with controlled() as world:
        world.put(pod("team-a", "train", templates={"gpu": "nope"}))
        world.until(lambda: any(e.get("count", 0) >= 3 for e in world.server.list("events", "team-a")))
        events = world.server.list("events", "team-a")
    assert len(events) == 1
    assert events[0]["reason"] == "FailedResourceClaimCreation"
    assert events[0]["type"] == "Warning"
    assert set(events[0]) == {
        *("apiVersion", "kind", "metadata", "involvedObject", "reason", "message", "source", "firstTimestamp"),
        *("lastTimestamp", "count", "type", "reportingComponent", "reportingInstance"),
    }


def test_a_controller_that_died_before_it_told_the_pod_does_not_make_a_second_claim() -> None:
    made = template("team-a", "gpu-tmpl", "gpu.example.com")
    with simworld.world(made, pod("team-a", "train", templates={"gpu": "gpu-tmpl"})) as world:
        owner = build.owner(world.server.get("pods", "train", "team-a"))
        orphan = claim("team-a", "made-before", "gpu.example.com")
        orphan["metadata"] |= {"ownerReferences": [owner], "annotations": {POD_CLAIM_NAME: "gpu"}}
        world.put(orphan)
        with running([ClaimController(world.server, CLOCK)]):
            statuses = world.until(
                lambda: world.server.get("pods", "train", "team-a")["status"].get("resourceClaimStatuses")
            )
    assert statuses == [{"name": "gpu", "resourceClaimName": "made-before"}]


def reserved(world: World, *pods: str, immediate: bool = False) -> None:
    """A claim that is reserved for these pods."""
    shareable = Behaviour(driver=GPU.driver, shareable=True)
    made = allocated(claim("team-a", "c", "gpu.example.com", immediate=immediate), shareable, "node-0")
    uids = {name: world.server.get("pods", name, "team-a")["metadata"]["uid"] for name in pods}
    made["status"]["reservedFor"] = [{"resource": "pods", "name": n, "uid": uid} for n, uid in uids.items()]
    world.put(made)


def test_finished_and_deleted_pods_free_their_claims() -> None:
    with controlled(*(pod("team-a", name, claims={"gpu": "c"}) for name in ("done", "gone", "stays"))) as world:
        reserved(world, "done", "gone", "stays")
        succeeded = {"status": {"phase": "Succeeded"}}
        world.server.patch("pods", "done", succeeded, MERGE, "team-a", subresource="status")
        world.server.delete("pods", "gone", "team-a")

        def users() -> list[str]:
            status = world.server.get("resourceclaims", "c", "team-a")["status"]
            return [c["name"] for c in status.get("reservedFor", [])]

        world.until(lambda: users() == ["stays"])
        assert "deallocationRequested" not in world.server.get("resourceclaims", "c", "team-a")["status"]
        world.server.delete("pods", "stays", "team-a")
        world.until(lambda: world.server.get("resourceclaims", "c", "team-a")["status"].get("deallocationRequested"))
        assert users() == []


def test_an_immediate_claim_stays_allocated_without_users() -> None:
    with controlled(pod("team-a", "p", claims={"gpu": "c"})) as world:
        reserved(world, "p", immediate=True)
        world.server.delete("pods", "p", "team-a")
        world.until(lambda: "reservedFor" not in world.server.get("resourceclaims", "c", "team-a")["status"])
        assert "deallocationRequested" not in world.server.get("resourceclaims", "c", "team-a")["status"]


def owned(world: World, kind_of: Obj) -> Obj:
    owner = world.server.get("pods", "owner", "team-a")
    kind_of["metadata"]["ownerReferences"] = [build.owner(owner)]
    return kind_of


def test_what_a_deleted_pod_owned_is_deleted() -> None:
    with simworld.world(pod("team-a", "owner")) as world, running([GarbageCollector(world.server, CLOCK)]):
        world.put(owned(world, claim("team-a", "c", "gpu.example.com")), claim("team-a", "free", "gpu.example.com"))
        world.server.delete("pods", "owner", "team-a")
        world.until(lambda: world.claim("team-a/c") is None)
        assert world.claim("team-a/free") is not None


def test_what_was_owned_by_a_pod_that_is_gone_before_we_look_is_deleted_too() -> None:
    with simworld.world(pod("team-a", "owner")) as world:
        world.put(owned(world, claim("team-a", "c", "gpu.example.com")))
        world.server.delete("pods", "owner", "team-a")
        with running([GarbageCollector(world.server, CLOCK)]):
            world.until(lambda: world.claim("team-a/c") is None)


def test_an_owner_that_changed_last_is_still_an_owner() -> None:
    with simworld.world(pod("team-a", "owner")) as world:
        world.put(owned(world, claim("team-a", "c", "gpu.example.com")))
        world.put(owned(world, claim("team-a", "sentinel", "gpu.example.com")))
        found = world.server.get("resourceclaims", "sentinel", "team-a")
        found["metadata"]["ownerReferences"][0]["uid"] = "nobody"
        world.server.update("resourceclaims", found, "team-a")
        world.server.patch("pods", "owner", {"metadata": {"labels": {"a": "b"}}}, MERGE, "team-a")
        with running([GarbageCollector(world.server, CLOCK)]):
            world.until(lambda: world.claim("team-a/sentinel") is None)
            assert world.claim("team-a/c") is not None


def test_events_expire_after_their_last_write() -> None:
    """`repeated` is written first and once more after a while: it then outlives `once`."""
    collector_of = partial(GarbageCollector, clock=CLOCK, event_ttl=25.0)
    with simworld.world(pod("team-a", "p")) as world, running([collector_of(world.server)]):
        for name in ("repeated", "once"):
            event = build.event(world.server.get("pods", "p", "team-a"), "text")
            event["metadata"] = {"name": name, "namespace": "team-a"}
            world.put(event)
        threading.Timer(0.3, world.server.patch, ("events", "repeated", {"count": 2}, MERGE, "team-a")).start()
        world.until(lambda: world.server.list("events", "team-a") == [])
    gone = [
        obj["metadata"]["name"] for _, kind, type_, obj in world.eyes.rows if (kind, type_) == ("events", "DELETED")
    ]
    assert gone == ["once", "repeated"]


def test_a_bound_pod_runs_finishes_and_is_cleared_away() -> None:
    stream = Stream(name="job", make=lambda name: pod("team-a", name), every=2.0, most=3, runs=(1.0, 2.0))
    with simworld.world(node("node-0", "zone-a")) as world:
        workers: list[Actor] = [Kubelet(world.server, CLOCK), Workloads(world.server, CLOCK, [stream], seed=1)]
        with running(workers):
            first = world.until(lambda: world.pod("team-a/job-0"))
            assert 1.0 <= float(first["metadata"]["annotations"][RUN_SECONDS]) <= 2.0
            world.server.bind("job-0", "team-a", "node-0")
            world.until(lambda: any(k == "pods" and t == "DELETED" for _, k, t, _ in list(world.eyes.rows)))
            phases = [p["status"]["phase"] for p in world.eyes.objects("pods") if p["metadata"]["name"] == "job-0"]
    assert list(dict.fromkeys(phases)) == ["Pending", "Running", "Succeeded"]


def test_a_stream_keeps_to_its_most_and_gives_up_what_waits_too_long() -> None:
    stream = Stream(name="job", make=lambda name: pod("team-a", name), every=1.0, most=3, patience=15.0)
    with simworld.world() as world, running([Workloads(world.server, CLOCK, [stream], seed=1)]):
        most = 0

        def given_up() -> bool:
            nonlocal most
            most = max(most, len(world.server.list("pods", "team-a")))
            return any(k == "pods" and t == "DELETED" for _, k, t, _ in world.eyes.rows)

        world.until(given_up)
    assert most == 3
