"""Which objects are worth keeping: pods that use claims or hold one, and events about what we judge. Pure.

A cluster has many more pods and events than matter here. What does not matter is dropped right behind the socket
and leaves nothing behind, not even its key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from dradash.informer.extended import Extended

# Answers for a pod's key whether the model wants it although it uses no claims: a claim is reserved for it, or the
# model holds it already (so that its last change and its deletion arrive too).
Wanted = Callable[[str], bool]

# The kubelet reports on every start and probe of a container; of its events only those about claims matter. Other
# reporters on a wanted pod are schedulers, the claim controller and drivers, whose names and reasons are their own.
LOUD_REPORTERS: Final = frozenset({"kubelet", "taint-eviction-controller", "attachdetach-controller"})
CLAIM_REASONS: Final = frozenset(
    {
        "FailedPrepareDynamicResources",
        "FailedPrepareResources",
        "FailedUnPrepareDynamicResources",
    }
)
KINDS_WITH_EVENTS: Final = frozenset(
    {
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceClass",
        "PodSchedulingContext",
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
    }
)

# What the API server itself leaves out. An events watch takes one field selector, whose parts are joined by "and";
# two watches (Pods, claims) would be two resource versions for one kind. So the selector names what is loud and never
# matters (the kubelet's and the workload controllers' reports), and event_matters decides the rest.
EVENTS_FIELD_SELECTOR: Final = ",".join(
    [f"involvedObject.kind!={kind}" for kind in ("Node", "ReplicaSet", "Deployment", "Job", "CronJob")]
    + [f"reason!={reason}" for reason in ("Pulling", "Pulled", "Created", "Started", "Killing", "BackOff", "Unhealthy")]
)


class _Claim(msgspec.Struct):
    pass


class _Spec(msgspec.Struct, rename="camel"):
    resource_claims: tuple[_Claim, ...] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec | None = None


class _Reference(msgspec.Struct):
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None


class _Source(msgspec.Struct):
    component: str | None = None


class _Event(msgspec.Struct, rename="camel"):
    reason: str | None = None
    involved_object: _Reference | None = None
    regarding: _Reference | None = None
    reporting_component: str | None = None
    reporting_controller: str | None = None
    source: _Source | None = None


_POD: Final = msgspec.json.Decoder(_Pod)
_EVENT: Final = msgspec.json.Decoder(_Event)
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def pod_uses_claims(raw: bytes) -> bool:
    """spec.resourceClaims is not empty. A pod that mentions it but cannot be read is kept, to be shown as malformed."""
    # Devices that DRA gives for extended resources: named so in the request, or told in the status.
    if b'"deviceclass.resource.kubernetes.io/' in raw or b'"extendedResourceClaimStatus"' in raw:
        return True
    if b'"resourceClaims"' not in raw:  # true of nearly all pods of a cluster: they are not even decoded
        return False
    try:
        pod = _POD.decode(raw)
    except _UNREADABLE:
        return True
    return pod.spec is not None and bool(pod.spec.resource_claims)


def pod_matters(key: str, raw: bytes, wanted: Wanted, extended: Extended | None = None) -> bool:
    return pod_uses_claims(raw) or wanted(key) or (extended is not None and extended.asked_in(raw))


def event_matters(raw: bytes, wanted: Wanted | None) -> bool:
    """An event about a kind of DRA, or about a wanted pod and not loud. `wanted` None: every pod is wanted.

    An unreadable event is kept, to be counted and shown as malformed.
    """
    try:
        event = _EVENT.decode(raw)
    except _UNREADABLE:
        return True
    about = event.involved_object or event.regarding or _Reference()
    if about.kind in KINDS_WITH_EVENTS:
        return True
    if about.kind != "Pod" or (_reporter(event) in LOUD_REPORTERS and event.reason not in CLAIM_REASONS):
        return False
    return wanted is None or wanted(f"{about.namespace}/{about.name}" if about.namespace else about.name or "")


def _reporter(event: _Event) -> str:
    component = event.source.component if event.source else None
    return component or event.reporting_component or event.reporting_controller or ""


def filter_for(
    kind: str, wanted: Wanted | None, extended: Extended | None = None
) -> Callable[[str, bytes], bool] | None:
    """The filter (key, JSON) -> keep? of one kind; None when everything of that kind is kept."""
    if kind == "pods":
        held: Wanted = wanted or (lambda _key: False)
        return lambda key, raw: pod_matters(key, raw, held, extended)
    if kind == "events":
        return lambda _key, raw: event_matters(raw, wanted)
    return None
