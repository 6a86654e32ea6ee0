"""What the doctor finds."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

import msgspec

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.schemas import ROOT, Ref, Shape, ref, time_of
from dradash.kinds.registry import KINDS
from dradash.problems import NOT_FOUND, Refusal
from dradash.reader.doctor import Report
from dradash.reader.follower import Follower
from dradash.reader.world import World
from dradash.scheduling.doctor.finding import NO_KINDS, OBJECTS_LISTED, Finding, Severity, subject
from dradash.scheduling.doctor.finding import Ref as Object
from dradash.scheduling.doctor.rules import RULES
from dradash.store.model import ReadModel, StoreUnavailable

Name = tuple[str, str]  # kind, key
READ: Final = 2000  # objects that do not exist, of which one report's list asks the history


class FindingRow(Shape, frozen=True):
    """objects: the first is what it is about; total: how many there are. command: a kubectl call that shows it.

    `url` of an object that does not exist is null, unless its last state is kept.
    """

    id: str
    code: str
    severity: str
    title: str
    sentence: str
    objects: tuple[Ref, ...]
    total: int
    since: str | None
    remedy: str
    command: str
    namespace: str
    resource_class: str
    driver: str
    url: str
    page: str


class FindingDetail(Shape, frozen=True):
    """resolved: since when it does not hold any more, null while it does. `finding` is then as it was last."""

    finding: FindingRow
    holds: bool
    resolved: str | None
    meaning: str


EXAMPLE: Final = "resourceclasses/gpu"
SUBJECTS: Final = (*KINDS, *NO_KINDS)
_ORDER: Final = {severity: i for i, severity in enumerate(Severity)}
_FILTERS: Final[dict[str, Callable[[Finding], str]]] = {
    "severity": lambda f: f.severity,
    "code": lambda f: f.code,
    "namespace": lambda f: f.namespace,
    "class": lambda f: f.resource_class,
    "driver": lambda f: f.driver,
}


class _Resources:
    """Of a report's objects that do not exist: those of which a resource shows the last state.

    A part of Current: a list of findings asks the history once for each report.
    """

    def __init__(self, follower: Follower) -> None:  # noqa: ARG002 - as every part of Current
        self._of: tuple[Report | None, frozenset[Name]] = (None, frozenset())

    def among(self, report: Report, model: ReadModel) -> frozenset[Name]:
        of, found = self._of
        if of is not report:
            found = _kept(report.findings, model)
            self._of = report, found
        return found


def _kept(findings: Iterable[Finding], model: ReadModel) -> frozenset[Name]:
    named = (o for f in findings for o in f.objects[:OBJECTS_LISTED] if o.absent and o.kind in KINDS)
    names = list(dict.fromkeys((o.kind, o.key) for o in named))[:READ]
    try:
        states = model.histories(names, 0.0, float("inf"), 1) if names else []
    except StoreUnavailable:
        return frozenset()  # nor could the resource be read
    return frozenset(name for name, kept in zip(names, states, strict=True) if kept)


def _object(of: Object, kept: frozenset[Name]) -> Ref:
    """What exists only by name has a page that says so, and no resource, as in /lookup."""
    made = ref(of.kind, of.key)
    return msgspec.structs.replace(made, url=None) if of.absent and (of.kind, of.key) not in kept else made


def _listed(ask: Ask) -> frozenset[Name]:
    return ask.here.part(_Resources).among(ask.findings(), ask.here.model)


def row_of(finding: Finding, kept: frozenset[Name]) -> FindingRow:
    """kept: of objects that do not exist, those that have a resource."""
    id_ = quote(finding.id, "")
    return FindingRow(
        id=finding.id,
        code=finding.code,
        severity=str(finding.severity),
        title=RULES[finding.code].title,
        sentence=finding.sentence,
        objects=tuple(_object(o, kept) for o in finding.objects[:OBJECTS_LISTED]),
        total=finding.total,
        since=time_of(finding.since),
        remedy=finding.remedy,
        command=shlex.join(["kubectl", *finding.command]),
        namespace=finding.namespace,
        resource_class=finding.resource_class,
        driver=finding.driver,
        url=f"{ROOT}/findings/{id_}",
        page=f"/doctor/{id_}",
    )


def about(ask: Ask, kind: str, key: str) -> tuple[FindingRow, ...]:
    """What is found about an object, worst and oldest first. kind: plural, DRIVERS, POOLS or DEVICES."""
    found = ask.findings().by_object.get((kind, key), ())
    kept = _kept(found, ask.here.model)
    return tuple(row_of(f, kept) for f in found)


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Finding]:  # noqa: ARG001 - no watch
    wanted = [(of, ask.params[name]) for name, of in _FILTERS.items() if name in ask.params]
    text = ask.get("q").casefold()
    report, about_one = ask.findings(), subject(ask.get("about"))
    for finding in report.findings if about_one is None else report.by_object.get(about_one, ()):
        if all(of(finding) == value for of, value in wanted):
            if text and not finding.has(text):
                continue
            yield finding


def detail(ask: Ask) -> Any:
    id_ = ask.where["id"]
    finding = ask.findings().by_id.get(id_)
    resolved = ask.here.doctor.resolved(id_, ask.at) if finding is None else None
    shown = finding or (resolved.finding if resolved else None)
    if shown is None:
        raise Refusal(NOT_FOUND, f"“{id_[:80]}” does not hold, and the history does not show that it did")
    found = FindingDetail(
        finding=row_of(shown, _kept((shown,), ask.here.model)),
        holds=finding is not None,
        resolved=time_of(resolved.at) if resolved else None,
        meaning=RULES[shown.code].meaning,
    )
    return projected(found, ask)


FINDINGS: Final = Listing(
    row_type=FindingRow,
    items=items,
    identity=lambda f: f.id,
    sortings={
        "severity": lambda f: _ORDER[f.severity] * 1e11 + f.since,
        "code": lambda f: f.code,
        "ns": lambda f: f.namespace,
        "since": lambda f: f.since,
    },
    row=lambda ask, world, finding: row_of(finding, _listed(ask)),  # noqa: ARG005 - as every resource's
    prepare=lambda ask, changes: _listed(ask),  # noqa: ARG005 - as every resource's
)


def _about() -> params.Param:
    def read(value: str) -> str:
        if len(value) > params.LONGEST or (value and subject(value) is None):
            raise ValueError(f"KIND/KEY, such as {EXAMPLE} or pods/ml/train: a plural, {', '.join(NO_KINDS)}")
        return value

    schema = {"type": "string", "maxLength": params.LONGEST, "pattern": rf"^(?:|(?:{'|'.join(SUBJECTS)})/[\s\S]+)$"}
    told = "Only findings that name this object, as KIND/KEY (a plural, drivers, pools or devices); it need not exist."
    return params.Param("about", told, schema, read, EXAMPLE)


ENDPOINTS: Final = (
    listed(
        "findings",
        "/findings",
        "findings",
        "What is wrong in the cluster",
        FINDINGS,
        _about(),
        params.choice("severity", "Only this severity.", map(str, Severity)),
        params.choice("code", "Only this code.", RULES),
        params.text("namespace", "Only findings about this namespace.", "ml"),
        params.text("class", "Only findings about this ResourceClass.", "gpu"),
        params.text("driver", "Only findings about this driver.", "gpu.example.com"),
        params.text("q", "Only findings whose sentence, id or objects contain this text.", "train"),
        varies="findings",
    ),
    Endpoint("finding", "/findings/{id}", "findings", "One finding", FindingDetail, detail, varies="findings"),
)
