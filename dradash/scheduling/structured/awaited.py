"""What PreBind waits for: conditions that drivers have to report of allocated devices before the pod is bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.scheduling.status import Status, pending
from dradash.scheduling.structured import celtime
from dradash.scheduling.structured.binding import BINDING_TIMEOUT, device_status, waiting_for_conditions
from dradash.scheduling.structured.celvalues import CelError, Duration
from dradash.scheduling.verdict import ActsNext

NAMED: Final = 8  # devices that a message names
_LIMIT: Final = Duration(int(BINDING_TIMEOUT) * 10**9)


class Awaited(msgspec.Struct, frozen=True):
    """conditions: of the device, not true yet. until: when PreBind gives up, RFC 3339; "" for a claim that does not say
    when it was allocated, as one that this attempt allocates."""

    claim: str
    driver: str
    device: str
    conditions: tuple[str, ...]
    until: str

    @property
    def words(self) -> str:
        many = "conditions" if len(self.conditions) > 1 else "condition"
        return f"{many} {', '.join(self.conditions)} of device {self.device} (claim {self.claim})"


def awaited(claims: Iterable[ResourceClaim]) -> list[Awaited]:
    """By device, in the order of the claims."""
    return [each for claim in claims for each in _of_claim(claim)]


def _of_claim(claim: ResourceClaim) -> Iterator[Awaited]:
    if claim.status.allocation is None:
        return
    for result in claim.status.allocation.devices.results:
        status = device_status(claim, result)
        met = {c.type for c in status.conditions if c.status == "True"} if status is not None else set()
        if still := tuple(name for name in result.binding_conditions if name not in met):
            device = f"{result.driver}/{result.pool}/{result.device}"
            yield Awaited(claim.key, result.driver, device, still, _until(claim.status.allocation.allocation_timestamp))


def _until(allocated: str | None) -> str:
    try:
        return celtime.text(celtime.add(celtime.parse_timestamp(allocated or ""), _LIMIT))
    except CelError:
        return ""


def waiting(claims: Iterable[ResourceClaim], node: str) -> Status:
    """PreBind while it waits: upstream answers nothing yet, so this is no status of its own but a state of ours."""
    waits = awaited(claims)
    first = min((each.until for each in waits if each.until), default="")
    ends = f"at {first}" if first else f"{BINDING_TIMEOUT:.0f} s after the allocation"
    return pending(f"{waiting_for_conditions(node)}: {_named(waits)}; times out {ends}")


def set_conditions(claims: Iterable[ResourceClaim]) -> ActsNext:
    """Who must report which conditions."""
    waits = awaited(claims)
    drivers = tuple(dict.fromkeys(each.driver for each in waits))
    return ActsNext(who="driver", names=drivers, what=f"report as true {_named(waits)}")


def _named(waits: list[Awaited]) -> str:
    named = [each.words for each in waits[:NAMED]]
    if len(waits) > NAMED:
        named.append(f"{len(waits) - NAMED} more devices")
    return "; ".join(named)
