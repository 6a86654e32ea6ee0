"""What the labels of an alert, or a UID, name: things that there are, and what must be looked for in the history. Pure.

/go leads to the first of them; /api/v1/lookup lists them all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.reader import alertlists
from dradash.reader.alertlists import PAGES, Filters
from dradash.reader.moment import NO_VALUE
from dradash.reader.world import World
from dradash.scheduling.doctor.rules import RULES

# As alerts call them -> our name; of several spellings the first counts. Where both are there, Prometheus has named the
# exporter's own pod and namespace by the plain labels (honor_labels: false) and moved the ones that the alert is about
# aside. dra_*: dcgm-exporter, whose plain `device` is one of the kernel. *_name: kube-state-metrics and the kubelet.
NAMES: Final = {
    "uid": "uid",
    "dra_claim_namespace": "namespace",
    "exported_namespace": "namespace",
    "namespace": "namespace",
    "exported_pod": "pod",
    "pod": "pod",
    "pod_name": "pod",
    "dra_claim_name": "claim",
    "claim": "claim",
    "resourceclaim": "claim",
    "resourceclaim_name": "claim",
    "dra_device_name": "device",
    "device_name": "device",
    "device": "device",
    "resourceslice": "slice",
    "resourceslice_name": "slice",
    "dra_pool_name": "pool",
    "pool_name": "pool",
    "pool": "pool",
    "exported_node": "node",
    "node": "node",
    "node_name": "node",
    "class": "class",
    "resourceclass": "class",
    "deviceclass": "deviceclass",
    "device_class": "deviceclass",
    "dra_driver_name": "driver",
    "driver": "driver",
    "driver_name": "driver",
    "finding": "finding",
    "code": "finding",
    "acts_next": "acts_next",
    "reason": "reason",
    "outcome": "outcome",
    "state": "state",
    "kind": "kind",
    "page": "page",
}
OTHER: Final = "other"  # a class beyond the bound of /metrics
OTHER_DRIVERS: Final = ("other", "<any>")  # the drivers beyond the bound of /metrics; all of them, to the kubelet
NAMESPACES: Final = "namespaces"
CLASSES: Final = "resourceclasses"
DEVICE_CLASSES: Final = "deviceclasses"
DRIVERS: Final = "drivers"  # no kinds of the API: known by who names them
DEVICES: Final = "devices"  # their key is DRIVER/POOL/DEVICE; only the pool's name may have slashes
POOLS: Final = "pools"
SLICES: Final = "resourceslices"
FINDINGS: Final = "findings"  # their key is a code of the doctor
# What has a page, and so is found by UID.
KINDS_WITH_PAGES: Final = (
    "pods",
    "resourceclaims",
    "podschedulingcontexts",
    "nodes",
    CLASSES,
    DEVICE_CLASSES,
    SLICES,
)
_KINDS: Final = {
    "pod": "pods",
    "claim": "resourceclaims",
    "slice": SLICES,
    "node": "nodes",
    "class": CLASSES,
    "deviceclass": DEVICE_CLASSES,
}
_NAMESPACED: Final = ("pod", "claim")
_MOST: Final = 300  # characters of one value


class Sought(msgspec.Struct, frozen=True):
    """What there is none of now. label: as in the question; kind: "" any; key: what was looked for, of uid the UID.

    Of a namespaced kind it may be the name alone, where no namespace is known.
    """

    label: str
    kind: str
    key: str

    @property
    def lacks_namespace(self) -> bool:
        return self.label in _NAMESPACED and "/" not in self.key


class Found(msgspec.Struct, frozen=True):
    """kind: a plural, DRIVERS, DEVICES, POOLS, FINDINGS or HEALTH. key "": the list of them, of which `filters` leave
    some rows. gone: when it was deleted, 0.0: it was not.

    uid: "" of what is no object, and of what is only named by others. last: a moment (Unix seconds) at which it was
    still there, where another object has its name by now; else 0.0.
    """

    kind: str
    key: str
    uid: str = ""
    gone: float = 0.0
    last: float = 0.0
    filters: Filters = ()


def understood(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters that say something, under our names; the first of several spellings counts."""
    asked: dict[str, str] = {}
    for name, ours in NAMES.items():
        value = params.get(name, "").strip()[:_MOST]
        if value and value != NO_VALUE:
            asked.setdefault(ours, value)
    return asked


def named(
    asked: Mapping[str, str], world: World, heard: Container[str], then: World | None = None
) -> Iterator[Found | Sought]:
    """What it may be, the most telling first: a pod before its claim, both before the node it may run on.

    asked: as `understood` gives it. world: of now. heard: drivers that have a record, whoever names them now.
    then: the world at the alert's time, for devices and pools that are not published any more.
    """
    if uid := asked.get("uid", ""):
        yield of_uid(uid, world) or Sought("uid", "", uid)
    if asked.get("page", "") in PAGES:
        yield from _lists(asked, world)
    yield from _objects(("pod", "claim"), asked, world)
    if device := alertlists.device(asked, world) or (then and alertlists.device(asked, then)):
        yield Found(DEVICES, str(device))
    yield from _objects(("slice",), asked, world)
    if pool := alertlists.pool(asked, world) or (then and alertlists.pool(asked, then)):
        yield Found(POOLS, str(pool))
    yield from _objects(("node",), asked, world)
    yield from _lists(asked, world)
    yield from _objects(("class", "deviceclass"), asked, world)
    yield from _named_by_others(asked, world, heard)
    if set(asked) == {"namespace"} and asked["namespace"] in world.cluster.raw[NAMESPACES]:
        yield Found(NAMESPACES, asked["namespace"])


def _lists(asked: Mapping[str, str], world: World) -> Iterator[Found]:
    for kind, filters in alertlists.lists(asked, world):
        yield Found(kind, "", filters=filters)


def _objects(labels: Iterable[str], asked: Mapping[str, str], world: World) -> Iterator[Found | Sought]:
    for label in labels:
        for sought in _sought(label, asked, world):
            if sought.key in world.cluster.raw[sought.kind]:
                there = world.cluster.objects(sought.kind).get(sought.key)  # a malformed one has a page too
                yield Found(sought.kind, sought.key, there.uid if there is not None else "")
            else:
                yield sought


def _named_by_others(asked: Mapping[str, str], world: World, heard: Container[str]) -> Iterator[Found]:
    """Things that need not exist as objects."""
    driver = asked.get("driver", "")
    if driver in OTHER_DRIVERS:
        yield Found(DRIVERS, "")
    elif driver and is_driver(driver, world, heard):
        yield Found(DRIVERS, driver)
    if (code := asked.get("finding", "")) in RULES:
        yield Found(FINDINGS, code)
    name = asked.get("class", "")
    if name and name in world.cluster.claims_by_class:
        yield Found(CLASSES, name)  # the page of a class that claims name and that does not exist says so
    elif name == OTHER:
        yield Found(CLASSES, "")
    for name in filter(None, (asked.get("class"), asked.get("deviceclass"))):
        if name in world.cluster.claims_by_device_class or name in world.cluster.device_classes:
            there = world.cluster.device_classes.get(name)
            yield Found(DEVICE_CLASSES, name, there.uid if there is not None else "")


def _sought(label: str, asked: Mapping[str, str], world: World) -> Iterator[Sought]:
    kind, value, namespace = _KINDS[label], asked.get(label, ""), asked.get("namespace", "")
    if not value:
        return
    if label not in _NAMESPACED or "/" in value:
        yield Sought(label, kind, value)
    elif namespace:
        yield Sought(label, kind, f"{namespace}/{value}")
    else:
        keys = [k for k in world.cluster.raw[kind] if k.rpartition("/")[2] == value]
        if len(keys) <= 1:
            yield Sought(label, kind, *(keys or [value]))


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
