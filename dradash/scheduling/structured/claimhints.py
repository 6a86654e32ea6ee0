"""What is advised about whole claims: their requests together ask for too much."""

from __future__ import annotations

import msgspec

from dradash.kinds.deviceclaim import ALL, MAX_RESULTS
from dradash.scheduling.structured import claimsize
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.allocator import object_name
from dradash.scheduling.structured.constraintfates import Course
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.fates import Stage
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.selectorwants import listing


def over_limit(funnel: NodeFunnel, *, everywhere: bool) -> list[Hint]:
    """Claims that ask for more devices than the API lets a claim have: no other change helps."""
    hints = []
    for claim, courses in zip(funnel.claims, funnel.courses, strict=True):
        least = _least(courses)
        if least <= MAX_RESULTS:
            continue
        is_all = any(c.request.mode == ALL for c in courses)  # elsewhere all may be fewer
        hints.append(claimsize.over_limit(claim, least, funnel.node.name if is_all else "", named=everywhere))
    return hints


def compete(funnel: NodeFunnel) -> Hint:
    """Each request finds enough devices, and not all of them together do."""
    every = _wants(funnel)
    short = _crowded_of(every)
    does = f"they do not{_meeting(funnel)}"
    if short:
        needed, left = sum(w.needed for w in short), len({id_ for w in short for id_ in w.devices})
        who = "they" if len(short) == len(every) else listing([w.name for w in short])
        does = f"{who} need {needed}, and {left} {'is' if left == 1 else 'are'} left"
    sentence = f"each request finds enough devices alone; together {does}"
    return Hint(kind="together", sentence=sentence, claim="", request="", node=funnel.node.name, verified=False)


class _Want(msgspec.Struct, frozen=True):
    """A request: how many devices it needs at least, and of which. shares: of some that others may have at once."""

    place: int  # of the claim
    name: str
    needed: int
    devices: dict[DeviceID, None]
    shares: bool
    admin: bool


def _wants(funnel: NodeFunnel) -> list[_Want]:
    found = []
    for place, (claim, courses) in enumerate(zip(funnel.claims, funnel.courses, strict=True)):
        for group in dict.fromkeys(c.group for c in courses):
            of = [c for c in courses if c.group == group]
            # Which of them a constraint leaves is a guess (constraintfates): it may be any of those.
            fates = [f for c in of for f in c.fates if f.lost in (None, Stage.CONSTRAINTS)]
            name = of[0].request.parent or of[0].request.name
            found.append(
                _Want(
                    place=place,
                    name=name if len(funnel.claims) == 1 else f"{object_name(claim)} {name}",
                    needed=_least(of),
                    devices={f.id: None for f in fates},
                    shares=any(f.seen.candidate.device.allow_multiple_allocations for f in fates),
                    admin=any(c.request.admin_access for c in of),
                )
            )
    return found


def _crowded_of(wants: list[_Want]) -> list[_Want]:
    """Those that need more devices than there are for them, none of which two of them can have.

    Admin access is kept from what its own claim has, and keeps it from claims after it (Search._is_taken).
    """
    alone = [w for w in wants if not w.shares]
    for place in dict.fromkeys(w.place for w in alone):
        if found := _crowded([w for w in alone if w.place == place or (w.place > place and not w.admin)]):
            return found
    return []


def _crowded(wants: list[_Want]) -> list[_Want]:
    """Found by giving each what it needs (augmenting paths): those among whom devices were moved in vain."""
    holder: dict[DeviceID, int] = {}
    for first in (i for i, want in enumerate(wants) for _ in range(want.needed)):
        moved: dict[int, DeviceID | None] = {first: None}  # a request -> what it would give away
        taker: dict[DeviceID, int] = {}
        free = None
        asked = [first]
        for at in asked:
            for id_ in wants[at].devices:
                if taker.setdefault(id_, at) != at:
                    continue
                if id_ not in holder:
                    free = id_
                    break
                if holder[id_] not in moved:
                    moved[holder[id_]] = id_
                    asked.append(holder[id_])
            if free is not None:
                break
        if free is None:
            return [wants[i] for i in sorted(moved)]
        while free is not None:
            holder[free] = taker[free]
            free = moved[taker[free]]
    return []


def _meeting(funnel: NodeFunnel) -> str:
    """In what requests can be in each other's way besides the number of devices."""
    devices = [f.seen.candidate.device for courses in funnel.courses for c in courses for f in c.left]
    ways = {
        "constraints": any(claim.spec.devices.constraints for claim in funnel.claims),
        "capacity of devices that are shared": any(d.allow_multiple_allocations and d.capacity for d in devices),
        "counters": any(d.consumes_counters for d in devices),
    }
    named = " or ".join(name for name, is_one in ways.items() if is_one)
    return f" ({named})" if named else ""


def _least(courses: list[Course]) -> int:
    """Devices that a claim needs, with the alternative of each request that needs the fewest."""
    return sum(min(c.needed for c in courses if c.group == group) for group in {c.group for c in courses})
