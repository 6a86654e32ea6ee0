"""The last stage of the funnel: which devices a claim's constraints leave, and which value clashes.

A guess where several constraints or requests meet: the value that serves the most requests is taken, constraint by
constraint. Whether the whole fits is said by the allocator alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Final

import msgspec
from msgspec.structs import replace

from dradash.kinds.deviceclaim import DeviceConstraint
from dradash.scheduling.structured.conjuncts import attribute_text
from dradash.scheduling.structured.constraints import (
    Constraint,
    MatchAttribute,
    constraint_of,
    lookup_attribute,
    typed_value,
)
from dradash.scheduling.structured.fates import Fate, Fates, Stage
from dradash.scheduling.structured.requests import Request

_UNKNOWN: Final = "unknown type"


class Course(msgspec.Struct):
    """A request or an alternative of one, and its devices so far. needed: 0 where all are asked for and none is left.

    group: the requests of a claim by number; alternatives of one request are in the same.
    """

    request: Request
    group: int
    needed: int
    fates: Fates

    @property
    def left(self) -> list[Fate]:
        return [f for f in self.fates if f.lost is None]

    @property
    def is_enough(self) -> bool:
        return 0 < self.needed <= self.fates.left


def constrain(constraints: tuple[DeviceConstraint, ...], courses: list[Course]) -> None:
    """Give the devices of a claim's requests that clash their fate."""
    for given in constraints:
        constraint = constraint_of(given)
        if constraint is None:
            continue
        concerned = [c for c in courses if constraint.concerns(c.request)]
        if isinstance(constraint, MatchAttribute):
            _match(constraint.attribute, concerned)
        else:
            for course in concerned:
                fresh = constraint_of(given)
                if fresh is not None:
                    _distinct(fresh, course)


def _value(fate: Fate, attribute: str) -> Hashable:
    found = lookup_attribute(fate.seen.candidate.device, fate.id, attribute)
    return None if found is None else typed_value(found) or _UNKNOWN


def _lose(course: Course, reasons: dict[int, str]) -> None:
    if not reasons:
        return  # shared with other requests still
    course.fates = Fates(
        replace(f, lost=Stage.CONSTRAINTS, why=reasons[i]) if i in reasons else f for i, f in enumerate(course.fates)
    )


def _match(attribute: str, concerned: list[Course]) -> None:
    held: list[dict[int, Hashable]] = []
    for course in concerned:
        values = {i: _value(f, attribute) for i, f in enumerate(course.fates) if f.lost is None}
        _lose(course, {i: f"has no attribute {attribute}" for i, v in values.items() if v is None})
        held.append({i: v for i, v in values.items() if v is not None})
    supply = [Counter(values.values()) for values in held]
    every = {value: None for of in supply for value in of}
    if not every:
        return
    served = {value: _served(value, concerned, supply) for value in every}
    wanted = len({c.group for c in concerned})
    best = max(every, key=lambda value: served[value])
    viable = {value for value in every if served[value][0] == wanted} or {best}
    for course, values, of in zip(concerned, held, supply, strict=True):
        clashing = {i: value for i, value in values.items() if value not in viable}
        _lose(
            course,
            {
                i: f"{attribute} = {attribute_text(course.fates[i].seen.candidate, attribute)}: {_clash(of[v], course)}"
                for i, v in clashing.items()
            },
        )


def _served(value: Hashable, concerned: list[Course], supply: list[Counter[Hashable]]) -> tuple[int, int]:
    """How many requests find enough devices of the value, and how many useful devices there are."""
    groups = {c.group for c, of in zip(concerned, supply, strict=True) if 0 < c.needed <= of[value]}
    return len(groups), sum(min(of[value], c.needed) for c, of in zip(concerned, supply, strict=True))


def _clash(have: int, course: Course) -> str:
    if have < course.needed:
        return f"{have} of the {course.needed} needed have it"
    return "another request has too few of it"


def _distinct(constraint: Constraint, course: Course) -> None:
    reasons = {}
    for i, fate in enumerate(course.fates):
        candidate = fate.seen.candidate
        if fate.lost is None and not constraint.add(course.request, candidate.device, candidate.id):
            if lookup_attribute(candidate.device, candidate.id, constraint.attribute) is None:
                reasons[i] = f"has no attribute {constraint.attribute}"
            else:
                said = f"{constraint.attribute} = {attribute_text(candidate, constraint.attribute)}"
                reasons[i] = f"{said}: the device before it has it too"
    _lose(course, reasons)
