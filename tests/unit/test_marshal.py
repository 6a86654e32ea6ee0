"""What the scheduler writes back is what Go's structs make of an object: empty fields with omitempty are left out."""

from __future__ import annotations

import copy

import pytest

from dradash.scheduling import marshal
from dradash.scheduling.effects import Effect
from dradash.scheduling.evaluate import evaluate
from tests import build, builddevices

EMPTY_META: build.Obj = {"labels": {}, "annotations": {}, "finalizers": [], "generateName": "", "generation": 0}


def effects(pod: build.Obj, *objects: build.Obj) -> list[Effect]:
    cluster = build.cluster(pod, *objects)
    verdict = evaluate(cluster.pods[build.key(pod)], cluster, 1).verdict
    return [e for step in verdict.steps for e in step.effects]


def test_a_deallocation_is_written_without_what_omitempty_drops() -> None:
    pod = build.pod("p", claims={"gpu": "k"})
    nodes = {"nodeSelectorTerms": [{"matchFields": [], "matchExpressions": [_in("zone", "a"), _exists("x")]}]}
    handles = [{"driverName": "gpu.example.com", "data": ""}]
    allocation = {"resourceHandles": handles, "availableOnNodes": nodes, "shareable": False}
    claim = build.claim("k", allocation=allocation, **EMPTY_META)
    claim["spec"]["parametersRef"] = {"apiGroup": "", "kind": "ConfigMap", "name": ""}
    claim["status"] |= {"driverName": "", "reservedFor": None, "deallocationRequested": False}
    [effect] = effects(pod, claim, build.resource_class("gpu"), build.node("node-0"))
    assert effect.body == {
        "apiVersion": build.DRA,
        "kind": "ResourceClaim",
        "metadata": build.meta("k", "default"),
        "spec": {
            "resourceClassName": "gpu",
            "allocationMode": "WaitForFirstConsumer",
            "parametersRef": {"kind": "ConfigMap", "name": ""},
        },
        "status": {
            "allocation": {
                "resourceHandles": [{"driverName": "gpu.example.com"}],
                "availableOnNodes": {
                    "nodeSelectorTerms": [{"matchExpressions": [_in("zone", "a"), {"key": "x", "operator": "Exists"}]}]
                },
            },
            "deallocationRequested": True,
        },
    }


def _in(key: str, value: str) -> build.Obj:
    return {"key": key, "operator": "In", "values": [value]}


def _exists(key: str) -> build.Obj:
    return {"key": key, "operator": "Exists", "values": []}


def test_an_empty_value_behind_a_pointer_stays() -> None:
    owner = build.owner(build.pod("p")) | {"controller": False}
    claim = build.claim("k", allocation={}, ownerReferences=[owner])
    del claim["status"]["driverName"]
    assert marshal.classic_claim(copy.deepcopy(claim)) == claim


def test_a_context_is_written_without_what_omitempty_drops() -> None:
    pod = build.pod("p", claims={"gpu": "k"})
    context = build.context(pod, potential=["node-0"], **EMPTY_META)
    context["spec"]["selectedNode"] = ""
    context["status"] = {"resourceClaims": [{"name": "gpu", "unsuitableNodes": []}]}
    [effect] = effects(pod, build.claim("k"), build.resource_class("gpu"), context, build.node("node-0"))
    assert effect.body["metadata"] == build.context(pod)["metadata"]
    assert effect.body["spec"] == {"potentialNodes": ["node-0"], "selectedNode": "node-0"}
    assert effect.body["status"] == {"resourceClaims": [{"name": "gpu"}]}


def test_a_claim_with_structured_parameters_is_written_without_what_omitempty_drops() -> None:
    pod = build.pod("p", claims={"gpu": "k"})
    exactly = builddevices.exactly() | {"selectors": [], "tolerations": [], "adminAccess": False, "capacity": {}}
    parameters = {"empty": "", "none": {}, "off": False}
    opaque = {"driver": "gpu.example.com", "parameters": parameters}
    spec = {
        "requests": [{"name": "gpu", "exactly": exactly, "firstAvailable": []}],
        "constraints": [],
        "config": [{"requests": [], "opaque": opaque}],
    }
    claim = builddevices.claim("k", spec=spec, status={"reservedFor": [], "devices": []}, **EMPTY_META)
    found = effects(
        pod,
        claim,
        builddevices.device_class("gpu"),
        builddevices.resource_slice(builddevices.device("gpu-0")),
        build.node("node-0"),
    )
    assert [(e.verb, e.subresource) for e in found] == [("update", ""), ("update", "status")]
    for effect in found:
        assert not {"labels", "annotations", "generateName", "generation"} & set(effect.body["metadata"])
        assert effect.body["spec"] == {
            "devices": {
                "requests": [
                    {"name": "gpu", "exactly": builddevices.exactly() | {"adminAccess": False, "capacity": {}}}
                ],
                "config": [{"opaque": opaque}],
            }
        }
    assert found[1].body["status"]["allocation"]["devices"]["config"] == [{"source": "FromClaim", "opaque": opaque}]
    assert "devices" not in found[1].body["status"]


@pytest.mark.parametrize("status", [None, {"reservedFor": None, "allocation": None, "devices": None}])
def test_a_claim_whose_status_is_spelled_out_as_null_is_allocated_like_any_other(status: build.Obj | None) -> None:
    claim = builddevices.claim("k", "default", builddevices.request()) | {"status": status}
    found = effects(
        build.pod("p", claims={"gpu": "k"}),
        claim | {"metadata": claim["metadata"] | {"finalizers": None}},
        builddevices.device_class("gpu"),
        builddevices.resource_slice(builddevices.device("gpu-0")),
        build.node("node-0"),
    )
    assert [r["name"] for r in found[-1].body["status"]["reservedFor"]] == ["p"]


def test_what_is_written_reads_as_before() -> None:
    claim = build.claim("k", allocation=build.allocation("node-0", data="x"), **EMPTY_META)
    assert build.struct(marshal.classic_claim(claim)) == build.struct(claim)
