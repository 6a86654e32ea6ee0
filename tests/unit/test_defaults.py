"""What the API server fills in of a manifest, and that an object which it has printed stays as it is."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dradash.kinds.defaults import with_defaults
from dradash.offline.documents import read
from dradash.offline.dump import Dump
from dradash.offline.explain import Explainer, Explanation
from tests import build
from tests import builddevices as devices

Obj = dict[str, Any]
DATA = Path(__file__).parents[1] / "parity" / "data"
ONE = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}


def claim(*requests: Obj, version: str = "v1") -> Obj:
    made = devices.claim("c", "ml")
    return made | {"apiVersion": f"resource.k8s.io/{version}", "spec": {"devices": {"requests": list(requests)}}}


def requests(obj: Obj) -> list[Obj]:
    found: list[Obj] = with_defaults(obj)["spec"]["devices"]["requests"]
    return found


def explained(*objects: Obj) -> Explanation:
    made = Dump()
    made.take(read(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}).encode(), "x"), "x")
    found = Explainer(made).pod("ml/train")
    assert found is not None
    return found


# --- structured parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
@pytest.mark.parametrize(
    ("asked", "filled"),
    [
        ({}, {"allocationMode": "ExactCount", "count": 1}),
        ({"count": 3}, {"allocationMode": "ExactCount", "count": 3}),
        ({"count": 0, "allocationMode": ""}, {"allocationMode": "ExactCount", "count": 1}),
        ({"count": None, "allocationMode": None}, {"allocationMode": "ExactCount", "count": 1}),
        ({"allocationMode": "All"}, {"allocationMode": "All"}),
        ({"allocationMode": "Newer"}, {"allocationMode": "Newer"}),
        ({"count": False}, {"allocationMode": "ExactCount", "count": False}),
    ],
)
def test_mode_and_count_of_a_request_and_of_its_alternatives_are_filled_in(
    version: str, asked: Obj, filled: Obj
) -> None:
    named = {"deviceClassName": "gpu"}
    given = claim(
        {"name": "a", "exactly": named | asked},
        {"name": "b", "firstAvailable": [{"name": "x", **named, **asked}, {"name": "y", **ONE}]},
        version=version,
    )
    assert requests(given) == [
        {"name": "a", "exactly": named | filled},
        {"name": "b", "firstAvailable": [{"name": "x", **named, **filled}, {"name": "y", **ONE}]},
    ]


def test_a_v1beta1_request_has_its_mode_and_count_beside_its_name_unless_it_has_alternatives() -> None:
    given = claim(
        {"name": "a", "deviceClassName": "gpu"},
        {"name": "b", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]},
        version="v1beta1",
    )
    assert requests(given) == [{"name": "a", **ONE}, {"name": "b", "firstAvailable": [{"name": "x", **ONE}]}]


def test_a_toleration_compares_if_it_does_not_say_how() -> None:
    given, filled = {"key": "broken"}, {"key": "broken", "operator": "Equal"}
    exists = {"key": "broken", "operator": "Exists"}
    of_v1 = claim({"name": "a", "exactly": {**ONE, "tolerations": [given, exists]}})
    assert requests(of_v1)[0]["exactly"]["tolerations"] == [filled, exists]
    of_v1beta1 = claim({"name": "a", **ONE, "tolerations": [given]}, version="v1beta1")
    assert requests(of_v1beta1)[0]["tolerations"] == [filled]
    allocated = of_v1 | {"status": {"allocation": {"devices": {"results": [{"tolerations": [given]}]}}}}
    assert with_defaults(allocated)["status"]["allocation"]["devices"]["results"] == [{"tolerations": [filled]}]


def test_templates_are_filled_in_as_claims_are() -> None:
    spec = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu"}}]}}
    template = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "spec": {"spec": spec}}
    filled = with_defaults(template)["spec"]["spec"]["devices"]["requests"]
    assert filled == [{"name": "a", "exactly": ONE}]
    classic = {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaimTemplate", "spec": {"spec": {}}}
    assert with_defaults(classic)["spec"]["spec"] == {"allocationMode": "WaitForFirstConsumer"}


def test_a_classic_claim_waits_for_its_first_consumer() -> None:
    given = build.claim("c", "ml")
    del given["spec"]["allocationMode"]
    assert with_defaults(given)["spec"]["allocationMode"] == "WaitForFirstConsumer"
    given["spec"]["allocationMode"] = "Immediate"
    assert with_defaults(given) == given


# --- core ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("resources", "asked"),
    [
        ({"limits": {"example.com/gpu": 1}}, {"example.com/gpu": 1}),
        ({"limits": {"a/b": "2", "cpu": "2"}, "requests": {"cpu": "1"}}, {"a/b": "2", "cpu": "1"}),
        ({"limits": {"a/b": 1}, "requests": None}, {"a/b": 1}),
        ({"limits": {}, "requests": {"cpu": 1}}, {"cpu": 1}),
    ],
)
def test_a_container_requests_what_it_is_limited_to(field: str, resources: Obj, asked: Obj) -> None:
    given = {"apiVersion": "v1", "kind": "Pod", "spec": {field: [{"name": "c", "resources": resources}]}}
    assert with_defaults(given)["spec"][field][0]["resources"]["requests"] == asked


def test_a_node_without_allocatable_offers_its_capacity() -> None:
    given = {"apiVersion": "v1", "kind": "Node", "status": {"capacity": {"cpu": "4"}}}
    assert with_defaults(given)["status"] == {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}
    given["status"] = {"capacity": {"cpu": "4"}, "allocatable": {}}
    assert with_defaults(given) == given


# --- what has been through an API server -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["structured-1.36.jsonl", "classic-1.30.jsonl"])
def test_what_an_api_server_printed_stays_as_it_is(name: str) -> None:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["type"] in ("ADDED", "MODIFIED", "DELETED")]
    objects = [row["object"] for row in rows]
    kinds = {obj.get("kind") for obj in objects}
    assert {"Pod", "ResourceClaim", "ResourceClaimTemplate"} <= kinds
    assert [with_defaults(obj) for obj in objects] == objects


def test_filling_in_touches_nothing_and_done_twice_it_is_as_once() -> None:
    given = claim({"name": "a", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "x"}]}})
    before = copy.deepcopy(given)
    once = with_defaults(given)
    assert given == before != once
    assert with_defaults(once) == once


@pytest.mark.parametrize(
    "obj",
    [
        {"kind": "Pod"},
        {"apiVersion": "v1", "kind": "Pod", "spec": 7},
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": {"a": 1}}},
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [7, {"resources": {"limits": 7}}]}},
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"resources": {"limits": {}, "requests": 7}}]}},
        {"apiVersion": "v1", "kind": "Node", "status": []},
        {"apiVersion": ["v1"], "kind": ["Pod"]},
        {"apiVersion": ["resource.k8s.io/v1"], "kind": "ResourceClaim", "spec": {}},
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {"devices": {"requests": [None, "x"]}}},
        {"apiVersion": "resource.k8s.io/v9", "kind": "ResourceClaim", "spec": {}},
    ],
)
def test_what_is_of_a_wrong_type_is_left_for_the_reader_to_refuse(obj: Obj) -> None:
    assert with_defaults(obj) == obj


# --- the explanation -------------------------------------------------------------------------------------------------


def cluster(*more: Obj) -> tuple[Obj, ...]:
    gpus = devices.resource_slice(devices.device("gpu-0"), devices.device("gpu-1"))
    return (build.node("node-0"), devices.device_class(), gpus, *more)


@pytest.mark.parametrize(
    ("version", "asked"),
    [
        ("v1", {"exactly": {"deviceClassName": "gpu"}}),
        ("v1", {"firstAvailable": [{"name": "x", "deviceClassName": "gpu", "count": 2}]}),
        ("v1beta1", {"deviceClassName": "gpu"}),
    ],
)
def test_a_claim_as_people_write_it_is_judged_as_the_api_server_would_keep_it(version: str, asked: Obj) -> None:
    found = explained(
        *cluster(build.pod("train", "ml", claims={"gpu": "c"}), claim({"name": "r", **asked}, version=version))
    )
    assert found.outcome == "Schedulable"
    assert found.devices is not None
    assert found.devices.requests[0].needed == asked.get("firstAvailable", [{"count": 1}])[0]["count"]


def test_an_extended_resource_that_only_the_limits_name_is_asked_for() -> None:
    pod = build.pod("train", "ml")
    pod["spec"]["containers"] = [{"name": "c", "resources": {"limits": {"example.com/gpu": 3}}}]
    gpus = devices.resource_slice(devices.device("gpu-0"), devices.device("gpu-1"))
    by_name = devices.device_class(extendedResourceName="example.com/gpu")
    found = explained(build.node("node-0"), by_name, gpus, pod)
    assert found.outcome == "Unschedulable"
    assert found.devices is not None
    assert found.devices.requests[0].needed == 3
