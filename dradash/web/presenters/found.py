"""What a search finds, of objects, drivers, pools and devices: best first, a few of each kind."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from dradash.kinds.meta import KubeObject
from dradash.kinds.registry import KINDS
from dradash.reader.alertlabels import Found
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of, state_of
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.claimstate import drivers_of
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.pools import PoolID
from dradash.web.presenters import founddevices
from dradash.web.presenters.go import target
from dradash.web.presenters.inventory import HOLDS
from dradash.web.presenters.inventory import POOLS as POOL_CHIPS
from dradash.web.presenters.query import Query
from dradash.web.presenters.rank import EXACT, part_of, rank
from dradash.web.presenters.search import (
    CLAIMS,
    CLASSES,
    CONTEXTS,
    DEVICE_CLASSES,
    DEVICES,
    DRIVERS,
    NAMESPACES,
    NODES,
    PARTS,
    PODS,
    POOLS,
    SLICES,
    TEMPLATES,
    Sought,
    parse,
)
from dradash.web.presenters.status import is_expected
from dradash.web.presenters.words import (
    Chip,
    claim_chip,
    claim_href,
    device_href,
    href,
    outcome_chip,
    pod_href,
    pool_href,
    split,
)

T = TypeVar("T")

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
    POOLS: "Pools",
    DEVICES: "Devices",
    DRIVERS: "Drivers",
} | {NAMESPACES: "Namespaces"}


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
    """An object that was named in full and is not there. kept: its page shows the last state that it had; None: that
    cannot be read now."""

    singular: str
    name: str
    namespace: str
    href: str
    kept: bool | None


class FoundView(msgspec.Struct, frozen=True):
    text: str
    asked: bool
    count: int
    groups: tuple[Group, ...]
    exact: Exact | None  # the one object that was named in full, where there is none now
    unknown: tuple[str, ...]  # kinds that cannot be read now: they may have more
    unread: bool = False  # nor can the history: what is gone is not found by its UID


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
    world: World,
    query: Query,
    haystacks: Haystacks,
    *,
    kept: bool | None = False,
    departed: Found | None = None,
    unread: bool = False,
) -> FoundView:
    """kept: history has a state of the object that the query names in full (see Sought.exactly); None: it cannot be
    read now. departed: the object that had the UID in the query, when it does not exist any more; unread: whether there
    was one cannot be read now."""
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
            groups.append(_group(kind, len(fitting), fitting, query, partial(_hit, world, kind, text=text)))
    for kind in PARTS:
        if (sought.kind and sought.kind != kind) or (only and only != kind):
            continue
        parts = founddevices.fitting(world.cluster.inventory, sought, kind, _shown(kind, query))
        if parts.count:
            groups.append(_group(kind, parts.count, parts.best, query, partial(_part, world)))
    groups.sort(key=lambda g: g[0])
    unknown = tuple(
        k for k in LABELS if k in world.sync and world.sync[k].state != "synced" and not is_expected(k, world.sync)
    )
    exact = _gone(world, sought, kept) if departed is None else _departed(departed)
    return FoundView(text, True, sum(g.count for _, g in groups), tuple(g for _, g in groups), exact, unknown, unread)


def _gone(world: World, sought: Sought, kept: bool | None) -> Exact | None:
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

_Fit = tuple[int, int, str, T]  # rank, length of the name, key


def _fitting(kind: str, entries: Iterable[tuple[str, _Entry]], sought: Sought) -> list[_Fit[_Entry]]:
    """Either reading of what was asked for fits."""
    entries = list(entries)
    found = _fitting_so(kind, entries, sought)
    if sought.otherwise is None:
        return found
    known = {key for _, _, key, _ in found}
    return found + [fit for fit in _fitting_so(kind, entries, sought.otherwise) if fit[2] not in known]


def _fitting_so(kind: str, entries: Iterable[tuple[str, _Entry]], sought: Sought) -> list[_Fit[_Entry]]:
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
    pattern = part_of(word)
    return [(rank(entry.name, word, pattern), len(entry.name), key, entry) for key, entry in left]


def _has_labels(entry: _Entry, sought: Sought) -> bool:
    """A value that is still being typed fits by its beginning."""
    labels = entry.obj.metadata.labels
    return all(k in labels and labels[k].startswith(v) for k, v in sought.labels)


# --- showing ---------------------------------------------------------------------------------------------------------


def _group(
    kind: str, count: int, fitting: list[_Fit[T]], query: Query, hit: Callable[[str, T], Hit]
) -> tuple[tuple[int, int], Group]:
    """With what groups are ordered by: the best fit, then the kinds' own order."""
    best = heapq.nsmallest(_shown(kind, query), fitting, key=lambda f: f[:3])
    hits = tuple(hit(key, found) for _, _, key, found in best)
    more = query.link(kind=kind) if count > len(hits) and query.get("kind") != kind else ""
    return (best[0][0], list(LABELS).index(kind)), Group(kind, LABELS[kind], count, hits, more)


def _shown(kind: str, query: Query) -> int:
    return SHOWN_OF_ONE if query.get("kind") == kind else SHOWN


def _hit(world: World, kind: str, key: str, entry: _Entry, text: str) -> Hit:
    meta = entry.obj.metadata
    chip: Chip | None = None
    if kind == PODS:
        verdict = world.verdicts.get(key)
        chip = outcome_chip(verdict.outcome if verdict else None)
    elif kind == CLAIMS:
        chip = claim_chip(state_of(claims_of(world.cluster)[key]))
    return Hit(meta.name, meta.namespace, address(kind, key), chip, _why(entry, parse(text)))


def _part(world: World, _: str, found: tuple[PoolID, str]) -> Hit:
    """A pool, or a device of it, with where it belongs."""
    pool, name = found
    inventory = world.cluster.inventory
    if name:
        device = DeviceID(pool.driver, pool.pool, name)
        return Hit(name, str(pool), device_href(device), HOLDS[ledger.hold_of(inventory, device)], "")
    state = ledger.state_of_pool(inventory, pool)
    return Hit(
        pool.pool, pool.driver, pool_href(pool.driver, pool.pool), POOL_CHIPS[state.state] if state else None, ""
    )


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
    if sought.otherwise is not None and entry.namespace != sought.namespace:
        sought = sought.otherwise
    elsewhere = [w for w in sought.words if w not in entry.name and w not in entry.namespace.lower()]
    named = {k for k, _ in sought.labels}
    fitting = [
        f"{k}={v}"
        for k, v in sorted(entry.obj.metadata.labels.items())
        if k in named or any(w in k.lower() or w in v.lower() for w in elsewhere)
    ]
    return ", ".join(fitting[:3])
