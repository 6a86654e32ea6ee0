"""What a taint on devices would do: which claims and pods it evicts or keeps, and what pending pods would lose by it.

As pkg/controller/devicetainteviction of Kubernetes 1.36 decides it, and the scheduler's plugin.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

import msgspec

from dradash.kinds.deviceclaim import DeviceRequestAllocationResult, DeviceToleration, ResourceClaim
from dradash.kinds.devicetaintrule import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector, names
from dradash.kinds.meta import ObjectMeta
from dradash.kinds.pod import Pod
from dradash.kinds.resourceslice import DeviceTaint
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.structured import ledger
from dradash.scheduling.structured.claims import is_for_pod, pod_claims
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.listers import Claims
from dradash.scheduling.structured.requests import requests_of, tolerates
from dradash.scheduling.structured.taintrules import selects, selects_name

NO_EXECUTE: Final = "NoExecute"
NO_SCHEDULE: Final = "NoSchedule"
NONE: Final = "None"
EFFECTS: Final = (NO_EXECUTE, NO_SCHEDULE, NONE)
PENDING: Final = 20  # pods that are tried
DEVICES: Final = 200  # that are named
_PREVIEW: Final = "preview"  # name of a rule that nobody made

Enough = Callable[[], bool]


class Fate(enum.StrEnum):
    EVICTED = "evicted"
    LATER = "evicted later"  # when the toleration's seconds are over
    TOLERATED = "tolerated"
    KEPT = "kept"  # the effect evicts nobody


_WORST: Final = (Fate.EVICTED, Fate.LATER, Fate.TOLERATED, Fate.KEPT)


class Question(msgspec.Struct, frozen=True):
    """rule: name of an existing rule, whose selector and taint these are; absent: there is no such rule."""

    selector: DeviceTaintSelector
    taint: DeviceTaint
    rule: str = ""
    absent: bool = False

    @property
    def made(self) -> DeviceTaintRule:
        spec = DeviceTaintRuleSpec(device_selector=self.selector, taint=self.taint)
        return DeviceTaintRule(metadata=ObjectMeta(name=self.rule or _PREVIEW), spec=spec)


class Use(msgspec.Struct, frozen=True):
    """A device that a claim has. seconds: it is tolerated for so long, None: for ever or not; by: the toleration."""

    device: DeviceID
    request: str
    fate: Fate
    seconds: int | None = None
    by: str = ""


class ClaimFate(msgspec.Struct, frozen=True):
    claim: str
    fate: Fate
    seconds: int | None
    uses: tuple[Use, ...]


class PodFate(msgspec.Struct, frozen=True):
    """claims: because of which. why: it is kept although a claim of it is not, "" else."""

    pod: str
    node: str
    fate: Fate
    seconds: int | None
    claims: tuple[str, ...]
    why: str = ""


class PendingFate(msgspec.Struct, frozen=True):
    """A pod that waits for devices. before, after: nodes that fit it without the taint and with it.

    tolerated: requests that tolerate it, of all; sentence: what the scheduler would say.
    """

    pod: str
    before: int
    after: int
    tolerated: tuple[str, ...]
    requests: int
    sentence: str


class Preview(msgspec.Struct, frozen=True):
    """devices: published ones that it taints, the first of devices_total. pending: those that were tried, the ones that
    lose most first, of pending_total."""

    devices: tuple[DeviceID, ...] = ()
    devices_total: int = 0
    claims: tuple[ClaimFate, ...] = ()
    pods: tuple[PodFate, ...] = ()
    pending: tuple[PendingFate, ...] = ()
    pending_total: int = 0


def of_rule(cluster: Cluster, name: str) -> Question:
    rule = cluster.inventory.rules.get(name)
    if rule is None:
        return Question(DeviceTaintSelector(), DeviceTaint(), name, absent=True)
    # A rule without a selector taints nothing: one that no driver can have.
    return Question(rule.spec.device_selector or DeviceTaintSelector(driver=""), rule.spec.taint, name)


class Prepared(msgspec.Struct, frozen=True):
    """What is known without trying pods, and what it takes to try them: the cluster as it was, without the rule."""

    asked: Question
    said: Preview
    waiting: list[Pod] = []
    cluster: Cluster | None = None


def prepare(asked: Question, cluster: Cluster) -> Prepared:
    """To be asked while the cluster is held still; it is not changed."""
    if asked.absent:
        return Prepared(asked, Preview())
    devices = tuple(_tainted(asked, cluster))
    claims = tuple(sorted(_claims(asked, frozenset(devices), cluster), key=lambda c: (_WORST.index(c.fate), c.claim)))
    waiting = _waiting(cluster) if devices and asked.taint.effect in (NO_EXECUTE, NO_SCHEDULE) else []
    said = Preview(
        devices=devices[:DEVICES],
        devices_total=len(devices),
        claims=claims,
        pods=tuple(sorted(_pods(claims, cluster), key=lambda p: (_WORST.index(p.fate), p.pod))),
        pending_total=len(waiting),
    )
    return Prepared(asked, said, waiting[:PENDING], cluster.copy() if waiting else None)


def finish(prepared: Prepared, enough: Enough) -> Preview:
    """The pods are tried until the time is over, which `enough` says. The cluster may go on meanwhile."""
    if prepared.cluster is None:
        return prepared.said
    tried = _tried(prepared.asked, prepared.cluster, prepared.waiting, enough)
    pending = sorted(tried, key=lambda p: (p.after - p.before, p.pod))
    return msgspec.structs.replace(prepared.said, pending=tuple(pending))


def _tainted(asked: Question, cluster: Cluster) -> Iterator[DeviceID]:
    inventory = cluster.inventory
    for state in ledger.pool_states(inventory):
        if names(asked.selector, state.id.driver, state.id.pool):
            for one in ledger.published_in(inventory, state):
                if selects(asked.selector, one.id.driver, one.id.pool, one.device, inventory.classes):
                    yield one.id


# --- claims and pods that have devices -------------------------------------------------------------------------------


def _claims(asked: Question, published: Collection[DeviceID], cluster: Cluster) -> Iterator[ClaimFate]:
    """published: devices in slices that the question selects."""
    for key, claim in cluster.device_claims.items():
        allocation = claim.status.allocation
        uses = [
            fate_of(r, asked.taint)
            for r in (allocation.devices.results if allocation else ())
            if DeviceID(r.driver, r.pool, r.device) in published
            or selects_name(asked.selector, r.driver, r.pool, r.device)
        ]
        if uses:
            worst = min((u.fate for u in uses), key=_WORST.index)
            seconds = min((u.seconds for u in uses if u.seconds is not None), default=None)
            yield ClaimFate(key, worst, seconds if worst == Fate.LATER else None, tuple(uses))


def fate_of(result: DeviceRequestAllocationResult, taint: DeviceTaint) -> Use:
    """claimEvictionTime: only tolerations that name the effect count, the shortest one where several have seconds."""
    device = DeviceID(result.driver, result.pool, result.device)
    if taint.effect != NO_EXECUTE:
        return Use(device, result.request, Fate.KEPT)
    counting = [t for t in result.tolerations if t.effect == NO_EXECUTE and tolerates(t, taint)]
    for one in counting:
        if one.toleration_seconds is None:
            return Use(device, result.request, Fate.TOLERATED, None, toleration_text(one))
    if not counting:
        return Use(device, result.request, Fate.EVICTED)
    shortest = min(counting, key=lambda t: max(0, t.toleration_seconds or 0))
    seconds = max(0, shortest.toleration_seconds or 0)
    return Use(device, result.request, Fate.LATER, seconds, toleration_text(shortest))


def toleration_text(one: DeviceToleration) -> str:
    """As kubectl writes those of pods."""
    key = one.key or "every key"
    value = f"={one.value}" if one.operator != "Exists" and (one.key or one.value) else ""
    effect = f":{one.effect}" if one.effect else ""
    seconds = f" for {one.toleration_seconds}s" if one.toleration_seconds is not None else ""
    return f"{key}{value}{effect}{seconds}"


def _pods(claims: Iterable[ClaimFate], cluster: Cluster) -> Iterator[PodFate]:
    """podEvictionTime, over all pods that a claim is reserved for."""
    of: dict[str, list[ClaimFate]] = {}
    for fate in claims:
        claim = cluster.device_claims[fate.claim]
        for ref in claim.status.reserved_for:
            key = f"{claim.namespace}/{ref.name}"
            pod = cluster.pods.get(key)
            if ref.resource == "pods" and not ref.api_group and pod is not None and pod.uid == ref.uid:
                of.setdefault(key, []).append(fate)
    for key, fates in of.items():
        pod = cluster.pods[key]
        evicting = [f for f in fates if f.fate in (Fate.EVICTED, Fate.LATER)]
        counting = _counting(pod, evicting, cluster)
        if evicting and (why := _spared(pod, counting)):
            yield PodFate(key, pod.spec.node_name, Fate.KEPT, None, tuple(f.claim for f in evicting), why)
            continue
        because = counting or fates
        worst = min((f.fate for f in because), key=_WORST.index)
        seconds = min((f.seconds for f in because if f.seconds is not None), default=None)
        names = tuple(f.claim for f in because)
        yield PodFate(key, pod.spec.node_name, worst, seconds if worst == Fate.LATER else None, names)


def _counting(pod: Pod, evicting: list[ClaimFate], cluster: Cluster) -> list[ClaimFate]:
    used = set(claims_used(pod, cluster)) if evicting else ()
    return [f for f in evicting if f.claim in used]


def _spared(pod: Pod, counting: list[ClaimFate]) -> str:
    """Why a pod stays, though a claim that is reserved for it is tainted. counting: of such claims, those it names."""
    if not pod.spec.node_name:
        return "it is on no node yet"
    if pod.metadata.deletion_timestamp is not None:
        return "it is being deleted already"
    return "" if counting else "its spec does not name the claim"


def claims_used(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """Claims that spec.resourceClaims names, a generated one only if it was made for the pod. Those of extended
    resources are not there."""
    for entry in pod.spec.resource_claims:
        name = claim_name(pod, entry)
        claim = cluster.device_claims.get(f"{pod.namespace}/{name.name}")
        if claim is not None and not (name.must_check_owner and is_for_pod(pod, claim)):
            yield claim.key


# --- pods that wait for devices --------------------------------------------------------------------------------------


def _waiting(cluster: Cluster) -> list[Pod]:
    """Pending pods with a claim that is to be allocated, the oldest first."""
    pods = (p for p in cluster.pods.values() if p.is_pending and p.spec.resource_claims and _to_allocate(p, cluster))
    return sorted(pods, key=lambda p: (p.metadata.creation_timestamp or "", p.key))


def _to_allocate(pod: Pod, cluster: Cluster) -> list[ResourceClaim]:
    lookup = pod_claims(pod, Claims(cluster))
    return [] if lookup.error else [f.claim for f in lookup.found if f.claim.status.allocation is None]


def _tried(asked: Question, cluster: Cluster, pods: list[Pod], enough: Enough) -> Iterator[PendingFate]:
    """`cluster` is the caller's own."""
    if enough():
        return
    tainted = cluster.copy()
    tainted.inventory.put_rule(asked.made.name, asked.made)
    if asked.rule:
        cluster.inventory.put_rule(asked.rule, None)
    for pod in pods:
        if enough():
            return
        requests = [r for c in _to_allocate(pod, cluster) for of in c.spec.devices.requests for r in requests_of(of)]
        tolerated = [r.full_name for r in requests if any(tolerates(t, asked.taint) for t in r.tolerations)]
        before = evaluate(pod, cluster, 0).verdict
        after = evaluate(pod, tainted, 0).verdict
        yield PendingFate(pod.key, before.nodes_fit, after.nodes_fit, tuple(tolerated), len(requests), after.sentence)
