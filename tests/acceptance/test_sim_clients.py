"""The real Python client, and plain HTTP, against the simulated API server; and `manage.py sim` as a process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from kubernetes import client, config
from kubernetes.watch import Watch

from dradash.sim.apiserver import APIServer
from dradash.sim.http import Application
from dradash.sim.listener import Listener, PortTaken
from tests.acceptance.processes import ROOT, is_free, until
from tests.acceptance.simcluster import TOKEN, claim, populated, served
from tests.patience import PATIENCE

# The client types its API, but not how it reads a kubeconfig.
new_client: Any = config.new_client_from_config

GROUP = ("resource.k8s.io", "v1alpha2")


@pytest.fixture
def server() -> APIServer:
    return populated()


@pytest.fixture
def listener(server: APIServer) -> Iterator[Listener]:
    with Listener(Application(server, TOKEN)) as listener:
        server.faults.on_unreachable = listener.go_away
        yield listener


@pytest.fixture
def api(server: APIServer, tmp_path: Path) -> Iterator[client.ApiClient]:
    with served(server, tmp_path) as path, new_client(str(path)) as api:
        yield api
        api.rest_client.pool_manager.clear()


def request(
    listener: Listener, method: str, path: str, body: str = "", token: str | None = TOKEN, **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """Status, decoded body and headers of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
    sent = {"Authorization": f"Bearer {token}"} if token is not None else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body or None, sent)
        answer = connection.getresponse()
        raw = answer.read()
        return answer.status, json.loads(raw) if raw[:1] in b"{[" else raw, dict(answer.getheaders())
    finally:
        connection.close()


# The Python client


def test_core_objects_are_typed_for_the_python_client(api: client.ApiClient) -> None:
    core: Any = client.CoreV1Api(api)
    (pod,) = core.list_namespaced_pod("team-a", label_selector="app=train").items
    assert (pod.metadata.name, pod.status.phase, pod.status.qos_class) == ("train-0", "Pending", "BestEffort")
    assert core.read_node("node-0").metadata.labels == {"accelerator": "a100"}
    assert core.delete_namespaced_pod("train-0", "team-a").metadata.name == "train-0"
    with pytest.raises(client.ApiException) as caught:
        core.read_namespaced_pod("train-0", "team-a")
    assert json.loads(caught.value.body or "")["message"] == 'pods "train-0" not found'


def test_a_pod_is_bound_by_the_python_client(api: client.ApiClient, server: APIServer) -> None:
    target = client.V1ObjectReference(kind="Node", name="node-0")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="train-0"), target=target)
    core: Any = client.CoreV1Api(api)
    # Not decoded: the answer is a Status, and the client would expect a Binding.
    core.create_namespaced_pod_binding("train-0", "team-a", binding, _preload_content=False).close()
    pod = server.get("pods", "train-0", "team-a")
    assert pod["spec"]["nodeName"] == "node-0"
    assert [(c["type"], c["status"]) for c in pod["status"]["conditions"]] == [("PodScheduled", "True")]
    with pytest.raises(client.ApiException) as caught:
        core.create_namespaced_pod_binding("train-0", "team-a", binding, _preload_content=False)
    assert caught.value.status == 409
    assert 'pod train-0 is already assigned to node "node-0"' in json.loads(caught.value.body or "")["message"]


def test_claims_are_custom_objects_for_the_python_client(api: client.ApiClient) -> None:
    custom: Any = client.CustomObjectsApi(api)
    where = (*GROUP, "team-a", "resourceclaims")
    made = custom.create_namespaced_custom_object(*where, {**claim("c"), "kind": "ResourceClaim"})
    status = {"driverName": "d.example.com", "allocation": {"shareable": True}}
    patched = custom.patch_namespaced_custom_object_status(*where, "c", {"status": status})
    assert patched["status"] == status
    made["metadata"]["labels"] = {"a": "b"}
    with pytest.raises(client.ApiException) as caught:
        custom.replace_namespaced_custom_object(*where, "c", made)
    assert (caught.value.status, json.loads(caught.value.body or "")["reason"]) == (409, "Conflict")
    page = custom.list_namespaced_custom_object(*where, limit=1)
    assert [item["metadata"]["name"] for item in page["items"]] == ["c"]
    rest = custom.list_namespaced_custom_object(*where, limit=1, _continue=page["metadata"]["continue"])
    assert [item["metadata"]["name"] for item in rest["items"]] == ["gpu-1"]
    assert custom.delete_namespaced_custom_object(*where, "c")["metadata"]["uid"] == made["metadata"]["uid"]


def test_the_python_client_watches(api: client.ApiClient, server: APIServer) -> None:
    core: Any = client.CoreV1Api(api)
    version = core.list_namespace().metadata.resource_version
    server.create("namespaces", {"metadata": {"name": "new"}})
    server.delete("namespaces", "new")
    follow: Any = Watch()  # type: ignore[no-untyped-call]  # the client's own code is partly typed
    stream = follow.stream(core.list_namespace, resource_version=version, timeout_seconds=1)
    seen = [(event["type"], event["object"].metadata.name) for event in stream]
    assert seen == [("ADDED", "new"), ("MODIFIED", "new"), ("DELETED", "new")]


def test_groups_and_versions_are_discovered(api: client.ApiClient) -> None:
    apis: Any = client.ApisApi(api)
    version: Any = client.VersionApi(api)
    (group,) = apis.get_api_versions().groups
    assert (group.name, group.preferred_version.group_version) == ("resource.k8s.io", "resource.k8s.io/v1alpha2")
    assert version.get_code().minor == "30"


# Plain HTTP


@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1/pods", "/sim/faults", "/openapi/v3", "/nothing"])
def test_without_the_token_nothing_is_shown(listener: Listener, path: str) -> None:
    for token in (None, "wrong", ""):
        code, body, _ = request(listener, "GET", path, token=token)
        assert (code, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")
    code, body, _ = request(listener, "GET", f"/{TOKEN}{path}", token=None)
    assert code == (404 if path == "/nothing" else 200)


def test_health_and_version_need_no_token(listener: Listener) -> None:
    assert request(listener, "GET", "/readyz", token=None)[:2] == (200, b"ok")
    assert request(listener, "GET", "/version", token=None)[0] == 200


def test_without_a_token_browsers_and_other_names_are_kept_out(server: APIServer) -> None:
    with Listener(Application(server)) as listener:
        assert request(listener, "GET", "/api/v1/pods", token=None)[0] == 200
        assert request(listener, "GET", "/api/v1/pods", token=None, Origin="http://evil.example")[0] == 401
        assert request(listener, "GET", "/api/v1/pods", token=None, Host="evil.example")[0] == 401


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        ("{", "application/json", 400),
        ("a: [", "application/yaml", 400),
        ("[1]", "application/json", 400),
        ('{"metadata": 3}', "application/json", 400),
        ('{"metadata": {"name": 3}}', "application/json", 400),
        ('{"metadata": {"name": "x"}, "spec": "no"}', "application/json", 400),
        ("[" * 50_000, "application/json", 400),
        ("a: &a [x]\nb: *a", "application/yaml", 400),
        ("k8s", "application/vnd.kubernetes.protobuf", 415),
        ("<x/>", "text/xml", 415),
    ],
)
def test_bodies_that_cannot_be_read_are_refused(
    listener: Listener, server: APIServer, body: str, content_type: str, code: int
) -> None:
    before = server.revision
    path = "/apis/resource.k8s.io/v1alpha2/namespaces/team-a/resourceclaims"
    found, status, _ = request(listener, "POST", path, body, Content_Type=content_type)
    assert (found, status["kind"], status["status"], status["code"]) == (code, "Status", "Failure", code)
    assert server.revision == before


def test_a_body_that_is_too_large_is_refused(listener: Listener) -> None:
    body = json.dumps({"metadata": {"name": "x", "annotations": {"a": "x" * (3 * 1024 * 1024)}}})
    assert request(listener, "POST", "/api/v1/namespaces", body)[0] == 413


def test_paths_and_methods_that_are_not_served(listener: Listener) -> None:
    for path in ("/api/v1/secrets", "/apis/apps/v1/deployments", "/api/v1/nodes/x/y/z", "/api/v1/pods/x", "/api/v2"):
        code, body, _ = request(listener, "GET", path)
        assert (code, body["message"]) == (404, "the server could not find the requested resource")
    for method, path in (("PUT", "/api/v1/pods"), ("POST", "/api/v1/nodes/x"), ("OPTIONS", "/api/v1/pods")):
        assert request(listener, method, path)[0] == 405


def test_initial_events_of_a_watch_are_refused_as_by_an_older_server(listener: Listener) -> None:
    path = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    code, body, _ = request(listener, "GET", path)
    assert (code, body["reason"]) == (422, "Invalid")


def test_faults_are_set_and_shown_over_http(listener: Listener, server: APIServer) -> None:
    fault = {"fault": "answer", "kind": "pods", "code": 429, "count": 2, "retryAfter": 7}
    code, body, _ = request(listener, "POST", "/sim/faults", json.dumps(fault))
    assert (code, body) == (200, {"active": [fault]})
    code, body, headers = request(listener, "GET", "/api/v1/pods")
    assert (code, headers["retry-after"], body["details"]) == (429, "7", {"retryAfterSeconds": 7})
    assert request(listener, "GET", "/sim/faults")[1]["active"][0].get("count", 1) == 1
    assert request(listener, "POST", "/sim/faults", '{"fault": "clear"}')[1] == {"active": []}
    assert request(listener, "GET", "/api/v1/pods")[0] == 200
    for wrong in ('{"fault": "explode"}', '{"fault": "answer", "code": 200}', '{"fault": "compact", "kind": "x"}', "["):
        assert request(listener, "POST", "/sim/faults", wrong)[0] == 400


def test_an_outage_breaks_watches_and_ends(listener: Listener, server: APIServer) -> None:
    port = listener.port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/api/v1/pods?watch=true", headers={"Authorization": f"Bearer {TOKEN}"})
    stream = connection.getresponse()
    assert json.loads(stream.readline())["type"] == "ADDED"
    assert request(listener, "POST", "/sim/faults", '{"fault": "unreachable", "seconds": 0.5}')[0] == 200
    with pytest.raises((http.client.HTTPException, OSError)):
        stream.read()
    stream.close()
    connection.close()
    until(lambda: is_free(port), "nothing listens")
    assert listener.returned.wait(PATIENCE)
    assert listener.port == port
    assert request(listener, "GET", "/api/v1/pods")[0] == 200


def test_a_taken_port_is_said_in_one_line(server: APIServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"cannot listen on 127.0.0.1:{port}: Address already in use"):
            Listener(Application(server), port=port).start()


def test_many_watches_get_every_event_at_once(listener: Listener, server: APIServer) -> None:
    watches, events = 20, 500
    counts = [0] * watches
    started = threading.Barrier(watches + 1)

    def follow(i: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=PATIENCE)
        path = f"/apis/resource.k8s.io/v1alpha2/resourceclaims?watch=true&resourceVersion={server.revision}"
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        stream = connection.getresponse()
        started.wait()
        for _ in range(events):
            counts[i] += b'"type":"ADDED"' in stream.readline()
        stream.close()
        connection.close()

    threads = [threading.Thread(target=follow, args=(i,)) for i in range(watches)]
    for thread in threads:
        thread.start()
    started.wait()
    for i in range(events):
        server.create("resourceclaims", claim(f"many-{i}"), "team-a")
    for thread in threads:
        thread.join(PATIENCE)
    assert counts == [events] * watches
    until(lambda: not server.collection("resourceclaims").watchers, "closed watches are forgotten")


# The process


def test_the_sim_command_serves_a_cluster_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    command = [sys.executable, "manage.py", "sim", "--port", "0", "--kubeconfig", str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        assert "simulated cluster on 127.0.0.1:" in process.stdout.readline()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        server_url = yaml.safe_load(path.read_text())["clusters"][0]["cluster"]["server"]
        with new_client(str(path)) as api:
            core: Any = client.CoreV1Api(api)
            names = [n.metadata.name for n in core.list_namespace().items]
            api.rest_client.pool_manager.clear()
        assert "default" in names
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert not path.exists()
    assert is_free(urlsplit(server_url).port or 0)
