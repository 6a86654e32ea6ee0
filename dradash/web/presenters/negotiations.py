"""The negotiations list: every PodSchedulingContext, who must move, and since when nobody did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dradash.reader.talks import BOUND, ENDING, LATE, NO_POD, Talk, all_talks, rules_broken
from dradash.reader.trails import KEPT, TalkMark
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import Awaited, Stage
from dradash.scheduling.classic.invariants import Invariant
from dradash.web.presenters.lines import Line, talk_line, window_of
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.words import ACTORS, Chip, driver_href, negotiation_href, node_href, pod_href, row_id

PARAMS: Final = frozenset({"ns", "driver", "state", "node", "q", "sort", "page"})
# Half of other lists: with each word said the rows change places, and the whole list is sent and laid out anew.
ROWS: Final = 50
MOVES: Final = 6  # of one negotiation that are named in the list
FINISH: Final = str(Stage.FINISH)

STATES: Final[dict[str, Chip]] = {
    Stage.HELD: Chip("Held up", "bad", "lock", "No answer helps before somebody else has moved: see who must act next"),
    Stage.ROOM: Chip("All nodes refused", "bad", "cross", "A driver finds every proposed node unsuitable"),
    Stage.RESELECT: Chip("Selection refused", "warn", "turns", "The selected node is unsuitable: another is due"),
    Stage.ANSWER: Chip("Answer owed", "busy", "clock", "A driver must say which nodes are unsuitable"),
    Stage.SELECT: Chip("Selection due", "busy", "clock", "The scheduler's turn: to select a node"),
    Stage.ALLOCATE: Chip("Allocation owed", "busy", "clock", "A node is selected: a driver must allocate"),
    Stage.FINISH: Chip("Allocated", "good", "check", "Nothing is left to negotiate: reserve and bind"),
    BOUND: Chip("Bound", "good", "check", "The pod has a node: nothing is left to negotiate"),
    ENDING: Chip("Pod ends", "idle", "trash", "The pod ends without a node: nobody negotiates for it any more"),
    NO_POD: Chip("Without a pod", "idle", "trash", "No pod has its name: it is left to garbage collection"),
}


class Move(msgspec.Struct, frozen=True):
    actor: str
    href: str
    icon: str
    what: str
    claim: str
    since: float


class TalkRow(msgspec.Struct, frozen=True):
    id: str
    key: str
    href: str
    namespace: str
    name: str
    pod_href: str  # "" when there is no such pod
    chip: Chip
    moves: tuple[Move, ...]
    unnamed: int  # moves more than these
    since: float
    proposed: int
    selected: str
    selected_href: str
    answered: int
    claims: int
    broken: tuple[Invariant, ...]
    more_broken: int
    trail: Line | None = None


class TalkFilters(msgspec.Struct, frozen=True):
    namespaces: tuple[Option, ...]
    drivers: tuple[Option, ...]
    states: tuple[Option, ...]
    nodes: tuple[Option, ...]  # () unless one is chosen
    text: str
    sort: str
    active: bool


class TalksView(msgspec.Struct, frozen=True):
    filters: TalkFilters
    columns: tuple[Column, ...]
    rows: tuple[TalkRow, ...]
    pager: Pager
    known: int


_ORDER: Final = {str(state): i for i, state in enumerate(STATES)}
SORTINGS: Final = (
    Sorting("silent", "Silent for", lambda t: t.since or LATE, "num", True),
    Sorting("ns", "Namespace", lambda t: t.key.split("/")[0]),
    Sorting("pod", "Pod", lambda t: t.key.split("/")[-1]),
    Sorting("state", "State", lambda t: _ORDER[t.state]),
    Sorting("actor", "Must act", lambda t: t.moves[0].actor if t.moves else ""),
    Sorting("proposed", "Proposed", lambda t: len(t.context.spec.potential_nodes), "num off-wall"),
    Sorting("selected", "Selected", lambda t: t.context.spec.selected_node),
)


def present(world: World, query: Query, waits: Since, now: float) -> TalksView:
    talks = all_talks(world, waits)
    matching = [t for t in talks if _matches(t, query)]
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda t: t.key), query, ROWS)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    return TalksView(
        filters=_filters(talks, query),
        columns=(
            *(heads[n] for n in ("ns", "pod", "state", "actor", "silent", "proposed", "selected")),
            Column("Answers", css="num off-wall"),
            Column("Broken rules"),
        ),
        rows=tuple(_row(t, now) for t in shown),
        pager=pager,
        known=len(talks),
    )


def _matches(talk: Talk, query: Query, without: str = "") -> bool:
    namespace, driver, state = query.get("ns"), query.get("driver"), query.get("state")
    if namespace and without != "ns" and talk.key.split("/")[0] != namespace:
        return False
    if driver and without != "driver" and driver not in talk.drivers.values():
        return False
    if state and without != "state" and talk.state != state:
        return False
    node = query.get("node")
    if node and without != "node" and node not in _nodes(talk):
        return False
    text = query.get("q").casefold()
    return not text or text in f"{talk.key} {talk.context.spec.selected_node}".casefold()


def _nodes(talk: Talk) -> set[str]:
    """Those that are proposed, and the one that is selected."""
    return {*talk.context.spec.potential_nodes, talk.context.spec.selected_node} - {""}


def _filters(talks: list[Talk], query: Query) -> TalkFilters:
    labels = {str(state): chip.text for state, chip in STATES.items()}

    def others(name: str) -> Iterable[Talk]:
        return (t for t in talks if _matches(t, query, name))

    drivers = Counter(d for t in others("driver") for d in set(t.drivers.values()) if d)
    return TalkFilters(
        namespaces=options(Counter(t.key.split("/")[0] for t in others("ns")), query.get("ns")),
        drivers=options(drivers, query.get("driver")),
        states=options(Counter(t.state for t in others("state")), query.get("state"), labels),
        nodes=options(Counter(n for t in others("node") for n in _nodes(t)), query.get("node"))
        if query.get("node")
        else (),
        text=query.get("q"),
        sort=query.get("sort"),
        active=any(query.get(p) for p in ("ns", "driver", "state", "node", "q")),
    )


def _row(talk: Talk, now: float) -> TalkRow:
    spec = talk.context.spec
    answered = {s.name for s in talk.context.status.resource_claims}
    broken = rules_broken(talk, now)
    return TalkRow(
        id=row_id("talk", talk.key),
        key=talk.key,
        href=negotiation_href(talk.key),
        namespace=talk.context.namespace,
        name=talk.context.name,
        pod_href=pod_href(talk.key) if talk.pod else "",
        chip=STATES[talk.state],
        moves=tuple(move(m) for m in talk.moves[:MOVES]),
        unnamed=max(0, len(talk.moves) - MOVES),
        since=talk.since,
        proposed=len(spec.potential_nodes),
        selected=spec.selected_node,
        selected_href=node_href(spec.selected_node) if spec.selected_node else "",
        answered=sum(name in answered for name in talk.claims),
        claims=len(talk.claims),
        broken=tuple(broken[:MOVES]),
        more_broken=max(0, len(broken) - MOVES),
    )


def with_trails(view: TalksView, trails: Mapping[str, Sequence[TalkMark]], now: float) -> TalksView:
    """trails: by the pod's key, up to `now` (Unix seconds), the moment that the page shows."""
    window = window_of(trails.values(), now)
    rows = []
    for row in view.rows:
        marks = tuple(trails.get(row.key, ()))
        line = talk_line(marks, window, cut=len(marks) >= KEPT)
        rows.append(msgspec.structs.replace(row, trail=line))
    return msgspec.structs.replace(view, rows=tuple(rows))


def move(awaiting: Awaited) -> Move:
    actor, party, link = awaiting.actor, awaiting.party, ""
    if party == "pod":
        actor, link = f"pod {awaiting.actor}", pod_href(awaiting.actor)
    elif party == "driver":
        link = driver_href(actor) if actor else ""
    return Move(actor or "a driver", link, ACTORS.get(party, "question"), awaiting.what, awaiting.claim, awaiting.since)
