"""Which nodes are near to a solution, by a glance at each: a funnel of all of them would take too long.

It orders nodes as nearest.distance does, but for what constraints, amounts and counters refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from itertools import groupby
from typing import Final

from dradash.kinds.deviceclaim import ALL, DeviceSelector, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.scheduling.nodetable import NodeTable
from dradash.scheduling.structured.cel import CompileError, RuntimeFault
from dradash.scheduling.structured.devices import AllocationError
from dradash.scheduling.structured.fates import Stage, asked_for, reach_of
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.looks import SEEN, Budget
from dradash.scheduling.structured.reading import Reading
from dradash.scheduling.structured.requests import Candidate, Request, is_refused_by_taint, requests_of
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.sight import Seen, sight_of
from dradash.scheduling.structured.wanted import SearchCut

Near = tuple[bool, bool, int, int]  # sees nothing, is hopeless, how many devices are lacking, less the reach
_WANTED: Final = frozenset({None, Stage.TAINTS, Stage.FREE})
_Lost = tuple[Stage | None, Stage | None]  # the stage that is not passed, and the one behind an unusable pool


class Glances:
    """claims: those that are to be allocated on a node; reading: what they look at. work: looks at devices."""

    def __init__(
        self,
        inventory: Inventory,
        classes: Mapping[str, DeviceClass],
        answers: Answers,
        reading: Reading,
        claims: Callable[[Node], list[ResourceClaim]],
        work: Budget,
    ) -> None:
        self._inventory, self._classes, self._answers = inventory, classes, answers
        self._reading, self._claims, self._work = reading, claims, work
        self._known: dict[Hashable, list[Stage | None]] = {}  # of slices whose devices look the same

    def nearest(self, sets: Collection[int], nodes: NodeTable, most: int) -> list[int]:
        """Of sets of nodes that are alike, the nearest first, of those that the work allows: the largest."""
        found = []
        for members in sorted(sets, key=lambda s: -s.bit_count()):
            node = nodes.first(members)
            try:
                near = self._near(node)
            except SearchCut:
                break
            found.append((near, -members.bit_count(), node.name, members))
        return [members for _, _, _, members in sorted(found)[:most]]

    def _near(self, node: Node) -> Near:
        """Raises SearchCut."""
        try:
            devices = sight_of(self._inventory, node).devices
        except AllocationError:
            return (True, True, 0, 0)
        self._spend(1 + len(devices) // SEEN)
        nothing = hopeless = False
        lacking = reach = 0
        for claim in self._claims(node):
            for given in claim.spec.devices.requests:
                of = min(self._request(devices, r) for r in requests_of(given))
                lacking += of[2]
                if of[2]:
                    nothing, hopeless, reach = nothing or of[0], hopeless or of[1], reach + of[3]
        return nothing, hopeless, lacking, reach

    def _spend(self, looks: int) -> None:
        if not self._work.spend(looks):
            raise SearchCut

    def _request(self, devices: list[Seen], request: Request) -> Near:
        lost = list(self._lost(devices, request))
        left = sum(stage is None for stage, _ in lost)
        wanted = sum((behind if stage is Stage.POOL else stage) in _WANTED for stage, behind in lost)
        needed = request.count
        if request.mode == ALL:
            needed = 0 if any(seen.trouble for seen in devices) else wanted  # as the funnel has it
        lacking = 0 if 0 < needed <= left else max(1, needed - left)
        reach = max((reach_of(*one) for one in set(lost)), default=0)
        return not devices, wanted < (1 if request.mode == ALL else needed), lacking, -reach

    def _lost(self, devices: list[Seen], request: Request) -> Iterator[_Lost]:
        taken = () if request.admin_access else self._inventory.taken.devices
        asked = asked_for(request)
        for _, of_slice in groupby(devices, key=lambda seen: id(seen.candidate.slice)):
            seen = list(of_slice)
            self._spend(1 + len(seen) // SEEN)
            for one, stage in zip(seen, self._selected(seen, request, asked), strict=True):
                if stage is None and one.candidate.id in taken:
                    yield (Stage.POOL, Stage.FREE) if one.trouble else (Stage.FREE, None)
                else:
                    yield (Stage.POOL, stage) if one.trouble else (stage, None)

    def _selected(self, seen: list[Seen], request: Request, asked: Hashable) -> list[Stage | None]:
        """What selectors and taints say of these devices of one slice."""
        item = seen[0].candidate.slice
        if item.spec.per_device_node_selection:
            return self._asked([s.candidate for s in seen], request)
        key = (asked, item.spec.driver, len(seen), self._inventory.columns.signature(item, self._reading))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._asked([s.candidate for s in seen], request)
        return known

    def _asked(self, candidates: list[Candidate], request: Request) -> list[Stage | None]:
        self._spend(len(candidates))
        of_class = self._classes.get(request.class_name)
        if of_class is None:
            return [Stage.CLASS] * len(candidates)
        return [self._stage(c, of_class, request) for c in candidates]

    def _stage(self, one: Candidate, of_class: DeviceClass, request: Request) -> Stage | None:
        if not self._passes(of_class.spec.selectors, one):
            return Stage.CLASS
        if not self._passes(request.selectors, one):
            return Stage.REQUEST
        return Stage.TAINTS if is_refused_by_taint(one.device, request) else None

    def _passes(self, selectors: tuple[DeviceSelector, ...], candidate: Candidate) -> bool:
        try:
            return all(self._answers.ask(s.cel.expression if s.cel else "", candidate) for s in selectors)
        except (CompileError, RuntimeFault):
            return False
