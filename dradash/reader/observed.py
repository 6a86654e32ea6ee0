"""What only time tells the doctor: who went back and forth, and since when somebody is gone.

Changes are noted as they come; what was before this process began is read from the model's history, once.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dradash.kinds.pod import Pod
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.resourceslice import ResourceSlice
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.lasted import Begun, marked
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.claimfacts import claims_of
from dradash.scheduling.classic.awaiting import Stage
from dradash.scheduling.classic.negotiation import SeenContext
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.exam import SEEN, Observed
from dradash.scheduling.doctor.lasting import Lasting
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.store.model import SYNC, HistoryEntry, ReadModel
from dradash.store.replica import Applied

CONTEXTS: Final = "podschedulingcontexts"
SLICES: Final = "resourceslices"
STATES: Final = SEEN  # of one context
READ: Final = 1000  # states that are read of one context or pod
GONE: Final = 20_000  # pods that are remembered as gone
LOOKED_UP: Final = 500  # pods that are looked up in the history at once


class Run:
    """Since when changes follow each other too quickly: `changes` of them within `window` seconds.

    Told change by change, and of the same small size however many there are.
    """

    def __init__(self, changes: int, window: float) -> None:
        self._last: deque[float] = deque(maxlen=max(1, changes))
        self._window = window
        self.since = 0.0  # the first of them, 0.0: they do not

    def add(self, at: float) -> None:
        self._last.append(at)
        if len(self._last) < (self._last.maxlen or 1) or at - self._last[0] > self._window:
            self.since = 0.0
        else:
            self.since = self.since or self._last[0]

    @classmethod
    def of(cls, times: Iterable[float], limits: Thresholds) -> Run:
        run = cls(limits.changes, limits.window)
        for at in times:
            run.add(at)
        return run


def selections(states: Iterable[SeenContext]) -> Iterator[float]:
    """When selectedNode changed."""
    before = ""
    for seen in states:
        node = seen.context.spec.selected_node if seen.context else ""
        if node != before:
            yield seen.at
        before = node


class Observer:
    """`saw` is called with the replica held still, everything else from the doctor's thread."""

    def __init__(self, limits: Thresholds) -> None:
        self._limits = limits
        self._runs: dict[tuple[str, str], Run] = {}
        self._contexts: dict[str, deque[SeenContext]] = {}
        self._statuses: dict[str, deque[float]] = {}
        self._gone: OrderedDict[str, float] = OrderedDict()
        self._withdrawn: OrderedDict[tuple[str, ...], float] = OrderedDict()
        self.lasting = Lasting()

    def observed(self, waits: Since | None = None) -> Observed:
        flapping = {key: run.since for key, run in self._runs.items() if run.since}
        seen = Observed(
            contexts=self._contexts,
            statuses=self._statuses,
            gone=self._gone,
            flapping=flapping,
            lasting=self.lasting.since,
            withdrawn=self._withdrawn,
        )
        return seen if waits is None else told_by(waits, seen)

    def begin(self, world: World) -> None:
        """Everything was loaded anew: what was missed meanwhile is in the history. Call it with the replica held."""
        self._contexts, self._statuses, self._runs = {}, {}, {}
        self.lasting = Lasting()
        for kind, key, obj in marked(world):
            self.lasting.saw(kind, key, world.times.get(kind, {}).get(key, 0.0), obj)

    def saw(self, applied: Applied) -> None:
        change = applied.change
        if change.type == "DELETED":
            self.lasting.deleted(change.kind, change.key)
        elif change.kind != SYNC:
            self.lasting.saw(change.kind, change.key, change.at, applied.new)
        if change.kind == CONTEXTS:
            new = applied.new if isinstance(applied.new, PodSchedulingContext) else None
            states = self._contexts.setdefault(change.key, deque(maxlen=STATES))
            before = states[-1].context if states else None
            if (before.spec.selected_node if before else "") != (new.spec.selected_node if new else ""):
                self._changed(CONTEXTS, change.key, change.at)
            states.append(SeenContext(change.at, new))
        elif change.kind == "pods":
            self._saw_pod(applied)
        elif change.kind == SLICES and change.type == "DELETED" and isinstance(applied.old, ResourceSlice):
            self._withdraw(withdrawals(applied.old), change.at)

    def _saw_pod(self, applied: Applied) -> None:
        old, new, key, at = applied.old, applied.new, applied.change.key, applied.change.at
        if applied.change.type == "DELETED":
            self._contexts.pop(key, None)
            self._statuses.pop(key, None)
            self._runs.pop((CONTEXTS, key), None)
            self._runs.pop(("pods", key), None)
            if isinstance(old, Pod):
                self._remember(old.uid, at)
        elif isinstance(old, Pod) and isinstance(new, Pod) and _claims_differ(old, new):
            self._statuses.setdefault(key, deque(maxlen=STATES)).append(at)
            self._changed("pods", key, at)

    def _changed(self, kind: str, key: str, at: float) -> None:
        run = self._runs.get((kind, key))
        if run is None:
            run = self._runs[kind, key] = Run.of((), self._limits)
        run.add(at)

    def _remember(self, uid: str, at: float) -> None:
        self._gone[uid] = at
        if len(self._gone) > GONE:
            self._gone.popitem(last=False)

    def _withdraw(self, whose: Iterable[tuple[str, ...]], at: float) -> None:
        for name in whose:
            self._withdrawn[name] = max(at, self._withdrawn.get(name, 0.0))
            self._withdrawn.move_to_end(name)
        while len(self._withdrawn) > GONE:
            self._withdrawn.popitem(last=False)

    def fill(self, earlier: Observed, begun: Begun) -> None:
        """Put what the history knows before what was seen since. Call it with the replica held still."""
        for key, states in earlier.contexts.items():
            since = [s for s in self._contexts.get(key, ()) if not states or s.at > states[-1].at]
            self._contexts[key] = deque((*states, *since), maxlen=STATES)
            self._runs[CONTEXTS, key] = Run.of(selections((*states, *since)), self._limits)
        for key, times in earlier.statuses.items():
            later = [at for at in self._statuses.get(key, ()) if not times or at > times[-1]]
            self._statuses[key] = deque((*times, *later), maxlen=STATES)
            self._runs["pods", key] = Run.of((*times, *later), self._limits)
        for uid, at in earlier.gone.items():
            self._remember(uid, at)
        for name, at in earlier.withdrawn.items():
            self._withdraw((name,), at)
        for (kind, key), (uid, marks) in begun.items():
            self.lasting.began(kind, key, uid, marks)


def _claims_differ(old: Pod, new: Pod) -> bool:
    return old.uid == new.uid and old.status.resource_claim_statuses != new.status.resource_claim_statuses


class Wanted(msgspec.Struct, frozen=True):
    """Whose history is asked for. contexts, pods: by key; gone: (UID, key) of pods that do not exist; slices: that of
    slices which went."""

    contexts: Sequence[str] = ()
    pods: Sequence[str] = ()
    gone: Sequence[tuple[str, str]] = ()
    slices: bool = False


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
        slices=bool(cluster.device_classes or cluster.device_claims or cluster.inventory.slices),
    )


def narrowed(of: Wanted, only: Container[tuple[str, str]]) -> Wanted:
    """Less what is about other objects than these."""
    return Wanted(
        contexts=[key for key in of.contexts if (CONTEXTS, key) in only],
        pods=[key for key in of.pods if ("pods", key) in only],
        gone=[(uid, key) for uid, key in of.gone if ("pods", key) in only],
    )


def told_of(seen: Observed, only: Container[tuple[str, str]]) -> Observed:
    """As if nothing was known of other objects than these: what asks for it would be read from the history."""
    return msgspec.structs.replace(
        seen,
        asked=lambda pod, claim: seen.asked(pod, claim) if ("pods", pod) in only else 0.0,
        standing=lambda pod: seen.standing(pod) if ("pods", pod) in only else None,
        lasting=lambda kind, key, mark: seen.lasting(kind, key, mark) if (kind, key) in only else 0.0,
    )


def missing_pods(cluster: Cluster, known: Observed) -> list[tuple[str, str]]:
    """(UID, key) of pods that claims are reserved for, which do not exist, and of which it is not known since when."""
    found = {
        (ref.uid, f"{claim.namespace}/{ref.name}")
        for claim in claims_of(cluster).values()
        for ref in claim.status.reserved_for
        if ref.uid not in cluster.pods_by_uid and ref.uid not in known.gone
    }
    return sorted(found)[:LOOKED_UP]


def read(model: ReadModel, of: Wanted, end: float, limits: Thresholds, waits: Since | None = None) -> Observed:
    """The same from the history up to `end`: what flaps may have begun long ago. Raises StoreUnavailable."""
    contexts = {key: _contexts(model.history(CONTEXTS, key, 0.0, end, READ)) for key in of.contexts}
    statuses = {key: _status_changes(model.history("pods", key, 0.0, end, READ)) for key in of.pods}
    runs = {(CONTEXTS, key): Run.of(selections(states), limits) for key, states in contexts.items()}
    runs |= {("pods", key): Run.of(times, limits) for key, times in statuses.items()}
    seen = Observed(
        contexts=contexts,
        statuses=statuses,
        gone={uid: _gone(model, uid, key, end) for uid, key in of.gone},
        flapping={key: run.since for key, run in runs.items() if run.since},
        withdrawn=_withdrawn(model, end) if of.slices else {},
    )
    return seen if waits is None else told_by(waits, seen)


def told_by(waits: Since, seen: Observed) -> Observed:
    return msgspec.structs.replace(
        seen, asked=lambda pod, claim: waits.since(pod, Stage.ANSWER, claim), standing=waits.standing
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


def withdrawals(item: ResourceSlice) -> Iterator[tuple[str, ...]]:
    """Of whom a slice is gone, as Observed.withdrawn names them."""
    spec = item.spec
    yield "driver", spec.driver
    yield "pool", spec.driver, spec.pool.name
    if spec.node_name:
        yield "node", spec.driver, spec.node_name


def _withdrawn(model: ReadModel, end: float) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for key in [key for kind, key in model.superseded_since(0.0) if kind == SLICES][:LOOKED_UP]:
        for entry in model.history(SLICES, key, end, end, 1):
            if entry.type != "DELETED":
                continue
            try:
                item = decode(ResourceSlice, entry.object)
            except MalformedObject:
                continue
            for name in withdrawals(item):
                found[name] = max(entry.at, found.get(name, 0.0))
    return found
