"""Which pages a change may show on. A topic only says that something changed, never what."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.devicetaintrule import DeviceTaintRule, names
from dradash.kinds.event import Event
from dradash.kinds.pod import Pod
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.cluster import Cluster, claim_keys
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.verdict import Verdict
from dradash.store.model import SYNC, VERDICTS
from dradash.store.replica import Applied

EVERYTHING: Final = "everything"  # the model was loaded anew, or cannot be read
OVERVIEW: Final = "overview"
PODS: Final = "pods"
CLAIMS: Final = "claims"
DOCTOR: Final = "doctor"  # announced by reader/doctor.py, when findings have changed
CHANGES: Final = "changes"
NEGOTIATIONS: Final = "negotiations"
NODES: Final = "nodes"
CLASSES: Final = "classes"
DRIVERS: Final = "drivers"
DEVICES: Final = "devices"  # slices, pools, devices and device classes


def pod(key: str) -> str:
    return f"pod:{key}"


def claim(key: str) -> str:
    return f"claim:{key}"


def group(topic: str) -> str:
    """The channel layer's name for a topic: its names allow neither slashes nor colons, nor more than 99 characters."""
    return "t." + hashlib.blake2b(topic.encode(), digest_size=16).hexdigest()


def topics_of(applied: Applied, cluster: Cluster) -> frozenset[str]:
    """Topics of one change; `cluster` is the state after it.

    Nodes and classes come to a pod's page by the verdicts that they change.
    """
    more = _BY_KIND.get(applied.change.kind)
    return frozenset({OVERVIEW, CHANGES, *(more(applied, cluster) if more else ())})


def _of_pod(applied: Applied, _: Cluster) -> set[str]:
    lists = {PODS, NEGOTIATIONS, NODES, CLASSES}
    return {*lists, pod(applied.change.key), *_claims_of(applied.old), *_claims_of(applied.new)}


def _of_context(applied: Applied, _: Cluster) -> set[str]:
    return {NEGOTIATIONS, DRIVERS, NODES, pod(applied.change.key)}


def _of_node(_: Applied, __: Cluster) -> set[str]:
    return {NODES, CLASSES}


def _of_claim(applied: Applied, cluster: Cluster) -> set[str]:
    key = applied.change.key
    pods = {pod(p) for p in cluster.pods_by_claim.members(key)}
    lists = {PODS, CLAIMS, NEGOTIATIONS, NODES, CLASSES, DRIVERS}
    if any(isinstance(c, deviceclaim.ResourceClaim) for c in (applied.old, applied.new)):
        lists.add(DEVICES)
    return {*lists, claim(key), *pods, *_reserving(applied, cluster), *_sharing(applied, cluster)}


def _of_class(applied: Applied, cluster: Cluster) -> set[str]:
    lists = {PODS, CLAIMS, NODES, CLASSES, DRIVERS}
    return {*lists, *(claim(c) for c in cluster.claims_by_class.members(applied.change.key))}


def _of_device_class(applied: Applied, cluster: Cluster) -> set[str]:
    claims = cluster.claims_by_device_class.members(applied.change.key)
    ruled = _ruled(cluster.inventory.rules_by_class(applied.change.key), cluster)
    return {PODS, CLAIMS, DRIVERS, DEVICES, *(claim(c) for c in claims), *ruled}


def _of_slice(applied: Applied, cluster: Cluster) -> set[str]:
    """Claims show the devices that they hold as the slices publish them."""
    devices = {
        DeviceID(s.spec.driver, s.spec.pool.name, d.name)
        for s in (applied.old, applied.new)
        if isinstance(s, ResourceSlice)
        for d in s.spec.devices
    }
    return {NODES, DRIVERS, DEVICES, *(claim(c) for d in devices for c in cluster.inventory.holders(d))}


def _of_rule(applied: Applied, cluster: Cluster) -> set[str]:
    return _ruled([r for r in (applied.old, applied.new) if isinstance(r, DeviceTaintRule)], cluster)


def _ruled(rules: list[DeviceTaintRule], cluster: Cluster) -> set[str]:
    """What shows devices that the rules may taint: by their names, whatever else they look at."""
    inventory, selectors = cluster.inventory, [r.spec.device_selector for r in rules]
    devices = (d for d in inventory.held_devices if any(names(s, d.driver, d.pool, d.device) for s in selectors))
    return {NODES, DRIVERS, DEVICES, *(claim(c) for d in devices for c in inventory.holders(d))} if rules else set()


def _of_event(applied: Applied, _: Cluster) -> set[str]:
    return _about(applied.new or applied.old)


def _of_verdict(applied: Applied, _: Cluster) -> set[str]:
    key = applied.change.key
    lists = {PODS, NEGOTIATIONS, NODES, CLASSES}
    return {*lists, pod(key), *_claims_in(key, applied.old), *_claims_in(key, applied.new)}


def _of_sync(_: Applied, __: Cluster) -> set[str]:
    return {PODS, CLAIMS, NEGOTIATIONS, NODES, CLASSES, DRIVERS, DEVICES}


_BY_KIND: Final = {
    "pods": _of_pod,
    "podschedulingcontexts": _of_context,
    "nodes": _of_node,
    "resourceclaims": _of_claim,
    "resourceclasses": _of_class,
    "deviceclasses": _of_device_class,
    "resourceslices": _of_slice,
    "devicetaintrules": _of_rule,
    "events": _of_event,
    VERDICTS: _of_verdict,
    SYNC: _of_sync,
}


def _claims_of(obj: Any) -> set[str]:
    return {claim(k) for k in claim_keys(obj)} if isinstance(obj, Pod) else set()


def _reserving(applied: Applied, cluster: Cluster) -> set[str]:
    """Pods that the claim is or was reserved for."""
    uids = {
        ref.uid
        for obj in (applied.old, applied.new)
        if isinstance(obj, ResourceClaim | deviceclaim.ResourceClaim)
        for ref in obj.status.reserved_for
    }
    return {pod(cluster.pods_by_uid[uid]) for uid in uids if uid in cluster.pods_by_uid}


def _sharing(applied: Applied, cluster: Cluster) -> set[str]:
    """Claims that hold a device which this one takes or gives back."""
    devices = {
        DeviceID(r.driver, r.pool, r.device)
        for obj in (applied.old, applied.new)
        if isinstance(obj, deviceclaim.ResourceClaim) and obj.status.allocation is not None
        for r in obj.status.allocation.devices.results
    }
    return {claim(c) for d in devices for c in cluster.inventory.holders(d)}


def _claims_in(pod_key: str, verdict: Any) -> set[str]:
    if not isinstance(verdict, Verdict):
        return set()
    namespace = pod_key.split("/", 1)[0]
    return {claim(f"{namespace}/{c.claim}") for c in verdict.claims if c.claim}


def _about(obj: Any) -> set[str]:
    if not isinstance(obj, Event):
        return set()
    ref = obj.about
    key = f"{ref.namespace}/{ref.name}"
    return {pod(key)} if ref.kind == "Pod" else {claim(key)} if ref.kind == "ResourceClaim" else set()
