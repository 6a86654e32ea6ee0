"""Scenarios with structured parameters reach what their names promise; verdicts say what the scheduler says."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from dradash.kinds.deviceclaim import FINALIZER, MAX_RESERVED_FOR
from dradash.kinds.deviceversions import to_v1
from dradash.kinds.registry import KINDS, read_object
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.diagnose import diagnose
from dradash.scheduling.doctor.exam import Exam, Observed
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.scheduling.evaluate import MIXED, evaluate
from dradash.scheduling.structured.devicereport import device_report
from dradash.scheduling.structured.fates import Stage
from dradash.scheduling.verdict import ActsNext, Outcome
from dradash.sim.lifecycle import ADMIN_ACCESS
from dradash.sim.scenarios.devicerequests import ADMINS, FORMER_ADMINS
from dradash.sim.scenarios.structured import DRIVER
from dradash.sim.source import SimSource
from dradash.store.model import SyncState
from tests import build, simworld
from tests.acceptance.test_sim_scenarios import differences
from tests.simworld import World

DELETED = ("pods", "DELETED")


def results(world: World, key: str) -> list[dict[str, Any]]:
    claim = world.claim(key)
    assert claim is not None
    found: list[dict[str, Any]] = claim["status"]["allocation"]["devices"]["results"]
    return found


def of_type(pod: dict[str, Any] | None, type_: str) -> dict[str, Any]:
    """The pod's condition, {} if it has none."""
    conditions: list[dict[str, Any]] = (pod or {}).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == type_), {})


def held_still(world: World) -> Cluster:
    kinds = [kind for kind in simworld.ALL if kind in world.server.resources]
    return build.cluster(*(o for kind in kinds for o in world.server.list(kind)))


def explained(world: World, pod: str) -> tuple[ActsNext, list[str], list[str]]:
    """Who must act; of the pod's only request what pools lose, with the number of devices; what is advised."""
    cluster, now = held_still(world), time.time()
    report = device_report(cluster.pods[pod], cluster, now)
    assert report is not None
    lost = [
        f"{loss.count}: {loss.why}" for s in report.requests[0].stages if s.stage == Stage.POOL for loss in s.losses
    ]
    advised = [hint.sentence for hint in report.hints]
    return evaluate(cluster.pods[pod], cluster, 0, now=now).verdict.acts_next, lost, advised


def findings(world: World) -> dict[str, str]:
    """What the doctor finds an hour later: code -> sentence."""
    cluster = held_still(world)
    sync = {kind: SyncState(kind, "synced") for kind in simworld.ALL}
    exam = Exam(cluster, {}, sync, {}, Observed(), time.time() + 3600.0, Thresholds())
    return {finding.code: finding.sentence for finding in diagnose(exam)}


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
        mover, lost, advised = explained(world, "team-a/waits")
        why = "pool node-{} is incomplete: 1 of 2 slices of generation 1"
        assert lost == [f"4: {why.format(2)}", f"4: {why.format(3)}"]
        assert (mover.who, mover.what) == ("driver", f"publish all slices: {why.format(2)}")
        assert advised[0] == why.format(2)
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
        assert event["message"].startswith(
            "Failed to prepare dynamic resources: prepare dynamic resources: NodePrepareResources failed for "
            "ResourceClaim gpu-1: gpu.example.com: "
        )
        ready = world.until(lambda: of_type(world.pod("team-a/train-0"), "PodReadyToStartContainers"))
        pod = world.pod("team-a/train-0")
        assert pod is not None
        assert (ready["status"], pod["status"]["phase"]) == ("False", "Pending")
        assert of_type(pod, "PodScheduled")["status"] == "True"


def test_a_pod_whose_devices_cannot_be_unprepared_keeps_them() -> None:
    with simworld.scenario("structured-unprepare-fails") as world:
        assert world.until_bound("team-a/done") == "node-2"
        world.until_said("team-a/next", "cannot allocate all claims")
        pod, claim = world.pod("team-a/done"), world.claim("team-a/all-0")
        assert pod is not None
        assert claim is not None
        assert pod["status"]["phase"] == "Running"
        assert [consumer["name"] for consumer in claim["status"]["reservedFor"]] == ["done"]
        assert not differences(world)


def test_shares_of_a_device_are_rounded_up_and_given_out_until_its_capacity_is_used_up() -> None:
    with simworld.scenario("structured-shared-capacity") as world:
        names = ("large-0", "large-1", "default")
        assert {world.until_bound(f"team-a/{name}") for name in names} == {"node-2"}
        taken = [results(world, f"team-a/{name}")[0] for name in names]
        assert [result["consumedCapacity"]["memory"] for result in taken] == ["32Gi", "32Gi", "8Gi"]
        assert len({result["shareID"] for result in taken}) == 3
        for name in ("large-2", "too-large"):
            world.until_said(f"team-a/{name}", "cannot allocate all claims")
        told = world.until(lambda: (world.claim("team-a/large-0") or {})["status"].get("devices"))
        assert told[0]["shareID"] == taken[0]["shareID"]
        assert not differences(world)
        assert "device-allocated-twice" not in findings(world)


def test_an_administrator_gets_devices_in_use_and_only_in_a_namespace_with_the_label() -> None:
    with simworld.scenario("structured-admin-access") as world:
        held = {world.until_bound("team-a/first"), world.until_bound("team-a/second")}
        assert world.until_bound(f"{ADMINS}/monitor") in held
        assert {result["adminAccess"] for result in results(world, f"{ADMINS}/monitor")} == {True}
        refused = world.until_said(f"{FORMER_ADMINS}/monitor", "adminAccess: Forbidden")
        assert f"admin access to devices requires the `{ADMIN_ACCESS}: true` label" in refused
        assert not differences(world)


def test_devices_that_cannot_go_together_are_not_given_out_together() -> None:
    with simworld.scenario("structured-constraints-clash") as world:
        assert world.until_bound("team-a/two-together")
        devices = {result["device"] for result in results(world, "team-a/two-together")}
        assert devices in ({"gpu-0", "gpu-1"}, {"gpu-2", "gpu-3"})
        for name in ("three-together", "two-models"):
            world.until_said(f"team-a/{name}", "cannot allocate all claims")
        assert not differences(world)


def test_a_taint_evicts_who_does_not_tolerate_it_and_later_who_does_for_a_while() -> None:
    with simworld.scenario("structured-evicted") as world:
        for name in ("evicted", "later", "stays"):
            assert world.until_bound(f"team-a/{name}") == "node-2"
        for name in ("evicted", "later"):
            event = world.until_event(f"team-a/{name}", "DeviceTaintManagerEviction", "Marking for deletion")
            assert event["source"] == {"component": "device-taint-eviction"}
            world.until(lambda name=name: world.pod(f"team-a/{name}") is None)  # type: ignore[misc]
            world.until(lambda name=name: (world.claim(f"team-a/{name}") or {}).get("status") == {})  # type: ignore[misc]
        gone = [obj["metadata"]["name"] for _, kind, type_, obj in list(world.eyes.rows) if (kind, type_) == DELETED]
        assert gone == ["evicted", "later"]
        last = [obj for _, kind, type_, obj in list(world.eyes.rows) if (kind, type_) == DELETED]
        assert of_type(last[0], "DisruptionTarget")["reason"] == "DeletionByDeviceTaintManager"
        assert world.pod("team-a/stays") is not None


def test_a_binding_that_fails_is_given_up_and_tried_again() -> None:
    with simworld.scenario("structured-binding-fails") as world:
        said = world.until_said("team-a/train-0", "resourceclaim not available on the node")
        assert "deallocation of ResourceClaim completed" in said
        failed = [
            c
            for claim in world.eyes.objects("resourceclaims")
            for d in claim["status"].get("devices", ())
            for c in d["conditions"]
        ]
        assert {c["reason"] for c in failed} == {"AttachFailed"}

        def allocations() -> set[str]:
            found = [c for c in world.eyes.objects("resourceclaims") if c["status"].get("allocation")]
            return {c["metadata"]["resourceVersion"] for c in found if not c["status"].get("devices")}

        world.until(lambda: len(allocations()) > 1)
        assert not differences(world)


def test_a_claim_is_reserved_for_so_many_pods_and_no_more() -> None:
    with simworld.scenario("structured-reserved-for-full") as world:
        said = world.until_said("team-a/one-more", "status.reservedFor: Too long")
        assert said.startswith('running PreBind plugin "DynamicResources": ')
        claim = world.claim("team-a/shared")
        assert claim is not None
        assert len(claim["status"]["reservedFor"]) == MAX_RESERVED_FOR
        assert "reserved-for-full" in findings(world)
        assert world.until_bound("team-a/one-more") == "node-0"


def test_a_device_in_use_that_is_published_no_more_is_missed() -> None:
    with simworld.scenario("structured-device-vanishes") as world:
        assert world.until_bound("team-a/train-0") == "node-2"
        (chosen,) = results(world, "team-a/gpu-1")
        world.until(lambda: len((world.find("resourceslices", f"node-2-{DRIVER}") or {})["spec"]["devices"]) == 3)
        assert f"{DRIVER}/node-2/{chosen['device']}" in findings(world)["device-vanished"]


def test_a_device_in_two_allocations_is_found() -> None:
    with simworld.scenario("structured-allocated-twice") as world:
        world.until(lambda: all((world.claim(f"team-a/gpu-{i}") or {}).get("status") for i in range(2)))
        assert f"{DRIVER}/node-2/gpu-0 is allocated to 2 claims" in findings(world)["device-allocated-twice"]


def test_a_pool_that_contradicts_itself_and_one_that_is_not_all_there_give_nothing() -> None:
    with simworld.scenario("structured-invalid-pool") as world:
        assert world.until_bound("team-a/runs") in ("node-0", "node-1")
        said = world.until_said("team-a/waits", "1 invalid resource pools were encountered")
        assert "5 cannot allocate all claims" in said
        mover, lost, advised = explained(world, "team-a/waits")
        invalid = "pool node-2 is invalid: duplicate device name gpu-0"
        assert lost == [f"5: {invalid}", "1: pool node-3 is incomplete: 1 of 2 slices of generation 2"]
        assert (mover.who, mover.what) == ("driver", f"correct the slices: {invalid}")
        assert advised[0] == invalid
        found = findings(world)
        assert f"{DRIVER}/node-2 is invalid (duplicate device name gpu-0)" in found["pool-invalid"]
        assert f"{DRIVER}/node-3 has 1 of 2 slices of generation 2" in found["pool-incomplete"]
        assert not differences(world)


def test_each_pod_is_judged_by_the_generation_of_its_claims() -> None:
    with simworld.scenario("both-generations") as world:
        assert world.until_bound("team-a/classic")
        assert world.until_bound("team-a/structured")
        world.until(lambda: world.pod("team-a/mixed"))
        old, new = world.claim("team-a/old"), world.claim("team-a/new")
        assert old is not None
        assert new is not None
        assert old["apiVersion"] == "resource.k8s.io/v1alpha2"
        assert old["status"]["driverName"] == "gpu.driver.example.com"
        assert new["apiVersion"] == "resource.k8s.io/v1"
        assert [result["driver"] for result in results(world, "team-a/new")] == [DRIVER]
        kinds = [kind for kind in simworld.ALL if kind in world.server.resources]
        cluster = build.cluster(*(o for kind in kinds for o in world.server.list(kind)))
        verdict = evaluate(cluster.pods["team-a/mixed"], cluster, 1).verdict
        assert (verdict.outcome, verdict.sentence) == (Outcome.UNKNOWN, MIXED)
        assert not differences(world)


def test_claims_of_both_generations_are_listed_and_watched_each_in_its_own_version() -> None:
    with simworld.scenario("both-generations") as world:
        source, kind = SimSource(world.server), KINDS["resourceclaims"]
        assert world.until_bound("team-a/structured")
        page = source.list(kind, "v1", 500, "")
        listed = {(claim.name, type(claim)) for claim in (read_object(kind, raw) for raw in page.items)}
        assert listed >= {("old", kind.classic), ("new", kind.struct)}
        watch = source.watch(kind, "v1", page.resource_version, 5)
        world.server.delete("resourceclaims", "old-too", "team-a")
        event = next(event for event in watch if event.type == "DELETED")
        watch.close()
        assert type(read_object(kind, event.object)) is kind.classic


@pytest.mark.parametrize("kind", ["resourceclasses", "podschedulingcontexts"])
def test_the_cluster_does_not_serve_what_the_older_generation_had(kind: str) -> None:
    with simworld.scenario("structured-single") as world:
        assert kind not in world.server.resources
        assert world.server.resources["resourceclaims"].versions == ("v1",)


def in_v1(value: Any) -> Any:
    """Objects of a beta version, wherever they stand in the value, as v1 has them."""
    if isinstance(value, list | tuple):
        return [in_v1(v) for v in value]
    if not isinstance(value, dict):
        return value
    if str(value.get("apiVersion", "")).startswith("resource.k8s.io/v1beta"):
        value = to_v1(value) | {"apiVersion": "resource.k8s.io/v1"}
    return {k: in_v1(v) for k, v in value.items()}


def unscheduled(obj: build.Obj) -> build.Obj:
    """A pod without its node, a claim without its allocation."""
    if obj["kind"] == "Pod":
        return obj | {"spec": {k: v for k, v in obj["spec"].items() if k != "nodeName"}, "status": {"phase": "Pending"}}
    if obj["kind"] == "ResourceClaim":
        metadata = {k: v for k, v in obj["metadata"].items() if k != "finalizers"}
        return obj | {"metadata": metadata, "status": {}}
    return obj


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_cluster_that_serves_a_beta_version_alone_is_judged_as_one_with_v1(version: str) -> None:
    with simworld.scenario(f"structured-{version}") as world:
        world.until_said("team-a/wants-b200", "6 cannot allocate all claims")
        world.until_bound("team-a/from-template")
        world.until(lambda: (world.claim("team-a/gpu-1") or {"status": {}})["status"].get("devices"))
        world.until_said("team-a/third", "6 cannot allocate all claims")
        now = [obj for kind in simworld.ALL for obj in world.eyes.at_hand(kind)]
        assert world.until_bound("team-a/third")
        assert not differences(world)
    bodies = []
    for objects in (now, [unscheduled(o) for o in now]):
        beta, v1 = build.cluster(*objects), build.cluster(*in_v1(objects))
        assert [f for f in told(beta, version) if f[0] != "version-beta"] == told(v1, "v1")
        for key, pod in beta.pods.items():
            verdict, expected = (evaluate(pod, c, 1).verdict for c in (beta, v1))
            assert in_v1(msgspec.to_builtins(verdict)) == in_v1(msgspec.to_builtins(expected)), key
            bodies += [e.body for step in verdict.steps for e in step.effects if e.resource == "resourceclaims"]
    assert bodies
    assert {body["apiVersion"] for body in bodies} == {f"resource.k8s.io/{version}"}
    assert_shape(version, bodies)


def told(cluster: Cluster, version: str) -> list[tuple[str, str]]:
    """What the doctor finds an hour later, where this version is served."""
    sync = {kind: SyncState(kind, "synced", version) for kind in simworld.ALL}
    verdicts = {key: evaluate(pod, cluster, 1).verdict for key, pod in cluster.pods.items()}
    exam = Exam(cluster, verdicts, sync, {}, Observed(), time.time() + 3600.0, Thresholds())
    return [(finding.code, finding.sentence) for finding in diagnose(exam)]


def assert_shape(version: str, claims: list[build.Obj]) -> None:
    flat = version == "v1beta1"
    for claim in claims:
        for request in claim["spec"]["devices"]["requests"]:
            assert ("deviceClassName" in request, "exactly" in request) == (flat, not flat)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_where_a_beta_version_is_served_alone_all_objects_keep_its_shape(version: str) -> None:
    with simworld.scenario(f"structured-{version}") as world:
        world.until(lambda: (world.claim("team-a/gpu-1") or {"status": {}})["status"].get("devices"))
        claims, slices = world.eyes.objects("resourceclaims"), world.eyes.objects("resourceslices")
        templates = world.server.list("resourceclaimtemplates")
    assert {o["apiVersion"] for o in (*claims, *slices)} == {f"resource.k8s.io/{version}"}
    assert_shape(version, claims + [t["spec"] for t in templates])
    assert any("generateName" in c["metadata"] for c in claims)
    for item in slices:
        assert all(
            ("basic" in d, "attributes" in d) == (version == "v1beta1", version != "v1beta1")
            for d in item["spec"]["devices"]
        )
