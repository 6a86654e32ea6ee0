"""What a page may read, as the presenters see it: plain state, without store, thread or clock."""

from __future__ import annotations

from collections import deque
from typing import Protocol

import msgspec

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.verdict import Verdict
from dradash.store.model import Change, SyncState


class World(Protocol):
    """The cluster, the verdicts and how both came here, at one revision (store.replica.Replica is one)."""

    cluster: Cluster
    verdicts: dict[str, Verdict]
    sync: dict[str, SyncState]
    recent: deque[Change]  # newest last
    times: dict[str, dict[str, float]]  # kind (also "verdicts") -> key -> Unix seconds of the object's last change
    instance: str
    revision: int


class Freshness(msgspec.Struct, frozen=True):
    """How old what this process shows may be. Times are Unix seconds, 0 when it has not happened.

    state: loading (nothing read yet), live, unavailable (the model cannot be read; the pages show what was read).
    """

    state: str = "loading"
    revision: int = 0
    changed_at: float = 0.0  # of the last change
    checked_at: float = 0.0  # the model was last read
    error: str = ""
    failing_since: float = 0.0
    leader: str = ""  # who watches the cluster; "" nobody
    leader_since: float = 0.0
    refusing: str = ""  # nobody watches, and the model takes no writes: why, and what to do
    due: int = 0  # pods that wait to be judged, or are being judged
    due_since: float = 0.0  # since when the oldest of them does
    overdue: bool = False  # for longer than judging ever takes: no judge is at work, or too few are
