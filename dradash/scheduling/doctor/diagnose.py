"""All checks over all of the cluster. No clock: `now` is an argument, like the thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Final

from dradash.scheduling.doctor import (
    claims,
    classes,
    deviceclaims,
    devices,
    extendedresources,
    negotiations,
    pods,
    publishing,
    references,
    requests,
    templates,
    versions,
    watch,
)
from dradash.scheduling.doctor.exam import Exam
from dradash.scheduling.doctor.finding import Finding, Severity
from dradash.scheduling.doctor.rules import RULES

Check = Callable[[Exam], Iterator[Finding]]

CHECKS: Final[tuple[Check, ...]] = (
    watch.check,
    references.check,
    templates.check,
    pods.check,
    claims.check,
    classes.check,
    publishing.check,
    devices.check,
    requests.check,
    deviceclaims.check,
    extendedresources.check,
    versions.check,
    negotiations.check,
)

_RANK: Final = {severity: i for i, severity in enumerate(Severity)}


def blind(readable: Set[str]) -> frozenset[str]:
    """Codes of which nothing can be said: a kind that they rest on cannot be read."""
    return frozenset(rule.code for rule in RULES.values() if not readable >= set(rule.needs))


def run(check: Check, exam: Exam) -> list[Finding]:
    """One family's findings, less those that rest on kinds which cannot be read: unknown is not absent."""
    unknown = blind(exam.readable)
    return [f for f in check(exam) if f.code not in unknown]


def diagnose(exam: Exam) -> list[Finding]:
    """Every finding, worst and oldest first, each id once."""
    return ordered(f for check in CHECKS for f in run(check, exam))


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    unique = {f.id: f for f in findings}
    return sorted(unique.values(), key=lambda f: (_RANK[f.severity], f.since, f.id))
