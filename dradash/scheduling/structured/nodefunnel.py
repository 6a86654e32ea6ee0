"""The funnel on one node: every request of the claims with the fate of each device that the node sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ALL, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.constraintfates import Course, constrain
from dradash.scheduling.structured.devices import AllocatedState, AllocationError
from dradash.scheduling.structured.fates import Fate, Judge, Stage
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.requests import Request, requests_of
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.sight import Sight, sight_of

_STAGES: Final = tuple(Stage)
_BEFORE_ALL: Final = (Stage.POOL, Stage.CLASS, Stage.REQUEST)


class NodeFunnel(msgspec.Struct, frozen=True):
    """courses: those of each claim, in the order of requests and their alternatives. error: nothing could be seen."""

    node: Node
    claims: list[ResourceClaim]
    courses: list[list[Course]]
    sight: Sight | None = None
    error: str = ""

    def short(self) -> list[tuple[int, Course]]:
        """Place of the claim and, of each request that has too few devices, the alternative that lacks the fewest."""
        found = []
        for place, courses in enumerate(self.courses):
            for group in dict.fromkeys(c.group for c in courses):
                of = [c for c in courses if c.group == group]
                if not any(c.is_enough for c in of):
                    found.append((place, min(of, key=lacking)))
        return found

    @property
    def lacking(self) -> int:
        return sum(lacking(course) for _, course in self.short())

    @property
    def sees_nothing(self) -> bool:
        """Whether some request has too few devices because no slice has any for the node."""
        return any(not course.fates for _, course in self.short())

    @property
    def reach(self) -> int:
        """How far the devices of the requests that have too few get: stages that the best of each passes, added up."""
        return sum(max(map(_passed, course.fates), default=0) for _, course in self.short())


def _passed(fate: Fate) -> int:
    return len(_STAGES) if fate.lost is None else _STAGES.index(fate.lost)


def lacking(course: Course) -> int:
    """How many devices are missing, at least one where a request for all finds none."""
    return 0 if course.is_enough else max(1, course.needed - len(course.left))


def node_funnel(
    node: Node,
    claims: list[ResourceClaim],
    inventory: Inventory,
    classes: Mapping[str, DeviceClass],
    answers: Answers,
    unread: Mapping[str, str] = {},
) -> NodeFunnel:
    """unread: classes that are malformed, with what is wrong with them."""
    try:
        sight = sight_of(inventory, node)
    except AllocationError as wrong:
        return NodeFunnel(node, claims, [[] for _ in claims], error=str(wrong))
    taken = inventory.taken
    judge = Judge(sight, taken, answers, unread)
    courses = []
    for claim in claims:
        of_claim = []
        for group, given in enumerate(claim.spec.devices.requests):
            for request in requests_of(given):
                fates = judge.fates(request, classes.get(request.class_name))
                of_claim.append(Course(request, group, _needed(request, fates, sight, taken), fates))
        constrain(claim.spec.devices.constraints, of_claim)
        courses.append(of_claim)
    return NodeFunnel(node, claims, courses, sight)


def _needed(request: Request, fates: list[Fate], sight: Sight, taken: AllocatedState) -> int:
    if request.mode != ALL:
        return request.count
    if not all(pool.is_usable for pool in sight.pools):
        return 0  # the allocator gives up
    return sum(f.lost not in _BEFORE_ALL and _is_large_enough(f, request, taken) for f in fates)


def _is_large_enough(fate: Fate, request: Request, taken: AllocatedState) -> bool:
    try:
        return capacity.fits(taken.capacity.get(fate.id, {}), {}, request.capacity, fate.seen.candidate.device.capacity)
    except AllocationError:
        return True
