"""The model in this process's memory: loaded once, then following the change stream.

Evaluator, leader and web process each have one. Only the thread that calls `catch_up` changes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

import msgspec

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.verdict import Verdict
from dradash.store.model import SYNC, VERDICTS, Change, ReadModel, SyncState, Trimmed

RECENT_CHANGES: Final = 500
BATCH: Final = 2000


class Applied(msgspec.Struct, frozen=True):
    """A change as it was applied here: `old` and `new` are the kind's struct, a Verdict or a SyncState (or None)."""

    change: Change
    old: Any
    new: Any


class Replica:
    """`cluster`, `verdicts` and `sync` at `revision`. `instance` is "" until the first load.

    `lock` is held while anything here changes, for those who read from another thread; never while waiting.
    """

    def __init__(
        self, model: ReadModel, *, with_verdicts: bool = True, lock: AbstractContextManager[Any] | None = None
    ) -> None:
        self._model = model
        self._with_verdicts = with_verdicts
        self._lock = lock or nullcontext()
        self._reset()

    def _reset(self) -> None:
        self.cluster = Cluster()
        self.verdicts: dict[str, Verdict] = {}
        self.sync: dict[str, SyncState] = {}
        self.recent: deque[Change] = deque(maxlen=RECENT_CHANGES)  # newest last
        self.times: dict[str, dict[str, float]] = {}  # kind (also VERDICTS) -> key -> time of its last change
        self.instance = ""
        self.revision = 0
        self.changed_at = 0.0  # Unix seconds of the last change applied

    def load(self) -> None:
        """Read everything anew. Raises StoreUnavailable; the replica is then as it was."""
        loaded = self._model.load()
        # Built aside: it takes a while for a large cluster, and readers keep the old state until it is whole.
        cluster = Cluster()
        cluster.nodes.learn_slots(loaded.node_slots)
        for kind, objects in loaded.objects.items():
            for key, raw in objects.items():
                cluster.put(kind, key, raw, loaded.node_slots.get(key) if kind == "nodes" else None)
        verdicts = {pod: decode_verdict(raw) for pod, raw in loaded.verdicts.items()} if self._with_verdicts else {}
        with self._lock:
            self._reset()
            self.cluster, self.verdicts, self.sync = cluster, verdicts, dict(loaded.sync)
            note_version(self.cluster, self.sync)
            self.times = {kind: dict(times) for kind, times in loaded.changed_at.items()}
            self.instance, self.revision = loaded.instance, loaded.revision

    def catch_up(self, block: float = 0.0, on_change: Callable[[Applied], None] | None = None) -> bool:
        """Apply what is new, waiting up to `block` seconds for the first change.

        True when it had to load everything anew (nothing was handed to `on_change` then). Raises StoreUnavailable.
        """
        if not self.instance:
            self.load()
            return True
        try:
            while changes := self._model.changes(self.instance, self.revision, BATCH, block):
                self._apply(changes, on_change)
                block = 0.0
        except Trimmed:
            self.load()
            return True
        return False

    def _apply(self, changes: list[Change], on_change: Callable[[Applied], None] | None) -> None:
        new_nodes = [c.key for c in changes if c.kind == "nodes" and not self.cluster.nodes.has_slot(c.key)]
        if new_nodes:
            self.cluster.nodes.learn_slots(self._model.node_slots(new_nodes))
        with self._lock:
            for change in changes:
                applied = apply_to(self, change, with_verdicts=self._with_verdicts)
                self.changed_at = change.at
                self.recent.append(change)
                if on_change:
                    on_change(applied)


class Applicable(Protocol):
    """What a change can be applied to."""

    cluster: Cluster
    verdicts: dict[str, Verdict]
    sync: dict[str, SyncState]
    times: dict[str, dict[str, float]]
    revision: int


def apply_to(world: Applicable, change: Change, *, with_verdicts: bool = True) -> Applied:
    """Take it to the change's revision: changes are applied in their order."""
    applied = _apply_one(world, change, with_verdicts=with_verdicts)
    world.revision = change.revision
    times = world.times.setdefault(change.kind, {})
    if change.type == "DELETED":
        times.pop(change.key, None)
    else:
        times[change.key] = change.at
    return applied


def _apply_one(world: Applicable, change: Change, *, with_verdicts: bool) -> Applied:
    deleted = change.type == "DELETED"
    if change.kind == VERDICTS:
        old_verdict = world.verdicts.pop(change.key, None)
        if deleted or not with_verdicts:
            return Applied(change, old_verdict, None)
        world.verdicts[change.key] = decode_verdict(change.object)
        return Applied(change, old_verdict, world.verdicts[change.key])
    if change.kind == SYNC:
        old_sync = world.sync.get(change.key)
        world.sync[change.key] = msgspec.json.decode(change.object, type=SyncState)
        note_version(world.cluster, world.sync)
        return Applied(change, old_sync, world.sync[change.key])
    if deleted:
        return Applied(change, world.cluster.remove(change.kind, change.key), None)
    old, new = world.cluster.put(change.kind, change.key, change.object)
    return Applied(change, old, new)


def note_version(cluster: Cluster, sync: Mapping[str, SyncState]) -> None:
    claims = sync.get("resourceclaims")
    cluster.claims_version = claims.version if claims else ""


def decode_verdict(raw: bytes) -> Verdict:
    return msgspec.json.decode(raw, type=Verdict)
