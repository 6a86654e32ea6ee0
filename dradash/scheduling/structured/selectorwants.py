"""`selector wants model == "h100"; this cluster has a100 (40), l4 (8)`: a selector beside what there is for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.conjuncts import NOTHING, met, short
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Stage
from dradash.scheduling.structured.funnel import met_text
from dradash.scheduling.structured.nodefunnel import NodeFunnel

NAMED: Final = 4


def wants(owner: str, part: str, values: Counter[str], where: str, unusable: Counter[str]) -> str:
    """values: of the devices that got as far as the selector; unusable: of those in pools that give none."""
    sentence = f"{owner} wants {short(part)}"
    if values:
        sentence += f"; {where} has {_told(values)}"
    if unusable:
        sentence += f"{', and' if values else f'; {where} has'} {_told(unusable)} in pools that cannot be used"
    return sentence


def _told(values: Counter[str]) -> str:
    return listing([f"{value} ({count})" for value, count in values.most_common()])


def listing(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def in_unusable_pools(funnels: Iterable[tuple[NodeFunnel, int]], claim: str, request: str, part: str) -> Counter[str]:
    """What a request's selector would meet in pools that cannot be used. Each funnel with its number of nodes.

    part: as `short` gives it. Devices that have nothing of what it reads are left out.
    """
    values: Counter[str] = Counter()
    shared: set[DeviceID] = set()
    for funnel, nodes in funnels:
        for course in _courses(funnel, claim, request):
            whole = next((f.part for f in course.fates if f.part and short(f.part) == part), part)
            for fate in course.fates:
                if fate.lost is not Stage.POOL or fate.id in shared:
                    continue
                if not fate.seen.is_local:
                    shared.add(fate.id)
                read = met(whole, fate.seen.candidate)
                if any(one.value != NOTHING for one in read):
                    values[met_text(read)] += nodes if fate.seen.is_local else 1
    return values


def _courses(funnel: NodeFunnel, claim: str, request: str) -> Iterable[Course]:
    for of, courses in zip(funnel.claims, funnel.courses, strict=True):
        if object_name(of) == claim:
            yield from (c for c in courses if c.request.full_name == request)
