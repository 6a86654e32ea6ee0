"""Objects of older versions read as those of v1."""

from __future__ import annotations

from typing import Any

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.deviceversions import to_v1
from dradash.kinds.registry import decode
from dradash.kinds.resourceslice import ResourceSlice

BETA = "resource.k8s.io/v1beta1"


def claim(version: str, request: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"devices": {"requests": [request]}},
    }


def test_a_flat_request_reads_as_an_exact_one() -> None:
    fields = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2, "adminAccess": True}
    old = decode(ResourceClaim, to_v1(claim(BETA, {"name": "r", **fields})))
    new = decode(ResourceClaim, claim("resource.k8s.io/v1", {"name": "r", "exactly": fields}))
    assert old == new
    assert new.spec.devices.requests[0].exactly is not None


def test_alternatives_are_the_same_in_all_versions() -> None:
    request = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
    assert to_v1(claim(BETA, request))["spec"] == claim(BETA, request)["spec"]


def test_the_fields_of_a_basic_device_are_its_own() -> None:
    basic = {"attributes": {"model": {"string": "a100"}}, "capacity": {"memory": {"value": "1Gi"}}}
    raw: dict[str, Any] = {
        "apiVersion": BETA,
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d", "pool": {"name": "p"}, "devices": [{"name": "gpu-0", "basic": basic}]},
    }
    device = decode(ResourceSlice, to_v1(raw)).spec.devices[0]
    assert device.attributes["model"].string_value == "a100"
    assert device.capacity["memory"].value == "1Gi"
    assert "basic" in raw["spec"]["devices"][0], "the object itself is left as it came"


def test_hostile_shapes_are_left_for_decoding_to_refuse() -> None:
    hostile: list[Any] = [None, [], {"devices": 3}, {"devices": {"requests": "x"}}, {"devices": [None, 1]}]
    for spec in hostile:
        for kind in ("ResourceClaim", "ResourceSlice", "ResourceClaimTemplate"):
            to_v1({"apiVersion": BETA, "kind": kind, "spec": spec})
