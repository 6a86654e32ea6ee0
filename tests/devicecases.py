"""What the doctor finds wrong with structured parameters, and the same objects where nothing is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from dradash.store.model import SyncState
from tests import build
from tests import builddevices as make

GPU: Final = make.device("gpu-0")
SLICE: Final = make.resource_slice(GPU)
CLASS: Final = make.device_class("gpu", f'device.driver == "{make.DRIVER}"')
POD: Final = build.pod("p", claims={"gpu": "c"})
MODEL: Final = f'device.attributes["{make.DRIVER}"].model'
SERVED: Final = {kind: SyncState(kind, "synced", "v1") for kind in build.PLURALS.values()}
BROKEN: Final = {"key": "broken", "effect": "NoExecute", "timeAdded": "2026-11-30T04:10:00Z"}


def node(
    name: str, *, ready: str = "True", kubelet: str = "", capacity: Mapping[str, str] = {}, **more: Any
) -> build.Obj:
    """A node of a GPU kind that was Ready, or not, one minute after it was made."""
    labels = more.pop("labels", {"accelerator": "a100"})
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": "2026-11-30T04:01:00Z"}
    status: build.Obj = {"conditions": [condition], "capacity": dict(capacity)}
    if kubelet:
        status["nodeInfo"] = {"kubeletVersion": kubelet}
    return build.node(name, labels=labels, **more) | {"status": status}


def slices(nodes: Iterable[str], *devices: build.Obj) -> list[build.Obj]:
    return [make.resource_slice(*(devices or (GPU,)), node=n) for n in nodes]


def wanting(*selectors: str, name: str = "c") -> build.Obj:
    return make.claim(name, "default", make.request(selectors=selectors))


def bound(status: str = "", failed: str = "", **more: Any) -> build.Obj:
    """A claim whose device must be attached. status: of that condition, failed: of the other one."""
    result = make.result("gpu-0", bindingConditions=["Attached"], bindingFailureConditions=["Broken"])
    said = {"Attached": status, "Broken": failed}
    told = [{"type": t, "status": s, "reason": "Cable", "message": "loose"} for t, s in said.items() if s]
    devices = [{"driver": make.DRIVER, "pool": "node-0", "device": "gpu-0", "conditions": told}] if told else []
    return make.claim("c", devices=[result], reserved_for=[POD], status={"devices": devices}, **more)


def namespace(**labels: str) -> build.Obj:
    made = build.namespace("default")
    return made | {"metadata": made["metadata"] | {"labels": labels}}


def admin(name: str = "c") -> build.Obj:
    asked = make.request()
    return make.claim(name, "default", asked | {"exactly": asked["exactly"] | {"adminAccess": True}})


def applied(kept: Mapping[str, Any], sent: Mapping[str, Any]) -> build.Obj:
    """A device class that kubectl applied with the spec `sent`, and that has the spec `kept`."""
    made = make.device_class("gpu", **kept)
    text = json.dumps(make.device_class("gpu", **sent))
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": text}
    return made | {"metadata": made["metadata"] | {"annotations": annotations}}


EXTENDED: Final = {"extendedResourceName": "example.com/gpu"}
NAMES: Final = [f"node-{i}" for i in range(4)]

Case = tuple[tuple[build.Obj, ...], tuple[build.Obj, ...], dict[str, Any]]

# code -> (objects with the trouble, objects without it, more for both)
CASES: Final[dict[str, Case]] = {
    "driver-publishes-nothing": ((CLASS,), (CLASS, SLICE), {}),
    "node-without-slice": (
        (*map(node, NAMES), *slices(NAMES[:3])),
        (*map(node, NAMES), *slices(NAMES)),
        {},
    ),
    "request-matches-no-device": (
        (SLICE, CLASS, wanting(f'{MODEL} == "h100"')),
        (SLICE, CLASS, wanting(f'{MODEL} == "a100"')),
        {},
    ),
    "request-selector-fails": (
        (SLICE, CLASS, wanting(f'device.attributes["{make.DRIVER}"].nothing == 1')),
        (SLICE, CLASS, wanting(f'{MODEL} == "a100"')),
        {},
    ),
    "taint-not-tolerated": (
        (
            make.resource_slice(GPU | {"taints": [BROKEN]}),
            make.claim("c", devices=[make.result("gpu-0")], reserved_for=[POD]),
        ),
        (
            make.resource_slice(GPU | {"taints": [BROKEN]}),
            make.claim(
                "c",
                devices=[make.result("gpu-0", tolerations=[{"operator": "Exists", "effect": "NoExecute"}])],
                reserved_for=[POD],
            ),
        ),
        {},
    ),
    "binding-waits": ((POD, SLICE, bound()), (POD, SLICE, bound("True")), {}),
    "binding-failed": ((POD, SLICE, bound(failed="True")), (POD, SLICE, bound(failed="False")), {}),
    "admin-access-not-allowed": (
        (namespace(), admin()),
        (namespace(**{"resource.kubernetes.io/admin-access": "true"}), admin()),
        {},
    ),
    "extended-resource-twice": (
        (node("node-0", capacity={"example.com/gpu": "4"}), SLICE, make.device_class("gpu", **EXTENDED)),
        (node("node-0", capacity={"example.com/gpu": "0"}), SLICE, make.device_class("gpu", **EXTENDED)),
        {},
    ),
    "fields-dropped": ((applied({}, EXTENDED),), (applied(EXTENDED, EXTENDED),), {"sync": SERVED}),
    "kubelet-too-old": ((node("node-0", kubelet="v1.30.4"),), (node("node-0", kubelet="v1.34.0"),), {"sync": SERVED}),
}  # fmt: skip
