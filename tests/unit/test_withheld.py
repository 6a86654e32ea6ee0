"""What of a pod is not shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dradash.reader.differences import Differs, fields_of
from dradash.reader.withheld import without_secrets
from dradash.web.presenters.steps import raw_as_yaml

PLAIN = "hunter2"
CONTAINER = {
    "name": "main",
    "image": "app:1",
    "resources": {"claims": [{"name": "gpu"}]},
    "env": [{"name": "TOKEN", "value": PLAIN}],
    "command": ["run", f"--password={PLAIN}"],
    "args": [PLAIN],
    "livenessProbe": {"httpGet": {"httpHeaders": [{"name": "Authorization", "value": PLAIN}]}},
}
SHOWN = {name: CONTAINER[name] for name in ("name", "image", "resources")}


def pod(**spec: Any) -> dict[str, Any]:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": PLAIN, "vault.example.com/token": PLAIN}
    metadata = {"name": "train", "namespace": "ml", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_of_containers_only_what_scheduling_is_about_is_shown() -> None:
    held = {"schedulerName": "other", "volumes": [{"name": "data", "csi": {"volumeAttributes": {"key": PLAIN}}}]}
    shown = without_secrets(
        pod(containers=[CONTAINER], initContainers=[CONTAINER], ephemeralContainers=[CONTAINER], **held)
    )
    assert PLAIN not in json.dumps(shown)
    assert shown["spec"] == {
        "schedulerName": "other",
        "containers": [SHOWN],
        "initContainers": [SHOWN],
        "ephemeralContainers": [SHOWN],
    }
    assert shown["metadata"] == {"name": "train", "namespace": "ml"}


def test_what_a_container_logged_last_is_not_shown() -> None:
    ended = [{"name": "main", "state": {"terminated": {"message": PLAIN}}}]
    status = {"phase": "Pending", "message": PLAIN, "containerStatuses": ended, "conditions": [{"type": "Ready"}]}
    shown = without_secrets(pod() | {"status": status})
    assert shown["status"] == {"phase": "Pending", "conditions": [{"type": "Ready"}]}


def test_other_kinds_are_shown_whole() -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}, "spec": {"containers": [CONTAINER]}}
    assert without_secrets(node) == node


@pytest.mark.parametrize("containers", [PLAIN, {"main": PLAIN}, [PLAIN, CONTAINER], None])
def test_what_is_no_list_of_containers_gives_nothing_away(containers: Any) -> None:
    shown = without_secrets(pod(containers=containers))
    assert PLAIN not in json.dumps(shown)


@pytest.mark.parametrize("broken", [{"metadata": PLAIN}, {"spec": None}, {"metadata": {"annotations": [PLAIN]}}])
def test_a_malformed_pod_is_no_reason_to_fail(broken: dict[str, Any]) -> None:
    assert without_secrets({"kind": "Pod"} | broken)["kind"] == "Pod"


def raw(value: str) -> bytes:
    return json.dumps(pod(containers=[CONTAINER | {"env": [{"name": "TOKEN", "value": value}]}])).encode()


def test_a_comparison_tells_no_secret_of_a_pod_that_was_made_anew() -> None:
    assert fields_of(Differs("pods", "ml/train", "MODIFIED", raw("before"), raw(PLAIN))) is None


def test_the_yaml_of_a_pod_holds_no_secret() -> None:
    told = raw_as_yaml(raw(PLAIN))
    assert PLAIN not in told
    assert "image: app:1" in told
