"""The model as it was at a time in the past: today's state with everything undone that has changed since.

Costs what has changed since then, and decoding the objects once; the caller keeps what it will show again.
"""

from __future__ import annotations

from collections import deque
from contextlib import AbstractContextManager
from typing import Any

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.verdict import Verdict
from dradash.store.model import VERDICTS, Change, ReadModel, SyncState
from dradash.store.replica import Replica, decode_verdict


class BeforeHistory(Exception):
    """The asked time lies before what is kept; `start` is the earliest time that can be shown (Unix seconds)."""

    def __init__(self, start: float) -> None:
        super().__init__(f"history begins at {start}")
        self.start = start


class Past:
    """A web.world.World at `at` (Unix seconds). The states of the watch (sync) are not part of history: today's."""

    def __init__(self, at: float, instance: str, revision: int, sync: dict[str, SyncState]) -> None:
        self.at = at
        self.instance, self.revision = instance, revision
        self.sync = sync
        self.cluster = Cluster()
        self.verdicts: dict[str, Verdict] = {}
        self.recent: deque[Change] = deque()
        self.times: dict[str, dict[str, float]] = {}


def rebuild(replica: Replica, lock: AbstractContextManager[Any], model: ReadModel, at: float) -> Past:
    """The model at `at`. Raises BeforeHistory and StoreUnavailable.

    lock: held while the replica is copied. The copy comes first and the superseded states after it: whatever changes in
    between is among the superseded ones.
    """
    start = model.history_start()
    if start is None or at < start:
        raise BeforeHistory(start if start is not None else at)
    with lock:
        past = Past(at, replica.instance, replica.revision, dict(replica.sync))
        raw = {kind: dict(objects) for kind, objects in replica.cluster.raw.items()}
        verdicts = dict(replica.verdicts)
        times = {kind: dict(of_kind) for kind, of_kind in replica.times.items()}
        slots = replica.cluster.nodes.known_slots()
        past.recent = deque(change for change in replica.recent if change.at <= at)
    newer = [(kind, key) for kind, of_kind in times.items() for key, changed in of_kind.items() if changed > at]
    for (kind, key), state in model.states_at(at, newer).items():
        times.setdefault(kind, {}).pop(key, None)  # when it became so is not asked for: the page reads its history
        target: dict[str, Any] = verdicts if kind == VERDICTS else raw.setdefault(kind, {})
        target.pop(key, None)
        if state is not None:
            target[key] = decode_verdict(state) if kind == VERDICTS else state
    past.cluster.nodes.learn_slots(slots)
    for kind, objects in raw.items():
        for key, body in objects.items():
            past.cluster.put(kind, key, body, slots.get(key) if kind == "nodes" else None)
    past.verdicts, past.times = verdicts, times
    return past
