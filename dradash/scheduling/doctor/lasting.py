"""What findings rest on in the state of one object, and since when it is so without a break: told change by change.

When an object last changed tells less: a label that is added to a claim does not make it idle anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.resourceclass import ResourceClass
from dradash.scheduling.verdict import Outcome, Verdict

VERDICTS: Final = "verdicts"  # as if it were a kind; the key is the pod's

IDLE: Final = "idle"  # a claim is allocated, and reserved for nobody
SEVERAL: Final = "several"  # a claim is not shareable, and reserved by several
RETURNING: Final = "returning"  # a claim's deallocation is asked for
FINISHED: Final = "finished"  # a pod
DISAGREES: Final = "disagrees"  # a verdict is not what the scheduler said
BLOCKED: Final = "blocked"  # a verdict: PreEnqueue refuses the pod
MALFORMED: Final = "malformed"  # any object
RESERVED: Final = "reserved"  # a claim: for a pod, see `reserved`


def reserved(uid: str) -> str:
    """A claim is reserved for this pod."""
    return f"{RESERVED} {uid}"


def filters(resource_class: ResourceClass) -> str:
    """A class has this node filter."""
    return f"filter {msgspec.json.encode(resource_class.suitable_nodes).decode()}"


def is_idle(claim: ResourceClaim) -> bool:
    status = claim.status
    in_use = status.reserved_for or status.deallocation_requested or claim.metadata.deletion_timestamp is not None
    return status.allocation is not None and not in_use


def is_overshared(claim: ResourceClaim) -> bool:
    allocation = claim.status.allocation
    return len(claim.status.reserved_for) > 1 and allocation is not None and not allocation.shareable


def marks(obj: Any) -> Iterator[str]:
    """obj: the kind's struct or a Verdict; None: it is malformed."""
    if obj is None:
        yield MALFORMED
    elif isinstance(obj, ResourceClaim | deviceclaim.ResourceClaim):
        yield from _of_claim(obj)
    elif isinstance(obj, Pod):
        if obj.is_finished:
            yield FINISHED
    elif isinstance(obj, Verdict):
        if obj.agreement.agrees is False:
            yield DISAGREES
        if obj.outcome is Outcome.BLOCKED:
            yield BLOCKED
    elif isinstance(obj, ResourceClass):
        yield filters(obj)


def _of_claim(claim: ResourceClaim | deviceclaim.ResourceClaim) -> Iterator[str]:
    yield from (reserved(ref.uid) for ref in claim.status.reserved_for)
    if isinstance(claim, deviceclaim.ResourceClaim):
        if claim.status.allocation and not claim.status.reserved_for and not claim.metadata.deletion_timestamp:
            yield IDLE
        return
    if is_idle(claim):
        yield IDLE
    if is_overshared(claim):
        yield SEVERAL
    if claim.status.deallocation_requested and claim.metadata.deletion_timestamp is None:
        yield RETURNING


class Lasting:
    """By object, identified by UID. Nothing is kept of an object without marks."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, dict[str, float]]] = {}

    def saw(self, kind: str, key: str, at: float, obj: Any) -> None:
        """The object's state from `at` on (Unix seconds); None: it is malformed."""
        uid = "" if obj is None else obj.uid
        known_uid, before = self._known.get((kind, key), ("", {}))
        now = {mark: before.get(mark, at) if known_uid == uid else at for mark in marks(obj)}
        if now:
            self._known[kind, key] = uid, now
        else:
            self._known.pop((kind, key), None)

    def deleted(self, kind: str, key: str) -> None:
        self._known.pop((kind, key), None)

    def began(self, kind: str, key: str, uid: str, since: Mapping[str, float]) -> None:
        """What is known of earlier: counts for marks that still last."""
        known_uid, now = self._known.get((kind, key), ("", {}))
        if known_uid == uid:
            earlier = {mark: min(at, since.get(mark) or at) for mark, at in now.items()}
            self._known[kind, key] = uid, earlier

    def all(self, kind: str, key: str) -> dict[str, float]:
        return self._known.get((kind, key), ("", {}))[1]

    def since(self, kind: str, key: str, mark: str) -> float:
        """0.0: it is not so, or not known."""
        known = self._known.get((kind, key))
        return known[1].get(mark, 0.0) if known else 0.0
