"""How each object of a list went over the last hour: a small picture in its row, the same as a table on its own page.

Pure: marks come from reader/trails.py. All pictures of a page show the same time, so that rows can be compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

from dradash.reader.nodeseries import NodeMark
from dradash.reader.trails import WINDOW, ClaimMark, Mark, TalkMark, VerdictMark
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.web.presenters.charts import SPARK_HEIGHT, SPARK_WIDTH, TABLE_ROWS, across, steps
from dradash.web.presenters.words import claim_chip, plural

M = TypeVar("M", bound=Mark)

# Seconds that all lines of a page show, the least that reaches back to the first mark of any: and how it is said.
WINDOWS: Final = {300.0: "5 minutes", 900.0: "15 minutes", WINDOW: "hour"}
STEPS: Final = 40  # in so many the lines move on: each time all rows with a change in them are sent again
DRAWN: Final = 2048  # a page of objects that flap is drawn anew with each of its changes: 8 ms otherwise

# A state has a height of its own, in units of the line's, so that nobody needs its colour: the further, the higher.
STATE_LOOKS: Final[dict[ClaimState, tuple[int, str]]] = {
    ClaimState.RESERVED: (17, "fill-g0"),
    ClaimState.ALLOCATED: (13, "fill-g8"),
    ClaimState.DEALLOCATION_REQUESTED: (10, "fill-g3"),
    ClaimState.PENDING: (7, "fill-g4"),
    ClaimState.IMMEDIATE_UNALLOCATED: (5, "fill-g2"),
    ClaimState.DELETING: (3, "fill-g6"),
}


class Window(msgspec.Struct, frozen=True):
    """start, end: Unix seconds. words: how long it is."""

    start: float
    end: float
    words: str


class Line(msgspec.Struct, frozen=True):
    """SVG paths: a value that stays until the next one, and ticks at its top. text: in words.

    dashed: another value, on the same scale.
    """

    path: str
    ticks: str
    text: str
    dashed: str = ""


class Span(msgspec.Struct, frozen=True):
    css: str
    path: str


class Strip(msgspec.Struct, frozen=True):
    """SVG paths: when an object was in which state. text: in words."""

    spans: tuple[Span, ...]
    text: str


class TableRow(msgspec.Struct, frozen=True):
    """From `at` (Unix seconds) on it was so."""

    at: float
    text: str


class Course(msgspec.Struct, frozen=True):
    """A picture with its table for an object's own page, newest first.

    count: of all changes in the window; cut: of those that are read.
    """

    title: str
    window: str  # how long it is
    picture: Line | Strip
    rows: tuple[TableRow, ...]
    count: int
    cut: bool = False


UNREAD: Final = "The history cannot be read now."  # in the place of a Course


def window_of(trails: Iterable[Sequence[Mark]], now: float) -> Window:
    """now: the moment that the page shows, in Unix seconds."""
    oldest = min((marks[0].at for marks in trails if marks), default=now)
    length = next((w for w in WINDOWS if now - oldest <= w), WINDOW)
    slot = length / STEPS
    end = math.ceil(now / slot) * slot
    return Window(end - length, end, WINDOWS[length])


def _shown(marks: Sequence[M], window: Window) -> Sequence[M]:
    """Those of the window, with the one in force at its start."""
    return marks[max(0, sum(m.at <= window.start for m in marks) - 1) :]


def _ticks(times: Iterable[float], window: Window) -> str:
    return "".join(f"M{x},0V4" for x in dict.fromkeys(across(at, window.start, window.end) for at in times))


def _is_cut(marks: Sequence[Mark], window: Window, *, cut: bool) -> bool:
    """Whether what is missing may be of the window. cut: some may be missing."""
    return cut and bool(marks) and marks[0].at > window.start


def _times(count: int, marks: Sequence[Mark], window: Window, *, cut: bool) -> str:
    return f"{'at least ' * _is_cut(marks, window, cut=cut)}{plural(count, 'time')}"


def _went(values: Sequence[int | None], nothing: str) -> str:
    """values: at least one of them a number. nothing: how it is said that there is none now."""
    known = [v for v in values if v is not None]
    if len(set(values)) == 1:
        return f"{known[0]} all the time"
    now = nothing if values[-1] is None else f"{known[-1]} now"
    return f"{known[0]} then, {now}, at most {max(known)}"


# --- pods ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=DRAWN)
def pod_line(marks: tuple[VerdictMark, ...], window: Window, *, cut: bool = False) -> Line | None:
    """How many nodes fitted, with a tick where the outcome changed. cut: there may be earlier marks than these."""
    shown = _shown(marks, window)
    if not shown:
        return None
    changed = [m.at for before, m in pairwise(shown) if m.outcome != before.outcome]
    verdict = f"the verdict changed {_times(len(changed), marks, window, cut=cut)}" if changed else "the same verdict"
    values = [m.fit for m in shown]
    if any(v is not None for v in values):
        text = f"Nodes that fit over the last {window.words}: {_went(values, 'not looked at now')}; {verdict}"
    else:
        text = f"No node was looked at in the last {window.words}; {verdict}"
    return Line(steps([(m.at, m.fit) for m in shown], window.start, window.end), _ticks(changed, window), text)


# --- negotiations ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=DRAWN)
def talk_line(marks: tuple[TalkMark, ...], window: Window, *, cut: bool = False) -> Line | None:
    """How many of the proposed nodes no driver refuses, with a tick where the scheduler selected another one.

    cut: there may be earlier marks than these.
    """
    shown = _shown(marks, window)
    if not shown:
        return None
    selected = [m.at for before, m in pairwise(shown) if m.selected and m.selected != before.selected]
    times = _times(len(selected), marks, window, cut=cut)
    selections = f"another node selected {times}" if selected else "no other node selected"
    values = [m.left for m in shown]
    if any(v is not None for v in values):
        went = _went(values, "none proposed now")
        text = f"Proposed nodes that no driver refuses over the last {window.words}: {went}; {selections}"
    else:
        text = f"No node was proposed in the last {window.words}; {selections}"
    return Line(steps([(m.at, m.left) for m in shown], window.start, window.end), _ticks(selected, window), text)


def talk_course(marks: Sequence[TalkMark], now: float, *, cut: bool = False) -> Course | None:
    """None where nothing is known of it. cut: there may be earlier marks than these."""
    window = window_of([marks], now)
    picture = talk_line(tuple(marks), window, cut=cut)
    rows = [TableRow(m.at, _talk_words(m)) for m in _shown(marks, window)]
    return _course("Nodes left to choose from", window, picture, rows, _is_cut(marks, window, cut=cut))


def _talk_words(mark: TalkMark) -> str:
    left = "no node proposed" if mark.left is None else f"{plural(mark.left, 'proposed node')} not refused"
    return f"{left}; {f'{mark.selected} selected' if mark.selected else 'none selected'}"


# --- nodes -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=DRAWN)
def node_line(marks: tuple[NodeMark, ...], window: Window) -> Line | None:
    """How many pending pods were refused on the node, and dashed how many fitted."""
    shown = _shown(marks, window)
    if not shown:
        return None
    most = max(1, *(max(m.fit, m.refused) for m in shown))
    fit, refused = [m.fit for m in shown], [m.refused for m in shown]
    times = [m.at for m in shown]
    return Line(
        path=steps(list(zip(times, refused, strict=True)), window.start, window.end, most),
        ticks="",
        text=f"Pending pods over the last {window.words}: refused {_went(refused, '')}; fit {_went(fit, '')}",
        dashed=steps(list(zip(times, fit, strict=True)), window.start, window.end, most),
    )


def node_course(marks: Sequence[NodeMark], now: float) -> Course | None:
    """None where nothing is known of it."""
    window = window_of([marks], now)
    rows = [TableRow(m.at, f"{m.refused} refused, {m.fit} fit") for m in _shown(marks, window)]
    return _course("Pending pods here", window, node_line(tuple(marks), window), rows)


def begin_of_now(window: Window) -> float:
    """When the last step of the window began: where a value of now is drawn, so that the line does not creep."""
    return window.end - (window.end - window.start) / STEPS


# --- claims ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=DRAWN)
def claim_strip(marks: tuple[ClaimMark, ...], window: Window, *, cut: bool = False) -> Strip | None:
    """In which state the claim was when. cut: there may be earlier marks than these."""
    shown = _shown(marks, window)
    if not shown:
        return None
    ends = [*(m.at for m in shown[1:]), window.end]
    paths: dict[ClaimState, str] = {}
    for mark, end in zip(shown, ends, strict=True):
        left, right = across(mark.at, window.start, window.end), across(end, window.start, window.end)
        top = SPARK_HEIGHT - STATE_LOOKS[mark.state][0]
        # What was brief has a width too: it may be what is looked for.
        right = max(right, min(left + 1, round(SPARK_WIDTH)))
        paths[mark.state] = paths.get(mark.state, "") + f"M{left},{SPARK_HEIGHT:g}V{top:g}H{right}V{SPARK_HEIGHT:g}Z"
    spans = tuple(Span(STATE_LOOKS[state][1], path) for state, path in paths.items())
    return Strip(spans, _claim_said([m.state for m in shown], window, cut=_is_cut(marks, window, cut=cut)))


def _claim_said(states: Sequence[ClaimState], window: Window, *, cut: bool) -> str:
    first, last = (claim_chip(s).text.lower() for s in (states[0], states[-1]))
    if len(states) == 1:
        return f"State over the last {window.words}: {first} all the time"
    changes = f"{'at least ' * cut}{plural(len(states) - 1, 'time')}"
    others = Counter(s for s in states[1:-1] if s not in (states[0], states[-1]))
    between = "".join(f", {claim_chip(s).text.lower()} {plural(n, 'time')} in between" for s, n in others.items())
    return f"State over the last {window.words}: {first} then, {last} now; changed {changes}{between}"


def claim_course(marks: Sequence[ClaimMark], now: float, *, cut: bool = False) -> Course | None:
    """None where nothing is known of it. cut: there may be earlier marks than these."""
    window = window_of([marks], now)
    picture = claim_strip(tuple(marks), window, cut=cut)
    rows = [TableRow(m.at, claim_chip(m.state).text) for m in _shown(marks, window)]
    return _course("State", window, picture, rows, _is_cut(marks, window, cut=cut))


def _course(
    title: str, window: Window, picture: Line | Strip | None, rows: Sequence[TableRow], cut: bool = False
) -> Course | None:
    if picture is None:
        return None
    return Course(title, window.words, picture, tuple(rows[: -TABLE_ROWS - 1 : -1]), len(rows), cut)
