"""Looks for devices for a pod's claims on one node (allocator_incubating.go of Kubernetes 1.36).

One claim after the other, one request after the other, one device after the other: a candidate is taken, the search
goes on, and is taken back if the rest fails. The first solution counts. Order, errors and the bookkeeping that
upstream does not undo are upstream's; see docs/upstream.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from dradash.kinds.deviceclaim import ALL, EXACT_COUNT, MAX_RESULTS, DeviceRequest, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.scheduling.structured import capacity
from dradash.scheduling.structured.allocation import Body, result_of
from dradash.scheduling.structured.constraints import Constraint, constraint_of
from dradash.scheduling.structured.counters import AvailableCounters
from dradash.scheduling.structured.devices import AllocationError, DeviceID
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import Pool
from dradash.scheduling.structured.requests import Candidate, Request, RequestData, RequestKey, requests_of
from dradash.scheduling.structured.search import Search
from dradash.scheduling.structured.selection import Answers, Selection
from dradash.scheduling.structured.wanted import SearchCut, TooManyResults

__all__ = ["Allocator", "SearchCut", "object_name"]

# Steps of the search on one node. Upstream stops after ten seconds (filterTimeout); this is about as far as it gets.
STEPS: Final = 200_000
_DEVICE: Final = 5  # units of work (effort.py), of a device or of one of its amounts, where all are asked for
# Searches of an attempt that may take so many. Behind them FEWER_STEPS: upstream searches nodes side by side, and here
# one pod must not hold up the verdicts of all others.
MOST_CUT: Final = 4
FEWER_STEPS: Final = 4_000


def object_name(claim: ResourceClaim) -> str:
    """klog.KObj."""
    return f"{claim.namespace}/{claim.name}" if claim.namespace else claim.name


class Prepared(NamedTuple):
    data: dict[RequestKey, RequestData]
    constraints: list[list[Constraint]]


class Allocator:
    """NewAllocator: what is the same for all nodes of an attempt."""

    def __init__(
        self,
        inventory: Inventory,
        classes: Mapping[str, DeviceClass],
        steps: int = 0,
        answers: Answers | None = None,
        effort: Effort | None = None,
    ) -> None:
        """steps: 0 for STEPS. answers: what selectors have said of these very devices before. effort: besides asking
        them; without a bound if None."""
        self.state = inventory.taken
        self._inventory = inventory
        self._classes = classes
        self._steps = steps or STEPS
        self._effort = effort if effort is not None else Effort()
        self._cut = 0
        self._available = AvailableCounters(self.state)
        self.answers = answers if answers is not None else Answers()

    def allocate(self, node: Node, claims: list[ResourceClaim]) -> list[Body] | None:
        """An allocation for each claim, as JSON, or None if there is no solution on this node.

        Raises AllocationError, and SearchCut when the search took too long.
        """
        pools = self._inventory.pools(node)
        selection = Selection(node, self.answers)
        prepared = self._prepare(claims, pools, selection)
        steps = self._steps if self._cut < MOST_CUT else min(self._steps, FEWER_STEPS)
        search = Search(
            claims,
            pools,
            prepared.data,
            prepared.constraints,
            self.state,
            self._available,
            selection,
            steps,
            self._effort,
        )
        try:
            found = search.run()
        except TooManyResults:
            found = False
        except SearchCut:
            self._cut += 1
            raise
        if not found:
            if any(pool.is_invalid for pool in pools):
                raise AllocationError("invalid resource pools were encountered", on_node=True)
            return None
        return [
            result_of(claim, search.results[i], _picked(claim, i, prepared.data), node.name)
            for i, claim in enumerate(claims)
        ]

    def _prepare(self, claims: list[ResourceClaim], pools: list[Pool], selection: Selection) -> Prepared:
        """What each request needs, and each claim's constraints. Raises AllocationError."""
        prepared = Prepared({}, [])
        for c, claim in enumerate(claims):
            least = 0
            for r, request in enumerate(claim.spec.devices.requests):
                least += min(self._prepare_request(claim, c, r, request, pools, selection, prepared.data))
            if least > MAX_RESULTS:
                wrong = f"number of requested devices {least} exceeds the claim limit of {MAX_RESULTS}"
                raise AllocationError(f"claim {object_name(claim)}: {wrong}")
            prepared.constraints.append(_constraints(claim))
        return prepared

    def _prepare_request(
        self,
        claim: ResourceClaim,
        c: int,
        r: int,
        request: DeviceRequest,
        pools: list[Pool],
        selection: Selection,
        data: dict[RequestKey, RequestData],
    ) -> list[int]:
        """Number of devices of each alternative."""
        counts = []
        for s, alternative in enumerate(requests_of(request)):
            self._effort.spend(_DEVICE)
            key = RequestKey(c, r, s)
            data[key] = self._validated(claim, key, alternative, pools, selection)
            counts.append(data[key].count)
        return counts

    def _validated(
        self, claim: ResourceClaim, key: RequestKey, request: Request, pools: list[Pool], selection: Selection
    ) -> RequestData:
        """validateDeviceRequest."""
        where = f"claim {object_name(claim)}, request {request.name}"
        for i, selector in enumerate(request.selectors):
            if selector.cel is None:
                raise AllocationError(f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)")
        if not request.class_name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes.get(request.class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{request.class_name}" not found'
            raise AllocationError(f"{where}: could not retrieve device class {request.class_name}: {missing}")
        data = RequestData(request, device_class)
        if request.mode == EXACT_COUNT:
            data.count = request.count
        elif request.mode == ALL:
            data.all_devices = self._all_devices(claim, key, data, pools, selection, where)
            data.count = len(data.all_devices)
        else:
            raise AllocationError(f"{where}: unsupported count mode {request.mode}")
        return data

    def _all_devices(
        self,
        claim: ResourceClaim,
        key: RequestKey,
        data: RequestData,
        pools: list[Pool],
        selection: Selection,
        where: str,
    ) -> list[Candidate]:
        found = []
        for pool in pools:
            wanted = f"{where}: asks for all devices, but resource pool {pool.id} is currently"
            if pool.is_incomplete:
                raise AllocationError(f"{wanted} being updated")
            if pool.is_invalid:
                raise AllocationError(f"{wanted} invalid")
            for item in pool.here:
                for device in item.spec.devices:
                    id_ = DeviceID(item.spec.driver, item.spec.pool.name, device.name)
                    candidate = Candidate(id_, device, item, pool)
                    self._effort.spend(_DEVICE + _DEVICE * len(device.capacity))
                    if not selection.selectable(key, data, candidate, object_name(claim)):
                        continue
                    taken = self.state.capacity.get(id_, {})
                    if capacity.fits(taken, {}, data.request.capacity, device.capacity):
                        found.append(candidate)
        return found


def _constraints(claim: ResourceClaim) -> list[Constraint]:
    constraints = []
    for i, constraint in enumerate(claim.spec.devices.constraints):
        known = constraint_of(constraint)
        if known is None:
            wrong = "empty constraint (unsupported constraint type?)"
            raise AllocationError(f"claim {object_name(claim)}, constraint #{i}: {wrong}")
        constraints.append(known)
    return constraints


def _picked(claim: ResourceClaim, c: int, data: dict[RequestKey, RequestData]) -> list[RequestData]:
    """For each request its data, or that of the subrequest that was picked."""
    first = [data[RequestKey(c, r)] for r in range(len(claim.spec.devices.requests))]
    return [data[RequestKey(c, r, d.chosen)] if d.request.parent else d for r, d in enumerate(first)]
