"""Extended resources that are backed by DRA (extendeddynamicresources.go, extended/).

The scheduler makes one special claim for all of a pod's extended resources that a device class serves, with requests
that depend on what device plugins serve on the node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds import quantity as quantities
from dradash.kinds.deviceclaim import EXACT_COUNT, EXTENDED_RESOURCE_CLAIM, ResourceClaim
from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.kinds.pod import Container, Pod
from dradash.kinds.quantity import InvalidQuantity, Quantity
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.status import Status, unschedulable
from dradash.scheduling.structured.allocation import Body
from dradash.scheduling.structured.claimwrites import HeldClaim, held
from dradash.scheduling.structured.cycle import CycleState

SPECIAL_NAME: Final = "<extended-resources>"
_SPECIAL_UID: Final = "<extended-resources-uid>"
_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
_QUALIFIED: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

Resolver = Mapping[str, str]


def class_by_resource(classes: Mapping[str, DeviceClass]) -> dict[str, str]:
    """updateResourceName2class: resource name -> class; of several classes the newest, then the first by name.

    A class that loses to one that is already there gets not even its own name as a resource. Which is there depends on
    the order in which the scheduler heard of them; here it is that of the API server's list, by name, as after a start.
    """
    mapping: dict[str, str] = {}
    for device_class in sorted(classes.values(), key=lambda c: c.name):
        name = device_class.spec.extended_resource_name
        if name:
            known = classes.get(mapping.get(name, ""))
            if known is not None and _created(device_class) <= _created(known):
                continue
            mapping[name] = device_class.name
        mapping[_CLASS_PREFIX + device_class.name] = device_class.name
    return mapping


def _created(device_class: DeviceClass) -> float:
    return seconds(device_class.metadata.creation_timestamp)


def is_extended_resource(name: str) -> bool:
    """IsDRAExtendedResourceName."""
    if name.startswith(_CLASS_PREFIX):
        return True
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and _QUALIFIED.fullmatch(name) is not None


def _amounts(container: Container) -> dict[str, Quantity]:
    amounts = {}
    for name, text in container.resources.requests.items():
        try:
            amounts[name] = quantities.decoded(str(text))
        except InvalidQuantity:
            continue  # the API server lets none through
    return amounts


def pod_requests(pod: Pod) -> dict[str, Quantity]:
    """resourcehelper.PodRequests: containers and sidecars together, or the largest init container if that is more."""
    total: dict[str, Quantity] = {}
    for container in pod.spec.containers:
        _add(total, _amounts(container))
    sidecars: dict[str, Quantity] = {}
    largest: dict[str, Quantity] = {}
    for container in pod.spec.init_containers:
        amounts = _amounts(container)
        if container.restart_policy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = dict(sidecars)
        else:
            _add(amounts, sidecars)
        _at_least(largest, amounts)
    _at_least(total, largest)
    return total


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _at_least(total: dict[str, Quantity], other: Mapping[str, Quantity]) -> None:
    for name, quantity in other.items():
        if name not in total or total[name].compare(quantity) < 0:
            total[name] = quantity


def is_backed(requests: Mapping[str, Quantity], classes: Mapping[str, DeviceClass]) -> bool:
    """Whether a DeviceClass stands behind one of the resources that a pod requests."""
    resolver = class_by_resource(classes)
    return any(is_extended_resource(n) and n in resolver and not q.is_zero for n, q in requests.items())


def classes_behind(pod: Pod, classes: Mapping[str, DeviceClass]) -> dict[str, str]:
    """Extended resource that the pod requests -> the DeviceClass that stands behind it."""
    named = [c.resources.requests for c in (*pod.spec.containers, *pod.spec.init_containers)]
    if not any("/" in name for requests in named for name in requests):
        return {}  # true of nearly all pods
    resolver = class_by_resource(classes)
    wanted = sorted(n for n, q in pod_requests(pod).items() if is_extended_resource(n) and not q.is_zero)
    return {n: resolver[n] for n in wanted if n in resolver}


def pre_filter(state: CycleState) -> HeldClaim | None:
    """preFilterExtendedResources: the pod's special claim, from an earlier attempt or new, if it needs one."""
    requests = pod_requests(state.pod)
    if not is_backed(requests, state.listed.classes):
        return None
    state.pod_scalars = {n: q.value() for n, q in requests.items() if "/" in n}
    found = state.listed.extended_claim(state.pod)
    return found if found is not None else _new_claim(state.pod)


def is_extended_claim_of(pod: Pod, claim: ResourceClaim) -> bool:
    """findExtendedResourceClaim, for one claim."""
    meta = claim.metadata
    return meta.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true" and any(
        o.name == pod.name and o.controller and o.uid == pod.uid for o in meta.owner_references
    )


def _new_claim(pod: Pod) -> HeldClaim:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    return held(
        {
            "metadata": {
                "name": SPECIAL_NAME,
                "namespace": pod.namespace,
                "uid": _SPECIAL_UID,
                "generateName": f"{pod.name}-extended-resources-",
                "ownerReferences": [owner],
                "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
            },
            "spec": {"devices": {}},
        }
    )


class NodeClaim(msgspec.Struct, frozen=True):
    """filterExtendedResources' answer for a node; no claim: nothing to allocate for extended resources."""

    status: Status | None = None
    claim: HeldClaim | None = None
    mappings: tuple[Body, ...] = ()


def filter_node(state: CycleState, node: Node) -> NodeClaim:
    special = state.extended_claim
    if special is None:
        return NodeClaim()
    if has_requests(special):
        # Left over from an earlier attempt: PostFilter deletes it.
        return NodeClaim(unschedulable("cannot schedule extended resource claim"))
    resolver = class_by_resource(state.listed.classes)
    by_dra: set[str] = set()
    for name, wanted in state.pod_scalars.items():
        if not is_extended_resource(name) or wanted == 0:
            continue
        allocatable = node.status.allocatable.get(name)
        served = allocatable is not None and not _is_zero(allocatable)
        if name in resolver and not served:
            by_dra.add(name)
        elif allocatable is None:
            return NodeClaim(unschedulable("cannot fit resource"))
    if not state.user_claims and not by_dra:
        return NodeClaim()
    if special.claim.status.allocation is not None:
        return NodeClaim()
    requests, mappings = _requests_and_mappings(state.pod, by_dra, resolver)
    raw = {**special.raw, "spec": {"devices": {"requests": requests or None}}}
    return NodeClaim(None, HeldClaim(raw, _with_requests(raw)), tuple(mappings))


def has_requests(special: HeldClaim) -> bool:
    """Whether Go's slice of requests is not nil: an empty list is something else than none."""
    return special.raw.get("spec", {}).get("devices", {}).get("requests") is not None


def _with_requests(raw: Body) -> ResourceClaim:
    return held({**raw, "spec": {"devices": {"requests": raw["spec"]["devices"]["requests"] or []}}}).claim


def _is_zero(text: str | int | float) -> bool:
    try:
        return quantities.decoded(str(text)).is_zero
    except InvalidQuantity:
        return True


class _Place(msgspec.Struct, frozen=True):
    index: int
    container: Container
    is_short_lived: bool  # an init container that ends before the next one starts


def _places(pod: Pod) -> list[_Place]:
    every = [*pod.spec.init_containers, *pod.spec.containers]
    count = len(pod.spec.init_containers)
    return [_Place(i, c, i < count and c.restart_policy != "Always") for i, c in enumerate(every)]


def _requests_and_mappings(pod: Pod, names: set[str], resolver: Resolver) -> tuple[list[Body], list[Body]]:
    """createRequestsAndMappings: init containers that end use the devices of containers that start later."""
    requests: list[Body] = []
    mappings: list[Body] = []
    places = _places(pod)
    for name in sorted(names):
        if name not in resolver:
            continue
        long_requests: dict[int, Body] = {}
        for place in places:
            if not place.is_short_lived:
                request, mapped = _request_and_mappings(place, name, resolver[name], [])
                mappings += mapped
                if request is not None:
                    long_requests[place.index] = request
        short, short_mappings = _short_lived(places, name, resolver[name], long_requests)
        requests += [*short, *long_requests.values()]
        mappings += short_mappings
    return sorted(requests, key=lambda r: str(r["name"])), mappings


def _short_lived(
    places: list[_Place], name: str, class_name: str, long_requests: dict[int, Body]
) -> tuple[list[Body], list[Body]]:
    """One request for all init containers that end: the largest."""
    largest: Body | None = None
    others: set[str] = set()
    mappings: list[Body] = []
    for place in places:
        if not place.is_short_lived:
            continue
        reusable = [r for i, r in sorted(long_requests.items()) if i >= place.index]
        request, mapped = _request_and_mappings(place, name, class_name, reusable)
        if request is not None:
            others.add(request["name"])
            if largest is None or largest["exactly"]["count"] < request["exactly"]["count"]:
                largest = request
        mappings += mapped
    if largest is None:
        return [], mappings
    renamed = [{**m, "requestName": largest["name"]} if m["requestName"] in others else m for m in mappings]
    return [largest], renamed


def _request_and_mappings(
    place: _Place, name: str, class_name: str, reusable: list[Body]
) -> tuple[Body | None, list[Body]]:
    """createResourceRequestAndMappings."""
    amounts = _amounts(place.container)
    wanted = amounts[name].as_int64() if name in amounts else None
    if not wanted:
        return None, []
    mappings: list[Body] = []
    have = 0
    for request in reusable:
        have += request["exactly"]["count"]
        mappings.append(_mapping(place.container.name, name, request["name"]))
        if have >= wanted:
            return None, mappings
    index = sorted(place.container.resources.requests).index(name)
    request_name = f"container-{place.index}-request-{index}"
    mappings.append(_mapping(place.container.name, name, request_name))
    exactly = {"deviceClassName": class_name, "allocationMode": EXACT_COUNT, "count": wanted - have}
    return {"name": request_name, "exactly": exactly}, mappings


def _mapping(container: str, resource: str, request: str) -> Body:
    return {"containerName": container, "resourceName": resource, "requestName": request}
