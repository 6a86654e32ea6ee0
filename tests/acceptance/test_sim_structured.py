"""Scenarios with structured parameters reach what their names promise; verdicts say what the scheduler says."""

from __future__ import annotations

from typing import Any

import pytest

from dradash.kinds.deviceclaim import FINALIZER
from dradash.sim.scenarios.structured import DRIVER
from tests import simworld
from tests.acceptance.test_sim_scenarios import differences
from tests.simworld import World


def results(world: World, key: str) -> list[dict[str, Any]]:
    claim = world.claim(key)
    assert claim is not None
    found: list[dict[str, Any]] = claim["status"]["allocation"]["devices"]["results"]
    return found


def test_a_device_is_allocated_reserved_bound_and_prepared() -> None:
    with simworld.scenario("structured-single") as world:
        node = world.until_bound("team-a/train-0")
        devices = world.until(lambda: (world.claim("team-a/gpu-1") or {})["status"].get("devices"))
        (chosen,) = results(world, "team-a/gpu-1")
        claim = world.claim("team-a/gpu-1")
        assert claim is not None
        assert (chosen["driver"], chosen["pool"], chosen["request"]) == (DRIVER, node, "gpu")
        assert claim["metadata"]["finalizers"] == [FINALIZER]
        assert [c["name"] for c in claim["status"]["reservedFor"]] == ["train-0"]
        assert claim["status"]["allocation"]["allocationTimestamp"].endswith("Z")
        assert devices[0]["conditions"][0]["reason"] == "Prepared"


def test_a_pod_that_has_finished_frees_its_device() -> None:
    with simworld.scenario("structured-single", speed=60.0) as world:
        made = world.until(lambda: [c for c in world.eyes.objects("resourceclaims") if "generateName" in c["metadata"]])
        uid = made[0]["metadata"]["uid"]

        def states() -> list[bool]:
            """Of that claim: whether it was allocated, again and again."""
            seen = [c for c in world.eyes.objects("resourceclaims") if c["metadata"]["uid"] == uid]
            return [c["status"].get("allocation") is not None for c in seen]

        world.until(lambda: True in states() and states()[-1] is False)
        last = [c for c in world.eyes.objects("resourceclaims") if c["metadata"]["uid"] == uid][-1]
        assert "reservedFor" not in last["status"]
        assert "devices" not in last["status"]


def test_no_device_is_ever_in_two_allocations() -> None:
    with simworld.scenario("structured-single", speed=60.0) as world:
        world.until(lambda: len({c["metadata"]["uid"] for c in world.eyes.objects("resourceclaims")}) > 12)
        held: dict[str, set[str]] = {}
        shares = []
        for _, kind, type_, obj in list(world.eyes.rows):
            if kind != "resourceclaims":
                continue
            allocation = obj["status"].get("allocation") if type_ != "DELETED" else None
            taken = {
                f"{r['pool']}/{r['device']}" for r in (allocation or {"devices": {"results": []}})["devices"]["results"]
            }
            shares += [d for uid, other in held.items() if uid != obj["metadata"]["uid"] for d in other & taken]
            held[obj["metadata"]["uid"]] = taken
    assert shares == []
    assert any(held.values())


def test_a_selector_that_nothing_meets_and_one_that_raises_are_told_apart() -> None:
    with simworld.scenario("structured-selector-matches-nothing") as world:
        text = world.until_said("team-a/wants-b200", "cannot allocate all claims")
        assert text.startswith("0/6 nodes are available: 6 cannot allocate all claims. still not schedulable")
        world.until_said("team-a/misspelt", "CEL runtime error: no such key: modle")
        assert not differences(world)


def test_a_device_that_was_freed_is_given_to_the_pod_that_waits() -> None:
    with simworld.scenario("structured-all-in-use") as world:
        assert {world.until_bound("team-a/first"), world.until_bound("team-a/second")} == {"node-2", "node-3"}
        world.until_said("team-a/third", "cannot allocate all claims")
        third = world.pod("team-a/third")
        assert third is not None
        assert "nodeName" not in third["spec"]
        assert world.until_bound("team-a/third")
        assert world.pod("team-a/first") is None
        assert not differences(world)


def test_a_taint_keeps_out_who_does_not_tolerate_it() -> None:
    with simworld.scenario("structured-tainted") as world:
        assert world.until_bound("team-a/brave")
        world.until_said("team-a/careful", "cannot allocate all claims")
        assert not differences(world)


def test_a_taint_rule_evicts_pods_at_once_later_or_never_and_keeps_others_out() -> None:
    with simworld.scenario("structured-taint-rule") as world:
        assert {world.until_bound(f"team-a/{name}") for name in ("plain", "patient", "stays")} == {"node-2"}
        world.until_event("team-a/plain", "DeviceTaintManagerEviction")
        assert world.pod("team-a/patient") is not None
        world.until_event("team-a/patient", "DeviceTaintManagerEviction")
        assert world.pod("team-a/plain") is None
        assert world.pod("team-a/stays") is not None
        world.until_said("team-a/late", "cannot allocate all claims")
        assert world.until_bound("team-a/late") == "node-2"
        assert not differences(world)


def test_an_incomplete_pool_gives_nothing() -> None:
    with simworld.scenario("structured-incomplete-pool") as world:
        assert world.until_bound("team-a/runs") in ("node-0", "node-1")
        world.until_said("team-a/waits", "cannot allocate all claims")
        assert not differences(world)


def test_a_missing_device_class_is_named_until_it_comes() -> None:
    with simworld.scenario("structured-class-missing") as world:
        world.until_said("team-a/train-0", "request gpu: device class gpu.example.com does not exist")
        assert world.until_bound("team-a/train-0")
        assert not differences(world)


def test_the_best_alternative_that_there_is_is_taken() -> None:
    with simworld.scenario("structured-prioritized") as world:
        nodes = [world.until_bound(f"team-a/train-{i}") for i in range(5)]
        taken = [{r["request"] for r in results(world, f"team-a/gpu-{i}")} for i in range(5)]
        assert taken == [{"gpu/good"}] * 4 + [{"gpu/enough"}]
        assert sorted(nodes[:4]) == ["node-2", "node-2", "node-3", "node-3"]


def test_an_extended_resource_is_served_by_devices() -> None:
    with simworld.scenario("structured-extended-resource") as world:
        assert world.until_bound("team-a/train-0") in ("node-2", "node-3")
        pod = world.pod("team-a/train-0")
        assert pod is not None
        told = pod["status"]["extendedResourceClaimStatus"]
        (chosen,) = results(world, f"team-a/{told['resourceClaimName']}")
        assert told["requestMappings"][0]["resourceName"] == "example.com/gpu"
        assert told["requestMappings"][0]["requestName"] == chosen["request"]
        world.until_said("team-a/train-8", "cannot allocate all claims")
        assert not differences(world)


def test_a_pod_is_bound_when_its_devices_are_attached() -> None:
    with simworld.scenario("structured-binding-conditions") as world:
        node = world.until_bound("team-a/attached")
        (chosen,) = results(world, "team-a/quick")
        claim = world.claim("team-a/quick")
        assert claim is not None
        types = [c["type"] for c in claim["status"]["devices"][0]["conditions"]]
        assert chosen["pool"] == node
        assert types[0] in chosen["bindingConditions"]
        waits = world.until(lambda: (world.claim("team-a/never") or {"status": {}})["status"].get("reservedFor"))
        assert [consumer["name"] for consumer in waits] == ["waits"]
        world.until_event("team-a/waits", "BindingConditionsPending")
        pod = world.pod("team-a/waits")
        assert pod is not None
        assert "nodeName" not in pod["spec"]
        assert not [e for e in world.server.list("events", "team-a") if e["reason"] == "FailedScheduling"]


def test_partitions_are_given_out_until_their_counters_are_used_up() -> None:
    with simworld.scenario("structured-partitions") as world:
        assert {world.until_bound("team-a/train-0"), world.until_bound("team-a/train-1")} == {"node-2"}
        world.until_said("team-a/train-2", "cannot allocate all claims")
        taken = {results(world, f"team-a/half-{i}")[0]["device"] for i in range(2)}
        assert taken == {"half-0", "half-1"}
        assert not differences(world)


def test_a_device_that_cannot_be_prepared_holds_its_bound_pod_up() -> None:
    with simworld.scenario("structured-prepare-fails") as world:
        assert world.until_bound("team-a/train-0")
        event = world.until_event("team-a/train-0", "FailedPrepareDynamicResources", "cannot reset the device")
        assert event["source"] == {"component": "kubelet"}
        pod = world.pod("team-a/train-0")
        assert pod is not None
        assert pod["status"]["phase"] == "Pending"


@pytest.mark.parametrize("kind", ["resourceclasses", "podschedulingcontexts"])
def test_the_cluster_does_not_serve_what_the_older_generation_had(kind: str) -> None:
    with simworld.scenario("structured-single") as world:
        assert kind not in world.server.resources
        assert world.server.resources["resourceclaims"].versions == ("v1",)
