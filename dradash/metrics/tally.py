"""The cluster counted once for a scrape: one walk over its pods and claims, with the replica held still. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.reader.alertlists import NO_REASON, NOT_JUDGED
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of, class_text, drivers_in_charge, is_allocated, state_of
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.demand import expressions
from dradash.scheduling.generation import READABLE
from dradash.scheduling.reasons import code_of
from dradash.scheduling.structured import usage
from dradash.scheduling.structured.anymatch import Budget
from dradash.scheduling.verdict import Outcome, Verdict

LOOKED_AT: Final = 100_000  # devices that one scrape looks at for classes; the rest is for the next ones
CLASSES: Final = 200  # device classes of which devices are counted
_DEVICE_CLAIM_STATES: Final = (ClaimState.PENDING, ClaimState.ALLOCATED, ClaimState.RESERVED, ClaimState.DELETING)
AGES: Final = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 4 * 3600.0, 24 * 3600.0)


class Ages(msgspec.Struct):
    """A histogram of now. counts: by the first bound of AGES that is not exceeded; the last for the rest."""

    counts: list[int]
    total: float = 0.0

    @classmethod
    def empty(cls) -> Ages:
        return cls([0] * (len(AGES) + 1))

    def add(self, age: float) -> None:
        self.counts[bisect_left(AGES, age)] += 1
        self.total += age


class Counts(msgspec.Struct):
    """None: the kind that it rests on cannot be read; unknown is not zero."""

    objects: dict[str, int]
    pending: Counter[tuple[str, str]] | None = None  # (outcome, reason code)
    longest: dict[str, float] = {}  # who acts next -> seconds
    by_driver: dict[str, float] = {}
    negotiations: dict[str, Ages] = {}  # who acts next
    disagreements: int = 0
    claims: Counter[tuple[str, str]] | None = None  # (state, class)
    drivers: frozenset[str] = frozenset()
    pending_in: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)  # (namespace, reason code)
    claims_in: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)  # (namespace, state)
    devices: Counter[tuple[str, str]] | None = None  # (state, driver)
    pools: Counter[tuple[str, str]] | None = None  # (state, driver)
    class_devices: dict[tuple[str, str], int] | None = None  # (state, device class)
    device_claims: Counter[str] | None = None  # state -> claims with structured parameters


def count(world: World, now: float, namespaces: Collection[str]) -> Counts:
    """About 25 ms for 10,000 claims and 1,000 pending pods."""
    readable = {kind for kind, state in world.sync.items() if state.state in READABLE}
    counts = Counts({kind: len(raw) for kind, raw in world.cluster.raw.items() if kind in readable})
    drivers = {c.driver_name for c in world.cluster.classes.values() if c.driver_name}
    drivers |= {s.spec.driver for s in world.cluster.inventory.slices.values()}
    if "pods" in readable:
        counts.pending = Counter()
        for key, pod in world.cluster.pods.items():
            if pod.is_pending and (pod.spec.resource_claims or key in world.verdicts):
                _pod(counts, pod.namespace, world.verdicts.get(key), now, namespaces)
    if "resourceclaims" in readable:
        counts.claims = Counter()
        counts.device_claims = Counter({str(state): 0 for state in _DEVICE_CLAIM_STATES})
        for claim in claims_of(world.cluster).values():
            state = str(state_of(claim))
            counts.claims[state, class_text(claim)] += 1
            if isinstance(claim, ResourceClaim):
                counts.device_claims[state] += 1
            if claim.namespace in namespaces:
                counts.claims_in[claim.namespace, state] += 1
            if is_allocated(claim):
                drivers.update(drivers_in_charge(claim, world.cluster))
    if "resourceslices" in readable:
        _devices(counts, world.cluster, readable)
    counts.drivers = frozenset(drivers)
    return counts


def _devices(counts: Counts, cluster: Cluster, readable: Collection[str]) -> None:
    inventory = cluster.inventory
    counts.pools = usage.pools_by_driver(inventory)
    if "resourceclaims" not in readable:
        return  # then nobody knows which are held
    counts.devices = usage.by_driver(inventory)
    if "deviceclasses" in readable:
        counts.class_devices = {}
        budget = Budget(LOOKED_AT)
        for name in sorted(cluster.device_classes)[:CLASSES]:
            of = usage.of_class(inventory, expressions(cluster.device_classes[name].spec.selectors), budget)
            counts.class_devices |= {(state, name): number for state, number in of.items()} if of is not None else {}


def _pod(counts: Counts, namespace: str, verdict: Verdict | None, now: float, namespaces: Collection[str]) -> None:
    reason = telling(verdict) if verdict else NO_REASON
    if counts.pending is not None:
        counts.pending[str(verdict.outcome) if verdict else NOT_JUDGED, reason] += 1
    if namespace in namespaces:
        counts.pending_in[namespace, reason] += 1
    if verdict is None:
        return
    counts.disagreements += verdict.agreement.agrees is False
    who, age = verdict.acts_next.who, max(0.0, now - verdict.since)
    counts.longest[who] = max(counts.longest.get(who, 0.0), age)
    if who == "driver":
        for driver in verdict.acts_next.names:
            counts.by_driver[driver] = max(counts.by_driver.get(driver, 0.0), age)
    if verdict.outcome is Outcome.WAITING:
        counts.negotiations.setdefault(who, Ages.empty()).add(age)


def telling(verdict: Verdict) -> str:
    """The code of the reason that says most: of the last point that refused; at Filter the plugin's own before those of
    other node checks, and the one of most nodes."""
    for step in reversed(verdict.steps):
        if step.point == "PostFilter":
            continue  # follows from the others
        if step.reasons:
            return code_of(step.reasons[0])
        refused = [g for g in step.groups if g.reason]
        if refused and not any(not g.reason for g in step.groups):
            return code_of(max(refused, key=lambda g: (g.plugin == step.plugin, g.count)).reason)
    return NO_REASON
