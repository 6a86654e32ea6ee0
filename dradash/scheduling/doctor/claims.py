"""Claims that somebody owes something, or that are held by nobody or by too many."""

from __future__ import annotations

from collections.abc import Iterator

from dradash.kinds import deviceclaim
from dradash.kinds.claim import IMMEDIATE, ConsumerReference, ResourceClaim
from dradash.scheduling.claimfacts import BETWEEN, AnyClaim, claims_of, class_text, drivers_in_charge
from dradash.scheduling.classic.claims import driver_of
from dradash.scheduling.doctor import lasting
from dradash.scheduling.doctor.exam import Exam, count, created, identity
from dradash.scheduling.doctor.finding import Finding, Ref
from dradash.scheduling.rfc3339 import deletion_asked

Consumer = ConsumerReference | deviceclaim.ConsumerReference


def check(exam: Exam) -> Iterator[Finding]:
    idle_before = exam.now - exam.thresholds.idle
    pods_known = "pods" in exam.readable
    for claim in claims_of(exam.cluster).values():
        status = claim.status
        classic = claim if isinstance(claim, ResourceClaim) else None
        if claim.metadata.deletion_timestamp is not None:
            yield from _held(exam, claim, pods_known=pods_known)
        elif classic is not None and classic.status.deallocation_requested:
            yield from _late(exam, classic, "deallocation-unanswered", exam.thresholds.deallocate)
        elif status.allocation is None:
            if classic is not None and classic.spec.allocation_mode == IMMEDIATE:
                yield from _late(exam, classic, "immediate-unallocated", exam.thresholds.immediate)
        elif not status.reserved_for:
            since = _since(exam, claim, lasting.IDLE)
            if since <= idle_before:
                yield _idle(exam, claim, since)
        if status.reserved_for:
            if pods_known:
                yield from _gone(exam, claim)
            if classic is not None and lasting.is_overshared(classic):
                yield _overshared(exam, classic)


def _about(
    exam: Exam,
    claim: AnyClaim,
    code: str,
    sentence: str,
    since: float,
    objects: tuple[Ref, ...] = (),
    subject: str = "",
) -> Finding:
    return exam.finding(
        code,
        (identity(claim), subject) if subject else (identity(claim),),
        sentence,
        (Ref("resourceclaims", claim.key), *objects),
        since,
        namespace=claim.namespace,
        resource_class=class_text(claim),
        driver=BETWEEN.join(drivers_in_charge(claim, exam.cluster)),
    )


def _idle(exam: Exam, claim: AnyClaim, since: float) -> Finding:
    """There may be thousands of these, and nearly all are as they were."""
    known = exam.memo.get(("allocated-idle", claim.key))
    if known is not None and known[0] is claim and known[1] == since:
        return known[2]
    sentence = f"ResourceClaim {claim.key} is allocated, but reserved for nobody."
    finding = _about(exam, claim, "allocated-idle", sentence, since)
    exam.memo["allocated-idle", claim.key] = (claim, since, finding)
    return finding


def _since(exam: Exam, claim: AnyClaim, mark: str) -> float:
    return exam.lasts("resourceclaims", claim.key, mark) or created(claim)


def _late(exam: Exam, claim: ResourceClaim, code: str, least: float) -> Iterator[Finding]:
    immediate = code == "immediate-unallocated"
    since = created(claim) if immediate else _since(exam, claim, lasting.RETURNING)
    if not exam.for_longer(since, least):
        return
    driver = driver_of(claim, exam.cluster) or f"the driver of class {claim.spec.resource_class_name}"
    if immediate:
        sentence = f"{driver} has not allocated ResourceClaim {claim.key}, which has allocation mode Immediate."
    else:
        sentence = f"{driver} was asked to take back the allocation of ResourceClaim {claim.key}, and has not."
    pods = sorted(exam.cluster.pods_by_claim.members(claim.key))
    yield _about(exam, claim, code, sentence, since, tuple(Ref("pods", p) for p in pods))


def _held(exam: Exam, claim: AnyClaim, *, pods_known: bool) -> Iterator[Finding]:
    since = deletion_asked(claim.metadata) or created(claim)
    if not exam.for_longer(since, exam.thresholds.deleting):
        return
    holds = []
    if claim.metadata.finalizers:
        holds.append(f"held by finalizer {', '.join(claim.metadata.finalizers)}")
    objects = []
    for ref in claim.status.reserved_for:
        state = _consumer_state(exam, claim, ref) if pods_known else "not known"
        key = exam.cluster.pods_by_uid.get(ref.uid)
        objects.append(Ref("pods", key or f"{claim.namespace}/{ref.name}", absent=pods_known and key is None))
        holds.append(f"reserved for {'pod' if _is_pod(ref) else ref.resource} {ref.name} ({state})")
    what = "; ".join(holds) or "held by nothing that is visible"
    yield _about(
        exam,
        claim,
        "deletion-held",
        f"ResourceClaim {claim.key} is being deleted: {what}.",
        since,
        (*objects, *(r for r in exam.hanging((claim.key,)) if r not in objects)),
    )


def _consumer_state(exam: Exam, claim: AnyClaim, ref: Consumer) -> str:
    if not _is_pod(ref):
        return "not watched"
    key = exam.cluster.pods_by_uid.get(ref.uid)
    if key is None:
        # A malformed pod is there: only what it says cannot be read.
        return (
            "cannot be read"
            if exam.exists("pods", f"{claim.namespace}/{ref.name}")
            and (f"{claim.namespace}/{ref.name}" in exam.cluster.malformed["pods"])
            else "gone"
        )
    return "finished" if exam.cluster.pods[key].is_finished else "exists"


def _is_pod(ref: Consumer) -> bool:
    return ref.resource == "pods" and not ref.api_group


def _gone(exam: Exam, claim: AnyClaim) -> Iterator[Finding]:
    for ref in claim.status.reserved_for:
        state = _consumer_state(exam, claim, ref)
        if state not in ("gone", "finished"):
            continue
        key = exam.cluster.pods_by_uid.get(ref.uid, f"{claim.namespace}/{ref.name}")
        over = (
            exam.lasts("pods", key, lasting.FINISHED) if state == "finished" else exam.observed.gone.get(ref.uid, 0.0)
        )
        since = max(over, created(claim)) if over else _since(exam, claim, lasting.reserved(ref.uid))
        if exam.for_longer(since, exam.thresholds.released):
            how = "has finished" if state == "finished" else "does not exist any more"
            sentence = f"ResourceClaim {claim.key} is reserved for pod {ref.name}, which {how}."
            waiting = (r for r in exam.hanging((claim.key,)) if r.key != key)
            objects = (Ref("pods", key, absent=state == "gone"), *waiting)
            yield _about(exam, claim, "reserved-for-gone", sentence, since, objects, ref.uid)


def _overshared(exam: Exam, claim: ResourceClaim) -> Finding:
    refs = claim.status.reserved_for
    sentence = f"ResourceClaim {claim.key} is not shareable, but reserved by {count(len(refs), 'consumer')}."
    by_uid = exam.cluster.pods_by_uid
    held = tuple(Ref("pods", by_uid[r.uid]) for r in refs if r.uid in by_uid)
    objects = (*held, *(r for r in exam.hanging((claim.key,)) if r not in held))
    since = _since(exam, claim, lasting.SEVERAL)
    return _about(exam, claim, "reserved-by-several", sentence, since, objects)
