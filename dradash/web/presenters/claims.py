"""The claims list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.meta import ObjectMeta
from dradash.reader.claimtable import ClaimEntry, ClaimTable
from dradash.reader.trails import KEPT, ClaimMark
from dradash.reader.world import World
from dradash.scheduling.claimfacts import (
    AnyClaim,
    available_on,
    classes_of,
    flags_of,
    is_allocated,
    is_shareable,
)
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.nodetable import InvalidSelector
from dradash.web.presenters.lines import Strip, claim_strip, window_of
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.words import CLAIM_STATES, SHOWN, Chip, claim_chip, claim_href, cut, href, pod_href, row_id

PARAMS: Final = frozenset({"ns", "state", "class", "driver", "q", "sort", "page"})


class Where(msgspec.Struct, frozen=True):
    """Nodes where an allocation can be used. everywhere: it names no nodes; error: its selector is invalid."""

    count: int = 0
    everywhere: bool = False
    error: str = ""


class Consumer(msgspec.Struct, frozen=True):
    """Who a claim is reserved for. alive: whether a pod with that UID is known here."""

    name: str
    resource: str
    uid: str
    href: str
    alive: bool


class Owner(msgspec.Struct, frozen=True):
    kind: str
    name: str
    href: str


class ClassLink(msgspec.Struct, frozen=True):
    name: str
    href: str  # "": there is no such class
    exists: bool


class ClaimRow(msgspec.Struct, frozen=True):
    id: str
    key: str
    href: str
    namespace: str
    name: str
    chip: Chip
    flags: tuple[str, ...]
    classes: tuple[ClassLink, ...]
    drivers: tuple[str, ...]
    where: Where | None  # None: not allocated
    shareable: bool
    reserved: tuple[Consumer, ...]  # the first of ...
    holders: int
    pods: int  # pods that name the claim
    owner: Owner | None
    created: str
    chosen_later: bool = False  # which drivers serve it: the scheduler chooses devices
    trail: Strip | None = None

    @property
    def first_class(self) -> str:
        return self.classes[0].name if self.classes else ""


class ClaimFilters(msgspec.Struct, frozen=True):
    namespaces: tuple[Option, ...]
    states: tuple[Option, ...]
    classes: tuple[Option, ...]
    drivers: tuple[Option, ...]
    text: str
    sort: str
    active: bool


class ClaimsView(msgspec.Struct, frozen=True):
    filters: ClaimFilters
    columns: tuple[Column, ...]
    rows: tuple[ClaimRow, ...]
    pager: Pager
    known: int
    clear: str


_ORDER: Final = {s: i for i, s in enumerate(ClaimState)}
SORTINGS: Final = (
    Sorting("ns", "Namespace", lambda i: i.claim.namespace),
    Sorting("claim", "Claim", lambda i: i.claim.name),
    Sorting("state", "State", lambda i: _ORDER[i.state]),
    Sorting("class", "Class", lambda i: i.classes),
    Sorting("driver", "Driver", lambda i: i.drivers),
    Sorting("reserved", "Reserved for", lambda i: len(i.claim.status.reserved_for)),
    Sorting("created", "Age", lambda i: i.claim.metadata.creation_timestamp or "", "num", True),
)


def where_available(claim: AnyClaim, cluster: Cluster) -> Where | None:
    if not is_allocated(claim):
        return None
    selector = available_on(claim)
    if selector is None:
        return Where(len(cluster.nodes), everywhere=True)
    try:
        return Where(cluster.nodes.matching(selector).bit_count())
    except InvalidSelector as error:
        return Where(error=cut(str(error)))


def class_links(claim: AnyClaim, cluster: Cluster) -> tuple[ClassLink, ...]:
    return tuple(ClassLink(c.name, href(c.kind, c.name), c.exists) for c in classes_of(claim, cluster))


def consumers(claim: AnyClaim, cluster: Cluster) -> tuple[Consumer, ...]:
    """The first of those that the claim is reserved for."""
    found = []
    for ref in claim.status.reserved_for[:SHOWN]:
        key = cluster.pods_by_uid.get(ref.uid)
        found.append(Consumer(ref.name, ref.resource, ref.uid, pod_href(key) if key else "", key is not None))
    return tuple(found)


def owner_of(meta: ObjectMeta) -> Owner | None:
    ref = next((r for r in meta.owner_references if r.controller), None) or next(iter(meta.owner_references), None)
    if ref is None:
        return None
    return Owner(ref.kind, ref.name, pod_href(f"{meta.namespace}/{ref.name}") if ref.kind == "Pod" else "")


def present(world: World, query: Query, table: ClaimTable) -> ClaimsView:
    """table: of the world."""
    cluster = world.cluster
    items = list(table.entries())
    matching = _matching(items, query)
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda i: i.key), query)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    unsorted = Column("Available on")
    return ClaimsView(
        filters=_filters(items, matching, query),
        columns=(
            *(heads[n] for n in ("ns", "claim", "state", "class", "driver")),
            unsorted,
            heads["reserved"],
            Column("Owner", css="off-wall"),
            heads["created"],
        ),
        rows=tuple(_row(i, cluster) for i in shown),
        pager=pager,
        known=len(items),
        clear=query.link(ns=None, state=None, driver=None, q=None, **{"class": None}),
    )


_VALUES: Final[dict[str, Callable[[ClaimEntry], tuple[str, ...]]]] = {
    "ns": lambda i: (i.claim.namespace,),
    "state": lambda i: (i.state,),
    "class": lambda i: i.classes,
    "driver": lambda i: i.drivers,
}


def _matching(items: list[ClaimEntry], query: Query, without: str = "") -> list[ClaimEntry]:
    """One pass for each filter that is set, over what the ones before have left; `without`: a filter not applied."""
    for name, value in query.params:
        if name in _VALUES and name != without:
            value_of = _VALUES[name]
            items = [i for i in items if value in value_of(i)]
    if text := query.get("q").casefold():
        items = [i for i in items if text in i.key.casefold() or any(text in c.casefold() for c in i.classes)]
    return items


def _alike(items: Iterable[ClaimEntry]) -> Counter[tuple[str, ClaimState, tuple[str, ...], tuple[str, ...]]]:
    """Many claims have the same in all filters: counted once, however many filters there are."""
    return Counter((i.claim.namespace, i.state, i.classes, i.drivers) for i in items)


def _filters(items: list[ClaimEntry], matching: list[ClaimEntry], query: Query) -> ClaimFilters:
    labels = {state: chip.text for state, chip in CLAIM_STATES.items()}
    alike = _alike(matching)

    def counted(name: str) -> tuple[Option, ...]:
        counts: Counter[str] = Counter()
        chosen = _alike(_matching(items, query, name)) if query.get(name) else alike
        for (ns, state, classes, drivers), number in chosen.items():
            for value in {"ns": (ns,), "state": (state,), "class": classes, "driver": drivers}[name]:
                counts[value] += number
        return options(counts, query.get(name), labels if name == "state" else None)

    return ClaimFilters(
        namespaces=counted("ns"),
        states=counted("state"),
        classes=counted("class"),
        drivers=counted("driver"),
        text=query.get("q"),
        sort=query.get("sort"),
        active=any(query.get(p) for p in ("ns", "state", "class", "driver", "q")),
    )


def _row(item: ClaimEntry, cluster: Cluster) -> ClaimRow:
    claim = item.claim
    return ClaimRow(
        id=row_id("claim", item.key),
        key=item.key,
        href=claim_href(item.key),
        namespace=claim.namespace,
        name=claim.name,
        chip=claim_chip(item.state),
        flags=flags_of(claim),
        classes=class_links(claim, cluster),
        drivers=item.drivers,
        where=where_available(claim, cluster),
        shareable=is_shareable(claim),
        reserved=consumers(claim, cluster),
        holders=len(claim.status.reserved_for),
        pods=len(cluster.pods_by_claim.members(item.key)),
        owner=owner_of(claim.metadata),
        created=claim.metadata.creation_timestamp or "",
        chosen_later=isinstance(claim, deviceclaim.ResourceClaim),
    )


def with_trails(view: ClaimsView, trails: Mapping[str, Sequence[ClaimMark]], now: float) -> ClaimsView:
    """trails: by the claim's key, up to `now` (Unix seconds), the moment that the page shows."""
    window = window_of(trails.values(), now)
    rows = []
    for row in view.rows:
        marks = tuple(trails.get(row.key, ()))
        line = claim_strip(marks, window, cut=len(marks) >= KEPT)
        rows.append(msgspec.structs.replace(row, trail=line))
    return msgspec.structs.replace(view, rows=tuple(rows))
