"""The past on a page: which moment it shows, where the object changed, and moments that cannot be shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.moment import BadMoment, parse, show
from dradash.scheduling.claimfacts import read_claim, state_of
from dradash.scheduling.verdict import Verdict
from dradash.store.model import HistoryEntry
from dradash.web.presenters.query import Query
from dradash.web.presenters.status import FreshnessView
from dradash.web.presenters.words import Chip, claim_chip, outcome_chip, plural

LISTED: Final = 20  # marks that are also links; the others are only on the slider
COMPARE: Final = "/compare"
GONE: Final = Chip("Gone", "idle", "trash")
STEPS: Final = ((60, "1 minute"), (300, "5 minutes"), (900, "15 minutes"), (3600, "1 hour"), (21600, "6 hours"))


class NoMoment(msgspec.Struct, frozen=True):
    """why: one sentence; live: link to the page as it is now; nearest: link to the nearest moment, with its time.

    unread: the moment is well asked for, and cannot be read now.
    """

    why: str
    live: str
    nearest: str = ""
    nearest_at: str = ""
    unread: bool = False


class PastBar(msgspec.Struct, frozen=True):
    """at: Unix seconds that are shown; live: link to the page as it is now; today: the present.

    now: how fresh the present is, with the kinds that could not be read then.

    compared: the page also tells of another moment.
    """

    at: float
    moment: str
    live: str
    today: str
    now: FreshnessView
    compared: bool = False


class Mark(msgspec.Struct, frozen=True):
    """The object changed at `at`. compare: what changed since the mark before, "" for the first one."""

    at: float
    moment: str
    chip: Chip
    href: str
    compare: str
    shown: bool  # the state that the page shows began here


class Offer(msgspec.Struct, frozen=True):
    """compare: what has changed in the cluster since then, "" for a moment of the past's own neighbourhood."""

    text: str
    href: str
    compare: str = ""


class Tick(msgspec.Struct, frozen=True):
    """A mark on the slider: x from 0 to 1000."""

    at: float
    x: int
    tone: str


class Timeline(msgspec.Struct, frozen=True):
    """What is kept, from `start` to `end` (Unix seconds). `at`: the moment that is shown, None for now.

    marks: newest first. of_object: they are of the page's object; else the page has none and `offers` step back.
    """

    start: float
    end: float
    at: float | None
    marks: tuple[Mark, ...]
    unlisted: int
    previous: Mark | None
    next: Mark | None
    offers: tuple[Offer, ...]
    earliest: str
    earliest_at: float
    live: str
    of_object: bool
    address: str  # the page's query string with a moment to be put at its end

    @property
    def listed(self) -> tuple[Mark, ...]:
        return self.marks[:LISTED]

    @property
    def ticks(self) -> list[Tick]:
        length = max(1.0, self.end - self.start)
        return [Tick(m.at, round(1000 * (m.at - self.start) / length), m.chip.tone) for m in reversed(self.marks)]

    @property
    def value(self) -> float:
        return self.end if self.at is None else self.at


def before_history(first: float, query: Query, name: str = "at") -> NoMoment:
    """first: the earliest moment that can be shown. name: of the parameter that asks for it."""
    nearest = show(first)
    why = "This time lies before what is kept."
    return NoMoment(why, live_link(query), query.link(**{name: nearest}), nearest)


def past_bar(at: float, query: Query, now: float, banner: FreshnessView, compared: bool = False) -> PastBar:
    return PastBar(at, show(at), live_link(query), show(now), banner, compared)


def asked_note(asked: str, at: float | None, start: float | None, now: float) -> str:
    """Why a link to the moment `asked` (as somebody wrote it) led to `at` (None: now) instead. Unix seconds."""
    shown = "now" if at is None else show(at)
    try:
        wanted = parse(asked)
    except BadMoment as error:
        return f"{error}: this page shows {shown}."
    if wanted is None:
        return ""
    if wanted > now:
        return f"{show(wanted)} has not come yet: this page shows {shown}."
    if at is None:
        return f"{show(wanted)} was asked for, and this was not known then: this page shows now."
    if start is not None and wanted < start:
        return f"{show(wanted)} was asked for. History begins at {show(start)}; shown as of {shown}."
    return f"{show(wanted)} was asked for, and this was not known then; shown as of {shown}."


def not_before(start: float, at: float | None) -> float | None:
    """`at`, or the start of history where that is later by less than a second."""
    return start if at is not None and start - 1.0 < at < start else at


def live_link(query: Query) -> str:
    return query.link(at=None, **{"with": None})


# --- where an object changed -----------------------------------------------------------------------------------------


def changes(kind: str, history: Sequence[HistoryEntry]) -> list[tuple[float, Chip]]:
    """When the object's state (for VERDICTS: what the verdict says) became another one, oldest first."""
    found: list[tuple[float, Chip]] = []
    said = ""
    for entry in history:
        chip, says = (GONE, "") if entry.type == "DELETED" else _state(kind, entry)
        if not found or (chip, says) != (found[-1][1], said):
            found.append((entry.at, chip))
            said = says
    return found


def _state(kind: str, entry: HistoryEntry) -> tuple[Chip, str]:
    """How the state is shown, and what else makes it another one."""
    try:
        match kind:
            case "verdicts":
                verdict = msgspec.json.decode(entry.object, type=Verdict)
                # As the verdict's history on the pod's page tells them apart.
                who = (verdict.acts_next.who, verdict.acts_next.names)
                return outcome_chip(verdict.outcome), f"{verdict.uid} {verdict.sentence} {who}"
            case "resourceclaims":
                claim = read_claim(entry.object)
                return claim_chip(state_of(claim)), f"{claim.uid} {claim.status}"
            case "podschedulingcontexts":
                context = decode(PodSchedulingContext, entry.object)
                return _context_chip(context), f"{context.uid} {context.spec} {context.status}"
            case _:
                return Chip(entry.type.capitalize(), "busy", "pen"), str(entry.revision)
    except (MalformedObject, msgspec.DecodeError):
        return Chip("Malformed", "bad", "alert"), ""


def _context_chip(context: PodSchedulingContext) -> Chip:
    if context.spec.selected_node:
        return Chip(f"{context.spec.selected_node} selected", "busy", "arrow")
    proposed = len(context.spec.potential_nodes)
    return Chip(f"{plural(proposed, 'node')} proposed" if proposed else "Nothing proposed", "busy", "turns")


# --- the slider ------------------------------------------------------------------------------------------------------


def timeline(
    query: Query,
    start: float,
    now: float,
    at: float | None,
    changed: Sequence[tuple[float, Chip]] | None,
    first: float | None = None,
) -> Timeline:
    """`changed`: of the page's object (see `changes`); None for a page without one. first: the earliest moment at which
    the page has something to show; None: the start."""
    # The end is a whole minute, so that a live page's slider is not sent anew with every change.
    begin, end = start, -(-now // 60) * 60
    earliest = start if first is None else first
    marks = _marks(query, changed or (), begin, at)
    # In the middle of a state the change before is the one that it began with; at its beginning, the one before that.
    earlier = [m for m in marks if at is None or (parse(m.moment) or 0.0) < at]
    later = [m for m in marks if at is not None and m.at > at]
    return Timeline(
        start=begin,
        end=end,
        at=at,
        marks=tuple(reversed(marks)),
        unlisted=max(0, len(marks) - LISTED),
        previous=earlier[-1] if earlier else None,
        next=later[0] if later else None,
        offers=() if changed is not None else _offers(query, begin, end, at),
        earliest=query.link(at=show(earliest), **{"with": None}),
        earliest_at=earliest,
        live=live_link(query) if at is not None else "",
        of_object=changed is not None,
        address=live_link(query),
    )


def _marks(query: Query, changed: Sequence[tuple[float, Chip]], start: float, at: float | None) -> list[Mark]:
    # A link to a mark names it in milliseconds, rounded up.
    shown = max((i for i, (when, _) in enumerate(changed) if at is None or when <= at), default=-1)
    marks = []
    for i, (when, chip) in enumerate(changed):
        # What was in force when history begins did not change then.
        moment = show(max(when, start))
        compare = query.link(at=moment, **{"with": show(max(changed[i - 1][0], start))}) if i else ""
        marks.append(Mark(max(when, start), moment, chip, query.link(at=moment, **{"with": None}), compare, i == shown))
    return marks


def _offers(query: Query, start: float, end: float, at: float | None) -> tuple[Offer, ...]:
    origin = end if at is None else at
    found = []
    for back, text in STEPS:
        if origin - back > start:
            moment = show(origin - back)
            since = f"{COMPARE}?{urlencode({'with': moment})}" if at is None else ""
            found.append(Offer(f"{text} earlier", query.link(at=moment), since))
    if at is not None:
        later = ((at + back, text) for back, text in STEPS[:3])
        found += [Offer(f"{text} later", query.link(at=show(when))) for when, text in later if start <= when < end]
    return tuple(found)
