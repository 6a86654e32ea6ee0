"""How objects went over the last hour, for the lines in the rows of lists: one mark for each change that a line shows.

Kept as changes come, of those objects that somebody has looked at; what was before that is read from the history,
once. Pure: times and histories are given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.claimfacts import AnyClaim, read_claim, state_of
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.store.model import VERDICTS, HistoryEntry

WINDOW: Final = 3600.0  # seconds that a trail reaches back
KEPT: Final = 60  # newest changes of one object
WATCHED: Final = 2000  # objects of a kind; those looked at longest ago are forgotten


class Mark(Protocol):
    @property
    def at(self) -> float:
        """Unix seconds: from then on it was so."""

    @property
    def said(self) -> object:
        """What the line shows; equal ones in a row are one mark."""


M = TypeVar("M", bound=Mark)


class Course(msgspec.Struct, Generic[M], frozen=True):
    """What is noted of a kind. read: a stored state, raises MalformedObject or DecodeError. mark: (at, object)."""

    kind: str
    read: Callable[[bytes], Any]
    mark: Callable[[float, Any], M]


class Trails(Generic[M]):
    """Of one kind, of now. Fed by the follower."""

    def __init__(self, course: Course[M]) -> None:
        self._course = course
        self._marks: dict[str, deque[M]] = {}  # looked at last comes last

    def watch(self, key: str) -> bool:
        """Note its changes from now on; False when they are noted already."""
        marks = self._marks.pop(key, None)
        self._marks[key] = deque(maxlen=KEPT) if marks is None else marks
        if len(self._marks) > WATCHED:
            del self._marks[next(iter(self._marks))]
        return marks is None

    def forget(self, key: str) -> None:
        self._marks.pop(key, None)

    def fill(self, key: str, earlier: Sequence[M]) -> None:
        """Put what was before those marks that there are, oldest first."""
        marks = self._marks.get(key)
        if marks is None:
            return  # it went meanwhile
        noted = list(marks)
        marks.clear()
        for mark in (*(e for e in earlier if not noted or e.at < noted[0].at), *noted):
            _note(marks, mark)

    def feed(self, at: float, key: str, obj: Any) -> None:
        """obj: None when there is none any more: a later one of this name has a trail of its own."""
        if obj is None:
            self.forget(key)
        elif key in self._marks:
            _note(self._marks[key], self._course.mark(at, obj))

    def marks(self, key: str) -> tuple[M, ...]:
        """Oldest first; nothing of an object that is not watched."""
        return tuple(self._marks.get(key, ()))


def marks_of(course: Course[M], entries: Iterable[HistoryEntry]) -> list[M]:
    """What the history of an object tells, oldest first: of the one that has the name last."""
    marks: list[M] = []
    for entry in entries:
        if entry.type == "DELETED":
            marks.clear()
            continue
        try:
            obj = course.read(entry.object)
        except (msgspec.DecodeError, MalformedObject):
            continue  # stored by another version, or nothing that could be read then either
        _note(marks, course.mark(entry.at, obj))
    return marks


def _note(marks: list[M] | deque[M], mark: M) -> None:
    if not marks or marks[-1].said != mark.said:
        marks.append(mark)


# --- verdicts --------------------------------------------------------------------------------------------------------


class VerdictMark(msgspec.Struct, frozen=True):
    """fit: nodes that fitted; None: no node was looked at."""

    at: float
    fit: int | None
    outcome: Outcome

    @property
    def said(self) -> tuple[int | None, Outcome]:
        return self.fit, self.outcome


class _Said(msgspec.Struct, rename="camel"):
    """What is read of a stored verdict."""

    outcome: Outcome
    nodes_fit: int = 0
    nodes_total: int = 0


def _read_verdict(raw: bytes) -> _Said:
    return msgspec.json.decode(raw, type=_Said)


def _verdict_mark(at: float, said: _Said | Verdict) -> VerdictMark:
    return VerdictMark(at, said.nodes_fit if said.nodes_total else None, said.outcome)


# --- claims ----------------------------------------------------------------------------------------------------------


class ClaimMark(msgspec.Struct, frozen=True):
    at: float
    state: ClaimState

    @property
    def said(self) -> ClaimState:
        return self.state


def _claim_mark(at: float, claim: AnyClaim) -> ClaimMark:
    return ClaimMark(at, state_of(claim))


# --- negotiations ----------------------------------------------------------------------------------------------------


class TalkMark(msgspec.Struct, frozen=True):
    """left: proposed nodes that no driver finds unsuitable; None: none was proposed. selected: a node or ""."""

    at: float
    left: int | None
    selected: str

    @property
    def said(self) -> tuple[int | None, str]:
        return self.left, self.selected


def _read_context(raw: bytes) -> PodSchedulingContext:
    return decode(PodSchedulingContext, raw)


def _talk_mark(at: float, context: PodSchedulingContext) -> TalkMark:
    proposed = set(context.spec.potential_nodes)
    refused = {node for of_claim in context.status.resource_claims for node in of_claim.unsuitable_nodes}
    return TalkMark(at, len(proposed - refused) if proposed else None, context.spec.selected_node)


VERDICT: Final = Course(VERDICTS, _read_verdict, _verdict_mark)
CLAIM: Final = Course("resourceclaims", read_claim, _claim_mark)
TALK: Final = Course("podschedulingcontexts", _read_context, _talk_mark)
COURSES: Final[tuple[Course[Any], ...]] = (VERDICT, CLAIM, TALK)
