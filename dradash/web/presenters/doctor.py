"""Findings as a list with filters, as one page each, and as lines on the pages of their objects."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import quote, urlencode

import msgspec

from dradash.kinds.registry import KINDS
from dradash.scheduling.doctor.finding import (
    DEVICES,
    DRIVERS,
    OBJECTS_LISTED,
    POOLS,
    Finding,
    Ref,
    Severity,
    subject,
)
from dradash.scheduling.doctor.rule import Rule
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.doctor.thresholds import MEANINGS, Thresholds
from dradash.web.presenters.query import Column, Option, Pager, Query, Sorting, columns, options, page_of, sorted_by
from dradash.web.presenters.words import LONGEST_NAME, Chip, cut, driver_href, href, row_id

PARAMS: Final = frozenset({"about", "severity", "code", "ns", "class", "driver", "q", "sort", "page"})
OBJECTS: Final = 4  # in a row of the list
LINES: Final = 5  # on an object's own page
_FIRST_SENTENCE: Final = re.compile(r"(?s)^(.*?[.?!])\s.*$")
_OF_SLICES: Final = {POOLS: "Pool", DEVICES: "Device"}

SEVERITIES: Final[dict[str, Chip]] = {
    Severity.ERROR: Chip("Error", "bad", "stop", "Somebody must act, or nothing moves"),
    Severity.WARNING: Chip("Warning", "warn", "alert", "It may still move, but it should not be so"),
    Severity.INFO: Chip("Info", "idle", "dots", "Worth knowing"),
}
RESOLVED: Final = Chip("Resolved", "good", "check", "It does not hold any more")
NOT_SEEN: Final = Chip("Not found", "idle", "question", "It does not hold, and the history does not show that it did")


class ObjectLink(msgspec.Struct, frozen=True):
    kind: str  # as in Kubernetes: Pod
    key: str
    href: str  # "" where there is no page
    absent: bool


class FindingRow(msgspec.Struct, frozen=True):
    id: str
    href: str
    chip: Chip
    title: str
    code: str
    sentence: str
    objects: tuple[ObjectLink, ...]
    more: int  # objects that are not shown
    since: float
    remedy: str  # its first sentence: the finding's own page has all of it
    command: str


class SeverityCount(msgspec.Struct, frozen=True):
    chip: Chip
    count: int
    href: str


class DoctorFilters(msgspec.Struct, frozen=True):
    severities: tuple[Option, ...]
    codes: tuple[Option, ...]
    namespaces: tuple[Option, ...]
    classes: tuple[Option, ...]
    drivers: tuple[Option, ...]
    text: str
    sort: str
    about: str
    active: bool


class DoctorView(msgspec.Struct, frozen=True):
    """looked_at: Unix seconds of the findings, 0.0 when nobody has looked yet. about: the only object shown of."""

    counts: tuple[SeverityCount, ...]
    filters: DoctorFilters
    columns: tuple[Column, ...]
    rows: tuple[FindingRow, ...]
    pager: Pager
    known: int
    looked_at: float
    faults: tuple[str, ...]
    clear: str
    about: ObjectLink | None


class FindingView(msgspec.Struct, frozen=True):
    """state: holds, resolved or unseen. of `unseen` only the rule is known: `row` is None then."""

    id: str
    state: str
    chip: Chip
    severity: Chip
    title: str
    code: str
    meaning: str
    remedy: str
    setting: str
    setting_value: str
    setting_meaning: str
    row: FindingRow | None
    objects: tuple[ObjectLink, ...]
    total: int
    resolved_at: float
    looked_at: float
    past: bool
    same_code: str


class Lines(msgspec.Struct, frozen=True):
    """Findings about one object, on its own page."""

    rows: tuple[FindingRow, ...]
    more: int
    all: str  # address of the list with them


class Summary(msgspec.Struct, frozen=True):
    """On the overview."""

    counts: tuple[SeverityCount, ...]
    rows: tuple[FindingRow, ...]
    total: int
    looked_at: float

    @property
    def more(self) -> int:
        return self.total - len(self.rows)


def finding_href(id_: str) -> str:
    return f"/doctor/{quote(id_, safe='')}"


def _link(ref: Ref) -> ObjectLink:
    kind = _OF_SLICES.get(ref.kind) or KINDS[ref.kind].kind
    return ObjectLink(kind, ref.key, "" if ref.absent or not ref.key else href(ref.kind, ref.key), ref.absent)


def row_of(finding: Finding, objects: int = OBJECTS) -> FindingRow:
    """objects: how many of them are named."""
    return FindingRow(
        id=row_id("finding", finding.id),
        href=finding_href(finding.id),
        chip=SEVERITIES[finding.severity],
        title=RULES[finding.code].title,
        code=finding.code,
        sentence=finding.sentence,
        objects=tuple(_link(r) for r in finding.objects[:objects]),
        more=max(0, finding.total - objects),
        since=finding.since,
        remedy=cut(_FIRST_SENTENCE.sub(r"\1", finding.remedy), LONGEST_NAME),
        command=shlex.join(["kubectl", *finding.command]),
    )


# --- the list --------------------------------------------------------------------------------------------------------

_OLDEST_FIRST: Final = {severity: i for i, severity in enumerate(Severity)}
SORTINGS: Final = (
    Sorting("severity", "Severity", lambda f: (_OLDEST_FIRST[f.severity], f.since)),
    Sorting("code", "Finding", lambda f: (f.code, f.since)),
    Sorting("ns", "Namespace", lambda f: f.namespace),
    Sorting("since", "Since", lambda f: f.since, "num", True),
)

_FILTERS: Final[dict[str, Callable[[Finding], str]]] = {
    "severity": lambda f: f.severity,
    "code": lambda f: f.code,
    "ns": lambda f: f.namespace,
    "class": lambda f: f.resource_class,
    "driver": lambda f: f.driver,
}


def present(findings: Sequence[Finding], query: Query, looked_at: float, faults: tuple[str, ...] = ()) -> DoctorView:
    matching, counts = _filtered(findings, query)
    shown, pager = page_of(sorted_by(matching, query, SORTINGS, lambda f: f.id), query)
    heads = dict(zip((s.name for s in SORTINGS), columns(query, SORTINGS), strict=True))
    return DoctorView(
        counts=_severities(findings),
        filters=_filters(query, counts),
        columns=(
            heads["severity"],
            heads["code"],
            Column("Objects"),
            Column("What to do", css="off-wall"),
            heads["since"],
        ),
        rows=tuple(row_of(f) for f in shown),
        pager=pager,
        known=len(findings),
        looked_at=looked_at,
        faults=faults,
        about=_subject(query.get("about")),
        clear=query.link(about=None, severity=None, code=None, ns=None, driver=None, q=None, **{"class": None}),
    )


def _filtered(findings: Sequence[Finding], query: Query) -> tuple[Sequence[Finding], dict[str, Counter[str]]]:
    """What all filters leave, and for each filter how many its choices would show. One pass: there may be thousands."""
    wanted = {name: query.get(name) for name in _FILTERS if query.get(name)}
    text = query.get("q").casefold()
    matching: list[Finding] = []
    nearly: dict[str, list[Finding]] = {name: [] for name in _FILTERS}  # what only this one filter takes away
    for finding in findings:
        if text and not finding.has(text):
            continue
        failed = [name for name, value in wanted.items() if _FILTERS[name](finding) != value]
        if not failed:
            matching.append(finding)
        elif len(failed) == 1:
            nearly[failed[0]].append(finding)
    counts = {
        name: Counter(map(value, matching)) + Counter(map(value, nearly[name])) for name, value in _FILTERS.items()
    }
    return matching, counts


def _filters(query: Query, counts: dict[str, Counter[str]]) -> DoctorFilters:
    labels = {"severity": {s: c.text for s, c in SEVERITIES.items()}, "code": {c: r.title for c, r in RULES.items()}}

    def choices(name: str) -> tuple[Option, ...]:
        return options({v: n for v, n in counts[name].items() if v}, query.get(name), labels.get(name))

    return DoctorFilters(
        severities=choices("severity"),
        codes=choices("code"),
        namespaces=choices("ns"),
        classes=choices("class"),
        drivers=choices("driver"),
        text=query.get("q"),
        sort=query.get("sort"),
        about=query.get("about"),
        active=any(query.get(p) for p in (*_FILTERS, "q", "about")),
    )


def _severities(findings: Sequence[Finding]) -> tuple[SeverityCount, ...]:
    counts = Counter(f.severity for f in findings)
    return tuple(
        SeverityCount(chip, counts[Severity(s)], "/doctor?" + urlencode({"severity": s}))
        for s, chip in SEVERITIES.items()
    )


def summary(findings: Sequence[Finding], looked_at: float) -> Summary:
    worst = [f for f in findings if f.severity is not Severity.INFO]
    return Summary(_severities(findings), tuple(row_of(f) for f in worst[:LINES]), len(findings), looked_at)


def lines(findings: Sequence[Finding], kind: str, key: str) -> Lines:
    address = "/doctor?" + urlencode({"about": f"{kind}/{key}"})
    return Lines(tuple(row_of(f) for f in findings[:LINES]), max(0, len(findings) - LINES), address)


def _subject(about: str) -> ObjectLink | None:
    found = subject(about)
    if found is None:
        return None
    kind, key = found
    if kind == DRIVERS:
        return ObjectLink("Driver", key, driver_href(key), absent=False)
    return _link(Ref(kind, key))


# --- one finding -----------------------------------------------------------------------------------------------------


def present_one(
    rule: Rule,
    id_: str,
    finding: Finding | None,
    *,
    holds: bool,
    resolved_at: float,
    looked_at: float,
    thresholds: Thresholds,
    past: bool = False,
) -> FindingView:
    state = "holds" if holds else "resolved" if finding else "unseen"
    severity = SEVERITIES[rule.severity]
    return FindingView(
        id=id_,
        state=state,
        chip={"holds": severity, "resolved": RESOLVED, "unseen": NOT_SEEN}[state],
        severity=severity,
        title=rule.title,
        code=rule.code,
        meaning=rule.meaning,
        remedy=finding.remedy if finding else rule.remedy,
        setting=f"DRADASH_DOCTOR_{rule.threshold.upper()}" if rule.threshold else "",
        setting_value=_value(rule.threshold, thresholds),
        setting_meaning=MEANINGS.get(rule.threshold, ""),
        row=row_of(finding) if finding else None,
        objects=tuple(_link(r) for r in finding.objects[:OBJECTS_LISTED]) if finding else (),
        total=finding.total if finding else 0,
        resolved_at=resolved_at,
        looked_at=looked_at,
        past=past,
        same_code="/doctor?" + urlencode({"code": rule.code}),
    )


def _value(name: str, thresholds: Thresholds) -> str:
    if not name:
        return ""
    value = getattr(thresholds, name)
    return f"{value:g}" if name == "changes" else f"{value:g} s"
