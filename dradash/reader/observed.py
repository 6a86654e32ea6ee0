"""What only time tells the doctor: who went back and forth, and since when somebody is gone.

Changes are noted as they come; what was before this process began is read from the model's history, once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.pod import Pod
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.negotiation import SeenContext
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.exam import Observed
from dradash.store.model import HistoryEntry, ReadModel
from dradash.store.replica import Applied

CONTEXTS: Final = "podschedulingcontexts"
STATES: Final = 60  # of one context
GONE: Final = 20_000  # pods that are remembered as gone
LOOKED_UP: Final = 500  # pods that are looked up in the history at once


class Observer:
    """`saw` is called with the replica held still, everything else from the doctor's thread."""

    def __init__(self) -> None:
        self._contexts: dict[str, deque[SeenContext]] = {}
        self._statuses: dict[str, deque[float]] = {}
        self._gone: OrderedDict[str, float] = OrderedDict()

    def observed(self) -> Observed:
        return Observed(contexts=self._contexts, statuses=self._statuses, gone=self._gone)

    def forget(self) -> None:
        """Everything was loaded anew: what was missed meanwhile is in the history."""
        self._contexts, self._statuses = {}, {}

    def saw(self, applied: Applied) -> None:
        change = applied.change
        if change.kind == CONTEXTS:
            new = applied.new if isinstance(applied.new, PodSchedulingContext) else None
            self._contexts.setdefault(change.key, deque(maxlen=STATES)).append(SeenContext(change.at, new))
        elif change.kind == "pods":
            self._saw_pod(applied)

    def _saw_pod(self, applied: Applied) -> None:
        old, new, key, at = applied.old, applied.new, applied.change.key, applied.change.at
        if applied.change.type == "DELETED":
            self._contexts.pop(key, None)
            self._statuses.pop(key, None)
            if isinstance(old, Pod):
                self._remember(old.uid, at)
        elif isinstance(old, Pod) and isinstance(new, Pod) and _claims_differ(old, new):
            self._statuses.setdefault(key, deque(maxlen=STATES)).append(at)

    def _remember(self, uid: str, at: float) -> None:
        self._gone[uid] = at
        if len(self._gone) > GONE:
            self._gone.popitem(last=False)

    def fill(self, earlier: Observed) -> None:
        """Put what the history knows before what was seen since. Call it with the replica held still."""
        for key, states in earlier.contexts.items():
            since = [s for s in self._contexts.get(key, ()) if not states or s.at > states[-1].at]
            self._contexts[key] = deque((*states, *since), maxlen=STATES)
        for key, times in earlier.statuses.items():
            later = [at for at in self._statuses.get(key, ()) if not times or at > times[-1]]
            self._statuses[key] = deque((*times, *later), maxlen=STATES)
        for uid, at in earlier.gone.items():
            self._remember(uid, at)


def _claims_differ(old: Pod, new: Pod) -> bool:
    return old.uid == new.uid and old.status.resource_claim_statuses != new.status.resource_claim_statuses


class Wanted(msgspec.Struct, frozen=True):
    """Whose history is asked for. contexts, pods: by key; gone: (UID, key) of pods that do not exist."""

    contexts: Sequence[str] = ()
    pods: Sequence[str] = ()
    gone: Sequence[tuple[str, str]] = ()


def wanted(
    cluster: Cluster, times: Mapping[str, Mapping[str, float]], begin: float, gone: Sequence[tuple[str, str]]
) -> Wanted:
    """Contexts of pods that negotiate, and pending pods that have changed since `begin`."""
    pending = [key for key, pod in cluster.pods.items() if pod.is_pending]
    changed = times.get("pods", {})
    return Wanted(
        contexts=[key for key in pending if key in cluster.contexts],
        pods=[key for key in pending if changed.get(key, begin) >= begin],
        gone=gone,
    )


def missing_pods(cluster: Cluster, known: Observed) -> list[tuple[str, str]]:
    """(UID, key) of pods that claims are reserved for, which do not exist, and of which it is not known since when."""
    found = {
        (ref.uid, f"{claim.namespace}/{ref.name}")
        for claim in cluster.claims.values()
        for ref in claim.status.reserved_for
        if ref.uid not in cluster.pods_by_uid and ref.uid not in known.gone
    }
    return sorted(found)[:LOOKED_UP]


def read(model: ReadModel, of: Wanted, start: float, end: float) -> Observed:
    """The same from the history between `start` and `end`. Raises StoreUnavailable."""
    return Observed(
        contexts={key: _contexts(model.history(CONTEXTS, key, start, end, STATES)) for key in of.contexts},
        statuses={key: _status_changes(model.history("pods", key, start, end, STATES)) for key in of.pods},
        gone={uid: _gone(model, uid, key, end) for uid, key in of.gone},
    )


def _contexts(entries: Sequence[HistoryEntry]) -> list[SeenContext]:
    seen = []
    for entry in entries:
        try:
            context = None if entry.type == "DELETED" else decode(PodSchedulingContext, entry.object)
        except MalformedObject:
            continue
        seen.append(SeenContext(entry.at, context))
    return seen


def _status_changes(entries: Sequence[HistoryEntry]) -> list[float]:
    changes: list[float] = []
    before: Pod | None = None
    for entry in entries:
        try:
            pod = None if entry.type == "DELETED" else decode(Pod, entry.object)
        except MalformedObject:
            continue
        if pod is None or before is None or pod.uid != before.uid:
            changes = []  # of an earlier pod of the name
        elif _claims_differ(before, pod):
            changes.append(entry.at)
        before = pod
    return changes


def _gone(model: ReadModel, uid: str, key: str, end: float) -> float:
    """When the pod with this UID was deleted, 0.0 when the history does not say."""
    for entry in reversed(model.history("pods", key, 0.0, end, STATES)):
        if entry.type != "DELETED":
            continue
        try:
            if decode(Pod, entry.object).uid == uid:
                return entry.at
        except MalformedObject:
            continue
    return 0.0
