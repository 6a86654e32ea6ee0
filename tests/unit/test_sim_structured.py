"""The simulated API server and controllers with structured parameters: defaults, validation, deallocation, writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from dradash.kinds.deviceclaim import FINALIZER
from dradash.kinds.registry import STRUCTURED
from dradash.scheduling.effects import Effect
from dradash.scheduling.structured.allocation import NEW_SHARE
from dradash.scheduling.structured.binding import NOW
from dradash.sim import discovery, strict
from dradash.sim.actors import Actor, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.claimcontroller import ClaimController
from dradash.sim.devicedrivers import DeviceDrivers, Publisher
from dradash.sim.lifecycle import ADMIN_ACCESS
from dradash.sim.patching import MERGE_PATCH
from dradash.sim.performing import Writes
from dradash.sim.resources import served
from dradash.sim.scenarios.deviceobjects import (
    device,
    device_claim,
    device_class,
    device_pod,
    device_template,
    exactly,
)
from dradash.sim.scenarios.model import place
from dradash.sim.scenarios.objects import namespace, node
from dradash.sim.simulation import running
from dradash.sim.table import table
from dradash.sim.tainteviction import TaintEviction
from tests import build, simworld
from tests.simworld import Obj, World

CLOCK = Clock(50.0)
GPU = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-0", "device": "gpu-0"}
ALLOCATION: Obj = {"devices": {"results": [GPU]}}


@pytest.fixture
def server() -> APIServer:
    made = APIServer(served(versions=STRUCTURED[:1]), seed=1)
    place(made, namespace("team-a"))
    return made


def requests(*of: Obj) -> Obj:
    return device_claim("team-a", "c", *of)


@contextmanager
def at_work(server: APIServer, *actors: Actor) -> Iterator[World]:
    with simworld.seen(server) as world, running(list(actors)):
        yield world


# --- the API server --------------------------------------------------------------------------------------------------


def test_the_mode_and_the_count_of_a_request_have_defaults(server: APIServer) -> None:
    bare = {"name": "a", "exactly": {"deviceClassName": "gpu"}}
    every = {"name": "b", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
    choice = {"name": "c", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}
    made = server.create("resourceclaims", requests(bare, every, choice), "team-a")
    first, second, third = made["spec"]["devices"]["requests"]
    assert (first["exactly"]["allocationMode"], first["exactly"]["count"]) == ("ExactCount", 1)
    assert "count" not in second["exactly"]
    assert third["firstAvailable"][0]["count"] == 1
    assert made["status"] == {}


def test_a_toleration_and_a_taint_have_defaults(server: APIServer) -> None:
    asked = {"name": "a", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "k", "value": "v"}]}}
    made = server.create("resourceclaims", requests(asked), "team-a")
    assert made["spec"]["devices"]["requests"][0]["exactly"]["tolerations"][0]["operator"] == "Equal"
    spec = {
        "driver": "d",
        "allNodes": True,
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [device("gpu-0", {}, taints=[{"key": "k", "effect": "NoExecute"}])],
    }
    item = server.create("resourceslices", {"metadata": {"name": "s"}, "spec": spec})
    assert item["spec"]["devices"][0]["taints"][0]["timeAdded"]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"name": "a"}, "exactly one of `exactly` or `firstAvailable` is required"),
        ({"exactly": {"deviceClassName": "gpu"}}, "spec.devices.requests[0].name: Required value"),
        ({"name": "a", "exactly": {}}, "spec.devices.requests[0].exactly.deviceClassName: Required value"),
        ({"name": "a", "exactly": {"deviceClassName": "gpu", "count": -1}}, "must be greater than zero"),
        (
            {"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "All", "count": 2}},
            "must not be specified when allocationMode is 'All'",
        ),
        ({"name": "a", "exactly": {"deviceClassName": "gpu", "allocationMode": "Some"}}, "Unsupported value"),
        (
            {"name": "a", "exactly": {"deviceClassName": "gpu", "selectors": [{}]}},
            "selectors[0].cel.expression: Required value",
        ),
    ],
)
def test_a_request_that_no_cluster_takes_is_refused(server: APIServer, request_: Obj, says: str) -> None:
    with pytest.raises(ApiError) as refused:
        server.create("resourceclaims", requests(request_), "team-a")
    assert refused.value.code == 422
    assert says in refused.value.message


def beta_claim(*of: Obj) -> Obj:
    made = requests(*of)
    return {**made, "apiVersion": "resource.k8s.io/v1beta1"}


@pytest.fixture
def beta() -> APIServer:
    """Of Kubernetes 1.32: v1beta1 is all that it serves."""
    made = APIServer(served(versions=("v1beta1",)), seed=1)
    place(made, namespace("team-a"))
    return made


def test_where_v1beta1_is_served_alone_requests_are_taken_and_kept_in_its_shape(beta: APIServer) -> None:
    flat = {"name": "a", "deviceClassName": "gpu"}
    choice = {"name": "b", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}
    body = beta_claim(flat, choice)
    strict.check(beta.resources["resourceclaims"], "v1beta1", body)
    made = beta.create("resourceclaims", body, "team-a")
    filled = {"allocationMode": "ExactCount", "count": 1}
    assert made["apiVersion"] == "resource.k8s.io/v1beta1"
    assert made["spec"]["devices"]["requests"] == [
        {**flat, **filled},
        {"name": "b", "firstAvailable": [{"name": "big", "deviceClassName": "gpu", **filled}]},
    ]
    template = {"metadata": {"name": "t"}, "spec": {"spec": body["spec"]}}
    inner = beta.create("resourceclaimtemplates", template, "team-a")["spec"]["spec"]
    assert inner == made["spec"]
    labelled = beta.patch("resourceclaims", "c", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH, "team-a")
    assert labelled["spec"] == made["spec"]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"name": "a"}, "exactly one of `exactly` or `firstAvailable` is required"),
        ({"name": "a", "count": 1}, "deviceClassName: Required value"),
        ({"name": "a", "deviceClassName": "gpu", "count": -1}, "must be greater than zero"),
        ({"name": "a", "deviceClassName": "gpu", "allocationMode": "Some"}, "Unsupported value"),
        ({"name": "a", "deviceClassName": "gpu", "adminAccess": True}, "requests[0].adminAccess: Forbidden"),
        ({"name": "a", "deviceClassName": "gpu", "count": "two"}, "cannot be handled as a ResourceClaim"),
    ],
)
def test_a_v1beta1_request_that_no_cluster_takes_is_refused(beta: APIServer, request_: Obj, says: str) -> None:
    with pytest.raises(ApiError) as refused:
        beta.create("resourceclaims", beta_claim(request_), "team-a")
    assert says in refused.value.message


def test_fields_that_v1beta1_does_not_know_are_told(beta: APIServer) -> None:
    body = beta_claim({"name": "a", "deviceClassName": "gpu", "clas": "x"})
    with pytest.raises(ApiError, match=r'unknown field "spec\.devices\.requests\[0\]\.clas"'):
        strict.check(beta.resources["resourceclaims"], "v1beta1", body)


def test_the_taints_of_a_v1beta1_device_have_their_time(beta: APIServer) -> None:
    basic = {"attributes": {}, "taints": [{"key": "k", "effect": "NoExecute"}]}
    spec = {
        "driver": "d",
        "allNodes": True,
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0", "basic": basic}],
    }
    item = beta.create("resourceslices", {"metadata": {"name": "s"}, "spec": spec})
    assert item["spec"]["devices"][0]["basic"]["taints"][0]["timeAdded"]


def test_beside_v1_what_comes_as_v1beta1_is_kept_as_v1() -> None:
    both = APIServer(served(versions=("v1", "v1beta1")), seed=1)
    place(both, namespace("team-a"))
    body = beta_claim({"name": "a", "deviceClassName": "gpu", "count": 2})
    strict.check(both.resources["resourceclaims"], "v1beta1", body)
    made = both.create("resourceclaims", body, "team-a")
    exact = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}
    assert made["apiVersion"] == "resource.k8s.io/v1"
    assert made["spec"]["devices"]["requests"] == [{"name": "a", "exactly": exact}]


def test_a_claims_spec_and_a_slices_pool_do_not_change(server: APIServer) -> None:
    made = server.create("resourceclaims", requests(exactly("gpu", "gpu")), "team-a")
    made["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    with pytest.raises(ApiError, match="field is immutable"):
        server.update("resourceclaims", made)
    spec = {"driver": "d", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    item = server.create("resourceslices", {"metadata": {"name": "s"}, "spec": spec})
    item["spec"]["pool"]["name"] = "q"
    with pytest.raises(ApiError, match=r"spec\.pool\.name"):
        server.update("resourceslices", item)
    with pytest.raises(ApiError, match="exactly one of `nodeName`"):
        server.create("resourceslices", {"metadata": {"name": "t"}, "spec": {**spec, "allNodes": True}})


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}, "when `allocated` is not set"),
        (
            {"allocation": ALLOCATION, "devices": [{**GPU, "device": "gpu-7"}]},
            "must be an allocated device in the claim",
        ),
        (
            {
                "allocation": ALLOCATION,
                "reservedFor": [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(257)],
            },
            "Too long",
        ),
    ],
)
def test_a_status_that_contradicts_itself_is_refused(server: APIServer, status: Obj, says: str) -> None:
    made = server.create("resourceclaims", requests(exactly("gpu", "gpu")), "team-a")
    status = {**status, "devices": [{k: d[k] for k in ("driver", "pool", "device")} for d in status.get("devices", ())]}
    with pytest.raises(ApiError) as refused:
        server.update_status("resourceclaims", {**made, "status": status})
    assert says in refused.value.message


def test_it_is_a_release_that_has_structured_parameters(server: APIServer) -> None:
    assert discovery.version(server.resources.values())["gitVersion"].startswith("v1.36.")
    assert discovery.version(served())["gitVersion"].startswith("v1.30.")
    assert discovery.version(served(versions=("v1beta1",)))["gitVersion"].startswith("v1.32.")
    assert discovery.version(served(versions=("v1beta2", "v1beta1")))["gitVersion"].startswith("v1.33.")


@pytest.mark.parametrize(
    ("plural", "columns", "cells"),
    [
        ("resourceclaims", ["Name", "State", "Age"], ["c", "pending"]),
        ("resourceslices", ["Name", "Node", "Driver", "Pool", "Age"], ["s", "<AllNodes>", "d", "p"]),
        ("deviceclasses", ["Name", "Age"], ["gpu"]),
    ],
)
def test_kubectl_gets_the_columns_of_structured_parameters(
    server: APIServer, plural: str, columns: list[str], cells: list[str]
) -> None:
    place(server, requests(exactly("gpu", "gpu")))
    place(server, device_class("gpu"))
    spec = {"driver": "d", "allNodes": True, "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}}
    server.create("resourceslices", {"metadata": {"name": "s"}, "spec": spec})
    stored = list(server.collection(plural).objects.values())
    printed = json.loads(table(plural, "resource.k8s.io/v1", "X", stored, {}, build.NOW))
    assert [column["name"] for column in printed["columnDefinitions"]] == columns
    assert printed["rows"][0]["cells"][:-1] == cells


# --- the claim controller --------------------------------------------------------------------------------------------


def allocated(server: APIServer, *pods: str, **more: list[str]) -> None:
    reserved = []
    for name in pods:
        made = server.create("pods", device_pod("team-a", name, claims={"gpu": "c"}), "team-a")
        server.bind(name, "team-a", "node-0", made["metadata"]["uid"])
        reserved.append({"resource": "pods", "name": name, "uid": made["metadata"]["uid"]})
    claim = requests(exactly("gpu", "gpu"))
    claim["metadata"]["finalizers"] = [FINALIZER, *more.get("finalizers", [])]
    place(server, claim | {"status": {"allocation": ALLOCATION, "reservedFor": reserved}})


def test_the_last_user_gone_means_deallocation(server: APIServer) -> None:
    allocated(server, "a", "b")
    with at_work(server, ClaimController(server, CLOCK)) as world:
        server.delete("pods", "a", "team-a")
        left = world.until(lambda: (c := world.claim("team-a/c")) and len(c["status"]["reservedFor"]) == 1 and c)
        assert left["status"]["allocation"] == ALLOCATION
        server.delete("pods", "b", "team-a")
        free = world.until(lambda: (c := world.claim("team-a/c")) and not c["metadata"].get("finalizers") and c)
    assert free["status"] == {}


def test_a_claim_that_was_never_used_keeps_its_allocation(server: APIServer) -> None:
    allocated(server)
    with at_work(server, ClaimController(server, CLOCK)) as world:
        place(server, device_pod("team-a", "later", templates={"gpu": "none"}))
        world.until_event("team-a/later", "FailedResourceClaimCreation")
        claim = world.claim("team-a/c")
    assert claim is not None
    assert claim["status"]["allocation"] == ALLOCATION


def test_a_claim_that_is_deleted_without_users_lets_go_and_is_gone(server: APIServer) -> None:
    allocated(server)
    with at_work(server, ClaimController(server, CLOCK)) as world:
        server.delete("resourceclaims", "c", "team-a")
        world.until(lambda: world.claim("team-a/c") is None)


# --- the drivers -----------------------------------------------------------------------------------------------------


def test_slices_come_with_their_nodes_come_again_and_go(server: APIServer) -> None:
    publisher = Publisher(
        driver="gpu.example.com",
        devices=lambda of: [device("gpu-0", {"model": "a100"})] if of.metadata.labels.get("gpu") else None,
    )
    place(server, node("node-0", "zone-a", {"gpu": "yes"}))
    place(server, node("node-1", "zone-a"))
    with at_work(server, DeviceDrivers(server, CLOCK, (publisher,))) as world:
        (item,) = world.until(lambda: server.list("resourceslices"))
        assert (item["spec"]["nodeName"], item["spec"]["pool"]["name"]) == ("node-0", "node-0")
        server.delete("resourceslices", item["metadata"]["name"])
        world.until(
            lambda: [s for s in server.list("resourceslices") if s["metadata"]["uid"] != item["metadata"]["uid"]]
        )
        server.delete("nodes", "node-0")
        world.until(lambda: not server.list("resourceslices"))


# --- effects as writes -----------------------------------------------------------------------------------------------


def test_the_writes_of_an_attempt_follow_each_others_versions(server: APIServer) -> None:
    place(server, device_class("gpu"))
    made = server.create("resourceclaims", requests(exactly("gpu", "gpu")), "team-a")
    guarded = {**made, "metadata": {**made["metadata"], "finalizers": [FINALIZER]}}
    invented = {**guarded["metadata"], "resourceVersion": "1000001"}
    status = {
        "allocation": {**ALLOCATION, "allocationTimestamp": NOW},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
    }
    writes = Writes(server, "2026-11-30T04:00:00Z")
    writes.perform(Effect("update", "resourceclaims", "team-a", "c", guarded))
    body = {**guarded, "metadata": invented, "status": status}
    writes.perform(Effect("update", "resourceclaims", "team-a", "c", body, "status"))
    stored = server.get("resourceclaims", "c", "team-a")
    assert stored["metadata"]["finalizers"] == [FINALIZER]
    assert stored["status"]["allocation"]["allocationTimestamp"] == "2026-11-30T04:00:00Z"
    assert [claim["metadata"]["name"] for claim in writes.reserved] == ["c"]


def test_shares_of_a_device_get_uids_of_their_own(server: APIServer) -> None:
    made = server.create("resourceclaims", requests(exactly("gpu", "gpu")), "team-a")
    shares = [{**GPU, "shareID": NEW_SHARE, "consumedCapacity": {"memory": "1Gi"}} for _ in range(2)]
    body = {**made, "status": {"allocation": {"devices": {"results": shares}}}}
    Writes(server, "2026-11-30T04:00:00Z").perform(Effect("update", "resourceclaims", "team-a", "c", body, "status"))
    stored = server.get("resourceclaims", "c", "team-a")["status"]["allocation"]["devices"]["results"]
    assert len({UUID(result["shareID"]) for result in stored}) == 2


def test_a_claim_that_is_created_gets_its_real_name_in_later_writes(server: APIServer) -> None:
    place(server, device_pod("team-a", "p"))
    claim = requests(exactly("gpu", "gpu"))
    claim["metadata"] = {"namespace": "team-a", "generateName": "p-extended-resources-"}
    writes = Writes(server, "2026-11-30T04:00:00Z")
    writes.perform(Effect("create", "resourceclaims", "team-a", "", claim))
    invented = f"{claim['metadata']['generateName']}00000"
    named = {
        **claim,
        "metadata": {**claim["metadata"], "name": invented, "uid": "created-uid-1", "resourceVersion": "9"},
    }
    status = {"allocation": ALLOCATION, "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}
    writes.perform(Effect("update", "resourceclaims", "team-a", invented, {**named, "status": status}, "status"))
    told = {"status": {"extendedResourceClaimStatus": {"resourceClaimName": invented, "requestMappings": []}}}
    merge = "application/strategic-merge-patch+json"
    writes.perform(Effect("patch", "pods", "team-a", "p", told, "status", merge))
    (stored,) = server.list("resourceclaims", "team-a")
    assert stored["status"]["allocation"] == ALLOCATION
    pod = server.get("pods", "p", "team-a")
    assert pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"] == stored["metadata"]["name"]


# --- admin access ----------------------------------------------------------------------------------------------------


def test_admin_access_needs_a_label_of_the_namespace(server: APIServer) -> None:
    asking = exactly("gpu", "gpu", adminAccess=True)
    template = device_template("team-a", "t", asking)
    for made, path in ((requests(asking), "spec"), (template, "spec.spec")):
        with pytest.raises(ApiError) as refused:
            place(server, made)
        assert refused.value.code == 422
        assert f"{path}.devices.requests[0].adminAccess: Forbidden" in refused.value.message
    label = {"metadata": {"labels": {ADMIN_ACCESS: "true"}}}
    server.patch("namespaces", "team-a", label, "application/merge-patch+json")
    place(server, requests(asking))
    place(server, template)
    assert server.get("resourceclaims", "c", "team-a")["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"]


# --- eviction --------------------------------------------------------------------------------------------------------


def test_a_pod_is_not_evicted_for_a_taint_that_was_taken_back(server: APIServer) -> None:
    """Two pods tolerate the taint for a while; of the one whose device lost it again the eviction is called off."""
    lost: Obj = {"key": "lost", "effect": "NoExecute"}
    slices = {}
    for name in ("a", "b"):
        result = {
            **GPU,
            "pool": name,
            "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 50}],
        }
        bound = device_pod("team-a", name, claims={"gpu": name})
        bound["spec"]["nodeName"] = "node-0"
        uid = server.create("pods", bound, "team-a")["metadata"]["uid"]
        claim = device_claim("team-a", name, exactly("gpu", "gpu"))
        reserved = [{"resource": "pods", "name": name, "uid": uid}]
        place(server, claim | {"status": {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}})
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {
            "driver": GPU["driver"],
            "nodeName": "node-0",
            "pool": pool,
            "devices": [device("gpu-0", {}, taints=[lost])],
        }
        slices[name] = server.create("resourceslices", {"metadata": {"name": name}, "spec": spec})
    with at_work(server, TaintEviction(server, CLOCK)) as world:
        slices["a"]["spec"]["devices"][0].pop("taints")
        server.update("resourceslices", slices["a"])
        world.until(lambda: world.pod("team-a/b") is None)
        assert world.pod("team-a/a") is not None
