"""The overview for a screen on a wall: a few large facts that are read from across the room, and nothing to click."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.reader.world import World
from dradash.scheduling.doctor.finding import Finding, Severity
from dradash.scheduling.verdict import Outcome
from dradash.web.presenters.doctor import FindingRow, row_of
from dradash.web.presenters.longest import LongWaiting, longest
from dradash.web.presenters.overview import is_known
from dradash.web.presenters.pods import SETTLED, UNJUDGED, needs_a_person
from dradash.web.presenters.words import Chip, outcome_chip

PODS: Final = 8  # that have room
TROUBLES: Final = 4
# Each has its place, whether there are such pods or not: a reader knows where to look.
PLACES: Final = (
    Outcome.BLOCKED,
    Outcome.UNSCHEDULABLE,
    Outcome.ERROR,
    Outcome.UNKNOWN,
    Outcome.WAITING,
    Outcome.SCHEDULABLE,
    Outcome.GATED,
    None,
)


class Tile(msgspec.Struct, frozen=True):
    chip: Chip
    count: int
    href: str


class Trouble(msgspec.Struct, frozen=True):
    """What is found, as often as it is found. row: the oldest of them."""

    row: FindingRow
    count: int
    href: str  # of all of them


class WallView(msgspec.Struct, frozen=True):
    """pending and person are None, and tiles and pods empty, while pods are not known. more: pods that have no room."""

    pending: int | None
    person: int | None
    tiles: tuple[Tile, ...]
    pods: tuple[LongWaiting, ...]
    more: int


def present(world: World) -> WallView:
    if not is_known(world.sync.get("pods")):
        return WallView(None, None, (), (), 0)
    waiting = {key: pod for key, pod in world.cluster.pods.items() if pod.is_pending}
    verdicts = {key: world.verdicts.get(key) for key in waiting}
    counts = Counter(v.outcome if v else None for v in verdicts.values() if not (v and v.outcome in SETTLED))
    shown, more = longest(waiting, verdicts, PODS)
    return WallView(
        pending=len(waiting),
        person=sum(v is not None and needs_a_person(v) for v in verdicts.values()),
        tiles=tuple(_tile(outcome, counts[outcome]) for outcome in PLACES),
        pods=shown,
        more=more,
    )


def worst(findings: Sequence[Finding]) -> tuple[Trouble, ...]:
    """findings: worst and oldest first, as the doctor gives them. What is only worth knowing is left out."""
    counts = Counter(f.code for f in findings)
    firsts: dict[str, Finding] = {}
    for finding in findings:
        if finding.severity is not Severity.INFO:
            firsts.setdefault(finding.code, finding)
    return tuple(
        Trouble(row_of(first), counts[code], "/doctor?" + urlencode({"code": code}))
        for code, first in list(firsts.items())[:TROUBLES]
    )


def _tile(outcome: Outcome | None, count: int) -> Tile:
    return Tile(outcome_chip(outcome), count, "/pods?" + urlencode({"outcome": outcome or UNJUDGED}))
