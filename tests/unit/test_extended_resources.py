"""Which class stands behind an extended resource, and what a claim left over for them means."""

from __future__ import annotations

from typing import Any

import pytest

from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.registry import decode
from dradash.scheduling.structured.extended import class_by_resource
from dradash.scheduling.structured.vectors import answer
from tests import build, builddevices

RESOURCE = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/"


def mapping(*named: tuple[str, str]) -> dict[str, str]:
    """The mapping of classes of the same resource: (name, creation time)."""
    classes = {}
    for name, created in named:
        raw = builddevices.device_class(name, extendedResourceName=RESOURCE)
        raw["metadata"]["creationTimestamp"] = created
        classes[name] = decode(DeviceClass, raw)
    return class_by_resource(classes)


def test_the_newer_class_gets_the_resource_and_both_keep_their_own_names() -> None:
    found = mapping(("b", "2026-01-02T00:00:00Z"), ("a", "2026-01-01T00:00:00Z"))
    assert found == {RESOURCE: "b", f"{IMPLICIT}a": "a", f"{IMPLICIT}b": "b"}


def test_a_class_that_loses_to_one_before_it_gets_not_even_its_own_name() -> None:
    found = mapping(("b", "2026-01-01T00:00:00Z"), ("a", "2026-01-02T00:00:00Z"), ("c", "2026-01-03T00:00:00Z"))
    assert found == {RESOURCE: "c", f"{IMPLICIT}a": "a", f"{IMPLICIT}c": "c"}


def test_of_classes_of_one_second_the_first_by_name_wins_however_the_time_is_written() -> None:
    found = mapping(("b", "2026-01-01T01:00:00+01:00"), ("a", "2026-01-01T00:00:00Z"))
    assert found == {RESOURCE: "a", f"{IMPLICIT}a": "a"}


@pytest.mark.parametrize(
    ("requests", "code", "reasons"),
    [
        ([], "UnschedulableAndUnresolvable", ["cannot schedule extended resource claim"]),
        (None, "Success", None),
    ],
)
def test_a_left_over_claim_with_an_empty_list_of_requests_is_not_one_without(
    requests: list[Any] | None, code: str, reasons: list[str] | None
) -> None:
    container = {"name": "main", "resources": {"requests": {RESOURCE: "1"}}}
    pod = build.pod("worker", spec={"containers": [container]})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "worker", "uid": pod["metadata"]["uid"], "controller": True}
    claim = builddevices.claim(
        "left-over",
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
        ownerReferences=[owner],
    )
    claim["spec"] = {"devices": {"requests": requests}}
    case = {
        "op": "cycle",
        "pod": pod,
        "claims": [claim],
        "deviceClasses": [builddevices.device_class("gpu", extendedResourceName=RESOURCE)],
        "resourceSlices": [builddevices.resource_slice(builddevices.device("gpu-0"))],
        "nodes": [build.node("node-0")],
    }
    told = answer(case)["filter"]["node-0"]
    assert (told["code"], told.get("reasons")) == (code, reasons)
