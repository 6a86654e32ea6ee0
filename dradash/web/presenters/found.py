"""What a search finds: pods, claims, templates, nodes, classes, drivers, namespaces; best first, a few of each kind."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dradash.kinds.meta import KubeObject
from dradash.kinds.registry import KINDS
from dradash.reader.alertlabels import Found
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of, state_of
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.claimstate import drivers_of
from dradash.web.presenters.go import target
from dradash.web.presenters.query import Query
from dradash.web.presenters.search import (
    CLAIMS,
    CLASSES,
    CONTEXTS,
    DEVICE_CLASSES,
    DRIVERS,
    NAMESPACES,
    NODES,
    PODS,
    SLICES,
    TEMPLATES,
    Sought,
    parse,
)
from dradash.web.presenters.status import is_expected
from dradash.web.presenters.words import Chip, claim_chip, claim_href, href, outcome_chip, pod_href, split

PARAMS: Final = frozenset({"q", "kind"})
SHOWN: Final = 8  # of each kind
SHOWN_OF_ONE: Final = 100  # where one kind was asked for
LABELS: Final = {
    PODS: "Pods",
    CLAIMS: "Claims",
    TEMPLATES: "Claim templates",
    CONTEXTS: "Negotiations",
    NODES: "Nodes",
    CLASSES: "Classes",
    DEVICE_CLASSES: "Device classes",
    SLICES: "Resource slices",
    DRIVERS: "Drivers",
} | {NAMESPACES: "Namespaces"}
# How well something fits; less is better. A uid or a label that was named leaves nothing to rank.
EXACT, BEGINS, PART_BEGINS, WITHIN, ELSEWHERE = range(5)


class Hit(msgspec.Struct, frozen=True):
    """why: the labels or the namespace that fit where the name does not say it."""

    name: str
    namespace: str
    href: str
    chip: Chip | None
    why: str


class Group(msgspec.Struct, frozen=True):
    kind: str
    label: str
    count: int
    hits: tuple[Hit, ...]
    more: str  # query string that shows more of this kind; "" when all are shown


class Exact(msgspec.Struct, frozen=True):
    """An object that was named in full and is not there. kept: its page shows the last state that it had."""

    singular: str
    name: str
    namespace: str
    href: str
    kept: bool


class FoundView(msgspec.Struct, frozen=True):
    text: str
    asked: bool
    count: int
    groups: tuple[Group, ...]
    exact: Exact | None  # the one object that was named in full, where there is none now
    unknown: tuple[str, ...]  # kinds that cannot be read now: they may have more


class _Entry(msgspec.Struct, frozen=True):
    """What of an object is compared. hay: namespace, name, label keys and values in lower case, one a line."""

    obj: KubeObject
    name: str
    namespace: str
    hay: str


class Haystacks:
    """Each object's words, made once for each object as it is: scanning them is then a few milliseconds for 16,000."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, _Entry]] = {}

    def of(self, kind: str, objects: Mapping[str, Any]) -> Iterable[tuple[str, _Entry]]:
        known = self._known.get(kind, {})
        if len(known) > len(objects) + 1000:  # many are gone
            known = {}
        for key, obj in objects.items():
            entry = known.get(key)
            if entry is None or entry.obj is not obj:
                entry = known[key] = _entry(obj)
            yield key, entry
        self._known[kind] = known


def _entry(obj: KubeObject) -> _Entry:
    meta = obj.metadata
    lines = [meta.namespace, meta.name]
    for key, value in meta.labels.items():
        lines += (key, value)
    return _Entry(obj, meta.name.lower(), meta.namespace, "\n".join(lines).lower())


def present(
    world: World, query: Query, haystacks: Haystacks, *, kept: bool = False, departed: Found | None = None
) -> FoundView:
    """kept: history has a state of the object that the query names in full (see Sought.exactly). departed: the object
    that had the UID in the query, when it does not exist any more."""
    text = query.get("q")
    sought = parse(text)
    only = query.get("kind")
    if sought.is_empty:
        return FoundView(text, False, 0, (), None, ())
    groups = []
    for kind, objects in _objects(world.cluster).items():
        if (sought.kind and sought.kind != kind) or (only and only != kind):
            continue
        fitting = _fitting(kind, haystacks.of(kind, objects), sought)
        if fitting:
            groups.append(_group(world, kind, fitting, SHOWN_OF_ONE if only == kind else SHOWN, query))
    groups.sort(key=lambda g: g[0])
    unknown = tuple(
        k for k in LABELS if k in world.sync and world.sync[k].state != "synced" and not is_expected(k, world.sync)
    )
    exact = _gone(world, sought, kept) if departed is None else _departed(departed)
    return FoundView(text, True, sum(g.count for _, g in groups), tuple(g for _, g in groups), exact, unknown)


def _gone(world: World, sought: Sought, kept: bool) -> Exact | None:
    """What is named in full is never taken for another object whose name only begins like it."""
    named = sought.exactly
    if named is None or named[0] not in KINDS or named[1] in world.cluster.raw[named[0]]:
        return None
    namespace, name = split(named[1])
    return Exact(KINDS[named[0]].kind, name, namespace, address(*named), kept)


def _departed(found: Found) -> Exact:
    namespace, name = split(found.key)
    return Exact(KINDS[found.kind].kind, name, namespace, target(found, None), kept=True)


def _objects(cluster: Cluster) -> dict[str, Mapping[str, Any]]:
    return {
        PODS: cluster.pods,
        CLAIMS: claims_of(cluster),
        TEMPLATES: cluster.templates,
        CONTEXTS: cluster.contexts,
        NODES: cluster.nodes.by_name,
        CLASSES: cluster.classes,
        DEVICE_CLASSES: cluster.device_classes,
        SLICES: cluster.inventory.slices,
        DRIVERS: _drivers(cluster),
        NAMESPACES: cluster.namespaces,
    }


def _drivers(cluster: Cluster) -> dict[str, KubeObject]:
    """Drivers are no objects: classes and allocated claims name them."""
    names = {c.driver_name for c in cluster.classes.values()}
    names |= {c.status.driver_name for c in cluster.claims.values()}
    names |= {s.spec.driver for s in cluster.inventory.slices.values()}
    names |= {d for c in cluster.device_claims.values() for d in drivers_of(c)}
    return {n: KubeObject(metadata=msgspec.structs.replace(KubeObject().metadata, name=n)) for n in names if n}


# --- fitting ---------------------------------------------------------------------------------------------------------

_Fit = tuple[int, int, str, _Entry]  # rank, length of the name, key


def _fitting(kind: str, entries: Iterable[tuple[str, _Entry]], sought: Sought) -> list[_Fit]:
    """One quick pass for each thing that was asked for, over what the ones before have left."""
    left = list(entries)
    if sought.soft_kind != kind:
        for word in sought.words:
            left = [e for e in left if word in e[1].hay]
    if sought.namespace:
        left = [e for e in left if e[1].namespace == sought.namespace]
    if sought.uid:
        left = [e for e in left if e[1].obj.metadata.uid.startswith(sought.uid)]
    if sought.labels:
        left = [e for e in left if _has_labels(e[1], sought)]
    if not sought.words:
        return [(EXACT, len(entry.name), key, entry) for key, entry in left]
    word = sought.words[0]
    pattern = re.compile(r"[-./_]" + re.escape(word))
    return [(_rank(entry.name, word, pattern), len(entry.name), key, entry) for key, entry in left]


def _has_labels(entry: _Entry, sought: Sought) -> bool:
    """A value that is still being typed fits by its beginning."""
    labels = entry.obj.metadata.labels
    return all(k in labels and labels[k].startswith(v) for k, v in sought.labels)


def _rank(name: str, word: str, pattern: re.Pattern[str]) -> int:
    if word not in name:
        return ELSEWHERE
    if name.startswith(word):
        return EXACT if len(name) == len(word) else BEGINS
    return PART_BEGINS if pattern.search(name) else WITHIN


# --- showing ---------------------------------------------------------------------------------------------------------


def _group(world: World, kind: str, fitting: list[_Fit], shown: int, query: Query) -> tuple[tuple[int, int], Group]:
    """With what groups are ordered by: the best fit, then the kinds' own order."""
    best = heapq.nsmallest(shown, fitting, key=lambda f: f[:3])
    hits = tuple(_hit(world, kind, key, entry, query.get("q")) for _, _, key, entry in best)
    more = query.link(kind=kind) if len(fitting) > len(hits) and query.get("kind") != kind else ""
    return (best[0][0], list(LABELS).index(kind)), Group(kind, LABELS[kind], len(fitting), hits, more)


def _hit(world: World, kind: str, key: str, entry: _Entry, text: str) -> Hit:
    meta = entry.obj.metadata
    chip: Chip | None = None
    if kind == PODS:
        verdict = world.verdicts.get(key)
        chip = outcome_chip(verdict.outcome if verdict else None)
    elif kind == CLAIMS:
        chip = claim_chip(state_of(claims_of(world.cluster)[key]))
    return Hit(meta.name, meta.namespace, address(kind, key), chip, _why(entry, parse(text)))


def address(kind: str, key: str) -> str:
    """The page of what was found."""
    match kind:
        case "pods":
            return pod_href(key)
        case "resourceclaims":
            return claim_href(key)
        case "podschedulingcontexts" | "deviceclasses" | "resourceslices":
            return href(kind, key)
        case "resourceclaimtemplates":  # it has no page of its own
            return f"/doctor?about={kind}/{quote(key, safe='/')}"
        case "namespaces":
            return f"/pods?ns={quote(key, safe='')}&outcome=any"
        case _:
            section = {NODES: "nodes", CLASSES: "classes", DRIVERS: "drivers"}[kind]
            return f"/{section}/{quote(key, safe='')}"


def _why(entry: _Entry, sought: Sought) -> str:
    if sought.uid:
        return f"uid {entry.obj.metadata.uid}"
    elsewhere = [w for w in sought.words if w not in entry.name and w not in entry.namespace.lower()]
    named = {k for k, _ in sought.labels}
    fitting = [
        f"{k}={v}"
        for k, v in sorted(entry.obj.metadata.labels.items())
        if k in named or any(w in k.lower() or w in v.lower() for w in elsewhere)
    ]
    return ", ".join(fitting[:3])
