"""A pod's verdict, its answer for each node, and how it came about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.paging import Cursor, decode, encode
from dradash.api.pods import Item, find
from dradash.api.schemas import Actor, Reason, Rows, Shape, Total, actor, reason, reasons, time_of
from dradash.problems import BAD_CURSOR, NOT_FOUND, Refusal
from dradash.reader.world import World
from dradash.scheduling.effects import Effect
from dradash.scheduling.verdict import Agreement, Choice, ClaimRef, HintNote, NodeGroup, Step, Verdict
from dradash.store.model import VERDICTS, HistoryEntry
from dradash.store.replica import Applied

SAMPLE: Final = 10


class Group(Shape, frozen=True):
    """Nodes with the same answer. reason: null where they pass. nodes: the first of them by slot."""

    plugin: str
    code: str
    reason: Reason | None
    count: int
    nodes: tuple[str, ...]


class StepBody(Shape, frozen=True):
    """One extension point of the scheduler, in the order in which they run."""

    point: str
    state: str
    plugin: str
    code: str
    reasons: tuple[Reason, ...]
    groups: tuple[Group, ...]
    effects: tuple[Effect, ...]
    choices: tuple[Choice, ...]


class VerdictBody(Shape, frozen=True):
    """What the scheduler's next attempt says. effects of a step: what it would write, with the exact body."""

    pod: str
    uid: str
    generation: str
    revision: int
    outcome: str
    sentence: str
    reasons: tuple[Reason, ...]
    steps: tuple[StepBody, ...]
    claims: tuple[ClaimRef, ...]
    nodes_fit: int
    nodes_total: int
    node: str
    acts_next: Actor
    alternatives: tuple[str, ...]
    not_modelled: tuple[str, ...]
    agreement: Agreement
    hints: tuple[HintNote, ...]
    judged_at: str | None
    since: str | None
    gone: str | None


class NodeAnswer(Shape, frozen=True):
    node: str
    passes: bool
    plugin: str
    code: str
    reason: Reason | None


class VerdictEntry(Shape, frozen=True):
    """The verdict from `at` on."""

    revision: int
    at: str | None
    type: str
    outcome: str
    sentence: str
    reasons: tuple[Reason, ...]
    acts_next: Actor


def _judged(ask: Ask) -> tuple[Verdict, float]:
    item, gone = find(ask)
    if item.verdict is None:
        raise Refusal(NOT_FOUND, f"the pod {item.key} has not been judged yet")
    if ask.at is None and not gone and (stored := ask.here.verdict(item.key)) and stored.uid == item.verdict.uid:
        return stored, gone  # with the hints of the last judgement, even where that changed nothing
    return item.verdict, gone


def verdict(ask: Ask) -> Any:
    judged, gone = _judged(ask)
    sets = ask.here.node_sets.get([g.nodes for s in judged.steps for g in s.groups])
    with ask.world() as world:
        names = world.cluster.nodes.names
        steps = tuple(_step(s, sets, names) for s in judged.steps)
    found = VerdictBody(
        pod=judged.pod,
        uid=judged.uid,
        generation=judged.generation,
        revision=judged.revision,
        outcome=str(judged.outcome),
        sentence=judged.sentence,
        reasons=reasons(judged),
        steps=steps,
        claims=judged.claims,
        nodes_fit=judged.nodes_fit,
        nodes_total=judged.nodes_total,
        node=judged.node,
        acts_next=actor(judged.acts_next),
        alternatives=judged.alternatives,
        not_modelled=judged.not_modelled,
        agreement=judged.agreement,
        hints=judged.hints,
        judged_at=time_of(judged.judged_at),
        since=time_of(judged.since),
        gone=time_of(gone),
    )
    return projected(found, ask)


def _step(step: Step, sets: dict[str, int], names: Any) -> StepBody:
    return StepBody(
        point=step.point,
        state=str(step.state),
        plugin=step.plugin,
        code=str(step.code),
        reasons=tuple(reason(r) for r in step.reasons),
        groups=tuple(_group(g, sets, names) for g in step.groups),
        effects=step.effects,
        choices=step.choices,
    )


def _group(group: NodeGroup, sets: dict[str, int], names: Any) -> Group:
    return Group(
        plugin=group.plugin,
        code=str(group.code),
        reason=reason(group.reason) if group.reason else None,
        count=group.count,
        nodes=tuple(names(sets.get(group.nodes, 0))[:SAMPLE]),
    )


class _Node(msgspec.Struct, frozen=True):
    name: str
    group: NodeGroup


def _nodes(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[_Node]:  # noqa: ARG001 - no watch
    judged = find(ask)[0].verdict
    groups = [g for s in judged.steps for g in s.groups] if judged else []
    sets = ask.here.node_sets.get([g.nodes for g in groups])
    text = ask.get("q").casefold()
    for group in groups:
        if _wanted(group, ask):
            for name in world.cluster.nodes.names(sets.get(group.nodes, 0)):
                if not text or text in name.casefold():
                    yield _Node(name, group)


def _wanted(group: NodeGroup, ask: Ask) -> bool:
    if "passes" in ask.params and ask.params["passes"] != (not group.reason):
        return False
    wanted = ask.get("reason")
    return not wanted or (bool(group.reason) and wanted in (group.reason, reason(group.reason).code))


def _node_row(ask: Ask, world: World, node: _Node) -> NodeAnswer:  # noqa: ARG001 - as every resource's
    group = node.group
    return NodeAnswer(
        node=node.name,
        passes=not group.reason,
        plugin=group.plugin,
        code=str(group.code),
        reason=reason(group.reason) if group.reason else None,
    )


def _prepare(ask: Ask, changes: Sequence[Applied]) -> object:  # noqa: ARG001 - no watch
    judged = find(ask)[0].verdict
    return ask.here.node_sets.get([g.nodes for s in judged.steps for g in s.groups] if judged else [])


NODES: Final = Listing(
    row_type=NodeAnswer,
    items=_nodes,
    identity=lambda n: n.name,
    sortings={"node": lambda n: n.name, "reason": lambda n: n.group.reason, "plugin": lambda n: n.group.plugin},
    row=_node_row,
    prepare=_prepare,
)


_NEWEST: Final = "-at"
SEARCHED: Final = 5000  # states that one answer looks through


def history(ask: Ask) -> Any:
    """Newest first."""
    item, _ = find(ask)
    with ask.world() as world:
        revision, instance = world.revision, world.instance
    limit, question = ask.params.get("limit", params.ROWS), ask.question(VerdictEntry.__name__)
    until, before = math.inf if ask.at is None else ask.at, math.inf
    if text := ask.params.get("cursor"):
        until, before = _place(decode(text, _NEWEST, question), until)
    found, ended = _states(ask, item, until, before, limit)
    rows = found[:limit]
    behind = rows[-1][0] if len(found) > limit else ended
    return Rows(
        items=tuple(projected(entry, ask) for _, entry in rows),
        total=Total(count=len(found), exact=behind is None and text is None),
        next=encode(Cursor(_NEWEST, behind.at, str(behind.revision), question)) if behind is not None else None,
        revision=revision,
        instance=instance,
    )


def _place(cursor: Cursor, until: float) -> tuple[float, float]:
    """Behind which time and revision the page begins."""
    if isinstance(cursor.key, str) or not cursor.identity.isdecimal():
        raise Refusal(BAD_CURSOR, "this cursor was not handed out here")
    return min(until, cursor.key), float(cursor.identity)


def _states(
    ask: Ask, item: Item, until: float, before: float, limit: int
) -> tuple[list[tuple[HistoryEntry, VerdictEntry]], HistoryEntry | None]:
    """At least one more than the limit, or all; else behind which state to search on (None: nothing is older)."""
    size = limit + 2
    while True:
        read = ask.here.model.history(VERDICTS, item.key, 0.0, until, size)
        older = [e for e in reversed(read) if e.revision < before]  # several may be of one time
        found = [(e, told) for e in older if (told := _entry(e, item.pod.uid)) is not None]
        if len(read) < size or len(found) > limit:
            return found, None
        if size >= SEARCHED:
            return found, older[-1] if older else None
        size = min(size * 4, SEARCHED)


def _entry(entry: HistoryEntry, uid: str) -> VerdictEntry | None:
    """None for a verdict on an earlier pod of the same name."""
    try:
        judged = msgspec.json.decode(entry.object, type=Verdict)
    except msgspec.DecodeError:
        return None
    if judged.uid != uid:
        return None
    return VerdictEntry(
        revision=entry.revision,
        at=time_of(entry.at),
        type=entry.type,
        outcome=str(judged.outcome),
        sentence=judged.sentence,
        reasons=reasons(judged),
        acts_next=actor(judged.acts_next),
    )


_POD: Final = "/pods/{namespace}/{name}"
ENDPOINTS: Final = (
    Endpoint("verdict", f"{_POD}/verdict", "pods", "Why the pod is not scheduled, step by step", VerdictBody, verdict),
    listed(
        "verdict-nodes",
        f"{_POD}/verdict/nodes",
        "pods",
        "Filter's answer for each node",
        NODES,
        params.reason("Only nodes refused for this reason"),
        params.flag("passes", "Only nodes that pass (1), or only those that do not (0)."),
        params.text("q", "Only nodes whose name contains this text.", "node-1"),
    ),
    Endpoint(
        "history",
        f"{_POD}/history",
        "pods",
        "The pod's verdicts, newest first, as far back as they are kept",
        Rows[VerdictEntry],
        history,
        row_type=VerdictEntry,
    ),
)
