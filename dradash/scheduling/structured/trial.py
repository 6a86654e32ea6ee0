"""Would it fit if ...: the allocator asked again about one node, with something changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from dradash.kinds.deviceclaim import (
    CapacityRequirements,
    CelSelector,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ResourceClaim,
)
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.structured.allocator import Allocator, SearchCut
from dradash.scheduling.structured.conjuncts import without
from dradash.scheduling.structured.devices import AllocatedState, AllocationError, DeviceID, remove_capacity
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.looks import ASKED, SEARCHED
from dradash.scheduling.structured.nodefunnel import NodeFunnel
from dradash.scheduling.structured.pools import Pool, PoolID, built
from dradash.scheduling.structured.requests import Request
from dradash.scheduling.structured.selection import Answers

TRIALS: Final = 40  # of one explanation
STEPS: Final = 1_000  # of the search in one of them; one that takes longer is the last
_CHANGED: Final = 8  # units of work (effort.py), of a device that is copied with its pool


_Fields = Callable[[Any], dict[str, Any]]
Edit = Callable[[ResourceClaim], ResourceClaim]
ClassEdit = Callable[[DeviceClass], DeviceClass]


class Change(msgspec.Struct, frozen=True):
    """What is different. freed: devices that nobody holds; given_back: what these claims have of these devices.
    repaired: pools taken for complete, and for valid without the devices that make them invalid. claims, classes: by
    place and by name, what is done to them, one after the other."""

    freed: frozenset[DeviceID] = frozenset()
    given_back: frozenset[tuple[str, DeviceID]] = frozenset()
    repaired: frozenset[PoolID] = frozenset()
    claims: tuple[tuple[int, Edit], ...] = ()
    classes: tuple[tuple[str, ClassEdit], ...] = ()


def joined(changes: Iterable[Change]) -> Change:
    """All of them at once."""
    every = list(changes)
    return Change(
        freed=frozenset(d for c in every for d in c.freed),
        given_back=frozenset(g for c in every for g in c.given_back),
        repaired=frozenset(p for c in every for p in c.repaired),
        claims=tuple(edit for c in every for edit in c.claims),
        classes=tuple(edit for c in every for edit in c.classes),
    )


class _Changed(Inventory):
    def __init__(self, pools: list[Pool], taken: AllocatedState) -> None:
        super().__init__()
        self.taken = taken
        self._seen = pools

    def pools(self, node: Node) -> list[Pool]:  # noqa: ARG002 - there is only one
        return self._seen


class Trials:
    def __init__(
        self, inventory: Inventory, classes: Mapping[str, DeviceClass], answers: Answers, most: int = TRIALS
    ) -> None:
        self.left = most
        self._effort = Effort(ASKED)
        self.classes = classes
        self._answers = answers
        self.inventory = inventory

    def fits(self, funnel: NodeFunnel, change: Change) -> bool:
        """False also where no more trials are allowed."""
        if funnel.sight is None or self.left <= 0:
            return False
        most = min(SEARCHED, self._effort.left)
        effort = Effort(most - _CHANGED * len(funnel.sight.devices))
        if effort.left < 0:
            self.left = 0
            return False
        self.left -= 1
        pools = [self._repaired(p, funnel) if p.id in change.repaired else p for p in funnel.sight.pools]
        changed = _Changed(pools, self._taken(pools, change))
        classes, claims = dict(self.classes) if change.classes else self.classes, list(funnel.claims)
        for name, edit_class in change.classes:
            classes = {**classes, name: edit_class(classes[name])}
        for place, edit in change.claims:
            claims[place] = edit(claims[place])
        try:
            allocator = Allocator(changed, classes, STEPS, self._answers, effort)
            return allocator.allocate(funnel.node, claims) is not None
        except AllocationError:
            return False
        except SearchCut:
            self.left = 0
            return False
        finally:
            self._effort.left -= most - effort.left

    def _taken(self, pools: list[Pool], change: Change) -> AllocatedState:
        """What is taken of these pools, less what is given back."""
        taken = _without(self.inventory.taken, pools, change.freed)
        for claim, device in change.given_back:
            if device in taken.capacity:
                taken.capacity[device] = dict(taken.capacity[device])
                remove_capacity(taken.capacity, device, self.inventory.consumed(claim, device))
        return taken

    def _repaired(self, pool: Pool, funnel: NodeFunnel) -> Pool:
        slices = self.inventory.seen_from(funnel.node)[pool.id]
        return built(pool.id, _valid(slices) if pool.is_invalid else slices, None)


def _valid(slices: list[ResourceSlice]) -> list[ResourceSlice]:
    """Without devices whose name another one has, and without those that consume counters: which are there?"""
    names: set[str] = set()
    found = []
    for item in slices:
        devices = []
        for device in item.spec.devices:
            if device.name not in names and not device.consumes_counters:
                names.add(device.name)
                devices.append(device)
        found.append(replace(item, spec=replace(item.spec, devices=tuple(devices), shared_counters=())))
    return found


def _without(taken: AllocatedState, pools: list[Pool], freed: Collection[DeviceID]) -> AllocatedState:
    """What is taken of these pools, less what is freed."""
    ids = {
        DeviceID(pool.id.driver, pool.id.pool, device.name)
        for pool in pools
        for item in (*pool.here, *pool.elsewhere)
        for device in item.spec.devices
    } - set(freed)
    return AllocatedState(
        ids & taken.devices, ids & taken.shared, {i: taken.capacity[i] for i in ids if i in taken.capacity}
    )


# --- claims with something changed -----------------------------------------------------------------------------------


def with_tolerations(request: Request, added: Collection[DeviceToleration]) -> Edit:
    return _with_request(request, lambda r: {"tolerations": (*r.tolerations, *added)})


def with_selectors_less(request: Request, part: str) -> Edit:
    return _with_request(request, lambda r: {"selectors": selectors_less(r.selectors, part)})


def class_with_selectors_less(part: str) -> ClassEdit:
    return lambda c: replace(c, spec=replace(c.spec, selectors=selectors_less(c.spec.selectors, part)))


def selectors_less(selectors: tuple[DeviceSelector, ...], part: str) -> tuple[DeviceSelector, ...]:
    return tuple(
        s if s.cel is None else replace(s, cel=CelSelector(expression=without(s.cel.expression, part)))
        for s in selectors
    )


def with_capacity(request: Request, name: str, amount: str | None) -> Edit:
    """amount: asked for of the capacity, None for not asking for it."""

    def asked(given: Any) -> dict[str, Any]:
        others = {k: v for k, v in (given.capacity.requests if given.capacity else {}).items() if k != name}
        return {"capacity": CapacityRequirements(requests=others if amount is None else {**others, name: amount})}

    return _with_request(request, asked)


def without_constraint(given: DeviceConstraint) -> Edit:
    """Without those that say the same, too."""

    def less(claim: ResourceClaim) -> ResourceClaim:
        devices = claim.spec.devices
        return _with_devices(claim, replace(devices, constraints=tuple(c for c in devices.constraints if c != given)))

    return less


def _with_devices(claim: ResourceClaim, devices: DeviceClaim) -> ResourceClaim:
    return replace(claim, spec=replace(claim.spec, devices=devices))


def _with_request(wanted: Request, change: _Fields) -> Edit:
    def changed(claim: ResourceClaim) -> ResourceClaim:
        requests = tuple(_changed(r, wanted, change) for r in claim.spec.devices.requests)
        return _with_devices(claim, replace(claim.spec.devices, requests=requests))

    return changed


def _changed(request: DeviceRequest, wanted: Request, change: _Fields) -> DeviceRequest:
    if request.name != wanted.base_name:
        return request
    if request.exactly is not None and not wanted.parent:
        return replace(request, exactly=replace(request.exactly, **change(request.exactly)))
    subs = tuple(replace(s, **change(s)) if s.name == wanted.name else s for s in request.first_available)
    return replace(request, first_available=subs)
