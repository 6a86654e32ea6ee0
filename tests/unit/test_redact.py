"""Redaction: nothing private is left, and every verdict is the same."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dradash.informer.pseudonyms import Pseudonyms
from dradash.informer.recording import Row, read
from dradash.informer.redact import RULES, Redactor
from dradash.informer.vocabulary import VOCABULARY
from dradash.kinds.registry import KINDS, MalformedObject
from dradash.scheduling.replay import Replay

DATA = Path(__file__).parents[1] / "parity" / "data"
CLASSIC = DATA / "classic-1.30.jsonl"
STRUCTURED = DATA / "structured-1.36.jsonl"

SCHEDULING = Path(__file__).parents[2] / "dradash" / "scheduling"
SAYING = (
    "classic/plugin.py",
    "classic/claims.py",
    "classic/publish.py",
    "nodechecks.py",
    "nodeselector.py",
    "fiterror.py",
    "structured/allocation.py",
    "structured/allocator.py",
    "structured/binding.py",
    "structured/cel.py",
    "structured/celeval.py",
    "structured/celframe.py",
    "structured/cellists.py",
    "structured/celoperators.py",
    "structured/celstrings.py",
    "structured/celtime.py",
    "structured/celvalues.py",
    "structured/claims.py",
    "structured/claimwrites.py",
    "structured/devices.py",
    "structured/extended.py",
    "structured/plugin.py",
    "structured/pools.py",
    "structured/search.py",
    "structured/selection.py",
)


def redact(kind: str, obj: dict[str, Any], redactor: Redactor | None = None) -> Any:
    return json.loads((redactor or Redactor()).object(kind, json.dumps(obj).encode()))


def redacted_rows(path: Path = CLASSIC) -> list[Row]:
    redactor = Redactor()
    rows = []
    for row in read(path):
        if row.type == "LIST":
            items = [redact(row.kind, item, redactor) for item in row.object["items"]]
            rows.append(Row(row.t, row.kind, row.type, row.object | {"items": items}))
        else:
            rows.append(Row(row.t, row.kind, row.type, redact(row.kind, row.object, redactor)))
    return rows


def said(rows: list[Row]) -> list[tuple[float, bool | None, list[Any]]]:
    replay = Replay()
    told = [s for row in rows for s in replay.take(row.t, row.kind, row.type, row.object)] + list(replay.end())
    return [(s.at, s.agrees, sorted((c.count, c.ours, c.modelled) for c in s.clauses)) for s in told]


def test_every_kind_has_rules() -> None:
    assert RULES.keys() == KINDS.keys()


@pytest.mark.parametrize("path", [CLASSIC, STRUCTURED])
def test_a_redacted_recording_agrees_with_the_scheduler_as_the_original_does(path: Path) -> None:
    original, redacted = said(list(read(path))), said(redacted_rows(path))

    assert len(original) > 5
    assert redacted == original


def test_no_name_of_the_original_is_left() -> None:
    text = json.dumps([row.object for row in redacted_rows()])

    for private in ("train", "team-a", "node-0", "a100", "gpu", "zone-a", "registry", "example.com", "mover", "tmpl"):
        assert private not in text, text[max(0, text.index(private) - 200) : text.index(private) + 50]


def test_no_uid_of_the_original_is_left() -> None:
    uids = set(re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", CLASSIC.read_text()))
    text = json.dumps([row.object for row in redacted_rows()])

    assert len(uids) > 20
    assert not [uid for uid in uids if uid in text]


def test_references_still_match() -> None:
    redactor = Redactor()
    pod = redact(
        "pods",
        {
            "metadata": {"name": "train-0", "namespace": "team-a", "uid": "u-1"},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": "node-7", "pool": "fast"},
                "resourceClaims": [{"name": "gpu", "source": {"resourceClaimName": "claim-a"}}],
            },
        },
        redactor,
    )
    claim = redact(
        "resourceclaims",
        {
            "metadata": {"name": "claim-a", "namespace": "team-a"},
            "status": {
                "allocation": {"resourceHandles": [{"driverName": "d", "data": "secret"}]},
                "reservedFor": [{"resource": "pods", "name": "train-0", "uid": "u-1"}],
            },
        },
        redactor,
    )
    node = redact(
        "nodes",
        {"metadata": {"name": "node-7", "labels": {"kubernetes.io/hostname": "node-7", "pool": "fast"}}},
        redactor,
    )
    context = redact(
        "podschedulingcontexts",
        {"metadata": {"name": "train-0"}, "spec": {"selectedNode": "node-7", "potentialNodes": ["node-7"]}},
        redactor,
    )

    assert claim["metadata"]["name"] == pod["spec"]["resourceClaims"][0]["source"]["resourceClaimName"]
    assert claim["status"]["reservedFor"][0]["name"] == pod["metadata"]["name"] == context["metadata"]["name"]
    assert claim["status"]["reservedFor"][0]["uid"] == pod["metadata"]["uid"]
    assert node["metadata"]["labels"] == pod["spec"]["nodeSelector"]
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == node["metadata"]["name"]
    assert context["spec"]["potentialNodes"] == [node["metadata"]["name"]]
    assert "secret" not in json.dumps(claim)


def test_what_runs_in_a_pod_is_left_out() -> None:
    container = {
        "name": "c",
        "image": "registry.corp/secret",
        "env": [{"name": "A", "value": "secret"}],
        "command": ["secret"],
        "resources": {"requests": {"cpu": "100m", "corp.com/secret": "1"}},
    }
    pod = redact(
        "pods", {"spec": {"containers": [container], "volumes": [{"name": "v", "hostPath": {"path": "secret"}}]}}
    )

    assert "secret" not in json.dumps(pod)
    assert pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "100m"


def test_integers_stay_so_that_gt_and_lt_compare_them() -> None:
    requirement = {"key": "gpus", "operator": "Gt", "values": ["4", "-1", "x4"]}
    cls = redact("resourceclasses", {"suitableNodes": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}})

    assert cls["suitableNodes"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"][:2] == ["4", "-1"]


@pytest.mark.parametrize("bad", ["a b", "-a", "a" * 64, "ü", "a/b/c", "/x", "x/"])
def test_what_is_invalid_as_a_label_stays_invalid(bad: str) -> None:
    valid = re.compile(r"(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
    names = Pseudonyms()

    assert not valid.fullmatch(names.name("value", bad))
    key = names.key(bad)
    assert not all(valid.fullmatch(part) for part in key.split("/")) or key.count("/") > 1


def test_well_known_keys_stay_and_others_change() -> None:
    names = Pseudonyms()

    assert names.key("topology.kubernetes.io/zone") == "topology.kubernetes.io/zone"
    assert names.key("corp.com/team") == "domain-x1/key-x1"
    assert names.key("corp.com/pool") == "domain-x1/key-x2"


def test_annotations_keep_the_claims_name_and_lose_the_rest() -> None:
    claim = redact(
        "resourceclaims",
        {
            "metadata": {
                "name": "gpu",
                "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu", "note": "my secret"},
            }
        },
    )

    assert claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == claim["metadata"]["name"]
    assert "secret" not in json.dumps(claim)


@pytest.mark.parametrize(
    ("message", "redacted"),
    [
        ("0/6 nodes are available: 2 node(s) didn't match Pod's node affinity/selector, 4 Too many pods.", None),
        (
            "1 node(s) had untolerated taint {corp.com/team: ml}. preemption: 1 Preemption is not helpful.",
            "1 node(s) had untolerated taint {domain-x1/key-x1: value-x1}. preemption: 1 Preemption is not helpful.",
        ),
        ("resource class gpu.corp does not exist", "resource class word-x1 does not exist"),
        (
            'waiting for dynamic resource controller to create the resourceclaim "my-claim"',
            'waiting for dynamic resource controller to create the resourceclaim "name-x1"',
        ),
        ("pod team-a/train-0 on 10.0.0.7", "pod word-x1/word-x2 on 10.0.0.7"),
        ("Пароль hunter2", "?word-x1????? word-x2"),
    ],
)
def test_a_message_keeps_the_words_of_kubernetes_only(message: str, redacted: str | None) -> None:
    assert Pseudonyms().text(message) == (redacted or message)


def test_every_word_of_the_schedulers_messages_is_in_the_vocabulary() -> None:
    trees = [ast.parse((SCHEDULING / name).read_text()) for name in SAYING]
    documentation = {
        ast.get_docstring(node, clean=False)
        for tree in trees
        for node in ast.walk(tree)
        if hasattr(node, "body") and isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
    }
    texts = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value
        and ".k8s." not in node.value
    }
    words = {word for text in texts - documentation for word in re.findall(r"\b[A-Za-z][-A-Za-z.]*\b", text)}

    assert len(words) > 60
    assert words - VOCABULARY == set()


def test_an_event_names_its_object_as_the_object_is_named() -> None:
    redactor = Redactor()
    pod = redact("pods", {"metadata": {"name": "train-0", "namespace": "team-a"}}, redactor)
    event = redact(
        "events",
        {"message": "Successfully assigned team-a/train-0 to n1", "involvedObject": {"name": "train-0"}},
        redactor,
    )

    assert event["involvedObject"]["name"] == pod["metadata"]["name"]
    assert event["message"].startswith(
        f"Successfully assigned {pod['metadata']['namespace']}/{pod['metadata']['name']} "
    )


@given(st.lists(st.text(max_size=80), max_size=30))
def test_equal_stays_equal_and_different_stays_different(texts: list[str]) -> None:
    names = Pseudonyms()

    given = {text: names.name("value", text) for text in texts}

    assert all(names.name("other", text) == pseudonym for text, pseudonym in given.items())
    assert max(Counter(given.values()).values(), default=1) == 1


@pytest.mark.parametrize("raw", [b"{", b'{"metadata":"\xff"}', b'{"a":' * 5000])
def test_malformed_json_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedObject):
        Redactor().object("pods", raw)


def test_a_malformed_field_is_not_let_through() -> None:
    pod = redact("pods", {"metadata": "secret", "spec": {"nodeName": ["secret"], "containers": {"secret": 1}}})

    assert "secret" not in json.dumps(pod)


def test_a_kind_without_rules_is_refused() -> None:
    with pytest.raises(MalformedObject, match="secrets"):
        Redactor().object("secrets", b"{}")


# --- structured parameters -------------------------------------------------------------------------------------------


def test_no_name_of_the_structured_recording_is_left() -> None:
    text = json.dumps([row.object for row in redacted_rows(STRUCTURED)])

    for private in ("team-a", "node-3", "zone-a", "example.com", "greedy", "registry", "sharing"):
        assert private not in text, text[max(0, text.index(private) - 200) : text.index(private) + 50]


def device_slice(**attributes: Any) -> dict[str, Any]:
    device = {"name": "gpu-0", "attributes": attributes}
    pool = {"name": "node-7", "generation": 3, "resourceSliceCount": 1}
    return {"spec": {"driver": "gpu.corp.com", "pool": pool, "nodeName": "node-7", "devices": [device]}}


def test_driver_pool_and_device_are_named_alike_in_slice_claim_and_expression() -> None:
    redactor = Redactor()
    of_slice = redact("resourceslices", device_slice(), redactor)["spec"]
    result = {"request": "gpu/big", "driver": "gpu.corp.com", "pool": "node-7", "device": "gpu-0"}
    claim = redact(
        "resourceclaims",
        {
            "spec": {"devices": {"requests": [{"name": "gpu", "firstAvailable": [{"name": "big"}]}]}},
            "status": {"allocation": {"devices": {"results": [result]}}, "devices": [{**result, "data": {"a": "x"}}]},
        },
        redactor,
    )
    selector = {"cel": {"expression": "device.driver == 'gpu.corp.com' // corp only"}}
    cls = redact("deviceclasses", {"spec": {"selectors": [selector], "extendedResourceName": "corp.com/gpu"}}, redactor)
    pod = redact(
        "pods",
        {"spec": {"containers": [{"resources": {"requests": {"corp.com/gpu": "1"}}}]}},
        redactor,
    )

    chosen = claim["status"]["allocation"]["devices"]["results"][0]
    assert chosen["driver"] == of_slice["driver"] != "gpu.corp.com"
    assert chosen["pool"] == of_slice["pool"]["name"] == of_slice["nodeName"]
    assert chosen["device"] == of_slice["devices"][0]["name"]
    request = claim["spec"]["devices"]["requests"][0]
    assert chosen["request"] == f"{request['name']}/{request['firstAvailable'][0]['name']}"
    assert claim["status"]["devices"][0].keys() == {"driver", "pool", "device"}
    assert cls["spec"]["selectors"][0]["cel"]["expression"] == f"device.driver == '{of_slice['driver']}' "
    assert list(pod["spec"]["containers"][0]["resources"]["requests"]) == [cls["spec"]["extendedResourceName"]]


@pytest.mark.parametrize(
    "value",
    [
        "GPU-6a5ffd4e-6d6c-4c1e-9f6e-0123456789ab",
        "0000:3b:00.0",
        "04:3f:72:aa:bb:cc",
        "10.1.2.3",
        "fe80::1",
        "1320921063542",  # a whole number stays: selectors may compare it
        "PCB7210X4471",
        "rack7.corp.com",
    ],
)
def test_what_identifies_a_device_is_replaced_on_both_sides_of_a_comparison(value: str) -> None:
    redactor = Redactor()
    found = redact("resourceslices", device_slice(id={"string": value}), redactor)
    selector = {"cel": {"expression": f'device.attributes["gpu.corp.com"].id == "{value}"'}}
    claim = {"spec": {"devices": {"requests": [{"exactly": {"selectors": [selector]}}]}}}
    asked = redact("resourceclaims", claim, redactor)["spec"]["devices"]["requests"][0]["exactly"]["selectors"]

    became = found["spec"]["devices"][0]["attributes"]["id"]["string"]
    assert (became == value) is value.isdigit()
    assert asked[0]["cel"]["expression"].endswith(f'id == "{became}"')


@pytest.mark.parametrize("value", ["h100", "NVIDIA A100-SXM4-80GB", "535.104.05", "1.2.3-rc.beta", "107374182400Ki"])
def test_models_versions_and_amounts_stay_as_selectors_ask_for_them(value: str) -> None:
    assert Pseudonyms().of_device(value) == value


def test_an_attribute_keeps_its_name_and_loses_its_domain() -> None:
    names = Pseudonyms()
    assert names.attribute("gpu.corp.com/numa") == f"{names.of_device('gpu.corp.com')}/numa" != "gpu.corp.com/numa"
    assert names.attribute("resource.kubernetes.io/pcieRoot") == "resource.kubernetes.io/pcieRoot"


def test_a_class_named_in_a_resource_is_named_as_the_class() -> None:
    redactor = Redactor()
    resources = {"requests": {"deviceclass.resource.kubernetes.io/corp-gpu": "1"}}
    pod = redact("pods", {"spec": {"containers": [{"resources": resources}]}}, redactor)
    cls = redact("deviceclasses", {"metadata": {"name": "corp-gpu"}}, redactor)
    (resource,) = pod["spec"]["containers"][0]["resources"]["requests"]
    assert resource == f"deviceclass.resource.kubernetes.io/{cls['metadata']['name']}"


def test_a_v1beta1_request_and_device_are_redacted_as_the_later_ones_are() -> None:
    request = {"name": "gpu", "deviceClassName": "corp-gpu", "count": 2, "allocationMode": "ExactCount"}
    claim = redact("resourceclaims", {"spec": {"devices": {"requests": [request]}}})
    assert claim["spec"]["devices"]["requests"][0]["count"] == 2
    assert "corp" not in json.dumps(claim)
    old = {"spec": {"devices": [{"name": "gpu-0", "basic": {"attributes": {"id": {"string": "10.1.2.3"}}}}]}}
    device = redact("resourceslices", old)["spec"]["devices"][0]
    assert device["basic"]["attributes"]["id"]["string"] == "id-x1"
