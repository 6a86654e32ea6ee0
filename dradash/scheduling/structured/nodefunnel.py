"""The funnel on one node: every request of the claims with the fate of each device that the node sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ALL, MAX_FIRST_AVAILABLE, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.constraintfates import Course, constrain
from dradash.scheduling.structured.devices import AllocatedState, AllocationError
from dradash.scheduling.structured.fates import Fate, Judge, Stage
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.looks import CONSTRAINTS, FIRST, LIGHT, REQUESTS, SEEN, SHARED, Budget
from dradash.scheduling.structured.requests import Request, requests_of
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.sight import Sight, sight_of
from dradash.scheduling.structured.wanted import SearchCut

_BEFORE_ALL: Final = (Stage.POOL, Stage.CLASS, Stage.REQUEST)


class NodeFunnel(msgspec.Struct, frozen=True):
    """courses: those of each claim, in the order of requests and their alternatives. error: nothing could be seen.

    left_out: requests, with their alternatives, that come behind these and were not looked at.
    """

    node: Node
    claims: list[ResourceClaim]
    courses: list[list[Course]]
    sight: Sight | None = None
    error: str = ""
    left_out: int = 0

    @property
    def told(self) -> int:
        return sum(map(len, self.courses))

    def short(self) -> list[tuple[int, Course]]:
        """Place of the claim and, of each request that has too few devices, the alternative that lacks the fewest."""
        found: list[tuple[int, Course]] = []
        for place, courses in enumerate(self.courses):
            groups: dict[int, list[Course]] = {}
            for course in courses:
                groups.setdefault(course.group, []).append(course)
            short = [of for of in groups.values() if not any(c.is_enough for c in of)]
            found += [(place, min(of, key=lacking)) for of in short]
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
        """How far the devices of the requests that have too few get: that of the best of each, added up."""
        return sum(course.fates.reach for _, course in self.short())

    @property
    def is_hopeless(self) -> bool:
        """Whether the node has too few devices for some request, whoever else moves."""
        return any(
            course.fates.wanted < (1 if course.request.mode == ALL else course.needed) for _, course in self.short()
        )


def lacking(course: Course) -> int:
    """How many devices are missing, at least one where a request for all finds none."""
    return 0 if course.is_enough else max(1, course.needed - course.fates.left)


def node_funnel(
    node: Node,
    claims: list[ResourceClaim],
    inventory: Inventory,
    classes: Mapping[str, DeviceClass],
    answers: Answers,
    unread: Mapping[str, str] = {},
    budget: Budget | None = None,
) -> NodeFunnel:
    """unread: classes that are malformed, with what is wrong with them.

    budget: the first request is looked at whatever is left of it (FIRST), if the effort of the answers allows it.
    """
    try:
        sight = sight_of(inventory, node)
    except AllocationError as wrong:
        return NodeFunnel(node, claims, [[] for _ in claims], error=str(wrong))
    taken = inventory.taken
    judge = Judge(sight, taken, answers, unread)
    spending = _Spending(judge, sight, budget or Budget())
    courses: list[list[Course]] = []
    for claim in claims:
        of_claim = []
        for group, given in enumerate(claim.spec.devices.requests):
            some = spending.allowed(claim, requests_of(given))
            try:
                judged = [(r, judge.fates(r, classes.get(r.class_name))) for r in some]
            except SearchCut:
                spending.give_up(some)
                continue
            of_claim += [Course(r, group, _needed(r, fates, sight, taken), fates) for r, fates in judged]
        constrain(claim.spec.devices.constraints[:CONSTRAINTS], of_claim)
        courses.append(of_claim)
    return NodeFunnel(node, claims, courses, sight, left_out=spending.left_out)


class _Spending:
    """How many requests a node's funnel has: the first ones, each with its alternatives."""

    def __init__(self, judge: Judge, sight: Sight, budget: Budget) -> None:
        self._judge, self._devices, self._budget = judge, len(sight.devices), budget
        self._amounts = sum(len(seen.candidate.device.capacity) for seen in sight.devices)
        self._told = self.left_out = 0
        budget.spend(self._devices // SEEN, always=True)

    def allowed(self, claim: ResourceClaim, alternatives: list[Request]) -> list[Request]:
        some = alternatives[:MAX_FIRST_AVAILABLE]
        is_first = not self._told and not self.left_out
        is_over = bool(self.left_out) or self._told + len(some) > REQUESTS
        looks = 0 if is_over else self._looks(claim, some)
        if is_over or not self._budget.spend(looks, always=is_first and looks <= FIRST):
            some = []
        self._told += len(some)
        self.left_out += len(alternatives) - len(some)
        return some

    def give_up(self, some: list[Request]) -> None:
        """These were allowed, and could not be looked at."""
        self._told -= len(some)
        self.left_out += len(some)

    def _looks(self, claim: ResourceClaim, alternatives: list[Request]) -> int:
        constraints = len(claim.spec.devices.constraints[:CONSTRAINTS])
        looks = 0
        for request in alternatives:
            known = self._devices // SHARED if self._judge.knows(request) else self._devices
            light = constraints * self._devices
            light += self._devices + self._amounts if request.mode == ALL else 0
            looks += 1 + known + light // LIGHT
        return looks


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
