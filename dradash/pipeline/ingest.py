"""From the informer into the model: every change with the pods that it makes due, in one write.

The leader's own copy of the cluster runs ahead of the model by the batch being written. When that write fails the copy
is worth nothing any more: the exception ends the informer, and the leader begins anew from what the model holds.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from dradash.informer.sink import KindState, ObjectEvent
from dradash.kinds.registry import KINDS
from dradash.pipeline.reconsider import Applied, Reconsider
from dradash.pipeline.trouble import Troubles
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.generation import Generation
from dradash.store.model import DuePod, Loaded, Model, SyncState, Write

log = logging.getLogger(__name__)

# Without these a pod cannot be judged (see judge.py), by the generation of its claims.
_ALWAYS: Final = ("pods", "nodes", "resourceclaims")
JUDGED_BY: Final = {
    Generation.CLASSIC: (*_ALWAYS, "resourceclasses", "podschedulingcontexts"),
    Generation.STRUCTURED: (*_ALWAYS, "deviceclasses", "resourceslices"),
}
_ALL_JUDGED_BY: Final = frozenset(kind for kinds in JUDGED_BY.values() for kind in kinds)
READ: Final = frozenset({"synced", "stale"})  # states in which a kind's objects are known


class Ingest:
    """An informer's Sink. `on_due` is called after pods became due; `fetch` asks for a pod that begins to matter."""

    def __init__(
        self,
        model: Model,
        epoch: int,
        loaded: Loaded,
        *,
        clock: Callable[[], float],
        on_due: Callable[[], None],
        fetch: Callable[[str, str], None],
    ) -> None:
        self._model, self._epoch = model, epoch
        self._clock, self._on_due, self._fetch = clock, on_due, fetch
        self._lock = threading.RLock()
        self._cluster = Cluster()
        for kind, objects in loaded.objects.items():
            for key, raw in objects.items():
                self._cluster.put(kind, key, raw)
        self._reconsider = Reconsider(self._cluster)
        self._states = {kind: state.state for kind, state in loaded.sync.items()}
        if claims := loaded.sync.get("resourceclaims"):
            self._cluster.claims_version = claims.version
        self._troubles = Troubles(kind for kind, state in self._states.items() if state == "synced")

    def wanted(self, pod_key: str) -> bool:
        """Whether a pod matters that uses no claims itself: a claim is reserved for it, or the model holds it."""
        with self._lock:
            return pod_key in self._cluster.raw["pods"] or pod_key in self._cluster.claims_by_reserving_name

    def begin(self) -> None:
        """Mark every pod due: the judge's code or the kinds served may be others than under the leader before."""
        with self._lock:
            self._reconsider.all_pods()
            self._mark_due(self._reconsider.due())

    # --- Sink ------------------------------------------------------------------------------------------------------

    def replace(self, kind: str, items: Mapping[str, bytes], resource_version: str) -> None:  # noqa: ARG002
        with self._lock:
            gone = [key for key in self._cluster.raw[kind] if key not in items]
            events = [ObjectEvent("DELETED", key, self._cluster.raw[kind][key]) for key in gone]
            events += [ObjectEvent("ADDED", key, raw) for key, raw in items.items()]
            self._apply(kind, events)

    def events(self, kind: str, events: Sequence[ObjectEvent], resource_version: str) -> None:  # noqa: ARG002
        with self._lock:
            self._apply(kind, events)

    def sync(self, state: KindState) -> None:
        with self._lock:
            now = self._clock()
            self._model.set_sync(self._epoch, SyncState(**msgspec.structs.asdict(state)), now)
            before = self._states.get(state.kind, "unknown")
            for line in self._troubles.lines(state):
                log.log(logging.WARNING if line.warning else logging.INFO, "%s", line.text)
            self._states[state.kind] = state.state
            if state.kind == "resourceclaims":
                self._cluster.claims_version = state.version
            if state.kind in _ALL_JUDGED_BY and _bears(before) != _bears(state.state) and self._all_told():
                self._reconsider.all_pods()
                self._mark_due(self._reconsider.due())

    def _all_told(self) -> bool:
        """Each kind that verdicts depend on was read, or is known to be not readable."""
        return all(_bears(self._states.get(kind, "unknown")) is not None for kind in _ALL_JUDGED_BY)

    # --- writing ---------------------------------------------------------------------------------------------------

    def _apply(self, kind: str, events: Iterable[ObjectEvent]) -> None:
        writes = []
        to_fetch: set[str] = set()
        for event in events:
            before = self._cluster.raw[kind].get(event.key)
            if (before is None) if event.type == "DELETED" else (before == event.object):
                continue
            kind_of_change = "DELETED" if event.type == "DELETED" else "ADDED" if before is None else "MODIFIED"
            applied = self._put(kind, kind_of_change, event)
            self._reconsider.saw(applied)
            writes.append(Write(kind, event.key, kind_of_change, event.object))
            if kind == "resourceclaims" and applied.new is not None:
                to_fetch |= {f"{applied.new.namespace}/{r.name}" for r in applied.new.status.reserved_for if r.name}
        if writes:
            due = self._reconsider.due()
            self._model.apply(self._epoch, writes, due, self._clock())
            if due:
                self._on_due()
        for pod_key in to_fetch - self._cluster.raw["pods"].keys():
            self._fetch(KINDS["pods"].plural, pod_key)

    def _put(self, kind: str, change: str, event: ObjectEvent) -> Applied:
        if change == "DELETED":
            return Applied(kind, event.key, change, self._cluster.remove(kind, event.key), None)
        old, new = self._cluster.put(kind, event.key, event.object)
        return Applied(kind, event.key, change, old, new)

    def _mark_due(self, due: list[DuePod]) -> None:
        if due:
            # Due because of what the model holds now: a judge that is at work on an older state must not clear these.
            revision = self._model.revision()
            self._model.mark_due(self._epoch, [msgspec.structs.replace(pod, revision=revision) for pod in due])
            self._on_due()


def _bears(state: str) -> bool | None:
    """Whether a kind in this state can be judged by; None: that is not known yet."""
    return None if state in ("unknown", "syncing") else state in READ
