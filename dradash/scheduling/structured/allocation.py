"""The result of an allocation as it is written to the claim: devices, configuration, node selector."""

from __future__ import annotations

from typing import Any

import msgspec

from dradash.kinds.deviceclaim import DeviceClaim, DeviceClaimConfiguration, ResourceClaim
from dradash.kinds.deviceclass import DeviceClassConfiguration
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling.structured.devices import AllocationError, Capacities
from dradash.scheduling.structured.requests import Candidate, Request, RequestData

Body = dict[str, Any]

# Stands for the random UID of a new share; whoever writes the claim puts one in its place.
NEW_SHARE = "<share>"


class Chosen(msgspec.Struct, frozen=True):
    """One device of the result (internalDeviceResult). `consumed` is None for a device that is taken whole."""

    request: Request
    candidate: Candidate
    consumed: Capacities | None = None


def result_of(claim: ResourceClaim, chosen: list[Chosen], picked: list[RequestData], node: str) -> Body:
    """AllocationResult as JSON. `picked`: for each request of the claim what was satisfied, itself or a subrequest."""
    devices: Body = {}
    if chosen:
        devices["results"] = [_device(c) for c in chosen]
    if config := _configs(claim.spec.devices, picked):
        devices["config"] = config
    result: Body = {"devices": devices}
    if (selector := _node_selector(claim.name, chosen, node)) is not None:
        result["nodeSelector"] = selector
    return result


def _device(chosen: Chosen) -> Body:
    id_, device = chosen.candidate.id, chosen.candidate.device
    result: Body = {"request": chosen.request.full_name, "driver": id_.driver, "pool": id_.pool, "device": id_.device}
    if chosen.request.admin_access:
        result["adminAccess"] = True
    if chosen.request.tolerations:
        result["tolerations"] = [msgspec.to_builtins(t) for t in chosen.request.tolerations]
    if device.binding_conditions:
        result["bindingConditions"] = list(device.binding_conditions)
    if device.binding_failure_conditions:
        result["bindingFailureConditions"] = list(device.binding_failure_conditions)
    if chosen.consumed is not None:
        result["shareID"] = NEW_SHARE
        if chosen.consumed:
            result["consumedCapacity"] = {name: str(q) for name, q in chosen.consumed.items()}
    return result


def _configs(devices: DeviceClaim, picked: list[RequestData]) -> list[Body]:
    """Of each class once, with all its requests; of the claim once for each request that it names."""
    configs: list[Body] = []
    of_class: dict[str, list[Body]] = {}
    for data in picked:
        device_class = data.device_class
        if device_class is None:
            continue
        name = data.request.full_name
        if device_class.name in of_class:
            for config in of_class[device_class.name]:
                config["requests"].append(name)
            continue
        added = [_config("FromClass", [name], c) for c in device_class.spec.config]
        of_class[device_class.name] = added
        configs += added
    for wanted in devices.config:
        times = 1 if not wanted.requests else _times(wanted, devices, picked)
        configs += [_config("FromClaim", list(wanted.requests), wanted) for _ in range(times)]
    for entry in configs:
        if not entry["requests"]:
            del entry["requests"]
    return configs


def _config(source: str, requests: list[str], config: DeviceClaimConfiguration | DeviceClassConfiguration) -> Body:
    body: Body = {"source": source, "requests": requests}
    if config.opaque is not None:
        body["opaque"] = config.opaque
    return body


def _times(config: DeviceClaimConfiguration, devices: DeviceClaim, picked: list[RequestData]) -> int:
    return sum(
        request.name in config.requests or (bool(data.request.parent) and data.request.full_name in config.requests)
        for request, data in zip(devices.requests, picked, strict=True)
    )


def _node_selector(claim: str, chosen: list[Chosen], node: str) -> Body | None:
    """createNodeSelector: None for devices that all nodes reach. Raises AllocationError."""
    fields: list[Body] = []
    expressions: list[Body] = []
    for each in chosen:
        device, spec = each.candidate.device, each.candidate.slice.spec
        where = device if spec.per_device_node_selection else spec
        if where.node_name is not None or device.binds_to_node:
            only = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [only]}]}
        _add_terms(claim, where.node_selector, fields, expressions)
    if not fields and not expressions:
        return None
    term: Body = {}
    if expressions:
        term["matchExpressions"] = expressions
    if fields:
        term["matchFields"] = fields
    return {"nodeSelectorTerms": [term]}


def _add_terms(claim: str, selector: NodeSelector | None, fields: list[Body], expressions: list[Body]) -> None:
    terms = selector.node_selector_terms if selector is not None else ()
    if len(terms) > 1:
        wrong = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
        raise AllocationError(f"create NodeSelector for claim {claim}: {wrong}")
    for term in terms:
        _add_new(term.match_fields, fields)
        _add_new(term.match_expressions, expressions)


def _add_new(requirements: Any, to: list[Body]) -> None:
    for each in requirements:
        requirement = {k: list(v) if k == "values" else v for k, v in msgspec.to_builtins(each).items()}
        values = set(requirement.get("values", ()))
        known = any(
            have.get("key") == requirement.get("key")
            and have.get("operator") == requirement.get("operator")
            and set(have.get("values", ())) == values
            for have in to
        )
        if not known:
            to.append(requirement)
