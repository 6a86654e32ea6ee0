"""Drivers of structured parameters: what they publish, which classes ask for them, and what they owe."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.reader.world import World
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.conjuncts import conjuncts
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.ledger import PoolState

POOL: Final = "Pool"  # in place of a negotiation's stage, as the next
BINDING: Final = "Binding"

_ASKS: Final = re.compile(r"""device\.driver\s*==\s*(["'])(?P<driver>[^"'\\]+)\1""")
_ASKS_TURNED: Final = re.compile(r"""(["'])(?P<driver>[^"'\\]+)\1\s*==\s*device\.driver""")


class Devices(msgspec.Struct, frozen=True):
    """pools: by state. devices: of the newest generations; held: wholly or in part; blocked: by counters."""

    pools: Mapping[str, int] = {}
    devices: int = 0
    held: int = 0
    tainted: int = 0
    blocked: int = 0


class DeviceDebt(msgspec.Struct, frozen=True):
    """What keeps devices of a driver from being used. pool: "driver/pool", or claim: its key. since: Unix seconds."""

    driver: str
    pool: str
    claim: str
    stage: str
    what: str
    since: float


class Report(msgspec.Struct, frozen=True):
    """A condition of an allocated device, as its driver reports it. at: RFC 3339, "" where it does not say."""

    claim: str
    device: DeviceID
    condition: deviceclaim.Condition


def devices_of(inventory: Inventory) -> dict[str, Devices]:
    """By driver."""
    found: dict[str, Devices] = {}
    for state in ledger.pool_states(inventory):
        before, driver = found.get(state.id.driver, Devices()), state.id.driver
        found[driver] = Devices(
            {**before.pools, state.state: before.pools.get(state.state, 0) + 1},
            before.devices + state.devices,
            before.held + ledger.taken_in(inventory, state),
            before.tainted + ledger.tainted_in(inventory, state),
            before.blocked + len(ledger.blocked_devices(inventory, state)),
        )
    return found


def pools_of(driver: str, inventory: Inventory) -> list[PoolState]:
    """Those that give no devices first."""
    found = [s for s in ledger.pool_states(inventory) if s.id.driver == driver]
    return sorted(found, key=lambda s: (s.state == ledger.USABLE, s.id))


def classes_asking(cluster: Cluster) -> dict[str, list[str]]:
    """By driver the DeviceClasses of which a selector wants `device.driver` to be it; by name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, of in sorted(cluster.device_classes.items()):
        wanted = {d for s in of.spec.selectors if s.cel is not None for d in drivers_asked(s.cel.expression)}
        for driver in wanted:
            found[driver].append(name)
    return found


def drivers_asked(expression: str) -> Iterator[str]:
    """Drivers that a selector names in a part that must be true."""
    if "device.driver" not in expression:
        return
    for part in conjuncts(expression):
        bare = part.strip()
        while bare.startswith("(") and bare.endswith(")"):
            bare = bare[1:-1].strip()
        asked = _ASKS.fullmatch(bare) or _ASKS_TURNED.fullmatch(bare)
        if asked:
            yield asked["driver"]


# --- what they owe ---------------------------------------------------------------------------------------------------


def pool_debts(world: World) -> Iterator[DeviceDebt]:
    times = world.times.get("resourceslices", {})
    for state in ledger.pool_states(world.cluster.inventory):
        if state.state == ledger.USABLE:
            continue
        what = f"correct the slices: {state.invalid}"
        if state.state == ledger.INCOMPLETE:
            have = f"{len(state.slices)} of {state.expected} slices of generation {state.generation} are there"
            what = f"publish the pool whole: {have}"
        since = max((times.get(s.name, 0.0) for s in state.slices), default=0.0)
        yield DeviceDebt(state.id.driver, str(state.id), "", POOL, what, since)


def binding_debts(claims: Iterable[deviceclaim.ResourceClaim]) -> Iterator[DeviceDebt]:
    """Conditions that devices must have before pods are bound, and that are not reported as met."""
    for claim in claims:
        allocation = claim.status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            awaited = unmet(claim, result)
            if awaited:
                what = f"report {', '.join(awaited)} for device {result.pool}/{result.device}"
                since = seconds(allocation.allocation_timestamp) if allocation is not None else 0.0
                yield DeviceDebt(result.driver, "", claim.key, BINDING, what, since)


def unmet(claim: deviceclaim.ResourceClaim, result: deviceclaim.DeviceRequestAllocationResult) -> tuple[str, ...]:
    """Binding conditions of an allocated device that its driver has not reported as true."""
    if not result.binding_conditions:
        return ()
    met = {c.type for of, c in _reported(claim) if c.status == "True" and of == _place(result)}
    return tuple(c for c in result.binding_conditions if c not in met)


_Place = tuple[str, str, str, str | None]


def _place(of: deviceclaim.DeviceRequestAllocationResult | deviceclaim.AllocatedDeviceStatus) -> _Place:
    return of.driver, of.pool, of.device, of.share_id


def _reported(claim: deviceclaim.ResourceClaim) -> Iterator[tuple[_Place, deviceclaim.Condition]]:
    for status in claim.status.devices:
        yield from ((_place(status), condition) for condition in status.conditions)


def reports_of(driver: str, claims: Iterable[deviceclaim.ResourceClaim]) -> list[Report]:
    """What the driver reports of allocated devices; what is not as it should be first."""
    found = [
        Report(claim.key, DeviceID(*place[:3]), condition)
        for claim in claims
        for place, condition in _reported(claim)
        if place[0] == driver
    ]
    return sorted(found, key=lambda r: (r.condition.status == "True", r.claim, r.device, r.condition.type))
