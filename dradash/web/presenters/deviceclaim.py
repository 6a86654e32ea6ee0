"""What a claim with structured parameters asks for, and the devices that were chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from dradash.kinds.deviceclaim import (
    ALL,
    CapacityRequirements,
    Condition,
    ConsumerReference,
    DeviceAllocationConfiguration,
    DeviceConstraint,
    DeviceRequestAllocationResult,
    DeviceToleration,
    ResourceClaim,
)
from dradash.kinds.devicetaintrule import RuleTaint
from dradash.kinds.resourceslice import Device, DeviceTaint
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledger import attribute_text, find
from dradash.scheduling.structured.requests import Request, requests_of
from dradash.web.presenters.steps import as_yaml
from dradash.web.presenters.words import claim_href, device_class_href, device_href, pod_href, pool_href

SHARERS: Final = 20  # claims that share a device
OPAQUE: Final = 2000  # characters of a driver's configuration


class Alternative(msgspec.Struct, frozen=True):
    """A request, or one of its subrequests in their order. chosen: devices were chosen by it."""

    name: str
    class_name: str
    class_href: str
    class_exists: bool
    wants: str
    selectors: tuple[str, ...]
    more: tuple[str, ...]  # admin access, tolerations, capacity
    chosen: bool


class RequestView(msgspec.Struct, frozen=True):
    name: str
    alternatives: tuple[Alternative, ...]

    @property
    def has_choice(self) -> bool:
        return len(self.alternatives) > 1


class ConditionView(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str
    message: str
    at: str


class Sharer(msgspec.Struct, frozen=True):
    """Another claim that has the device or a share of it, with the pods that it is reserved for."""

    claim: str
    href: str
    pods: tuple[tuple[str, str], ...]  # name, href ("" where the pod is not known)


class ChosenDevice(msgspec.Struct, frozen=True):
    """exists: the pool still publishes it. awaits: binding conditions that its driver has not reported yet."""

    request: str
    driver: str
    pool: str
    pool_href: str
    device: str
    href: str
    exists: bool
    attributes: tuple[tuple[str, str], ...]
    capacity: tuple[tuple[str, str, str], ...]  # name, of the device, of it taken by this claim ("" all of it)
    taints: tuple[str, ...]
    share: str
    admin: bool
    conditions: tuple[ConditionView, ...]
    awaits: tuple[str, ...]
    data: str
    shared_with: tuple[Sharer, ...]


class ConfigView(msgspec.Struct, frozen=True):
    source: str
    requests: tuple[str, ...]
    driver: str
    parameters: str


class Requested(msgspec.Struct, frozen=True):
    requests: tuple[RequestView, ...]
    constraints: tuple[str, ...]
    devices: tuple[ChosenDevice, ...]
    config: tuple[ConfigView, ...]


def requested(claim: ResourceClaim, cluster: Cluster) -> Requested:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation else ()
    chosen = {r.request for r in results}
    return Requested(
        requests=tuple(
            RequestView(r.name, tuple(_alternative(a, cluster, chosen) for a in requests_of(r)))
            for r in claim.spec.devices.requests
        ),
        constraints=tuple(_constraint(c) for c in claim.spec.devices.constraints),
        devices=chosen_devices(claim, cluster),
        config=_config(claim, cluster),
    )


def chosen_devices(claim: ResourceClaim, cluster: Cluster) -> tuple[ChosenDevice, ...]:
    allocation = claim.status.allocation
    return tuple(_device(claim, r, cluster) for r in allocation.devices.results) if allocation else ()


def _alternative(request: Request, cluster: Cluster, chosen: Iterable[str]) -> Alternative:
    more = ["admin access"] if request.admin_access else []
    more += [f"tolerates {toleration_text(t)}" for t in request.tolerations]
    more += _asked(request.capacity)
    return Alternative(
        name=request.name,
        class_name=request.class_name,
        class_href=device_class_href(request.class_name),
        class_exists=request.class_name in cluster.raw["deviceclasses"],  # a malformed one is there too
        wants=wants(request),
        selectors=tuple(s.cel.expression if s.cel else "(unknown kind of selector)" for s in request.selectors),
        more=tuple(more),
        chosen=request.full_name in chosen,
    )


def wants(request: Request) -> str:
    if request.mode == ALL:
        return "all matching devices"
    return "1 device" if request.count == 1 else f"{request.count} devices"


def _asked(capacity: CapacityRequirements | None) -> list[str]:
    return [f"{name} at least {value}" for name, value in capacity.requests.items()] if capacity else []


def toleration_text(toleration: DeviceToleration) -> str:
    key = toleration.key or "any taint"
    value = f"={toleration.value}" if toleration.operator != "Exists" and toleration.value else ""
    return f"{key}{value}:{toleration.effect}" if toleration.effect else f"{key}{value}"


def device_taint_text(taint: DeviceTaint) -> str:
    """As kubectl writes it, with the rule that gives it where no driver publishes it."""
    text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    return f"{text} (rule {taint.rule})" if isinstance(taint, RuleTaint) else text


def _constraint(constraint: DeviceConstraint) -> str:
    whom = f"requests {', '.join(constraint.requests)}" if constraint.requests else "all requests"
    if constraint.match_attribute:
        return f"the same {constraint.match_attribute} for {whom}"
    if constraint.distinct_attribute:
        return f"a different {constraint.distinct_attribute} for each device of {whom}"
    return f"an unknown constraint on {whom}"


def attributes_of(device: Device) -> tuple[tuple[str, str], ...]:
    return tuple((name, attribute_text(value)) for name, value in sorted(device.attributes.items()))


def _device(claim: ResourceClaim, result: DeviceRequestAllocationResult, cluster: Cluster) -> ChosenDevice:
    id_ = DeviceID(result.driver, result.pool, result.device)
    published = find(cluster.inventory, id_)
    device = published.device if published else Device()
    status = next((d for d in claim.status.devices if _is_of(d, result)), None)
    conditions = status.conditions if status else ()
    met = {c.type for c in conditions if c.status == "True"}
    sharers = [k for k in cluster.inventory.holders(id_) if k != claim.key][:SHARERS]
    consumed = result.consumed_capacity
    return ChosenDevice(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        pool_href=pool_href(result.driver, result.pool),
        device=result.device,
        href=device_href(id_),
        exists=published is not None,
        attributes=attributes_of(device),
        capacity=tuple((n, str(c.value), str(consumed.get(n, ""))) for n, c in sorted(device.capacity.items())),
        taints=tuple(device_taint_text(t) for t in device.taints),
        share=result.share_id or "",
        admin=bool(result.admin_access),
        conditions=tuple(_condition(c) for c in conditions),
        awaits=tuple(c for c in result.binding_conditions if c not in met),
        data=_yaml(status.data) if status else "",
        shared_with=tuple(_sharer(k, cluster) for k in sharers),
    )


def _sharer(key: str, cluster: Cluster) -> Sharer:
    claim = cluster.device_claims.get(key)
    return Sharer(key, claim_href(key), tuple(pod_of(r, cluster) for r in claim.status.reserved_for) if claim else ())


def pod_of(ref: ConsumerReference, cluster: Cluster) -> tuple[str, str]:
    """Name and page of a pod that a claim is reserved for; "" for the page of one that is not known."""
    key = cluster.pods_by_uid.get(ref.uid)
    return ref.name, pod_href(key) if key else ""


def _is_of(status: Any, result: DeviceRequestAllocationResult) -> bool:
    return bool(
        (status.driver, status.pool, status.device, status.share_id or "")
        == (result.driver, result.pool, result.device, result.share_id or "")
    )


def _condition(condition: Condition) -> ConditionView:
    return ConditionView(
        condition.type, condition.status, condition.reason, condition.message, condition.last_transition_time or ""
    )


def _config(claim: ResourceClaim, cluster: Cluster) -> tuple[ConfigView, ...]:
    """As it was gathered for the drivers; before that, what would be: of each alternative's class, and the claim's."""
    alternatives = [a for r in claim.spec.devices.requests for a in requests_of(r)]
    allocation = claim.status.allocation
    if allocation is not None:
        classes = {a.full_name: a.class_name for a in alternatives}
        return tuple(_one_config(_source(c, classes), c.requests, c.opaque) for c in allocation.devices.config)
    found: list[ConfigView] = []
    for one in alternatives:
        known = cluster.device_classes.get(one.class_name)
        source = f"of the class {one.class_name}"
        found += [_one_config(source, (one.full_name,), c.opaque) for c in (known.spec.config if known else ())]
    own = (_one_config("of the claim", c.requests, c.opaque) for c in claim.spec.devices.config)
    return (*found, *own)


def _source(config: DeviceAllocationConfiguration, classes: Mapping[str, str]) -> str:
    """classes: by the full names of requests."""
    if config.source == "FromClaim":
        return "of the claim"
    if config.source != "FromClass":
        return config.source
    names = sorted({classes[r] for r in config.requests if r in classes})
    return f"of the class {', '.join(names)}" if names else "of the class"


def _one_config(source: str, requests: tuple[str, ...], opaque: dict[str, Any] | None) -> ConfigView:
    driver = str((opaque or {}).get("driver", ""))
    return ConfigView(source, requests, driver, _yaml((opaque or {}).get("parameters")))


def _yaml(value: Any) -> str:
    text = as_yaml(value) if value not in (None, {}) else ""
    return text if len(text) <= OPAQUE else f"{text[:OPAQUE]}…"
