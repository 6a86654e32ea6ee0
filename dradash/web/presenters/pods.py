"""The pods list: every pod that uses claims, with its verdict in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.pod import Pod
from dradash.reader.trails import KEPT, VerdictMark
from dradash.reader.world import World
from dradash.scheduling.claimfacts import classes_in
from dradash.scheduling.doctor.finding import Finding
from dradash.scheduling.reasons import codes_of
from dradash.scheduling.verdict import PERSON, Outcome, Verdict
from dradash.web.presenters.lines import Line, pod_line, window_of
from dradash.web.presenters.query import (
    Column,
    Option,
    Pager,
    Query,
    Sorting,
    columns,
    options,
    page_of,
    sorted_by,
    value_of,
)
from dradash.web.presenters.words import (
    OUTCOMES,
    Actor,
    Chip,
    actor,
    claim_chip,
    claim_href,
    cut,
    outcome_chip,
    pod_href,
    row_id,
)

PARAMS: Final = frozenset({"ns", "outcome", "reason", "class", "who", "driver", "node", "q", "sort", "page"})
CLAIMS_SHOWN: Final = 8  # of one pod
ANY: Final = "any"  # of the outcome filter: bound and terminating pods as well
BYPASSED: Final = "scheduler-bypassed"  # a finding's code
UNJUDGED: Final = "NotJudged"
SETTLED: Final = frozenset({Outcome.BOUND, Outcome.TERMINATING})


class PodClaim(msgspec.Struct, frozen=True):
    name: str  # the pod's name for it
    href: str  # "" when there is no claim yet
    chip: Chip


class PodRow(msgspec.Struct, frozen=True):
    id: str
    key: str
    href: str
    namespace: str
    name: str
    chip: Chip
    sentence: str
    fit: int
    nodes: int
    claims: tuple[PodClaim, ...]  # the first ones ...
    unlisted: int  # ... and how many more
    created: str  # RFC 3339: the pod waits for the scheduler since then
    actor: Actor | None
    since: float
    trail: Line | None = None


class PodFilters(msgspec.Struct, frozen=True):
    namespaces: tuple[Option, ...]
    outcomes: tuple[Option, ...]
    reasons: tuple[Option, ...]
    classes: tuple[Option, ...]
    drivers: tuple[Option, ...]  # () unless one is chosen
    nodes: tuple[Option, ...]  # the same
    actors: tuple[Option, ...]
    person: bool
    text: str
    sort: str
    any_outcome: bool
    active: bool


class PodsView(msgspec.Struct, frozen=True):
    filters: PodFilters
    columns: tuple[Column, ...]
    rows: tuple[PodRow, ...]
    pager: Pager
    known: int  # pods before any filter
    clear: str  # address without filters
    bypassed: int  # pods that hang though they are bound: they got their node without the scheduler
    bypassed_href: str


class Item(msgspec.Struct, frozen=True):
    key: str
    pod: Pod
    verdict: Verdict | None

    @property
    def outcome(self) -> str:
        return self.verdict.outcome if self.verdict else UNJUDGED

    @property
    def nodes(self) -> tuple[str, ...]:
        """The one that it is bound to, and the one that it would be."""
        found = (self.pod.spec.node_name, self.verdict.node if self.verdict else "")
        return tuple(dict.fromkeys(name for name in found if name))


_ORDER: Final = {o: i for i, o in enumerate((*Outcome, UNJUDGED))}

SORTINGS: Final = (
    Sorting("since", "Waiting", lambda i: i.pod.metadata.creation_timestamp or "", "num", True),
    Sorting("pod", "Pod", lambda i: i.pod.name),
    Sorting("ns", "Namespace", lambda i: i.pod.namespace),
    Sorting("outcome", "Verdict", lambda i: _ORDER[i.outcome]),
    Sorting("fit", "Nodes", lambda i: i.verdict.nodes_fit if i.verdict else -1, "num"),
    Sorting("claims", "Claims", lambda i: len(i.pod.spec.resource_claims), "num"),
    Sorting("actor", "Acts next", lambda i: (i.verdict.acts_next.who, i.verdict.since) if i.verdict else ("", 0.0)),
)
# As the table shows them; SORTINGS begins with the default order.
_SHOWN: Final = ("ns", "pod", "outcome", "fit", "claims", "since", "actor")


def present(world: World, query: Query, bypassed: Sequence[Finding] = ()) -> PodsView:
    """bypassed: findings of pods that got their node without the scheduler; no outcome tells that they hang."""
    items = [Item(k, p, world.verdicts.get(k)) for k, p in world.cluster.pods.items()]
    matching = [i for i in items if _matches(i, query)]
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda i: i.key), query)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    namespace = query.get("ns")
    return PodsView(
        # Where an outcome is asked for, its pods are listed, these among the bound ones.
        bypassed=0 if query.get("outcome") else sum(f.namespace == namespace or not namespace for f in bypassed),
        bypassed_href="/doctor?" + urlencode({"code": BYPASSED} | ({"ns": namespace} if namespace else {})),
        filters=_filters(items, matching, query),
        columns=tuple(heads[name] for name in _SHOWN),
        rows=tuple(_row(i) for i in shown),
        pager=pager,
        known=len(items),
        clear=query.link(
            ns=None, outcome=None, reason=None, who=None, driver=None, node=None, q=None, **{"class": None}
        ),
    )


def _matches(item: Item, query: Query, without: str = "") -> bool:
    """`without`: a filter not applied, for the counts of its own choices."""
    # reason: as the API takes it, a text or its code.
    namespace, reason, class_ = query.get("ns"), query.get("reason"), query.get("class")
    if namespace and without != "ns" and item.pod.namespace != namespace:
        return False
    if without != "outcome" and not _has_outcome(item, query.get("outcome")):
        return False
    if reason and without != "reason" and reason not in (*reasons_of(item.verdict), *codes_of(item.verdict)):
        return False
    if class_ and without != "class" and class_ not in classes_of(item.verdict):
        return False
    who = query.get("who")
    if who and without != "who" and not _acts(item, who):
        return False
    driver, node = query.get("driver"), query.get("node")
    if driver and without != "driver" and driver not in drivers_of(item.verdict):
        return False
    if node and without != "node" and node not in item.nodes:
        return False
    text = query.get("q").casefold()
    return not text or text in f"{item.key} {item.verdict.sentence if item.verdict else ''}".casefold()


def _has_outcome(item: Item, outcome: str) -> bool:
    if not outcome:
        return item.outcome not in SETTLED
    return outcome in (ANY, item.outcome)


def reasons_of(verdict: Verdict | None) -> tuple[str, ...]:
    """As the filter's parameter can hold them."""
    return tuple(value_of("reason", text) for text in verdict.reason_texts) if verdict else ()


def classes_of(verdict: Verdict | None) -> set[str]:
    return {n for c in verdict.claims for n in classes_in(c.resource_class)} if verdict else set()


def drivers_of(verdict: Verdict | None) -> set[str]:
    return {c.driver for c in verdict.claims if c.driver} if verdict else set()


def _acts(item: Item, who: str) -> bool:
    return item.verdict is not None and item.verdict.waits_for(who)


def needs_a_person(verdict: Verdict) -> bool:
    return verdict.waits_for(PERSON)


def _filters(items: list[Item], matching: list[Item], query: Query) -> PodFilters:
    labels = {str(o): chip.text for o, chip in OUTCOMES.items()} | {UNJUDGED: outcome_chip(None).text}

    def counted(name: str, values: Iterable[str]) -> tuple[Option, ...]:
        return options(Counter(values), query.get(name), labels if name == "outcome" else None)

    def others(name: str) -> list[Item]:
        if name == "outcome" or query.get(name):
            return [i for i in items if _matches(i, query, name)]
        return matching

    outcome = query.get("outcome")
    return PodFilters(
        namespaces=counted("ns", (i.pod.namespace for i in others("ns"))),
        outcomes=tuple(o for o in counted("outcome", (i.outcome for i in others("outcome"))) if o.value != ANY),
        reasons=counted("reason", (r for i in others("reason") for r in reasons_of(i.verdict))),
        classes=counted("class", (c for i in others("class") for c in classes_of(i.verdict))),
        actors=tuple(
            o
            for o in counted("who", (i.verdict.acts_next.who for i in others("who") if i.verdict))
            if o.value != PERSON
        ),
        person=query.get("who") == PERSON,
        text=query.get("q"),
        sort=query.get("sort"),
        any_outcome=outcome == ANY,
        # Of use to a link mostly (/go): chosen here they are changed and taken away.
        drivers=counted("driver", (d for i in others("driver") for d in drivers_of(i.verdict)))
        if query.get("driver")
        else (),
        nodes=counted("node", (n for i in others("node") for n in i.nodes)) if query.get("node") else (),
        active=any(query.get(p) for p in ("ns", "outcome", "reason", "class", "who", "driver", "node", "q")),
    )


def _row(item: Item) -> PodRow:
    verdict = item.verdict
    return PodRow(
        id=row_id("pod", item.key),
        key=item.key,
        href=pod_href(item.key),
        namespace=item.pod.namespace,
        name=item.pod.name,
        chip=outcome_chip(verdict.outcome if verdict else None),
        sentence=cut(verdict.sentence) if verdict else "",
        fit=verdict.nodes_fit if verdict else 0,
        nodes=verdict.nodes_total if verdict else 0,
        claims=_claims(item),
        unlisted=max(0, len(item.pod.spec.resource_claims) - CLAIMS_SHOWN),
        created=item.pod.metadata.creation_timestamp or "",
        actor=actor(verdict.acts_next) if verdict else None,
        since=verdict.since if verdict else 0.0,
    )


def _claims(item: Item) -> tuple[PodClaim, ...]:
    if item.verdict is None:
        return tuple(PodClaim(c.name, "", claim_chip("")) for c in item.pod.spec.resource_claims[:CLAIMS_SHOWN])
    return tuple(
        PodClaim(c.name, claim_href(f"{item.pod.namespace}/{c.claim}") if c.claim else "", claim_chip(c.state))
        for c in item.verdict.claims[:CLAIMS_SHOWN]
    )


# --- how it went ------------------------------------------------------------------------------------------------------


def with_trails(view: PodsView, trails: Mapping[str, Sequence[VerdictMark]], now: float) -> PodsView:
    """trails: by the pod's key, up to `now` (Unix seconds), the moment that the page shows."""
    window = window_of(trails.values(), now)
    rows = []
    for row in view.rows:
        marks = tuple(trails.get(row.key, ()))
        line = pod_line(marks, window, cut=len(marks) >= KEPT)
        rows.append(msgspec.structs.replace(row, trail=line))
    return msgspec.structs.replace(view, rows=tuple(rows))
