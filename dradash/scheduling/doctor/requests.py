"""Requests of claims whose selectors match no device, or fail. Those of classes alone are told of the class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.scheduling.doctor.demand import Alternative, alternatives, is_wanting
from dradash.scheduling.doctor.exam import Exam, count, created
from dradash.scheduling.doctor.finding import Finding, Ref, get
from dradash.scheduling.structured.anymatch import Answer, Budget, anywhere
from dradash.scheduling.structured.ledger import devices_by_driver

GROUPS: Final = 100  # of different requests that are asked about, those of most claims first
ASKED: Final = 100_000  # devices that one look of the doctor looks at; the rest is for the next ones
LONGEST: Final = 240  # characters of a selector that are shown


class _Group(msgspec.Struct):
    """Requests of a namespace that ask for the same."""

    claims: list[ResourceClaim]
    name: str  # of the request, in the first of them


_Asked = tuple[str, tuple[Alternative, ...]]


def check(exam: Exam) -> Iterator[Finding]:
    inventory = exam.cluster.inventory
    if not sum(devices_by_driver(inventory).values()):
        return  # then it is the driver that is missed
    budget = Budget(ASKED)
    groups = sorted(_groups(exam).items(), key=lambda g: (-len(g[1].claims), g[0][0], g[1].claims[0].key))
    for asked, group in groups[:GROUPS]:
        answers = [anywhere(inventory, a.chain, budget) for a in asked[1]]
        known = [a for a in answers if a is not None]
        if len(known) == len(answers):
            yield from _told(exam, asked, group, known)


def _groups(exam: Exam) -> dict[_Asked, _Group]:
    groups: dict[_Asked, _Group] = {}
    for claim in exam.cluster.device_claims.values():
        if not is_wanting(claim):
            continue
        for request in claim.spec.devices.requests:
            asked = alternatives(request, exam.cluster.device_classes)
            if any(len(a.chain) > a.of_class for a in asked):
                group = groups.setdefault((claim.namespace, asked), _Group([], request.name))
                if not group.claims or group.claims[-1] is not claim:
                    group.claims.append(claim)
    return groups


def _told(exam: Exam, asked: _Asked, group: _Group, answers: list[Answer]) -> Iterator[Finding]:
    both = list(zip(asked[1], answers, strict=True))
    failing = next(((a, said) for a, said in both if said.fails_at >= a.of_class), None)
    if failing is not None:
        alternative, said = failing
        words = f"fails: {said.error}: {_short(alternative.chain[said.fails_at])}"
        yield from _finding(exam, "request-selector-fails", asked, group, f"selector {words}")
    elif all(not said.matched and said.furthest >= a.of_class for a, said in both):
        refusing = _short(both[0][0].chain[both[0][1].furthest])
        more = "" if len(both) == 1 else f", and none of its {len(both)} alternatives does better"
        yield from _finding(
            exam, "request-matches-no-device", asked, group, f"selector matches no device{more}: {refusing}"
        )


def _finding(exam: Exam, code: str, asked: _Asked, group: _Group, what: str) -> Iterator[Finding]:
    claims = sorted(group.claims, key=lambda c: (created(c), c.key))
    since = created(claims[0])
    if not exam.for_longer(since, exam.thresholds.missing):
        return
    first = asked[1][0]
    others = f" (and of {count(len(claims) - 1, 'other claim')})" if len(claims) > 1 else ""
    pods = sorted({pod for c in claims for pod in exam.cluster.pods_by_claim.members(c.key)})
    yield exam.finding(
        code,
        (asked[0], *(part for a in asked[1] for part in (a.class_name, *a.chain))),
        f"Request {group.name} of ResourceClaim {claims[0].key}{others}: its {what}.",
        (
            Ref("deviceclasses", first.class_name),
            *(Ref("resourceclaims", c.key) for c in claims),
            *(Ref("pods", p) for p in pods),
        ),
        since,
        command=get("resourceclaims", claims[0].key),
        namespace=asked[0],
        resource_class=first.class_name,
    )


def _short(expression: str) -> str:
    text = " ".join(expression.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
