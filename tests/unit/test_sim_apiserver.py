"""The simulated API server as an object: verbs, optimistic locking, subresources, deletion, validation."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.faults import Fault
from dradash.sim.listing import Query
from dradash.sim.patching import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from dradash.sim.resources import served
from tests.patience import PATIENCE


@pytest.fixture
def server() -> APIServer:
    return APIServer(seed=1, now=lambda: 0.0)


def claim(name: str = "c", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"resourceClassName": "gpu"}, **({"status": status} if status else {})}


def consumer(uid: str) -> dict[str, Any]:
    return {"resource": "pods", "name": f"pod-{uid}", "uid": uid}


def allocated(*uids: str, shareable: bool = True, **more: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"driverName": "d.example.com", "allocation": {"shareable": shareable}}
    return status | ({"reservedFor": [consumer(uid) for uid in uids]} if uids else {}) | more


def refused(code: int) -> Any:
    return pytest.raises(ApiError, check=lambda error: error.code == code)


def test_a_create_names_stamps_and_defaults_the_object(server: APIServer) -> None:
    made = server.create("resourceclaims", {"metadata": {"generateName": "c-"}, "spec": claim()["spec"]})
    metadata = made["metadata"]
    assert metadata["name"].startswith("c-")
    assert len(metadata["name"]) == 7
    assert metadata["creationTimestamp"] == "1970-01-01T00:00:00Z"
    assert (metadata["namespace"], metadata["resourceVersion"]) == ("default", str(server.revision))
    assert made["spec"]["allocationMode"] == "WaitForFirstConsumer"
    assert (made["kind"], made["apiVersion"]) == ("ResourceClaim", "resource.k8s.io/v1alpha2")


def test_dicts_that_come_out_or_went_in_change_nothing_inside(server: APIServer) -> None:
    body = claim()
    made = server.create("resourceclaims", body)
    body["spec"]["resourceClassName"] = made["spec"]["resourceClassName"] = "changed"
    server.list("resourceclaims")[0]["spec"]["resourceClassName"] = "changed"
    assert server.get("resourceclaims", "c", "default")["spec"]["resourceClassName"] == "gpu"


def test_a_second_create_of_a_name_is_refused(server: APIServer) -> None:
    server.create("resourceclaims", claim())
    with refused(409) as caught:
        server.create("resourceclaims", claim())
    assert caught.value.status()["reason"] == "AlreadyExists"
    assert caught.value.message == 'resourceclaims.resource.k8s.io "c" already exists'


def test_a_stale_update_is_refused_and_one_without_a_version_is_not(server: APIServer) -> None:
    old = server.create("resourceclaims", claim())
    server.update("resourceclaims", {**claim(), "metadata": {"name": "c", "labels": {"a": "b"}}})
    with refused(409) as caught:
        server.update("resourceclaims", old)
    assert caught.value.message == (
        'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "c": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_a_write_that_changes_nothing_makes_no_new_version(server: APIServer) -> None:
    made = server.create("resourceclaims", claim())
    before = server.revision
    assert server.update("resourceclaims", made) == made
    assert server.patch("resourceclaims", "c", {}, MERGE_PATCH, "default") == made
    assert server.revision == before


def test_status_and_the_rest_are_written_apart(server: APIServer) -> None:
    server.create("resourceclaims", claim(**allocated()))
    made = server.get("resourceclaims", "c", "default")
    assert made["status"] == {}
    server.update("resourceclaims", {**made, "status": allocated(), "metadata": {"name": "c", "labels": {"a": "b"}}})
    made = server.get("resourceclaims", "c", "default")
    assert (made["status"], made["metadata"]["labels"]) == ({}, {"a": "b"})
    server.update_status("resourceclaims", {**made, "metadata": {"name": "c"}, "spec": {}, "status": allocated("1")})
    found = server.get("resourceclaims", "c", "default")
    assert (found["spec"], found["metadata"]["labels"]) == (made["spec"], {"a": "b"})
    assert found["status"] == allocated("1")


def test_finalizers_hold_an_object_until_they_are_gone(server: APIServer) -> None:
    server.create("resourceclaims", {**claim(), "metadata": {"name": "c", "finalizers": ["a/b"]}})
    watch = server.watch("resourceclaims", resource_version=str(server.revision))
    deleted = server.delete("resourceclaims", "c", "default")
    assert not deleted.gone
    assert deleted.object["metadata"]["deletionTimestamp"] == "1970-01-01T00:00:00Z"
    patch = [{"op": "remove", "path": "/metadata/finalizers"}]
    server.patch("resourceclaims", "c", patch, JSON_PATCH, "default")
    events, _ = watch.drain()
    watch.close()
    assert [e.type for e in events] == ["MODIFIED", "DELETED"]
    assert server.list("resourceclaims") == []


def test_a_uid_that_differs_is_refused_by_update_patch_and_delete(server: APIServer) -> None:
    server.create("resourceclaims", claim())
    wrong = {"metadata": {"name": "c", "uid": "other"}}
    for write in (
        lambda: server.update("resourceclaims", {**claim(), **wrong}),
        lambda: server.patch("resourceclaims", "c", wrong, STRATEGIC_PATCH, "default", subresource="status"),
        lambda: server.delete("resourceclaims", "c", "default", uid="other"),
    ):
        with refused(409) as caught:
            write()
        assert "Precondition failed: UID in precondition: other, UID in object meta: " in caught.value.message


def test_the_unreserving_patch_of_the_scheduler_removes_one_reservation(server: APIServer) -> None:
    made = server.create("resourceclaims", claim())
    server.update_status("resourceclaims", {**made, "status": allocated("1", "2")})
    patch = {
        "metadata": {"uid": made["metadata"]["uid"]},
        "status": {"reservedFor": [{"$patch": "delete", "uid": "1"}]},
    }
    found = server.patch("resourceclaims", "c", patch, STRATEGIC_PATCH, "default", subresource="status")
    assert found["status"]["reservedFor"] == [consumer("2")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ({}, {"reservedFor": [consumer("1")]}, "status.reservedFor: Forbidden: may not be specified when `allocated`"),
        ({}, allocated("1", "2", shareable=False), "status.reservedFor: Forbidden: may not be reserved more than once"),
        ({}, allocated(*map(str, range(33))), "status.reservedFor: Too long: may not be longer than 32"),
        ({}, allocated("1", "1"), 'status.reservedFor[1].uid: Duplicate value: "1"'),
        ({}, allocated(reservedFor=[{"uid": "1"}]), "status.reservedFor[0].resource: Required value"),
        ({}, {"allocation": {}}, "status.driverName: Required value: must be specified when `allocation` is set"),
        (allocated(), allocated(shareable=False), "status.allocation: Invalid value"),
        ({}, {"deallocationRequested": True}, "status: Forbidden: `allocation` must be set when"),
        (allocated("1"), allocated("1", deallocationRequested=True), "deallocation cannot be requested while"),
        (allocated(deallocationRequested=True), allocated(), "may not be cleared when `allocation` is set"),
        (allocated(deallocationRequested=True), allocated("1", deallocationRequested=True), "new entries may not"),
    ],
)
def test_a_claims_status_is_validated_as_upstream_does(
    server: APIServer, old: dict[str, Any], new: dict[str, Any], message: str
) -> None:
    server.create("resourceclaims", claim())
    server.update_status("resourceclaims", claim(**old))
    with refused(422) as caught:
        server.update_status("resourceclaims", claim(**new))
    assert message in caught.value.message
    assert caught.value.status()["details"]["causes"]


def test_a_full_but_valid_claim_status_is_accepted(server: APIServer) -> None:
    server.create("resourceclaims", claim())
    found = server.update_status("resourceclaims", claim(**allocated(*map(str, range(32)))))
    assert len(found["status"]["reservedFor"]) == 32


@pytest.mark.parametrize(
    ("plural", "body", "message"),
    [
        ("pods", {"metadata": {"name": "p"}}, "spec.containers: Required value"),
        ("pods", {"spec": {}}, "metadata.name: Required value: name or generateName is required"),
        ("nodes", {"metadata": {"name": "n", "labels": {"a b": "c"}}}, 'metadata.labels: Invalid value: "a b"'),
        ("namespaces", {"metadata": {"name": "a.b"}}, "a lowercase RFC 1123 label must consist of"),
        ("resourceclaims", {**claim("A")}, 'metadata.name: Invalid value: "A"'),
        ("resourceclasses", {"metadata": {"name": "x"}}, "driverName: Required value"),
        (
            "resourceclasses",
            {"metadata": {"name": "x"}, "driverName": "d.e", "suitableNodes": {}},
            "suitableNodes.nodeSelectorTerms: Required value: must have at least one node selector term",
        ),
        (
            "podschedulingcontexts",
            {"metadata": {"name": "x"}, "spec": {"potentialNodes": [f"n{i}" for i in range(129)]}},
            "spec.potentialNodes: Too long: may not be longer than 128",
        ),
    ],
)
def test_what_is_created_is_validated(server: APIServer, plural: str, body: dict[str, Any], message: str) -> None:
    before = server.revision
    with refused(422) as caught:
        server.create(plural, body)
    assert message in caught.value.message
    assert server.revision == before


POD: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
HTML = "<img src=x>"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"nodeSelector": {HTML: "a"}}, f'spec.nodeSelector: Invalid value: "{HTML}": name part must consist of'),
        ({"nodeSelector": {"a": "b c"}}, 'spec.nodeSelector: Invalid value: "b c": a valid label must be'),
        ({"schedulingGates": [{"name": HTML}]}, f'spec.schedulingGates[0]: Invalid value: "{HTML}": name part'),
        ({"schedulingGates": [{"name": ""}]}, 'spec.schedulingGates[0]: Invalid value: "": name part must be non-emp'),
        ({"schedulingGates": [{"name": "a"}] * 2}, 'spec.schedulingGates[1]: Duplicate value: "a"'),
        (
            {"tolerations": [{"key": "a", "operator": "Near"}]},
            'spec.tolerations[0].operator: Unsupported value: "Near": supported values: "Equal", "Exists"',
        ),
        ({"tolerations": [{"key": HTML}]}, f'spec.tolerations[0].key: Invalid value: "{HTML}": name part must'),
    ],
)
def test_names_in_a_pods_spec_are_validated(server: APIServer, spec: dict[str, Any], message: str) -> None:
    with refused(422) as caught:
        server.create("pods", {**POD, "spec": POD["spec"] | spec})
    assert message in caught.value.message
    server.create("pods", POD)
    with refused(422) as caught:
        server.update("pods", {**POD, "spec": POD["spec"] | spec})
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("plural", "more"),
    [
        ("events", {"lastTimestamp": "garbage"}),
        ("events", {"eventTime": "2026-11-31T00:00:00.000000Z"}),
        ("events", {"series": {"count": 2, "lastObservedTime": ""}}),
        ("events", {"metadata": {"name": "p", "creationTimestamp": "2026-11-30 04:00:00Z"}}),
        ("pods", {"metadata": {"name": "p", "namespace": "default", "creationTimestamp": "soon"}}),
        ("pods", {"metadata": {"name": "p", "namespace": "default", "deletionTimestamp": "2026-02-30T04:00:00Z"}}),
        ("pods", {"status": {"conditions": [{"type": "Ready", "lastTransitionTime": "soon"}]}}),
        ("nodes", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "yesterday"}]}}),
    ],
)
def test_what_is_no_time_cannot_be_decoded(server: APIServer, plural: str, more: dict[str, Any]) -> None:
    with refused(400) as caught:
        server.create(plural, {**POD, **more} if plural == "pods" else {"metadata": {"name": "p"}, **more})
    assert "cannot be handled as a" in caught.value.message
    assert 'parsing time "' in caught.value.message


@pytest.mark.parametrize("priority", [2**31, -(2**31) - 1])
def test_a_priority_that_is_no_int32_cannot_be_decoded(server: APIServer, priority: int) -> None:
    with refused(400) as caught:
        server.create("pods", {**POD, "spec": POD["spec"] | {"priority": priority}})
    assert f"cannot unmarshal number {priority} into Go struct field" in caught.value.message
    server.create("pods", {**POD, "spec": POD["spec"] | {"priority": 2**31 - 1}})


def test_annotations_are_limited_in_all(server: APIServer) -> None:
    metadata = POD["metadata"]
    fit = {"a": "x" * (128 * 1024 - 1), "b": "x" * (128 * 1024 - 1)}  # 256 KiB with their keys
    with refused(422) as caught:
        server.create("pods", {**POD, "metadata": metadata | {"annotations": fit | {"c": ""}}})
    assert "metadata.annotations: Too long: may not be longer than 262144" in caught.value.message
    server.create("pods", {**POD, "metadata": metadata | {"annotations": fit}})
    with refused(422):
        server.update("pods", {**POD, "metadata": metadata | {"annotations": fit | {"c": ""}}})


def test_times_as_clients_write_them_are_taken(server: APIServer) -> None:
    times = {
        "firstTimestamp": None,
        "lastTimestamp": "2026-11-30T04:00:00+01:00",
        "eventTime": "2026-11-30T04:00:00.123456Z",
    }
    assert server.create("events", {"metadata": {"name": "e"}, **times})["lastTimestamp"] == times["lastTimestamp"]


def test_unsuitable_nodes_are_limited(server: APIServer) -> None:
    server.create("podschedulingcontexts", {"metadata": {"name": "p"}})
    nodes = [f"n{i}" for i in range(129)]
    status = {"resourceClaims": [{"name": "gpu", "unsuitableNodes": nodes}]}
    with refused(422):
        server.update_status("podschedulingcontexts", {"metadata": {"name": "p"}, "status": status})
    status["resourceClaims"][0]["unsuitableNodes"] = nodes[:128]
    server.update_status("podschedulingcontexts", {"metadata": {"name": "p"}, "status": status})


def test_applying_is_creating_then_owning(server: APIServer) -> None:
    def context(*nodes: str, selected: str = "") -> dict[str, Any]:
        spec = {"potentialNodes": list(nodes), **({"selectedNode": selected} if selected else {})}
        return {"metadata": {"name": "p"}, "spec": spec}

    made = server.apply("podschedulingcontexts", context("a", "b", selected="a"), "kube-scheduler", force=True)
    assert made["spec"] == {"potentialNodes": ["a", "b"], "selectedNode": "a"}
    found = server.apply("podschedulingcontexts", context("c"), "kube-scheduler", force=True)
    assert found["spec"] == {"potentialNodes": ["c"]}
    with refused(409) as caught:
        server.apply("podschedulingcontexts", context("d"), "another")
    expected = 'Apply failed with 1 conflict: conflict with "kube-scheduler" using Apply: .spec.potentialNodes'
    assert caught.value.message == expected
    assert server.apply("podschedulingcontexts", context("d"), "another", force=True)["spec"]["potentialNodes"] == ["d"]
    # What another manager has taken over is not the first one's to take away.
    found = server.apply("podschedulingcontexts", {"metadata": {"name": "p"}}, "kube-scheduler", force=True)
    assert found["spec"]["potentialNodes"] == ["d"]


def test_applied_items_of_a_list_go_with_their_manager(server: APIServer) -> None:
    def conditions(*types: str) -> dict[str, Any]:
        return {"metadata": {"name": "n"}, "status": {"conditions": [{"type": t, "status": "True"} for t in types]}}

    server.create("nodes", {"metadata": {"name": "n"}})
    server.apply("nodes", conditions("Ready", "Warm"), "one", subresource="status")
    server.apply("nodes", conditions("Other"), "two", subresource="status")
    found = server.apply("nodes", conditions("Ready"), "one", subresource="status")
    assert [c["type"] for c in found["status"]["conditions"]] == ["Ready", "Other"]


def test_a_deleted_namespace_takes_its_contents_along_and_waits_for_finalizers(server: APIServer) -> None:
    server.create("namespaces", {"metadata": {"name": "n"}})
    server.create("resourceclaims", claim("plain"), "n")
    server.create("resourceclaims", {**claim("held"), "metadata": {"name": "held", "finalizers": ["a/b"]}}, "n")
    assert not server.delete("namespaces", "n").gone
    assert server.get("namespaces", "n")["status"]["phase"] == "Terminating"
    with refused(403) as caught:
        server.create("resourceclaims", claim("late"), "n")
    assert "because it is being terminated" in caught.value.message
    assert [c["metadata"]["name"] for c in server.list("resourceclaims", "n")] == ["held"]
    server.patch("resourceclaims", "held", {"metadata": {"finalizers": None}}, MERGE_PATCH, "n")
    with refused(404):
        server.get("namespaces", "n")


def test_a_bound_pod_cannot_be_bound_again_nor_changed(server: APIServer) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    made = server.create("pods", pod)
    server.bind("p", "default", "node-1")
    with refused(409):
        server.bind("p", "default", "node-2")
    with refused(409):
        server.update("pods", made)
    del made["metadata"]["resourceVersion"]
    with refused(422) as caught:
        server.update("pods", made)
    assert "pod updates may not change fields other than" in caught.value.message


def test_what_is_not_served_is_not_found() -> None:
    server = APIServer(served(["pods", "namespaces"]))
    assert server.list("pods") == []
    with refused(404) as caught:
        server.list("resourceclaims")
    assert caught.value.message == "the server could not find the requested resource"


def test_recorded_objects_keep_their_identity_and_can_be_watched(server: APIServer) -> None:
    metadata = {"name": "c", "namespace": "team", "uid": "u-1", "resourceVersion": "230"}
    watch = server.watch("resourceclaims", resource_version=str(server.revision))
    server.load([{**claim(), "kind": "ResourceClaim", "metadata": metadata}])
    found = server.get("resourceclaims", "c", "team")
    assert (found["metadata"]["uid"], found["metadata"]["resourceVersion"]) == ("u-1", "230")
    assert server.revision == 230
    assert server.get("namespaces", "team")["status"]["phase"] == "Active"
    server.replay("resourceclaims", "DELETED", {**found, "metadata": {**metadata, "resourceVersion": "235"}})
    events, revision = watch.drain()
    watch.close()
    assert [(e.type, e.stored.revision) for e in events] == [("ADDED", 230), ("DELETED", 235)]
    assert revision == server.revision == 235


def test_older_recordings_still_get_places_of_their_own_in_the_history() -> None:
    server = APIServer(first_revision=1000)
    for version in ("5", "6"):
        metadata = {"name": f"c{version}", "uid": version, "resourceVersion": version}
        server.load([{**claim(), "kind": "ResourceClaim", "metadata": metadata}])
    middle = server.watch("resourceclaims", resource_version=str(server.revision - 1))
    events, _ = middle.drain()
    middle.close()
    assert [e.stored.metadata["name"] for e in events] == ["c6"]


def test_a_selecting_watch_sees_objects_come_and_go(server: APIServer) -> None:
    watch = server.watch("resourceclaims", resource_version=str(server.revision), label_selector="a=b")
    made = server.create("resourceclaims", claim())
    for labels in ({"a": "b"}, {"a": "b", "c": "d"}, {"a": "x"}):
        made = server.update("resourceclaims", {**made, "metadata": {**made["metadata"], "labels": labels}})
    server.delete("resourceclaims", "c", "default")
    events, _ = watch.drain()
    watch.close()
    assert [e.type for e in events] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_watch_that_is_too_slow_ends_with_410_and_costs_no_memory() -> None:
    server = APIServer(history=10)
    watch = server.watch("namespaces", resource_version=str(server.revision))
    for i in range(50):
        server.create("namespaces", {"metadata": {"name": f"n{i}"}})
    assert len(server.collection("namespaces").log) <= 20
    assert watch.drain() == ([], 0)
    assert watch.closed
    assert watch.error is not None
    assert watch.error.code == 410


def test_a_waiting_watch_is_woken_by_a_change_and_by_its_end(server: APIServer) -> None:
    watch = server.watch("namespaces", resource_version=str(server.revision))
    assert watch.drain()[0] == []
    seen: list[list[str]] = []

    def follow() -> None:
        while not watch.closed:
            watch.wait(PATIENCE)
            seen.append([e.type for e in watch.drain()[0]])

    thread = threading.Thread(target=follow)
    thread.start()
    server.create("namespaces", {"metadata": {"name": "n"}})
    while not seen:
        thread.join(0.01)
    watch.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert seen[0] == ["ADDED"]


def test_writers_of_many_threads_do_not_lose_updates(server: APIServer) -> None:
    server.create("namespaces", {"metadata": {"name": "n", "annotations": {"count": "0"}}})

    def add() -> None:
        done = 0
        while done < 50:
            found = server.get("namespaces", "n")
            count = int(found["metadata"]["annotations"]["count"])
            found["metadata"]["annotations"]["count"] = str(count + 1)
            try:
                server.update("namespaces", found)
                done += 1
            except ApiError as error:
                assert error.code == 409  # noqa: PT017 - both outcomes are right

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.get("namespaces", "n")["metadata"]["annotations"]["count"] == "200"


def test_a_fault_makes_the_next_writes_conflict(server: APIServer) -> None:
    made = server.create("resourceclaims", claim())
    server.inject(Fault(fault="conflict", kind="resourceclaims", count=2))
    labelled = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    for _ in range(2):
        with refused(409):
            server.update("resourceclaims", labelled)
    server.update("resourceclaims", labelled)


def test_a_list_at_an_exact_older_version_shows_that_moment(server: APIServer) -> None:
    server.create("resourceclaims", claim("a"))
    then = str(server.revision)
    server.create("resourceclaims", claim("b"))
    server.delete("resourceclaims", "a", "default")
    page = server.list_page("resourceclaims", Query(resource_version=then, match="Exact"))
    assert [stored.metadata["name"] for stored in page.items] == ["a"]
    with refused(504):
        server.list_page("resourceclaims", Query(resource_version="999999", match="NotOlderThan"))


@pytest.mark.parametrize("token", ["x", "e30=", "bm8=", "eyJydiI6IngifQ=="])
def test_a_made_up_continue_token_is_refused(server: APIServer, token: str) -> None:
    with refused(400):
        server.list_page("pods", Query(continue_token=token, limit=1))


def test_a_container_requests_what_it_is_limited_to(server: APIServer) -> None:
    body: dict[str, Any] = {"metadata": {"name": "p"}, "spec": {}}
    body["spec"]["containers"] = [{"name": "c", "image": "img", "resources": {"limits": {"example.com/gpu": "1"}}}]
    made = server.create("pods", body)
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"example.com/gpu": "1"}
