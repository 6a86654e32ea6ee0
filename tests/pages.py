"""Every page in one table: what page tests, browser tests, walks, screenshots and the bench go through.

A new page is a line here: it is then checked in every state, by axe-core, by the HTML parser, at each width.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import msgspec
from django.urls import Resolver404, resolve

from tests import build, builddevices
from tests.scene import Scene

NAMESPACE: Final = "ml"
NODES: Final = [f"node-{i}" for i in range(8)]
TRAIN: Final = build.pod("train", NAMESPACE, claims={"gpu": "train-gpu"}, labels={"app": "train"})
NEW: Final = build.pod("new", NAMESPACE, templates={"nic": "nic"})
CLAIM: Final = build.claim("train-gpu", NAMESPACE, ownerReferences=[build.owner(TRAIN)])
HELD: Final = build.claim("held", NAMESPACE, allocation=build.allocation("node-0"), reserved_for=[TRAIN])
A100: Final = builddevices.device_class("a100", 'device.attributes["gpu.example.com"].model == "a100"')
SLICE: Final = builddevices.resource_slice(
    builddevices.device("gpu-0", capacity={"memory": {"value": "40Gi"}}),
    builddevices.device("gpu-1", taints=[{"key": "broken", "effect": "NoSchedule"}]),
    node="node-1",
    pool="rack/one",
    name="slice-one",
)
DEVICES: Final = builddevices.claim(
    "devices", NAMESPACE, builddevices.request("gpu", "a100"), devices=[builddevices.result("gpu-0", pool="rack/one")]
)
# Matches one of the devices; the other has no capacity of that name.
SELECTORS: Final = "/selectors?" + urlencode(
    {"class": "a100", "expression": 'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0'}
)
SUITABLE: Final = build.with_labels(zone="a")


class PageLine(msgspec.Struct, frozen=True):
    """shows: words that must be on it with `scene`. kinds: what it is about, by plural; is_object: it shows one."""

    path: str
    shows: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    is_object: bool = False
    is_list: bool = False


_ALL: Final = (
    PageLine("/", ("Pending pods", "Claims by state", "Watched kinds"), ("pods", "resourceclaims")),
    PageLine("/pods", ("train", "Namespace"), ("pods",), is_list=True),
    PageLine("/ns/ml/pods/train", ("train", "Must act next", "PreEnqueue"), ("pods",), is_object=True),
    PageLine("/ns/ml/pods/train/nodes", ("4 nodes: pass",), ("pods",), is_object=True),
    PageLine("/claims", ("train-gpu", "held"), ("resourceclaims",), is_list=True),
    PageLine("/ns/ml/claims/held", ("held", "Reserved"), ("resourceclaims",), is_object=True),
    PageLine("/search?q=train", ("train-gpu",)),
    PageLine("/negotiations", ("train",), ("podschedulingcontexts",), is_list=True),
    PageLine("/nodes", ("node-0",), ("nodes",), is_list=True),
    PageLine("/nodes/node-1", ("node-1",), ("nodes",), is_object=True),
    PageLine("/classes", ("gpu",), ("resourceclasses",), is_list=True),
    PageLine("/classes/gpu", ("gpu",), ("resourceclasses",), is_object=True),
    PageLine("/deviceclasses", ("a100",), ("deviceclasses",), is_list=True),
    PageLine("/deviceclasses/a100", ("a100",), ("deviceclasses",), is_object=True),
    PageLine("/pools", ("rack/one", "Usable"), ("resourceslices",), is_list=True),
    PageLine("/pools/gpu.example.com/rack/one", ("gpu-0", "slice-one"), ("resourceslices",), is_object=True),
    PageLine("/slices", ("slice-one",), ("resourceslices",), is_list=True),
    PageLine("/slices/slice-one", ("gpu-1",), ("resourceslices",), is_object=True),
    PageLine("/devices", ("gpu-0", "gpu-1", "ml/devices"), ("resourceslices",), is_list=True),
    PageLine("/devices/gpu.example.com/rack/one/gpu-0", ("ml/devices", "a100"), ("resourceslices",), is_object=True),
    PageLine("/ns/ml/claims/devices", ("gpu-0", "Requests"), ("resourceclaims",), is_object=True),
    PageLine(SELECTORS, ("1 of 2 devices", "missing key", "Part by part"), ("resourceslices",)),
    PageLine("/taints?key=broken&pool=rack/one", ("Device taints", "ml/devices", "Evicted"), ("resourceslices",)),
    PageLine("/drivers", ("gpu.example.com",), ("resourceclasses",), is_list=True),
    PageLine("/drivers/gpu.example.com", ("gpu.example.com",), ("resourceclasses",), is_object=True),
    PageLine("/doctor", ("Doctor",), is_list=True),
    PageLine("/changes", ("Changes",), is_list=True),
    PageLine("/about", ("About",)),
)


def served() -> list[PageLine]:
    """Those that there is an address for."""
    return [line for line in _ALL if _is_served(line.path.partition("?")[0])]


def _is_served(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def scene() -> Scene:
    """Something of everything: a negotiation under way, a pod that is blocked, a claim in use, a class, drivers."""
    made = Scene(
        *(build.node(n, labels={"zone": "ab"[i % 2]}) for i, n in enumerate(NODES)),
        build.namespace(NAMESPACE),
        build.resource_class(suitable=SUITABLE),
        build.resource_class("nic", driver="nic.example.com"),
        build.template("nic", NAMESPACE, resource_class="nic"),
        TRAIN,
        NEW,
        CLAIM,
        HELD,
        A100,
        SLICE,
        DEVICES,
    )
    made.put(build.context(TRAIN, potential=NODES, selected="node-0", unsuitable={"gpu": ["node-1"]}))
    return made
