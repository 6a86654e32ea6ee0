"""What a driver of structured parameters publishes and reports, on its page and in its row."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.reader.devicedrivers import Devices, Report, pools_of, reports_of
from dradash.reader.drivers import device_claims_of
from dradash.reader.world import World
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.ledgerpages import TAKEN
from dradash.web.presenters.inventory import POOLS, PoolRow, pool_row
from dradash.web.presenters.ledger import TAINTED
from dradash.web.presenters.words import Chip, claim_href, cut, device_href

SHOWN: Final = 20  # pools
REPORTED: Final = 50  # conditions


class Count(msgspec.Struct, frozen=True):
    """A number that links to what it counts."""

    text: str
    count: int
    href: str
    chip: Chip | None = None


class DeviceCounts(msgspec.Struct, frozen=True):
    """pools: by state. devices: all, free, blocked by counters (where any is), held, tainted."""

    pools: tuple[Count, ...]
    devices: tuple[Count, ...]
    total: int
    held: int

    @property
    def unusable(self) -> tuple[Count, ...]:
        """Pools that give no devices."""
        return tuple(p for p in self.pools if p.chip is not None and p.chip.tone != "good")


class ReportRow(msgspec.Struct, frozen=True):
    """as_wanted: the condition is true."""

    claim: str
    claim_href: str
    device: str
    device_href: str
    type: str
    status: str
    as_wanted: bool
    words: str
    at: str


class DriverDevices(msgspec.Struct, frozen=True):
    pools: tuple[PoolRow, ...]
    pools_total: int
    pools_href: str
    reports: tuple[ReportRow, ...]
    reports_total: int


def counts(driver: str, of: Devices) -> DeviceCounts | None:
    """None for a driver that publishes nothing."""
    if not of.pools:
        return None
    return DeviceCounts(
        pools=tuple(
            Count(POOLS[s].text, of.pools[s], _link("pools", driver, s), POOLS[s]) for s in POOLS if of.pools.get(s)
        ),
        devices=(
            Count("in all", of.devices, _link("devices", driver)),
            Count("free", of.devices - of.held - of.blocked, _link("devices", driver, ledger.FREE)),
            *((Count("blocked by counters", of.blocked, _link("devices", driver, ledger.BLOCKED)),) * bool(of.blocked)),
            Count("held", of.held, _link("devices", driver, TAKEN)),
            Count("tainted", of.tainted, _link("devices", driver, TAINTED)),
        ),
        total=of.devices,
        held=of.held,
    )


def _link(section: str, driver: str, state: str = "") -> str:
    return f"/{section}?" + urlencode({"driver": driver} | ({"state": state} if state else {}))


def present(world: World, driver: str) -> DriverDevices:
    inventory = world.cluster.inventory
    states = pools_of(driver, inventory)
    reports = reports_of(driver, device_claims_of(driver, world.cluster))
    return DriverDevices(
        pools=tuple(pool_row(world, s) for s in states[:SHOWN]),
        pools_total=len(states),
        pools_href=_link("pools", driver),
        reports=tuple(map(_report, reports[:REPORTED])),
        reports_total=len(reports),
    )


def _report(report: Report) -> ReportRow:
    said = report.condition
    return ReportRow(
        claim=report.claim,
        claim_href=claim_href(report.claim),
        device=f"{report.device.pool}/{report.device.device}",
        device_href=device_href(report.device),
        type=said.type,
        status=said.status,
        as_wanted=said.status == "True",
        words=cut(": ".join(w for w in (said.reason, said.message) if w), 300),
        at=said.last_transition_time or "",
    )
