"""What the doctor finds."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, listed, projected
from dradash.api.schemas import ROOT, Ref, Shape, ref, time_of
from dradash.kinds.registry import KINDS
from dradash.problems import NOT_FOUND, Refusal
from dradash.reader.world import World
from dradash.scheduling.doctor.finding import DEVICES, DRIVERS, OBJECTS_LISTED, POOLS, Finding, Severity
from dradash.scheduling.doctor.rules import RULES


class FindingRow(Shape, frozen=True):
    """objects: the first is what it is about; total: how many there are. command: a kubectl call that shows it."""

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


_ORDER: Final = {severity: i for i, severity in enumerate(Severity)}
_FILTERS: Final[dict[str, Callable[[Finding], str]]] = {
    "severity": lambda f: f.severity,
    "code": lambda f: f.code,
    "namespace": lambda f: f.namespace,
    "class": lambda f: f.resource_class,
    "driver": lambda f: f.driver,
}


def row_of(finding: Finding) -> FindingRow:
    id_ = quote(finding.id, "")
    return FindingRow(
        id=finding.id,
        code=finding.code,
        severity=str(finding.severity),
        title=RULES[finding.code].title,
        sentence=finding.sentence,
        objects=tuple(ref(o.kind, o.key) for o in finding.objects[:OBJECTS_LISTED]),
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
    return tuple(row_of(f) for f in ask.findings().by_object.get((kind, key), ()))


def items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Finding]:  # noqa: ARG001 - no watch
    wanted = [(of, ask.params[name]) for name, of in _FILTERS.items() if name in ask.params]
    text = ask.get("q").casefold()
    report = ask.findings()
    subject = ask.params.get("about")
    for finding in report.findings if subject is None else report.by_object.get(subject, ()):
        if all(of(finding) == value for of, value in wanted):
            if text and text not in f"{finding.sentence} {finding.id}".casefold():
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
        finding=row_of(shown),
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
    row=lambda ask, world, finding: row_of(finding),  # noqa: ARG005 - as every resource's
)
_KINDS: Final = (*KINDS, DRIVERS, POOLS, DEVICES)
ENDPOINTS: Final = (
    listed(
        "findings",
        "/findings",
        "findings",
        "What is wrong in the cluster",
        FINDINGS,
        params.choice("severity", "Only this severity.", map(str, Severity)),
        params.choice("code", "Only this code.", RULES),
        params.text("namespace", "Only findings about this namespace.", "ml"),
        params.text("class", "Only findings about this ResourceClass.", "gpu"),
        params.text("driver", "Only findings about this driver.", "gpu.example.com"),
        params.about("Only findings about this object.", _KINDS),
        params.text("q", "Only findings whose sentence or id contains this text.", "train"),
        varies="findings",
    ),
    Endpoint("finding", "/findings/{id}", "findings", "One finding", FindingDetail, detail, varies="findings"),
)
