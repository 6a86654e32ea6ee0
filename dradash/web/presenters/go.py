"""From the labels of an alert to a page: what was meant, and whether there is or ever was such a thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.reader.world import World
from dradash.scheduling.doctor.rules import RULES
from dradash.web.presenters.words import class_href, driver_href, href

# As alerts call them -> our parameter. Where both are there, Prometheus has named the exporter's own pod and namespace
# by the plain labels (honor_labels: false) and moved the ones that the alert is about aside.
NAMES: Final = {
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
_KINDS: Final = {"pod": "pods", "claim": "resourceclaims", "node": "nodes", "class": "resourceclasses"}
_NAMESPACED: Final = ("pod", "claim")
OTHER_DRIVERS: Final = "other"  # as /metrics calls the drivers beyond its bound
_MOST: Final = 300  # characters of one value

Known = Callable[[str, str], bool]  # (kind, key) -> the history has it


class Sought(msgspec.Struct, frozen=True):
    """label: as in the question; value: what it said; key: what was looked for."""

    label: str
    kind: str
    key: str


class NowhereView(msgspec.Struct, frozen=True):
    """Nothing was found. sought: everything that was looked for; search: the address that looks for the names."""

    sought: tuple[Sought, ...]
    asked: tuple[tuple[str, str], ...]
    search: str
    accepted: tuple[str, ...]


def understood(params: Mapping[str, str]) -> dict[str, str]:
    """The parameters that say something, under our names; the first of several spellings counts.

    An alert's template leaves `<no value>` where a label is missing.
    """
    asked: dict[str, str] = {}
    for name, ours in NAMES.items():
        value = params.get(name, "").strip()[:_MOST]
        if value and value != "<no value>":
            asked.setdefault(ours, value)
    return asked


def sought(asked: Mapping[str, str], world: World) -> Iterator[Sought]:
    """What it may be, the most telling first: a pod before its claim, both before the node it may run on."""
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


def target(asked: Mapping[str, str], world: World, known: Known) -> str:
    """The path of the best page, "" where nothing of it exists or ever did. world: of now."""
    for thing in sought(asked, world):
        if thing.key in world.cluster.raw[thing.kind] or known(thing.kind, thing.key):
            return href(thing.kind, thing.key)
    driver = asked.get("driver", "")
    if driver == OTHER_DRIVERS:
        return "/drivers"
    if driver and _is_driver(driver, world):
        return driver_href(driver)
    if (code := asked.get("finding", "")) in RULES:
        return f"/doctor?{urlencode({'code': code})}"
    name = asked.get("class", "")
    if name and name in {c.spec.resource_class_name for c in world.cluster.claims.values()}:
        return class_href(name)  # the page of a class that claims name and that does not exist says so
    if set(asked) == {"namespace"} and asked["namespace"] in world.cluster.raw["namespaces"]:
        return f"/pods?{urlencode({'ns': asked['namespace']})}"
    return "" if asked else "/"


def _is_driver(name: str, world: World) -> bool:
    cluster = world.cluster
    if any(c.driver_name == name for c in cluster.classes.values()):
        return True
    return any(c.status.driver_name == name for c in cluster.claims.values())


def nowhere(asked: Mapping[str, str], world: World) -> NowhereView:
    names = [value for label, value in asked.items() if label != "namespace"] or list(asked.values())
    return NowhereView(
        sought=tuple(sought(asked, world)),
        asked=tuple(asked.items()),
        search=f"/search?{urlencode({'q': ' '.join(names)})}",
        accepted=tuple(NAMES),
    )
