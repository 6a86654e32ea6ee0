"""What the labels of an alert, or a UID, name: things that there are, and what must be looked for in the history. Pure.

/go leads to the first of them; /api/v1/lookup lists them all.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Final

import msgspec

from dradash.reader.moment import NO_VALUE
from dradash.reader.world import World
from dradash.scheduling.doctor.rules import RULES

# As alerts call them -> our name. Where both are there, Prometheus has named the exporter's own pod and namespace
# by the plain labels (honor_labels: false) and moved the ones that the alert is about aside.
NAMES: Final = {
    "uid": "uid",
    "exported_namespace": "namespace",
    "namespace": "namespace",
    "exported_pod": "pod",
    "pod": "pod",
    "claim": "claim",
    "resourceclaim": "claim",
    "node": "node",
    "class": "class",
    "resourceclass": "class",
    "driver": "driver",
    "finding": "finding",
}
OTHER_DRIVERS: Final = "other"  # as /metrics calls the drivers beyond its bound
NAMESPACES: Final = "namespaces"
CLASSES: Final = "resourceclasses"
DEVICE_CLASSES: Final = "deviceclasses"
DRIVERS: Final = "drivers"  # no kinds of the API: known by who names them
FINDINGS: Final = "findings"  # their key is a code of the doctor
# What has a page, and so is found by UID.
KINDS_WITH_PAGES: Final = (
    "pods",
    "resourceclaims",
    "podschedulingcontexts",
    "nodes",
    CLASSES,
    DEVICE_CLASSES,
    "resourceslices",
)
_KINDS: Final = {"pod": "pods", "claim": "resourceclaims", "node": "nodes", "class": CLASSES}
_NAMESPACED: Final = ("pod", "claim")
_MOST: Final = 300  # characters of one value


class Sought(msgspec.Struct, frozen=True):
    """What there is none of now. label: as in the question; kind: "" any; key: what was looked for, of uid the UID."""

    label: str
    kind: str
    key: str


class Found(msgspec.Struct, frozen=True):
    """kind: a plural, DRIVERS (key "": the list of them) or FINDINGS. gone: when it was deleted, 0.0: it was not.

    uid: "" of what is no object, and of what is only named by others. last: a moment (Unix seconds) at which it was
    still there, where another object has its name by now; else 0.0.
    """

    kind: str
    key: str
    uid: str = ""
    gone: float = 0.0
    last: float = 0.0


def understood(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters that say something, under our names; the first of several spellings counts."""
    asked: dict[str, str] = {}
    for name, ours in NAMES.items():
        value = params.get(name, "").strip()[:_MOST]
        if value and value != NO_VALUE:
            asked.setdefault(ours, value)
    return asked


def named(asked: Mapping[str, str], world: World, heard: Container[str]) -> Iterator[Found | Sought]:
    """What it may be, the most telling first: a pod before its claim, both before the node it may run on.

    asked: as `understood` gives it. world: of now. heard: drivers that have a record, whoever names them now.
    """
    if uid := asked.get("uid", ""):
        yield of_uid(uid, world) or Sought("uid", "", uid)
    for sought in _sought(asked, world):
        if sought.key in world.cluster.raw[sought.kind]:
            there = world.cluster.objects(sought.kind).get(sought.key)  # a malformed one has a page too
            yield Found(sought.kind, sought.key, there.uid if there is not None else "")
        else:
            yield sought
    driver = asked.get("driver", "")
    if driver == OTHER_DRIVERS:
        yield Found(DRIVERS, "")
    elif driver and is_driver(driver, world, heard):
        yield Found(DRIVERS, driver)
    if (code := asked.get("finding", "")) in RULES:
        yield Found(FINDINGS, code)
    name = asked.get("class", "")
    if name and name in world.cluster.claims_by_class:
        yield Found(CLASSES, name)  # the page of a class that claims name and that does not exist says so
    if name and (name in world.cluster.claims_by_device_class or name in world.cluster.device_classes):
        yield Found(DEVICE_CLASSES, name)
    if set(asked) == {"namespace"} and asked["namespace"] in world.cluster.raw[NAMESPACES]:
        yield Found(NAMESPACES, asked["namespace"])


def _sought(asked: Mapping[str, str], world: World) -> Iterator[Sought]:
    namespace = asked.get("namespace", "")
    for label, kind in _KINDS.items():
        value = asked.get(label, "")
        if not value:
            continue
        if label not in _NAMESPACED or "/" in value:
            yield Sought(label, kind, value)
        elif namespace:
            yield Sought(label, kind, f"{namespace}/{value}")
        else:
            keys = [k for k in world.cluster.raw[kind] if k.rpartition("/")[2] == value]
            yield from (Sought(label, kind, key) for key in keys[:1] if len(keys) == 1)


def of_uid(uid: str, world: World) -> Found | None:
    """Costs one look at each object that has a page, less for a pod."""
    cluster = world.cluster
    if key := cluster.pods_by_uid.get(uid):
        return Found("pods", key, uid)
    for kind in KINDS_WITH_PAGES[1:]:
        for key, there in cluster.objects(kind).items():
            if there.uid == uid:
                return Found(kind, key, uid)
    return None


def is_driver(name: str, world: World, heard: Container[str]) -> bool:
    """Whether a class or a claim names it, or it has been heard."""
    cluster = world.cluster
    if name in cluster.claims_by_driver or name in heard:
        return True
    if any(s.spec.driver == name for s in cluster.inventory.slices.values()):
        return True
    return any(c.driver_name == name for c in cluster.classes.values())
