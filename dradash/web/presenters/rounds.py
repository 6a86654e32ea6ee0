"""A negotiation as pages show it: of each round and of each list of nodes the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from dradash.reader.histories import HISTORY_ENTRIES, is_cut
from dradash.reader.moment import show
from dradash.scheduling.classic.negotiation import Negotiation, Round
from dradash.scheduling.classic.turns import Turn
from dradash.store.model import HistoryEntry
from dradash.web.presenters.words import SHOWN, few

TURNS: Final = 60  # of one round: each of a pod's claims may make several
NODES: Final = 200  # of one turn


def bounded(negotiation: Negotiation, newest: int | None = None) -> Negotiation:
    """newest: so many rounds of it; None: all."""
    rounds = tuple(_round(r) for r in negotiation.rounds[-newest if newest else 0 :])
    return msgspec.structs.replace(negotiation, rounds=rounds, awaited=negotiation.awaited[:SHOWN])


def earlier_said(negotiation: Negotiation, states: Sequence[HistoryEntry]) -> str:
    """Why the rounds are not told from the beginning, "" where they are. states: of the context, which were read."""
    if negotiation.whole:
        return ""
    if is_cut(states):
        return f"What was said before {show(states[0].at)} is left out: the newest {HISTORY_ENTRIES} states are read."
    if not states:
        return "What was said earlier is not known: no state of before is kept."
    return f"What was said before {show(states[0].at)} is not known: of then is the first state that dradash has."


def _round(whole: Round) -> Round:
    turns = tuple(_turn(t) for t in whole.turns[:TURNS])
    if rest := len(whole.turns) - len(turns):
        last = turns[-1]
        turns = (*turns, msgspec.structs.replace(last, nodes=(), claim="", text=f"and others: {rest:,} more moves"))
    return msgspec.structs.replace(whole, turns=turns)


def _turn(turn: Turn) -> Turn:
    return msgspec.structs.replace(turn, nodes=few(turn.nodes, NODES)) if len(turn.nodes) > NODES else turn
