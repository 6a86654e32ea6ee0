"""How a pod's verdict went over the last hour: how many nodes fitted, and which outcome it was.

Kept as changes come, of those pods that somebody has looked at; what was before that is read from the history, once.
Pure: times and histories are given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from dradash.scheduling.verdict import Outcome, Verdict
from dradash.store.model import HistoryEntry

WINDOW: Final = 3600.0  # seconds that a trail reaches back
KEPT: Final = 60  # newest changes of one pod


class Mark(msgspec.Struct, frozen=True):
    """From `at` (Unix seconds) on the verdict was so. fit: nodes that fitted; None: no node was looked at."""

    at: float
    fit: int | None
    outcome: Outcome


class _Said(msgspec.Struct, rename="camel"):
    """What is read of a stored verdict."""

    outcome: Outcome
    nodes_fit: int = 0
    nodes_total: int = 0


def _mark(at: float, said: _Said | Verdict) -> Mark:
    return Mark(at, said.nodes_fit if said.nodes_total else None, said.outcome)


class Trails:
    """Of now. Fed by the follower."""

    def __init__(self) -> None:
        self._marks: dict[str, deque[Mark]] = {}

    def watch(self, pod: str) -> bool:
        """Note its changes from now on; False when they are noted already."""
        if pod in self._marks:
            return False
        self._marks[pod] = deque(maxlen=KEPT)
        return True

    def forget(self, pod: str) -> None:
        self._marks.pop(pod, None)

    def fill(self, pod: str, earlier: Sequence[Mark]) -> None:
        """Put what was before those marks that there are, oldest first."""
        marks = self._marks.get(pod)
        if marks is None:
            return  # it went meanwhile
        noted = list(marks)
        marks.clear()
        for mark in (*(e for e in earlier if not noted or e.at < noted[0].at), *noted):
            _note(marks, mark)

    def feed(self, at: float, pod: str, verdict: Verdict | None) -> None:
        """verdict: None when there is none any more: a later pod of this name has a trail of its own."""
        if verdict is None:
            self.forget(pod)
        elif pod in self._marks:
            _note(self._marks[pod], _mark(at, verdict))

    def marks(self, pod: str) -> tuple[Mark, ...]:
        """Oldest first; nothing of a pod that is not watched."""
        return tuple(self._marks.get(pod, ()))


def marks_of(entries: Iterable[HistoryEntry]) -> list[Mark]:
    """What the history of a verdict tells, oldest first: of the pod that has the name last."""
    marks: list[Mark] = []
    for entry in entries:
        if entry.type == "DELETED":
            marks.clear()
            continue
        try:
            said = msgspec.json.decode(entry.object, type=_Said)
        except msgspec.DecodeError:
            continue  # stored by another version
        _note(marks, _mark(entry.at, said))
    return marks


def _note(marks: list[Mark] | deque[Mark], mark: Mark) -> None:
    if not marks or (marks[-1].fit, marks[-1].outcome) != (mark.fit, mark.outcome):
        marks.append(mark)
