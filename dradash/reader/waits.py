"""Since when somebody must move: in each negotiation, and for each claim that a driver alone holds up.

Kept as changes come; what was before this process began, and what was at a past moment, is read from the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from dradash.kinds.claim import IMMEDIATE, ResourceClaim
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.entries import claim_names, claims_by_entry
from dradash.reader.histories import seen_claims, seen_contexts
from dradash.reader.world import World
from dradash.scheduling.classic.awaiting import Stage
from dradash.scheduling.classic.standing import Standing
from dradash.scheduling.classic.waiting import Waiting, replayed
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.rfc3339 import seconds
from dradash.store.model import HistoryEntry, ReadModel
from dradash.store.past import Past

CONTEXTS: Final = "podschedulingcontexts"
CLAIMS: Final = "resourceclaims"
HISTORY_ENTRIES: Final = 1000  # newest states of one object
SEEDED: Final = 2000  # negotiations whose history is read at start: some 0.5 ms each
DEALLOCATE: Final = "deallocate, as was asked"
DELETE: Final = "deallocate and remove its finalizer: the claim is being deleted"
ALLOCATE: Final = "allocate at once (Immediate)"

ReadHistory = Callable[[str, str], list[HistoryEntry]]


class Since(Protocol):
    """0.0: not known."""

    def since(self, pod: str, stage: Stage, claim: str) -> float: ...

    def claim_since(self, claim: ResourceClaim) -> float: ...

    def standing(self, pod: str) -> Standing | None:
        """Of the pod's negotiation; None: not known."""


class Due(msgspec.Struct, frozen=True):
    """What a driver must do about a claim, and since when (Unix seconds)."""

    what: str
    since: float


def due_of(claim: ResourceClaim) -> str:
    """What its driver must do about the claim whoever negotiates, "" for nothing. Nobody must use it for the first two.

    A finalizer need not be the driver's: see `reader.debts`.
    """
    status, meta = claim.status, claim.metadata
    if meta.deletion_timestamp is not None:
        return DELETE if meta.finalizers and not status.reserved_for else ""
    if status.deallocation_requested:
        return DEALLOCATE if status.allocation is not None and not status.reserved_for else ""
    return ALLOCATE if status.allocation is None and claim.spec.allocation_mode == IMMEDIATE else ""


def _due(at: float, before: Due | None, old: ResourceClaim | None, new: ResourceClaim | None) -> Due | None:
    what = due_of(new) if new is not None else ""
    if new is None or not what:
        return None
    if before is not None and before.what == what:
        return before
    told = {DELETE: new.metadata.deletion_timestamp, ALLOCATE: new.metadata.creation_timestamp}.get(what)
    # Seen for the first time like this: the object itself may tell since when.
    return Due(what, (min(at, seconds(told)) or at) if old is None else at)


class Waits:
    """Of now. Fed by the follower."""

    def __init__(self) -> None:
        self.negotiations: dict[str, Waiting] = {}
        self.dues: dict[str, Due] = {}

    def feed(self, kind: str, key: str, at: float, old: Any, new: Any, cluster: Cluster) -> None:
        if kind == CONTEXTS:
            if isinstance(new, PodSchedulingContext):
                self._saw(at, key, cluster)
            else:
                self.negotiations.pop(key, None)
        elif kind == CLAIMS:  # with structured parameters no driver owes anything to a claim
            self._claim(at, key, *(o if isinstance(o, ResourceClaim) else None for o in (old, new)))
            for pod in cluster.pods_by_claim.members(key):
                self._saw(at, pod, cluster)
        elif kind == "pods":
            if not isinstance(new, Pod):
                self.negotiations.pop(key, None)
            elif not isinstance(old, Pod) or claim_names(old) != claim_names(new):
                self._saw(at, key, cluster)

    def _saw(self, at: float, key: str, cluster: Cluster) -> None:
        context = cluster.contexts.get(key)
        if context is not None:
            self.negotiations.setdefault(key, Waiting()).saw(at, context, claims_by_entry(key, cluster))

    def _claim(self, at: float, key: str, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        due = _due(at, self.dues.get(key), old, new)
        if due is None:
            self.dues.pop(key, None)
        else:
            self.dues[key] = due

    def restart(self, world: World, history: ReadHistory) -> None:
        """Begin with what the histories tell. Negotiations of pods that have a node are over."""
        cluster = world.cluster
        times = world.times.get(CONTEXTS, {})
        for number, key in enumerate(sorted(cluster.contexts, key=lambda k: times.get(k, 0.0))):
            pod = cluster.pods.get(key)
            waiting = Waiting()
            if pod is not None and not pod.spec.node_name and number < SEEDED:
                waiting = _waiting(key, pod, cluster, history)
            if not waiting.at and times.get(key):
                waiting.saw(times[key], cluster.contexts[key], claims_by_entry(key, cluster))
            if waiting.at:
                self.negotiations[key] = waiting
        for claim in cluster.claims.values():
            if due_of(claim):
                due = _due_in(history(CLAIMS, claim.key)) or _due(
                    world.times.get(CLAIMS, {}).get(claim.key, 0.0), None, None, claim
                )
                if due is not None:
                    self.dues[claim.key] = due

    def since(self, pod: str, stage: Stage, claim: str) -> float:
        waiting = self.negotiations.get(pod)
        return waiting.since(stage, claim) if waiting else 0.0

    def standing(self, pod: str) -> Standing | None:
        waiting = self.negotiations.get(pod)
        return waiting.standing if waiting else None

    def claim_since(self, claim: ResourceClaim) -> float:
        due = self.dues.get(claim.key)
        return due.since if due else 0.0


def _waiting(key: str, pod: Pod, cluster: Cluster, history: ReadHistory) -> Waiting:
    claims = claims_by_entry(key, cluster)
    states = {n: seen_claims(history(CLAIMS, c.key)) if c is not None else [] for n, c in claims.items()}
    return replayed(seen_contexts(history(CONTEXTS, key), pod.uid), states)


def _due_in(entries: Sequence[HistoryEntry]) -> Due | None:
    due: Due | None = None
    before: ResourceClaim | None = None
    for seen in seen_claims(entries):
        due, before = _due(seen.at, due, before, seen.claim), seen.claim
    return due


class PastWaits:
    """Of a past moment: of now where nothing has changed since, else read from the history, once.

    Asking raises as `history` does.
    """

    def __init__(self, past: World, at: float, live: Waits, history: ReadHistory) -> None:
        """history: of a kind's key, up to `at`."""
        self._past, self._at, self._live, self._history = past, at, live, history
        self._negotiations: dict[str, Waiting] = {}
        self._dues: dict[str, Due | None] = {}

    def since(self, pod: str, stage: Stage, claim: str) -> float:
        return self._waiting(pod).since(stage, claim)

    def standing(self, pod: str) -> Standing | None:
        return self._waiting(pod).standing

    def _waiting(self, pod: str) -> Waiting:
        live = self._live.negotiations.get(pod)
        if live is not None and live.at <= self._at:
            return live
        if pod not in self._negotiations:
            self._negotiations[pod] = self._read(pod)
        return self._negotiations[pod]

    def _read(self, key: str) -> Waiting:
        pod = self._past.cluster.pods.get(key)
        return _waiting(key, pod, self._past.cluster, self._history) if pod is not None else Waiting()

    def claim_since(self, claim: ResourceClaim) -> float:
        key = claim.key
        live = self._live.dues.get(key)
        if live is not None and live.since <= self._at and live.what == due_of(claim):
            return live.since
        if key not in self._dues:
            self._dues[key] = _due_in(self._history(CLAIMS, key))
        due = self._dues[key]
        return due.since if due else 0.0


def past_waits(live: Waits, model: ReadModel, past: Past) -> PastWaits:
    """Asking it raises StoreUnavailable where the history cannot be read: nothing must be remembered of that."""

    def history(kind: str, key: str) -> list[HistoryEntry]:
        return model.history(kind, key, 0.0, past.at, HISTORY_ENTRIES)

    return PastWaits(past, past.at, live, history)
