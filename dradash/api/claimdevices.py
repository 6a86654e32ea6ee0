"""What a claim with structured parameters asks for, and the devices that were chosen for it."""

from __future__ import annotations

from collections.abc import Collection

from dradash.api.published import address
from dradash.api.schemas import ROOT, Ref, Shape, ref
from dradash.kinds.deviceclaim import ALL, DeviceRequest, DeviceRequestAllocationResult, ResourceClaim
from dradash.reader.devicedrivers import unmet
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledger import attribute_text, find
from dradash.scheduling.structured.requests import Request, requests_of


class AlternativeBody(Shape, frozen=True):
    """A request, or one of its subrequests ("request/subrequest"). count: null where all devices are asked for.

    chosen: devices were chosen by it.
    """

    name: str
    device_class: str
    count: int | None
    selectors: tuple[str, ...]
    admin_access: bool
    chosen: bool


class RequestBody(Shape, frozen=True):
    """alternatives: in their order; one where there is no choice."""

    name: str
    alternatives: tuple[AlternativeBody, ...]


class DeviceCondition(Shape, frozen=True):
    """As the driver reports it."""

    type: str
    status: str
    reason: str
    message: str
    since: str | None


class ChosenDevice(Shape, frozen=True):
    """published: its pool's newest generation has it. share: null where the claim has the whole of it.

    awaits: binding conditions that are not reported as met. sharedWith: other claims that have it or a share of it.
    """

    request: str
    driver: str
    pool: str
    device: str
    published: bool
    share: str | None
    admin_access: bool
    consumed: dict[str, str]
    attributes: dict[str, str]
    conditions: tuple[DeviceCondition, ...]
    awaits: tuple[str, ...]
    shared_with: tuple[Ref, ...]
    url: str
    page: str


def requests(claim: ResourceClaim) -> tuple[RequestBody, ...]:
    allocation = claim.status.allocation
    chosen = {r.request for r in allocation.devices.results} if allocation else set()
    return tuple(_request(r, chosen) for r in claim.spec.devices.requests)


def _request(given: DeviceRequest, chosen: Collection[str]) -> RequestBody:
    return RequestBody(name=given.name, alternatives=tuple(_alternative(a, chosen) for a in requests_of(given)))


def _alternative(request: Request, chosen: Collection[str]) -> AlternativeBody:
    return AlternativeBody(
        name=request.full_name,
        device_class=request.class_name,
        count=None if request.mode == ALL else request.count,
        selectors=tuple(s.cel.expression if s.cel else "" for s in request.selectors),
        admin_access=request.admin_access,
        chosen=request.full_name in chosen,
    )


def devices(claim: ResourceClaim, cluster: Cluster) -> tuple[ChosenDevice, ...]:
    allocation = claim.status.allocation
    return tuple(_device(claim, r, cluster) for r in allocation.devices.results) if allocation else ()


def _device(claim: ResourceClaim, result: DeviceRequestAllocationResult, cluster: Cluster) -> ChosenDevice:
    id_ = DeviceID(result.driver, result.pool, result.device)
    published = find(cluster.inventory, id_)
    attributes = published.device.attributes if published is not None else {}
    return ChosenDevice(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        published=published is not None,
        share=result.share_id,
        admin_access=bool(result.admin_access),
        consumed={name: str(value) for name, value in result.consumed_capacity.items()},
        attributes={name: attribute_text(value) for name, value in attributes.items()},
        conditions=tuple(
            DeviceCondition(
                type=c.type, status=c.status, reason=c.reason, message=c.message, since=c.last_transition_time
            )
            for status in claim.status.devices
            if (status.driver, status.pool, status.device, status.share_id) == (*id_, result.share_id)
            for c in status.conditions
        ),
        awaits=unmet(claim, result),
        shared_with=tuple(ref("resourceclaims", k) for k in cluster.inventory.holders(id_) if k != claim.key),
        url=ROOT + address("devices", id_),
        page=address("devices", id_),
    )
