"""/go and /api/v1/lookup: labels of devices, pools, slices, device classes, drivers, and of dradash's own metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client, override_settings

from dradash.reader import current
from dradash.reader.moment import show
from tests import build
from tests import builddevices as make
from tests.scene import Scene

DRIVER = "gpu.example.com"
GONE = make.resource_slice(make.device("old-0"), name="old", pool="old")
POD = build.pod("train", "ml", claims={"gpu": "one"}, node="node-0")


@pytest.fixture(autouse=True)
def scene() -> Iterator[Scene]:
    made = Scene(
        *build.nodes(2),
        build.namespace("ml"),
        make.device_class("gpu", f'device.driver == "{DRIVER}"'),
        make.resource_slice(make.device("gpu-0"), make.device("gpu-1"), node="node-0", name="local-0"),
        make.resource_slice(make.device("gpu-0"), node="node-1", name="local-1"),
        make.resource_slice(make.device("port-7"), pool="rack/a", name="rack", allNodes=True),
        GONE,
        POD,
        make.claim("one", "ml", devices=[make.result("gpu-0")], reserved_for=[POD]),
    )
    made.look()
    current.use(made.web)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        yield made
    current.use(None)


def go(**params: str) -> str:
    response = Client().get("/go", params)
    assert response.status_code == 302, response.content.decode()[-1500:]
    return response.headers["Location"]


def lookup(**params: str) -> list[dict[str, Any]]:
    response = Client().get("/api/v1/lookup", params)
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = response.json()["items"]
    return found


DEVICE = f"/devices/{DRIVER}/node-0/gpu-0"


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"driver": DRIVER, "pool": "node-0", "device": "gpu-0"}, DEVICE),
        # dcgm-exporter: `device` is the kernel's, and a pod that is not the device's own comes first
        (
            {
                "device": "nvidia0",
                "dra_driver_name": DRIVER,
                "dra_pool_name": "node-0",
                "dra_device_name": "gpu-0",
                "dra_claim_name": "unheard-of",
                "dra_claim_namespace": "ml",
            },
            DEVICE,
        ),
        ({"dra_claim_name": "one", "dra_claim_namespace": "ml", "dra_device_name": "gpu-0"}, "/ns/ml/claims/one"),
        ({"namespace": "ml", "pod": "train", "dra_device_name": "gpu-0"}, "/ns/ml/pods/train"),
        ({"device": "gpu-1"}, f"/devices/{DRIVER}/node-0/gpu-1"),
        ({"device": "gpu-0", "node": "node-1"}, f"/devices/{DRIVER}/node-1/gpu-0"),
        ({"device": "gpu-0", "node_name": "node-1"}, f"/devices/{DRIVER}/node-1/gpu-0"),
        ({"device_name": "port-7"}, f"/devices/{DRIVER}/rack/a/port-7"),
        ({"device": "gpu-0", "driver": DRIVER}, f"/drivers/{DRIVER}"),  # two have this name
        ({"device": "eth0", "node": "node-1"}, "/nodes/node-1"),
        ({"pool": "rack/a"}, f"/pools/{DRIVER}/rack/a"),
        ({"driver": DRIVER, "pool_name": "node-0"}, f"/pools/{DRIVER}/node-0"),
        # kube-state-metrics
        ({"resourceslice": "rack", "driver": DRIVER, "pool_name": "rack/a", "node_name": ""}, "/slices/rack"),
        ({"deviceclass": "gpu"}, "/deviceclasses/gpu"),
        ({"device_class": "gpu"}, "/deviceclasses/gpu"),
        ({"class": "gpu"}, "/deviceclasses/gpu"),
        ({"namespace": "ml", "resourceclaim_name": "one"}, "/ns/ml/claims/one"),
        # the kubelet
        ({"driver_name": DRIVER}, f"/drivers/{DRIVER}"),
        ({"driver_name": "<any>"}, "/drivers"),
        # dradash's own
        ({"acts_next": "claim controller"}, "/pods?who=claim+controller"),
        ({"acts_next": "admin", "namespace": "ml"}, "/pods?ns=ml&who=admin"),
        ({"acts_next": "admin", "namespace": "monitoring"}, "/pods?who=admin"),
        ({"outcome": "Unschedulable", "reason": "ClaimInUse"}, "/pods?outcome=Unschedulable&reason=ClaimInUse"),
        ({"reason": "Evicted", "node": "node-1"}, "/nodes/node-1"),
        ({"state": "Deleting", "class": "gpu"}, "/claims?state=Deleting&class=gpu"),
        ({"code": "driver-silent"}, "/doctor?code=driver-silent"),
        ({"kind": "resourceslices"}, "/about"),
        ({"page": "about", "node": "node-1"}, "/about"),
        ({"page": "negotiations", "driver": DRIVER}, f"/negotiations?driver={DRIVER}"),
        ({"page": "devices", "driver": DRIVER, "node": "node-0"}, f"/devices?driver={DRIVER}&node=node-0"),
        ({"page": "nothing", "driver": DRIVER}, f"/drivers/{DRIVER}"),
    ],
    ids=str,
)
def test_labels_lead_to_their_page_and_both_addresses_answer(params: dict[str, str], path: str) -> None:
    assert go(**params) == path
    assert Client().get(path).status_code == 200
    first = lookup(**params)[0]
    assert first["page"] == path
    assert Client().get(first["url"]).status_code == 200


def test_a_device_that_is_not_published_any_more_is_found_at_the_alerts_time(scene: Scene) -> None:
    then = show(scene.now)
    scene.delete(GONE)
    scene.look()
    labels = {"driver": DRIVER, "pool": "old", "device": "old-0"}
    address = go(**labels, at=then)
    assert address == f"/devices/{DRIVER}/old/old-0?at={quote(then, safe='')}"
    assert Client().get(address).status_code == 200
    assert lookup(**labels, at=then)[0]["page"] == address
    assert go(**labels) == f"/devices/{DRIVER}/old/old-0"
    assert go(pool="old", at=then) == f"/pools/{DRIVER}/old?at={quote(then, safe='')}"


def test_a_device_that_was_not_published_yet_is_shown_as_it_is_now(scene: Scene) -> None:
    then = show(scene.now)
    scene.put(make.resource_slice(make.device("new-0"), name="new", pool="new"))
    scene.look()
    address = go(device="new-0", at=then)
    assert address == f"/devices/{DRIVER}/new/new-0?asked={quote(then, safe='')}"
    assert "this page shows now" in Client().get(address).content.decode()


def test_dradash_itself_has_a_past_too(scene: Scene) -> None:
    (found,) = lookup(page="about", at=show(scene.now))
    at = quote(show(scene.now), safe="")
    assert (found["kind"], found["key"]) == ("health", "")
    assert (found["url"], found["page"]) == (f"/api/v1/health?at={at}", f"/about?at={at}")
    assert Client().get(found["url"]).status_code == 200


@pytest.mark.parametrize(
    ("labels", "path"),
    [
        ({"driver": DRIVER, "pool": "old", "device": "old-0", "node": "node-0"}, f"/devices/{DRIVER}/old/old-0"),
        ({"driver": DRIVER, "pool": "old", "node": "node-0"}, f"/pools/{DRIVER}/old"),
    ],
)
def test_what_no_slice_publishes_any_more_is_found_without_a_moment_too(
    scene: Scene, labels: dict[str, str], path: str
) -> None:
    then = show(scene.now)
    scene.now += 100
    scene.delete(GONE)
    scene.look()
    assert go(**labels) == path
    for at in ({}, {"at": then}):
        found = lookup(**labels, **at)[0]
        assert (found["gone"], found["page"].partition("?")[0]) == (show(scene.now), path)
        assert Client().get(found["url"]).status_code == 200
    assert lookup(driver=DRIVER, pool="never", device="old-0")[0]["kind"] == "drivers"
