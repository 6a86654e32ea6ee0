"""`selector wants model == "h100"; this cluster has a100 (40), l4 (8)`: a selector beside what there is for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.conjuncts import NOTHING, met, short
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Fate, Stage
from dradash.scheduling.structured.funnel import met_text
from dradash.scheduling.structured.looks import Budget
from dradash.scheduling.structured.nodefunnel import NodeFunnel

NAMED: Final = 4
_READ: Final = 4  # values of a device that are told in the time of one look

_STAGES: Final = tuple(Stage)


class Besides(msgspec.Struct, frozen=True):
    """Devices that the selector did not refuse. unusable: of pools that give none; taken: that it takes, with what
    refuses them later. complete: whether all were looked at."""

    unusable: Counter[str]
    taken: Counter[tuple[str, str]]
    complete: bool = True


def wants(owner: str, part: str, values: Counter[str], where: str, more: Besides) -> str:
    """values: of the devices that the selector refuses."""
    sentence = f"{owner} wants {short(part)}"
    has = [_told(values)] if values else []
    if more.unusable:
        has.append(f"{_told(more.unusable)} in pools that cannot be used")
    if more.taken:
        taken = [f"{value} ({count}{why and f': {why}'})" for (value, why), count in more.taken.most_common()]
        has.append(f"these that it takes: {listing(taken)}")
    if has:
        sentence = f"{sentence}; {where} has {', and '.join(has)}"
    return sentence if more.complete else f"{sentence}; not all devices that it takes were looked at"


def _told(values: Counter[str]) -> str:
    return listing([f"{value} ({count})" for value, count in values.most_common()])


def listing(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def besides(
    funnels: Iterable[tuple[NodeFunnel, int]], claim: str, request: str, part: str, stage: Stage, work: Budget
) -> Besides:
    """What a request's selector meets, or would meet, on devices that it does not refuse.

    Each funnel with its number of nodes. part: as `short` gives it, of a selector of this stage. Devices of unusable
    pools that have nothing of what it reads are left out. work: what may still be looked at.
    """
    more = Besides(Counter(), Counter())
    shared: set[DeviceID] = set()
    for funnel, nodes in funnels:
        for course in _courses(funnel, claim, request):
            whole = next((f.part for f in course.fates if f.part and short(f.part) == part), part)
            for fate in course.fates:
                is_unusable = fate.lost is Stage.POOL
                if not (is_unusable or _passes(fate, stage)) or fate.id in shared:
                    continue
                if not fate.seen.is_local:
                    shared.add(fate.id)
                count = nodes if fate.seen.is_local else 1
                read = met(whole, fate.seen.candidate)
                if not work.spend(1 + len(read) // _READ):
                    return replace(more, complete=False)
                if not is_unusable:
                    more.taken[met_text(read), fate.why] += count
                elif any(one.value != NOTHING for one in read):
                    more.unusable[met_text(read)] += count
    return more


def _passes(fate: Fate, stage: Stage) -> bool:
    return fate.lost is None or _STAGES.index(fate.lost) > _STAGES.index(stage)


def _courses(funnel: NodeFunnel, claim: str, request: str) -> Iterable[Course]:
    for of, courses in zip(funnel.claims, funnel.courses, strict=True):
        if object_name(of) == claim:
            yield from (c for c in courses if c.request.full_name == request)
