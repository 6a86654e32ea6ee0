"""The moves of a negotiation in lanes: one for the scheduler, one for each driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dradash.reader.talks import Talk
from dradash.scheduling.classic.awaiting import SCHEDULER
from dradash.scheduling.classic.negotiation import Round
from dradash.scheduling.classic.turns import Turn
from dradash.web.presenters.words import node_href

NODES_NAMED: Final = 6  # nodes of one move that are named at once
UNKNOWN_LANE: Final = "claims"  # moves whose author the objects do not name


class NodeName(msgspec.Struct, frozen=True):
    name: str
    href: str


class NodeList(msgspec.Struct, frozen=True):
    """Some nodes of a move: the first ones, and how many more there are."""

    label: str
    shown: tuple[NodeName, ...]
    rest: tuple[str, ...]


class TurnView(msgspec.Struct, frozen=True):
    """A move in its lane, counted from 0. cells: one for each lane, of which only its own is filled in."""

    at: float
    kind: str
    actor: str
    lane: int
    claim: str
    text: str
    took: float | None
    found: bool  # it had happened by `at`
    long_before: bool
    lists: tuple[NodeList, ...]


class RoundView(msgspec.Struct, frozen=True):
    """number, cut: as in negotiation.Round."""

    key: str
    number: int
    cut: bool
    started: float
    turns: tuple[TurnView, ...]


def lanes_of(standing: Talk, turns: Sequence[Turn]) -> tuple[str, ...]:
    """The scheduler first, then the drivers of the pod's claims, then whoever else moved."""
    actors = [SCHEDULER, *(d for d in standing.drivers.values() if d), *(t.actor for t in turns if t.actor)]
    unknown = [UNKNOWN_LANE] if any(not t.actor for t in turns) else []
    return tuple(dict.fromkeys((*actors, *unknown)))


def round_view(whole: Round, lanes: tuple[str, ...]) -> RoundView:
    return RoundView(whole.key, whole.number, whole.cut, whole.started, tuple(_turn(t, lanes) for t in whole.turns))


def _turn(turn: Turn, lanes: tuple[str, ...]) -> TurnView:
    return TurnView(
        at=turn.at,
        kind=turn.kind,
        actor=turn.actor or "claim",
        lane=lanes.index(turn.actor or UNKNOWN_LANE),
        claim=turn.claim,
        text=turn.text,
        took=turn.took,
        found=turn.found,
        long_before=turn.long_before,
        lists=tuple(_lists(turn)),
    )


def _lists(turn: Turn) -> list[NodeList]:
    if turn.kind == "Selected" or not (turn.added or turn.removed):
        return []
    came, went = ("new", "gone") if turn.kind == "Proposed" else ("unsuitable", "suitable again")
    return [_list(label, nodes) for label, nodes in ((came, turn.added), (went, turn.removed)) if nodes]


def _list(label: str, nodes: tuple[str, ...]) -> NodeList:
    shown = tuple(NodeName(n, node_href(n)) for n in nodes[:NODES_NAMED])
    return NodeList(f"{len(nodes)} {label}", shown, nodes[NODES_NAMED:])
