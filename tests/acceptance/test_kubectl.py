"""The real kubectl against the simulated API server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dradash.sim.apiserver import APIServer
from dradash.sim.faults import Fault
from dradash.sim.patching import JSON_PATCH
from tests.acceptance.processes import until
from tests.acceptance.simcluster import Kubectl, claim, pod_using, populated, served

CLAIM = """\
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata:
  name: applied
  namespace: team-a
  labels:
    team: a
spec:
  resourceClassName: gpu.example.com
"""


@pytest.fixture
def server() -> APIServer:
    return populated()


@pytest.fixture
def kubectl(server: APIServer, tmp_path: Path) -> Iterator[Kubectl]:
    with served(server, tmp_path) as config:
        yield Kubectl(tmp_path, config)


def table(text: str) -> list[list[str]]:
    """Cells by line; columns are two blanks apart at least."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]


def allocate(server: APIServer, name: str, *, reserved: bool) -> dict[str, Any]:
    found = server.get("resourceclaims", name, "team-a")
    status: dict[str, Any] = {"driverName": "gpu.driver.example.com", "allocation": {"shareable": True}}
    if reserved:
        status["reservedFor"] = [{"resource": "pods", "name": "train-0", "uid": "u"}]
    return server.update_status("resourceclaims", {**found, "status": status})


def test_every_kind_is_listed_with_its_group_and_short_name(kubectl: Kubectl) -> None:
    rows = {cells[0]: cells[1:] for cells in table(kubectl("api-resources"))[1:]}
    assert rows["pods"] == ["po", "v1", "true", "Pod"]
    assert rows["resourceclasses"] == ["resource.k8s.io/v1alpha2", "false", "ResourceClass"]
    assert "secrets" not in rows
    assert "doesn't have a resource type" in kubectl("get", "secrets", fails=True)


def test_pods_are_printed_as_upstream_prints_them(kubectl: Kubectl, server: APIServer) -> None:
    header, row = table(kubectl("get", "pods", "-n", "team-a"))
    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == ["train-0", "0/1", "Pending", "0"]
    server.bind("train-0", "team-a", "node-0")
    header, row = table(kubectl("get", "po", "-A", "-o", "wide"))
    assert header[-4:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert row[-4:] == ["<none>", "node-0", "<none>", "<none>"]


def test_nodes_namespaces_classes_and_events_are_printed(kubectl: Kubectl) -> None:
    assert table(kubectl("get", "no"))[1][:3] == ["node-0", "Ready", "<none>"]
    assert ["team-a", "Active"] in [row[:2] for row in table(kubectl("get", "ns"))]
    header, row = table(kubectl("get", "resourceclasses"))
    assert header == ["NAME", "DRIVERNAME", "AGE"]
    assert row[:2] == ["gpu.example.com", "gpu.driver.example.com"]
    header, row = table(kubectl("get", "events", "-n", "team-a"))
    assert header == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row[1:] == ["Warning", "FailedScheduling", "pod/train-0", "waiting for resource driver"]


def test_a_claims_state_is_printed_through_its_life(kubectl: Kubectl, server: APIServer) -> None:
    def row() -> list[str]:
        return table(kubectl("get", "resourceclaims", "-n", "team-a"))[1][:4]

    assert row() == ["gpu-1", "gpu.example.com", "WaitForFirstConsumer", "pending"]
    patch = '{"metadata":{"finalizers":["example.com/driver"]}}'
    kubectl("patch", "resourceclaim", "gpu-1", "-n", "team-a", "--type=merge", "-p", patch)
    allocate(server, "gpu-1", reserved=True)
    assert row()[3] == "allocated,reserved"
    kubectl("delete", "resourceclaim", "gpu-1", "-n", "team-a", "--wait=false")
    assert row()[3] == "deleted,allocated,reserved"
    kubectl("patch", "resourceclaim", "gpu-1", "-n", "team-a", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert server.list("resourceclaims", "team-a") == []


def test_templates_and_scheduling_contexts_are_printed(kubectl: Kubectl, server: APIServer) -> None:
    template = {"metadata": {"name": "t"}, "spec": {"spec": {"resourceClassName": "gpu.example.com"}}}
    server.create("resourceclaimtemplates", template, "team-a")
    context = {"metadata": {"name": "train-0"}, "spec": {"selectedNode": "node-0", "potentialNodes": ["node-0"]}}
    server.create("podschedulingcontexts", context, "team-a")
    header, row = table(kubectl("get", "resourceclaimtemplates", "-n", "team-a"))
    assert header == ["NAME", "RESOURCECLASSNAME", "ALLOCATIONMODE", "AGE"]
    assert row[:3] == ["t", "gpu.example.com", "WaitForFirstConsumer"]
    header, row = table(kubectl("get", "podschedulingcontexts", "-n", "team-a"))
    assert (header, row[:2]) == (["NAME", "SELECTEDNODE", "AGE"], ["train-0", "node-0"])


def test_applying_a_manifest_creates_then_changes_nothing_then_changes(kubectl: Kubectl, server: APIServer) -> None:
    assert kubectl("apply", "-f", "-", stdin=CLAIM) == "resourceclaim.resource.k8s.io/applied created\n"
    version = server.get("resourceclaims", "applied", "team-a")["metadata"]["resourceVersion"]
    assert kubectl("apply", "-f", "-", stdin=CLAIM) == "resourceclaim.resource.k8s.io/applied unchanged\n"
    assert server.get("resourceclaims", "applied", "team-a")["metadata"]["resourceVersion"] == version
    changed = CLAIM.replace("team: a", "owner: b")
    assert kubectl("apply", "-f", "-", stdin=changed) == "resourceclaim.resource.k8s.io/applied configured\n"
    assert server.get("resourceclaims", "applied", "team-a")["metadata"]["labels"] == {"owner": "b"}


def test_server_side_apply_takes_away_what_is_not_sent_and_conflicts(kubectl: Kubectl, server: APIServer) -> None:
    kubectl("apply", "--server-side", "-f", "-", stdin=CLAIM)
    kubectl("apply", "--server-side", "-f", "-", stdin=CLAIM.replace("team: a", "owner: b"))
    assert server.get("resourceclaims", "applied", "team-a")["metadata"]["labels"] == {"owner": "b"}
    kubectl("label", "resourceclaim", "applied", "-n", "team-a", "owner=c", "--overwrite")
    text = kubectl("apply", "--server-side", "-f", "-", stdin=CLAIM.replace("team: a", "owner: b"), fails=True)
    assert 'conflict with "kubectl-label"' in text
    assert ".metadata.labels.owner" in text
    forced = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    kubectl(*forced, stdin=CLAIM.replace("team: a", "owner: b"))
    assert server.get("resourceclaims", "applied", "team-a")["metadata"]["labels"] == {"owner": "b"}


def test_a_dry_run_is_checked_but_not_stored(kubectl: Kubectl, server: APIServer) -> None:
    assert "created (server dry run)" in kubectl("apply", "--dry-run=server", "-f", "-", stdin=CLAIM)
    assert [c["metadata"]["name"] for c in server.list("resourceclaims", "team-a")] == ["gpu-1"]


def test_what_is_invalid_is_refused_in_the_real_servers_words(kubectl: Kubectl) -> None:
    text = kubectl("apply", "-f", "-", stdin=CLAIM.replace("gpu.example.com", "A_B"), fails=True)
    assert 'The ResourceClaim "applied" is invalid' in text
    assert "spec.resourceClassName: Invalid value" in text
    kubectl("apply", "-f", "-", stdin=CLAIM)
    text = kubectl("apply", "-f", "-", stdin=CLAIM.replace("gpu.example.com", "other"), fails=True)
    assert "spec: Invalid value" in text
    assert "field is immutable" in text
    text = kubectl("apply", "-f", "-", stdin=CLAIM.replace("resourceClassName", "resourceClass"), fails=True)
    assert 'unknown field "spec.resourceClass"' in text


def test_the_status_is_patched_through_its_subresource_only(kubectl: Kubectl, server: APIServer) -> None:
    patch = json.dumps({"status": {"driverName": "d.example.com", "allocation": {"shareable": True}}})
    command = ("patch", "resourceclaim", "gpu-1", "-n", "team-a", "--type=merge", "-p", patch)
    assert "patched (no change)" in kubectl(*command)
    assert "patched\n" in kubectl(*command, "--subresource=status")
    assert server.get("resourceclaims", "gpu-1", "team-a")["status"]["driverName"] == "d.example.com"


def test_core_kinds_are_patched_strategically(kubectl: Kubectl, server: APIServer) -> None:
    patch = '{"spec":{"containers":[{"name":"c","image":"registry.invalid/y"}]}}'
    kubectl("patch", "pod", "train-0", "-n", "team-a", "-p", patch)
    (container,) = server.get("pods", "train-0", "team-a")["spec"]["containers"]
    assert container["image"] == "registry.invalid/y"
    assert container["terminationMessagePolicy"] == "File"
    kubectl("taint", "node", "node-0", "a=b:NoSchedule")
    kubectl("cordon", "node-0")
    assert server.get("nodes", "node-0")["spec"] == {
        "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}],
        "unschedulable": True,
    }
    assert table(kubectl("get", "nodes"))[1][1] == "Ready,SchedulingDisabled"


def test_label_and_field_selectors_choose(kubectl: Kubectl, server: APIServer) -> None:
    server.create("pods", {**pod_using("other", "x"), "metadata": {"name": "other"}}, "team-a")
    server.bind("other", "team-a", "node-0")

    def chosen(*arguments: str) -> str:
        return kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].metadata.name}", *arguments)

    assert chosen("-l", "app=train") == "train-0"
    assert chosen("-l", "app in (train,x),!other") == "train-0"
    assert chosen("-l", "app!=train") == "other"
    assert chosen("--field-selector", "spec.nodeName=node-0") == "other"
    assert chosen("--field-selector", "metadata.name!=other,status.phase=Pending") == "train-0"
    text = kubectl("get", "pods", "--field-selector", "spec.colour=red", fails=True)
    assert "field label not supported: spec.colour" in text


def test_describe_shows_an_object_with_its_events(kubectl: Kubectl) -> None:
    text = kubectl("describe", "pod", "train-0", "-n", "team-a")
    assert "waiting for resource driver" in text
    assert "FailedScheduling" in text
    text = kubectl("describe", "resourceclaim", "gpu-1", "-n", "team-a")
    assert "Resource Class Name:  gpu.example.com" in text
    assert "accelerator=a100" in kubectl("describe", "node", "node-0")


def test_yaml_is_the_object_as_it_is(kubectl: Kubectl, server: APIServer) -> None:
    text = kubectl("get", "resourceclaim", "gpu-1", "-n", "team-a", "-o", "yaml")
    assert yaml.safe_load(text) == server.get("resourceclaims", "gpu-1", "team-a")
    listed = yaml.safe_load(kubectl("get", "resourceclaims", "-A", "-o", "yaml"))
    assert listed["items"] == server.list("resourceclaims")


def test_lists_in_chunks_are_whole(kubectl: Kubectl, server: APIServer) -> None:
    for i in range(20):
        server.create("resourceclaims", claim(f"many-{i}"), "team-a")
    assert len(table(kubectl("get", "resourceclaims", "-A", "--chunk-size=3", "--no-headers"))) == 21


def test_a_watch_prints_each_change(kubectl: Kubectl, server: APIServer) -> None:
    with kubectl.running("get", "resourceclaims", "-n", "team-a", "-w", "--output-watch-events") as out:
        assert out.readline().split()[:2] == ["EVENT", "NAME"]
        assert out.readline().split()[:2] == ["ADDED", "gpu-1"]
        allocate(server, "gpu-1", reserved=True)
        cells = out.readline().split()
        assert (cells[:2], cells[4]) == (["MODIFIED", "gpu-1"], "allocated,reserved")
        server.create("resourceclaims", claim("gpu-2"), "team-a")
        assert out.readline().split()[:2] == ["ADDED", "gpu-2"]
        server.delete("resourceclaims", "gpu-2", "team-a")
        assert out.readline().split()[:2] == ["DELETED", "gpu-2"]


def test_a_watch_of_one_object_does_not_show_others(kubectl: Kubectl, server: APIServer) -> None:
    with kubectl.running("get", "pod", "train-0", "-n", "team-a", "--watch") as out:
        out.readline()
        assert out.readline().split()[0] == "train-0"
        # It watches from "now" and swallows the first event, which is what it has printed already.
        until(lambda: bool(server.collection("pods").watchers), "kubectl watches")
        server.create("pods", pod_using("other", "x"), "team-a")
        server.patch(
            "pods", "train-0", [{"op": "add", "path": "/metadata/labels/x", "value": "y"}], JSON_PATCH, "team-a"
        )
        assert out.readline().split()[0] == "train-0"


def test_delete_waits_until_it_is_gone(kubectl: Kubectl, server: APIServer) -> None:
    assert kubectl("delete", "pod", "train-0", "-n", "team-a") == 'pod "train-0" deleted\n'
    assert kubectl("delete", "resourceclaims", "--all", "-n", "team-a").count("deleted") == 1
    assert "NotFound" in kubectl("get", "pod", "train-0", "-n", "team-a", fails=True)
    assert server.list("resourceclaims") == []


def test_a_namespace_goes_with_what_is_in_it(kubectl: Kubectl, server: APIServer) -> None:
    assert kubectl("create", "namespace", "team-b") == "namespace/team-b created\n"
    text = kubectl("create", "-f", "-", stdin=CLAIM.replace("team-a", "team-c"), fails=True)
    assert 'namespaces "team-c" not found' in text
    kubectl("create", "-f", "-", stdin=CLAIM.replace("team-a", "team-b"))
    kubectl("delete", "namespace", "team-b")
    assert server.list("resourceclaims", "team-b") == []


def test_a_refusal_reads_as_that_of_a_real_server(kubectl: Kubectl, server: APIServer) -> None:
    server.inject(Fault(fault="answer", kind="pods", code=403))
    text = kubectl("get", "pods", fails=True)
    assert 'pods is forbidden: User "dradash" cannot list resource "pods"' in text
    assert 'in API group "" in the namespace "default"' in text


# Every kind that is served, by a manifest of it: what kubectl makes, shows, changes, watches and removes.
MANIFESTS = {
    "pods": {"apiVersion": "v1", "kind": "Pod", **pod_using("verb", "gpu-1")},
    "nodes": {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "verb"}},
    "namespaces": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "verb"}},
    "events": {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "verb"},
        "involvedObject": {"kind": "Pod", "name": "train-0", "namespace": "team-a"},
        "reason": "Verb",
        "message": "seen",
        "type": "Normal",
    },
    "resourceclaims": {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaim", **claim("verb")},
    "resourceclasses": {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClass",
        "metadata": {"name": "verb"},
        "driverName": "verb.example.com",
    },
    "resourceclaimtemplates": {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "verb"},
        "spec": {"spec": {"resourceClassName": "gpu.example.com"}},
    },
    "podschedulingcontexts": {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "PodSchedulingContext",
        "metadata": {"name": "verb"},
        "spec": {"selectedNode": "node-0", "potentialNodes": ["node-0"]},
    },
}


@pytest.mark.parametrize("plural", MANIFESTS)
def test_every_kind_takes_every_verb(kubectl: Kubectl, server: APIServer, plural: str) -> None:
    manifest = json.loads(json.dumps(MANIFESTS[plural]))
    manifest["metadata"]["name"] = "verb"
    where = [] if plural in ("nodes", "namespaces", "resourceclasses") else ["-n", "team-a"]
    with kubectl.running("get", plural, *where, "-w", "--output-watch-events") as watched:
        until(lambda: bool(server.collection(plural).watchers), "kubectl watches")
        assert "created" in kubectl("apply", *where, "-f", "-", stdin=json.dumps(manifest))
        assert "unchanged" in kubectl("apply", *where, "-f", "-", stdin=json.dumps(manifest))
        assert "verb" in kubectl("get", plural, "verb", *where, "-o", "name")
        assert "verb" in kubectl("get", plural, *where).lower()
        if plural != "events":  # kubectl lists events, and describes other things by them
            assert re.search(r"Name:\s+verb", kubectl("describe", plural, "verb", *where))
        patch = '{"metadata":{"labels":{"patched":"yes"}}}'
        assert "patched" in kubectl("patch", plural, "verb", *where, "--type=merge", "-p", patch)
        assert "verb" in kubectl("get", plural, *where, "-l", "patched=yes").lower()
        assert "deleted" in kubectl("delete", plural, "verb", *where, "--wait=false")
        seen = ""
        while "DELETED" not in seen:
            line = watched.readline()
            assert line, seen
            seen += line if "verb" in line.lower() else ""
    assert "ADDED" in seen
    assert "MODIFIED" in seen
