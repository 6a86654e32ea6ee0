"""Every scenario reaches what its name promises, and the scheduler in it says what our verdicts say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dradash.scheduling.classic.claimstate import ClaimState, claim_state
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.verdict import Outcome
from dradash.sim import scenarios
from dradash.sim.scenarios.model import WATCHED
from dradash.sim.scenarios.objects import ZONE
from tests import simworld
from tests.simworld import World, condition


def differences(world: World) -> list[Any]:
    told = world.said()
    assert told, "the scheduler said nothing"
    return [said for said in told if said.agrees is False]


def test_a_single_claim_is_negotiated_and_the_pod_bound() -> None:
    with simworld.scenario("single-claim") as world:
        node = world.until_bound("team-a/train-0")
        world.until_event("team-a/train-0", "Scheduled")
        world.until(lambda: not world.server.list("podschedulingcontexts"))
        claim = world.claim("team-a/gpu-1")
        assert claim is not None
        assert claim["metadata"]["finalizers"] == ["gpu.driver.example.com/deletion-protection"]
        assert [c["name"] for c in claim["status"]["reservedFor"]] == ["train-0"]
        assert node in {"node-0", "node-2", "node-3"}  # of those with an accelerator, node-1 has no device
        assert not differences(world)


def test_two_drivers_agree_on_a_node() -> None:
    with simworld.scenario("two-drivers") as world:
        node = world.until_bound("team-a/train-2")
        claims = world.server.list("resourceclaims", "team-a")
        assert sorted(c["status"]["driverName"] for c in claims) == ["gpu.driver.example.com", "nic.driver.example.com"]
        for claim in claims:
            assert f'"{node}"' in claim["status"]["allocation"]["resourceHandles"][0]["data"]
        assert not differences(world)


def test_a_slow_driver_is_waited_for() -> None:
    with simworld.scenario("slow-driver") as world:
        world.until_said("team-a/patient", "waiting for resource driver to provide information")
        assert world.until_bound("team-a/patient")
        assert not differences(world)


def test_a_silent_driver_keeps_its_pod_waiting() -> None:
    with simworld.scenario("silent-driver") as world:
        world.until_said("team-b/silent", "1 waiting for resource driver to provide information")
        answers = world.until(
            lambda: [c["status"]["resourceClaims"] for c in world.server.list("podschedulingcontexts") if c["status"]]
        )
        assert [entry["name"] for entry in answers[0]] == ["gpu"]
        assert not differences(world)


def test_a_driver_that_refuses_makes_every_node_unsuitable() -> None:
    with simworld.scenario("every-node-unsuitable") as world:
        text = world.until_said("team-b/train-stuck", "unsuitable")
        assert text.startswith(
            "0/6 nodes are available: 2 excluded by resource class node filter, "
            "4 resourceclaim cannot be allocated for the node (unsuitable). still not schedulable"
        )
        assert not differences(world)


def test_a_missing_class_is_named_until_it_comes() -> None:
    with simworld.scenario("missing-class") as world:
        world.until_said("team-b/tpu-job", "resource class tpu.example.com does not exist")
        assert world.until_bound("team-b/tpu-job")
        assert not differences(world)


def test_a_claim_in_use_is_given_on_when_its_pod_goes() -> None:
    with simworld.scenario("claim-in-use") as world:
        assert world.until_bound("team-b/first")
        world.until_said("team-b/second", "resourceclaim in use")
        second = world.pod("team-b/second")
        assert second is not None
        assert "nodeName" not in second["spec"]
        assert world.until_bound("team-b/second")
        assert world.pod("team-b/first") is None
        assert not differences(world)


def test_an_immediate_claim_is_allocated_without_a_node() -> None:
    with simworld.scenario("immediate") as world:
        world.until_said("team-b/fpga-job", "unallocated immediate resourceclaim")
        assert world.until_bound("team-b/fpga-job")
        claim = world.claim("team-b/fpga-now")
        assert claim is not None
        assert "availableOnNodes" not in claim["status"]["allocation"]
        assert not differences(world)


def test_a_claim_allocated_elsewhere_is_deallocated_and_moves() -> None:
    with simworld.scenario("deallocation-and-move") as world:
        node = world.until_bound("team-a/mover-1")
        asked = [c for c in world.eyes.objects("resourceclaims") if c["status"].get("deallocationRequested")]
        assert asked, "nobody asked for the deallocation"
        assert world.server.get("nodes", node)["metadata"]["labels"][ZONE] == "zone-b"
        assert not differences(world)


def test_a_deleted_claim_stays_until_its_pod_and_its_driver_let_go() -> None:
    with simworld.scenario("deletion-with-finalizer") as world:
        world.until_bound("team-a/holder")
        claim = world.until(
            lambda: (c := world.claim("team-a/gpu-old")) and c["metadata"].get("deletionTimestamp") and c
        )
        assert claim["metadata"]["finalizers"]
        assert claim["status"]["reservedFor"]
        late = world.until(lambda: world.pod("team-a/late"))
        assert condition(late) == {}, "a pod that PreEnqueue holds back gets no word of the scheduler"
        world.until(lambda: world.claim("team-a/gpu-old") is None)
        assert world.pod("team-a/holder") is None


def test_a_missing_template_is_reported_and_made_good() -> None:
    with simworld.scenario("template-missing") as world:
        event = world.until_event("team-b/waiting", "FailedResourceClaimCreation")
        assert event["message"] == (
            'PodResourceClaim gpu: resource claim template "gpu-tmpl": '
            'resourceclaimtemplate.resource.k8s.io "gpu-tmpl" not found'
        )
        assert event["source"] == {"component": "resource_claim"}
        assert world.until_bound("team-b/waiting")
        assert not differences(world)


def cluster_of(world: World) -> Cluster:
    cluster = Cluster()
    for kind, resource in world.server.resources.items():
        for name, stored in dict(world.server.collection(kind).objects).items():
            cluster.put(kind, name, stored.raw(resource))
    return cluster


def outcomes(world: World) -> Counter[Outcome]:
    cluster = cluster_of(world)
    return Counter(evaluate(pod, cluster, 0).verdict.outcome for pod in list(cluster.pods.values()))


def test_the_demo_shows_every_state_at_once() -> None:
    """At speed 10, so that ten seconds of the demo are one here; then it goes on living."""
    wanted = {Outcome.BOUND, Outcome.WAITING, Outcome.BLOCKED, Outcome.UNSCHEDULABLE, Outcome.GATED}
    with simworld.scenario("demo", speed=10.0) as world:
        world.until_said("genomics/quantum-sim", "waiting for resource driver to provide information")
        world.until_said("batch/archive", "resourceclaim cannot be allocated for the node (unsuitable)")
        world.until_said("vision/npu-trial", "resource class npu.example.com does not exist")
        world.until_said("vision/latecomer", "resourceclaim in use")
        world.until_said("platform/ingest", "unallocated immediate resourceclaim")
        world.until_said("batch/nightly", "non-empty scheduling gates")
        world.until_said("batch/rewind", "resourceclaim must be reallocated")
        world.until_event("speech/evaluate", "FailedResourceClaimCreation")
        world.until(lambda: wanted <= set(outcomes(world)))
        world.until(lambda: set(ClaimState) <= {claim_state(c) for c in cluster_of(world).claims.values()})
        old = world.claim("platform/old-volume")
        assert old is not None
        assert old["metadata"]["deletionTimestamp"]
        ran = world.until(lambda: [p for p in world.eyes.objects("pods") if p["status"]["phase"] == "Succeeded"])
        world.until(lambda: world.find("pods", ran[0]["metadata"]["name"], ran[0]["metadata"]["namespace"]) is None)
        assert not differences(world)


def test_the_demo_does_not_grow() -> None:
    """Ten minutes of it, in a few seconds."""
    with simworld.scenario("demo", speed=150.0) as world:
        world.until(lambda: world.eyes.reasons["Scheduled"] > 150)
        assert len(world.server.list("pods")) < 80
        assert len(world.server.list("resourceclaims")) < 120
        assert len(world.server.list("podschedulingcontexts")) < 60


def test_the_large_cluster_schedules_from_its_first_seconds_on() -> None:
    with simworld.scenario("large", speed=2.0) as world:
        world.until(lambda: sum(bool(p["spec"].get("nodeName")) for p in world.server.list("pods")) > 20)
        assert len(world.server.list("nodes")) == 5000
        assert len(world.server.list("resourceclasses")) == 12


def test_the_cluster_lives_on_under_faults() -> None:
    with simworld.scenario("faults", speed=25.0) as world:
        world.until_bound("vision/keeper")
        world.until(world.server.faults.active)
        bound = world.eyes.reasons["Scheduled"]
        world.until(lambda: world.eyes.reasons["Scheduled"] > bound + 10)


def test_an_unknown_scenario_is_refused_with_a_list_of_those_there_are() -> None:
    with pytest.raises(scenarios.UnknownScenario, match="no scenario 'nope'; use one of: demo, single-claim"):
        scenarios.build("nope")


@pytest.mark.parametrize("name", scenarios.NAMES)
def test_the_same_seed_makes_the_same_cluster(name: str) -> None:
    assert scenarios.build(name, 7).objects == scenarios.build(name, 7).objects
    assert len(scenarios.NAMES[name]) > 10


def test_the_documentation_lists_every_scenario_in_its_own_words() -> None:
    listed = [line for line in Path("docs/scenarios.md").read_text().splitlines() if line.startswith("| `")]
    assert listed == [f"| `{name}` | {line} |" for name, line in scenarios.NAMES.items()]


# In these one thing happens, and is over within seconds.
ONCE = ("single-claim", "two-drivers", "deallocation-and-move", "immediate")


@pytest.mark.parametrize("name", ONCE)
def test_what_is_over_soon_does_not_begin_before_somebody_can_watch(name: str) -> None:
    """`up --demo` starts the cluster, and dradash beside it, which reads it some seconds later."""
    chosen = scenarios.build(name, 0)
    assert min(step.at for step in chosen.script) >= WATCHED
    assert [o for o in chosen.objects if o["kind"] == "Pod"] == []
