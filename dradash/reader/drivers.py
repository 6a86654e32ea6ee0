"""Drivers: who names them, what they owe, and their record.

Drivers are no objects of the API: they are known by the classes and claims that name them, and by what was heard.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dradash.kinds import deviceclaim
from dradash.reader.debts import Debt, debts, debts_of, silent_since
from dradash.reader.devicedrivers import Devices, classes_asking, devices_of
from dradash.reader.driverstats import DriverStats, Summary
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling import claimfacts
from dradash.scheduling.claimfacts import AnyClaim, drivers_in_charge, is_allocated, state_of
from dradash.scheduling.classic.claims import claims_of
from dradash.scheduling.cluster import Cluster


class DriverItem(msgspec.Struct, frozen=True):
    """claims: how many it is in charge of, by state. debts: the longest wait first.

    classes: ResourceClasses that name it; device_classes: DeviceClasses that want devices of it alone.
    proven: it allocated a claim, or publishes devices.
    """

    name: str
    classes: tuple[str, ...]
    device_classes: tuple[str, ...]
    devices: Devices
    claims: Mapping[str, int]
    debts: tuple[Debt, ...]
    record: Summary
    proven: bool

    @property
    def silent(self) -> float:
        """Unix seconds since which it owes the oldest move that it has not made, 0.0: none."""
        return silent_since(self.debts)

    @property
    def owed(self) -> int:
        """Moves that it has not made. Where it finds no node suitable, it has answered: somebody waits all the same."""
        return sum(not d.refuses for d in self.debts)


def driver_items(world: World, stats: DriverStats, now: float, waits: Since) -> list[DriverItem]:
    """All of them by name, with their record up to `now`. Looks at each class, claim, pool and negotiation once."""
    cluster = world.cluster
    classes: defaultdict[str, list[str]] = defaultdict(list)
    for name, of in sorted(cluster.classes.items()):
        classes[of.driver_name].append(name)
    claims: defaultdict[str, list[AnyClaim]] = defaultdict(list)
    for claim in claimfacts.claims_of(cluster).values():
        for driver in drivers_in_charge(claim, cluster):
            claims[driver].append(claim)
    publish, asking = devices_of(cluster.inventory), classes_asking(cluster)
    owed = debts(world, waits)
    records = {name: stats.summary(name, now) for name in {*classes, *claims, *publish, *asking, *stats.names()}}
    heard = {name for name, record in records.items() if record.heard}
    return [
        _item(
            name,
            (classes.get(name, ()), asking.get(name, ())),
            claims.get(name, ()),
            owed.get(name, ()),
            records[name],
            publish.get(name),
        )
        for name in sorted({*classes, *claims, *publish, *asking, *heard} - {""})
    ]


def driver_item(world: World, stats: DriverStats, name: str, now: float, waits: Since) -> DriverItem | None:
    """One of `driver_items`, None where there is none of the name. Looks at its own claims and their negotiations."""
    cluster = world.cluster
    classes = sorted(n for n, of in cluster.classes.items() if of.driver_name == name)
    asking = classes_asking(cluster).get(name, [])
    claims = [cluster.claims[key] for key in claims_of(name, cluster)]
    device_claims = device_claims_of(name, cluster)
    record = stats.summary(name, now)
    publishes = devices_of(cluster.inventory).get(name)
    if not name or not (classes or asking or claims or device_claims or publishes or record.heard):
        return None
    owed = debts_of(name, claims, device_claims, world, waits)
    return _item(name, (classes, asking), (*claims, *device_claims), owed, record, publishes)


def device_claims_of(driver: str, cluster: Cluster) -> list[deviceclaim.ResourceClaim]:
    """Claims that have a device of the driver, by key."""
    keys = sorted(cluster.claims_by_driver.members(driver))
    return [cluster.device_claims[k] for k in keys if k in cluster.device_claims]


def _item(
    name: str,
    classes: tuple[Sequence[str], Sequence[str]],
    claims: Iterable[AnyClaim],
    owed: Sequence[Debt],
    record: Summary,
    publishes: Devices | None,
) -> DriverItem:
    states: Counter[str] = Counter()
    proven = publishes is not None
    for claim in claims:
        states[state_of(claim)] += 1
        proven = proven or is_allocated(claim)
    named, asking = classes
    devices = publishes or Devices()
    return DriverItem(name, tuple(named), tuple(asking), devices, states, tuple(owed), record, proven)
