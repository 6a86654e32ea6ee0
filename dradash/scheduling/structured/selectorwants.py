"""`selector wants model == "h100"; this cluster has a100 (40), l4 (8)`: a selector beside what there is for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.conjuncts import NOTHING, Met, met, short
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Stage
from dradash.scheduling.structured.looks import Budget
from dradash.scheduling.structured.nodefunnel import NodeFunnel

NAMED: Final = 4
_READ: Final = 4  # values of a device that are told in the time of one look

_STAGES: Final = tuple(Stage)
_FAILURE: Final = "CEL runtime error: "
_NO_BOOL: Final = re.compile(r"result of type (\S+) could not be converted to bool")
_Values = tuple[Met, ...]


class Besides(msgspec.Struct, frozen=True):
    """What a part of a selector meets. refused: on devices that it refuses; fails: why it cannot be asked of some of
    them, "" else. Where it does not refuse: unusable, of pools that give none; taken: that it takes, with what refuses
    them later. complete: whether all were looked at."""

    unusable: Counter[_Values]
    taken: Counter[tuple[_Values, str]]
    refused: Counter[_Values]
    fails: str = ""
    complete: bool = True


def wants(owner: str, part: str, values: Counter[str], where: str, more: Besides) -> str:
    """values: of the devices that the selector refuses, for where not all were looked at."""
    lacks = _lacks(more)
    sentence = f"{owner} wants {short(part)}{more.fails and f', {more.fails}'}"
    refused = _texts(more.refused, lacks) if more.complete else values
    has = [_told(refused)] if refused else []
    if unusable := _texts(more.unusable, lacks):
        has.append(f"{_told(unusable)} in pools that cannot be used")
    taken: Counter[tuple[str, str]] = Counter()
    for (met_values, why), count in more.taken.items():
        taken[_text(met_values, lacks), why] += count
    if taken:
        told = [f"{value} ({count}{why and f': {why}'})".lstrip() for (value, why), count in taken.most_common()]
        has.append(f"these that it takes: {listing(told)}")
    if has:
        sentence = f"{sentence}; {where} has {', and '.join(has)}"
    if lacks:
        sentence = f"{sentence}; no device of {where} has {listing(lacks)}"
    return sentence if more.complete else f"{sentence}; not all devices that it takes were looked at"


def _lacks(more: Besides) -> list[str]:
    """What the part reads and no device has."""
    if not more.complete:
        return []
    every = [*more.refused, *more.unusable, *(values for values, _ in more.taken)]
    found = {one.name for values in every for one in values if one.value != NOTHING}
    return sorted({one.name for values in every for one in values} - found)


def _texts(values: Counter[_Values], lacks: list[str]) -> Counter[str]:
    """Without those that say nothing."""
    found: Counter[str] = Counter()
    for met_values, count in values.items():
        if text := _text(met_values, lacks):
            found[text] += count
    return found


def _text(values: _Values, lacks: list[str]) -> str:
    left = [one for one in values if one.name not in lacks]
    if len(values) == 1:
        return "".join(f"no {one.name}" if one.value == NOTHING else one.value for one in left)
    return ", ".join(f"no {one.name}" if one.value == NOTHING else f"{one.name} {one.value}" for one in left)


def _told(values: Counter[str]) -> str:
    return listing([f"{value} ({count})" for value, count in values.most_common()])


def listing(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def besides(
    funnels: Iterable[tuple[NodeFunnel, int]], claim: str, request: str, part: str, stage: Stage, work: Budget
) -> Besides:
    """What a request's selector meets, or would meet, on the devices of these nodes.

    Each funnel with its number of nodes. part: as `short` gives it, of a selector of this stage. work: what may still
    be looked at.
    """
    seen = [(course, nodes) for funnel, nodes in funnels for course in _courses(funnel, claim, request)]
    same, fails = _told_as(part, stage, [course for course, _ in seen])
    # A node where it refuses nothing does not know the selector by its part.
    whole = min(same, default=part)
    more = Besides(Counter(), Counter(), Counter(), fails)
    shared: set[DeviceID] = set()
    for course, nodes in seen:
        for fate in course.fates:
            is_refused = fate.lost is stage and fate.part in same
            is_unusable = fate.lost is Stage.POOL
            if not (is_refused or is_unusable or _passes(fate, stage)) or fate.id in shared:
                continue
            if not fate.seen.is_local:
                shared.add(fate.id)
            count = nodes if fate.seen.is_local else 1
            if is_refused:
                more.refused[fate.met] += count
                continue
            read = met(whole, fate.seen.candidate)
            if not work.spend(1 + len(read) // _READ):
                return replace(more, complete=False)
            if not is_unusable:
                more.taken[read, fate.why] += count
            elif any(one.value != NOTHING for one in read):
                more.unusable[read] += count
    return more


def _told_as(part: str, stage: Stage, courses: list[Course]) -> tuple[set[str], str]:
    """Parts that are shown so, as they refuse devices at this stage, and why one of them fails."""
    lost = [f for course in courses for f in course.fates if f.lost is stage and f.part]
    refusing = {f.part: f for f in lost} | {f.part: f for f in lost if f.stops}
    same = {text for text in refusing if short(text) == part}
    return same, next((why for text in sorted(same) if (why := _failure(refusing[text]))), "")


def _failure(fate: Fate) -> str:
    if not fate.stops:
        return ""
    _, _, words = fate.why.partition(_FAILURE)
    if kind := _NO_BOOL.search(words):
        return f"which is a {kind[1]} and no bool"
    return words and f"which fails ({words})"


def _passes(fate: Fate, stage: Stage) -> bool:
    return fate.lost is None or _STAGES.index(fate.lost) > _STAGES.index(stage)


def _courses(funnel: NodeFunnel, claim: str, request: str) -> Iterable[Course]:
    for of, courses in zip(funnel.claims, funnel.courses, strict=True):
        if object_name(of) == claim:
            yield from (c for c in courses if c.request.full_name == request)
