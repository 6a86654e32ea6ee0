"""Claims whose devices are gone, held twice, tainted or not attached, or that ask for more than they may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dradash.kinds.deviceclaim import (
    MAX_RESERVED_FOR,
    Condition,
    DeviceClaim,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.claimfacts import class_text
from dradash.scheduling.doctor.devices import slices_changed
from dradash.scheduling.doctor.devicetaints import evicting, eviction
from dradash.scheduling.doctor.exam import Exam, count, created, identity
from dradash.scheduling.doctor.finding import DEVICES, POOLS, Finding, Ref
from dradash.scheduling.rfc3339 import seconds
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.binding import is_ready
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.pools import PoolID

CLAIMS: Final = "resourceclaims"
ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
_FORMER_LABEL: Final = "resource.k8s.io/admin-access"  # of Kubernetes 1.33


def check(exam: Exam) -> Iterator[Finding]:
    inventory = exam.cluster.inventory
    published = _published(inventory)
    tainted = evicting(inventory)
    held = inventory.held_devices
    of_interest = {key for device in held - published for key in inventory.holders(device)}
    of_interest |= {key for device in held & tainted.keys() for key in inventory.holders(device)}
    for key, claim in exam.cluster.device_claims.items():
        if len(claim.status.reserved_for) >= MAX_RESERVED_FOR:
            sentence = f"ResourceClaim {claim.key} is reserved for {MAX_RESERVED_FOR} pods: no other can use it."
            yield _about(exam, claim, "reserved-for-full", sentence, _changed(exam, claim))
        allocation = claim.status.allocation
        if allocation is None:
            continue
        results_of = allocation.devices.results
        # Admin access holds nothing.
        if key in of_interest or any(r.admin_access for r in results_of):
            results = [(_id(r), r) for r in results_of]
            yield from _vanished(exam, claim, [id_ for id_, _ in results if id_ not in published])
            yield from _evicted(exam, claim, [(r, tainted[i]) for i, r in results if i in tainted])
        if any(r.binding_conditions for r in results_of):
            yield from _binding(exam, claim)
    yield from _twice(exam)
    yield from _admin(exam)


def _id(result: DeviceRequestAllocationResult) -> DeviceID:
    return DeviceID(result.driver, result.pool, result.device)


def _changed(exam: Exam, claim: ResourceClaim) -> float:
    return exam.changed(CLAIMS, claim.key) or created(claim)


def _allocated(exam: Exam, claim: ResourceClaim) -> float:
    """When the devices were allocated, as far as it is known."""
    allocation = claim.status.allocation
    return (seconds(allocation.allocation_timestamp) if allocation else 0.0) or _changed(exam, claim)


def _about(
    exam: Exam,
    claim: ResourceClaim,
    code: str,
    sentence: str,
    since: float,
    more: tuple[Ref, ...] = (),
    driver: str = "",
) -> Finding:
    pods = sorted(exam.cluster.pods_by_claim.members(claim.key))
    objects = (Ref(CLAIMS, claim.key), *more, *(Ref("pods", p) for p in pods))
    return exam.finding(
        code,
        (identity(claim),),
        sentence,
        objects,
        since,
        namespace=claim.namespace,
        resource_class=class_text(claim),
        driver=driver,
    )


# --- devices that are gone -------------------------------------------------------------------------------------------


def _published(inventory: Inventory) -> frozenset[DeviceID]:
    known: frozenset[DeviceID] | None = inventory.of_all.get("published ids")
    if known is None:
        states = ledger.pool_states(inventory)
        found = frozenset(one.id for state in states for one in ledger.published_in(inventory, state))
        known = inventory.of_all["published ids"] = found
    return known


def _vanished(exam: Exam, claim: ResourceClaim, lost: list[DeviceID]) -> Iterator[Finding]:
    gone, times = [], [_allocated(exam, claim)]
    for device in lost:
        pool = PoolID(device.driver, device.pool)
        state = ledger.state_of_pool(exam.cluster.inventory, pool)
        if state is not None and state.state == ledger.INCOMPLETE:
            continue  # the slice with the device may still come: pool-incomplete tells
        gone.append(device)
        at = slices_changed(exam, state) if state is not None else 0.0
        times.append(at or exam.observed.withdrawn.get(("pool", *_parts(pool)), 0.0))
    since = max(times)
    if gone and exam.for_longer(since, exam.thresholds.missing):
        first = f"{gone[0]}{f' and {len(gone) - 1} more' if len(gone) > 1 else ''}"
        sentence = f"ResourceClaim {claim.key} has {first}, which no slice publishes any more."
        pools = dict.fromkeys(PoolID(d.driver, d.pool) for d in gone)
        yield _about(exam, claim, "device-vanished", sentence, since, _refs(exam, pools), gone[0].driver)


def _parts(pool: PoolID) -> tuple[str, str]:
    return pool.driver, pool.pool


def _refs(exam: Exam, pools: dict[PoolID, Any]) -> tuple[Ref, ...]:
    there = exam.cluster.inventory.pool_ids
    return tuple(Ref(POOLS, str(p), absent=p not in there) for p in pools)


# --- taints ----------------------------------------------------------------------------------------------------------


def _evicted(
    exam: Exam, claim: ResourceClaim, held: list[tuple[DeviceRequestAllocationResult, tuple[DeviceTaint, ...]]]
) -> Iterator[Finding]:
    if not claim.status.reserved_for:
        return
    found = [e for result, taints in held for taint in taints if (e := eviction(exam, result, taint))]
    if not found:
        return
    first, taint = found[0], found[0].taint
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    said = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    tolerated = "it does not tolerate" if first.seconds is None else f"it tolerated for {first.seconds} s only"
    sentence = f"ResourceClaim {claim.key} has {first.device}, whose taint {said}{more} {tolerated}."
    refs = tuple(Ref(DEVICES, str(d)) for d in dict.fromkeys(e.device for e in found))
    since = max(_allocated(exam, claim), min(e.since for e in found))
    yield _about(exam, claim, "taint-not-tolerated", sentence, since, refs, first.device.driver)


# --- binding conditions ----------------------------------------------------------------------------------------------


def _binding(exam: Exam, claim: ResourceClaim) -> Iterator[Finding]:
    waiting = [r.name for r in claim.status.reserved_for if _is_unbound(exam, r.uid)]
    ready = is_ready(claim)
    if ready.is_ready or (not waiting and not ready.failure):
        return  # what was bound had its conditions met
    conditions, of = _unmet(claim, failed=bool(ready.failure))
    device = of[0]
    if ready.failure:
        failed = conditions[0]
        why = ": ".join(filter(None, (failed.reason, failed.message)))
        sentence = f"Device {device} of ResourceClaim {claim.key} reports {failed.type}{f': {why}' if why else ''}."
        since = seconds(failed.last_transition_time) or _changed(exam, claim)
        yield _about(exam, claim, "binding-failed", sentence, since, (Ref(DEVICES, str(device)),), device.driver)
        return
    since = _allocated(exam, claim)
    if exam.for_longer(since, exam.thresholds.binding):
        types = ", ".join(dict.fromkeys(c.type for c in conditions))
        sentence = (
            f"Pod {claim.namespace}/{waiting[0]} waits for {types} of device {device}, "
            f"which ResourceClaim {claim.key} has: driver {device.driver} has not reported it."
        )
        yield _about(exam, claim, "binding-waits", sentence, since, (Ref(DEVICES, str(device)),), device.driver)


def _is_unbound(exam: Exam, uid: str) -> bool:
    pod = exam.cluster.pods.get(exam.cluster.pods_by_uid.get(uid, ""))
    return pod is not None and pod.is_pending


def _unmet(claim: ResourceClaim, *, failed: bool) -> tuple[list[Condition], list[DeviceID]]:
    """Conditions that failed, or are not met, and their devices."""
    said = {
        (d.driver, d.pool, d.device): {c.type: c for c in reversed(d.conditions)}
        for d in reversed(claim.status.devices)
    }
    conditions, devices = [], []
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation else ():
        if not result.binding_conditions:
            continue
        known = said.get((result.driver, result.pool, result.device), {})
        for name in result.binding_failure_conditions if failed else result.binding_conditions:
            condition = known.get(name, Condition(type=name))
            if (condition.status == "True") is failed:
                conditions.append(condition)
                devices.append(_id(result))
    return conditions, devices


# --- held twice ------------------------------------------------------------------------------------------------------


def _twice(exam: Exam) -> Iterator[Finding]:
    inventory, claims = exam.cluster.inventory, exam.cluster.device_claims
    for device in inventory.taken.devices:
        holders = inventory.holders(device)
        if len(holders) < 2:
            continue
        keys = sorted(holders)
        since = max(_allocated(exam, claims[k]) for k in keys)
        pods = sorted({pod for k in keys for pod in exam.cluster.pods_by_claim.members(k)})
        whole = sum(inventory.holds_whole(k, device) for k in keys)
        how = "to each as a whole" if whole == len(keys) else f"and to {whole} of them as a whole"
        yield exam.finding(
            "device-allocated-twice",
            (str(device),),
            f"Device {device} is allocated to {count(len(keys), 'claim')}, {how}.",
            (*(Ref(CLAIMS, k) for k in keys), Ref(DEVICES, str(device)), *(Ref("pods", p) for p in pods)),
            since,
            namespace=claims[keys[0]].namespace,
            driver=device.driver,
        )


# --- admin access ----------------------------------------------------------------------------------------------------


def _admin(exam: Exam) -> Iterator[Finding]:
    cluster = exam.cluster
    for claim in cluster.device_claims.values():
        if _wants_admin(claim.spec.devices) and not _may_admin(exam, claim.namespace):
            sentence = (
                f"ResourceClaim {claim.key} asks for admin access, which namespace {claim.namespace} does not allow."
            )
            yield _about(exam, claim, "admin-access-not-allowed", sentence, created(claim), _namespace(claim.namespace))
    for key, template in cluster.templates.items():
        if (
            isinstance(template, ResourceClaimTemplate)
            and _wants_admin(template.spec.spec.devices)
            and not _may_admin(exam, template.namespace)
        ):
            namespace = template.namespace
            yield exam.finding(
                "admin-access-not-allowed",
                (identity(template),),
                f"ResourceClaimTemplate {key} asks for admin access, which namespace {namespace} does not allow.",
                (
                    Ref("resourceclaimtemplates", key),
                    *_namespace(namespace),
                    *exam.pending_among(exam.cluster.pods_by_template.members(key)),
                ),
                created(template),
                namespace=namespace,
            )


def _wants_admin(devices: DeviceClaim) -> bool:
    return any(r.exactly is not None and r.exactly.admin_access for r in devices.requests)


def _namespace(name: str) -> tuple[Ref, ...]:
    return (Ref("namespaces", name),)


def _may_admin(exam: Exam, name: str) -> bool:
    """Also of a namespace that is not known."""
    namespace = exam.cluster.namespaces.get(name)
    if namespace is None:
        return True
    labels = namespace.metadata.labels
    return labels.get(ADMIN_LABEL) == "true" or (
        exam.cluster.claims_version not in ("", "v1") and labels.get(_FORMER_LABEL) == "true"
    )
