"""What is wrong with devices: pools whose devices nobody gets, selectors that find none, devices that claims lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dradash.kinds.deviceclaim import MAX_RESERVED_FOR, ResourceClaim
from dradash.scheduling.doctor.exam import Exam, count, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.structured import ledger, matching
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledger import PoolState

SLICES: Final = "resourceslices"
CLAIMS: Final = "resourceclaims"


def check(exam: Exam) -> Iterator[Finding]:
    for state in ledger.pool_states(exam.cluster.inventory):
        if state.state != ledger.USABLE:
            yield from _pool(exam, state)
    yield from _classes(exam)
    yield from _claims(exam)
    yield from _twice(exam)


def _pool(exam: Exam, state: PoolState) -> Iterator[Finding]:
    since = max((exam.changed(SLICES, s.name) or created(s) for s in state.slices), default=0.0)
    incomplete = state.state == ledger.INCOMPLETE
    if incomplete and not exam.for_longer(since, exam.thresholds.missing):
        return
    devices = count(state.devices, "device")
    if incomplete:
        has = f"{len(state.slices)} of {state.expected} slices of generation {state.generation}"
        sentence = f"Pool {state.id} has {has}: none of its {devices} can be allocated."
    else:
        sentence = f"Pool {state.id} is invalid ({state.invalid}): none of its {devices} can be allocated."
    yield exam.finding(
        "pool-incomplete" if incomplete else "pool-invalid",
        (str(state.id),),
        sentence,
        tuple(Ref(SLICES, s.name) for s in state.slices),
        since,
        driver=state.id.driver,
    )


def _classes(exam: Exam) -> Iterator[Finding]:
    for name, of in exam.cluster.device_classes.items():
        chain = tuple(s.cel.expression if s.cel else "" for s in of.spec.selectors)
        total, left = matching.leaves(exam.cluster.inventory, chain)
        since = exam.changed("deviceclasses", name) or created(of)
        wrong = next((one for one in left if one.error), None)
        if wrong is not None:
            code, sentence = "selector-fails", f"A selector of DeviceClass {name} fails: {wrong.error}."
        elif left and total and not left[-1].devices:
            code = "class-matches-no-device"
            sentence = f"The selectors of DeviceClass {name} leave none of {count(total, 'device')}."
        else:
            continue
        yield exam.finding(code, (identity(of),), sentence, (Ref("deviceclasses", name),), since, resource_class=name)


def _claims(exam: Exam) -> Iterator[Finding]:
    inventory = exam.cluster.inventory
    published = {one.id for state in ledger.pool_states(inventory) for one in ledger.published_in(inventory, state)}
    for claim in exam.cluster.device_claims.values():
        lost = [d for d in _devices(claim) if d not in published]
        since = exam.changed(CLAIMS, claim.key) or created(claim)
        if lost and exam.for_longer(since, exam.thresholds.missing):
            first = f"{lost[0]}{f' and {len(lost) - 1} more' if len(lost) > 1 else ''}"
            sentence = f"ResourceClaim {claim.key} has {first}, which no slice publishes any more."
            yield _about(exam, claim, "device-vanished", sentence, since)
        if len(claim.status.reserved_for) >= MAX_RESERVED_FOR:
            sentence = f"ResourceClaim {claim.key} is reserved for {MAX_RESERVED_FOR} pods: no other can use it."
            yield _about(exam, claim, "reserved-for-full", sentence, since)


def _devices(claim: ResourceClaim) -> list[DeviceID]:
    allocation = claim.status.allocation
    return [DeviceID(r.driver, r.pool, r.device) for r in allocation.devices.results] if allocation else []


def _twice(exam: Exam) -> Iterator[Finding]:
    inventory, claims = exam.cluster.inventory, exam.cluster.device_claims
    for device in inventory.taken.devices:
        keys = sorted(k for k in inventory.holders(device) if k in claims)
        if len(keys) < 2:
            continue
        since = max(exam.changed(CLAIMS, k) or created(claims[k]) for k in keys)
        yield exam.finding(
            "device-allocated-twice",
            (str(device),),
            f"Device {device} is allocated to {count(len(keys), 'claim')}, and to one of them as a whole.",
            tuple(Ref(CLAIMS, k) for k in keys),
            since,
            namespace=claims[keys[0]].namespace,
            driver=device.driver,
        )


def _about(exam: Exam, claim: ResourceClaim, code: str, sentence: str, since: float) -> Finding:
    pods = sorted(exam.cluster.pods_by_claim.members(claim.key))
    objects = (Ref(CLAIMS, claim.key), *(Ref("pods", p) for p in pods))
    return exam.finding(code, (identity(claim),), sentence, objects, since, namespace=claim.namespace)
