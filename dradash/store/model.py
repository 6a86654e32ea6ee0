"""The model's contract: what the informer's leader writes, the judges take and the readers follow.

Two implementations (memory.py, redis_store.py) pass one suite (tests/contract). All objects are JSON bytes as the API
server sent them, less managedFields. All times are Unix seconds. Nothing here knows Kubernetes beyond kind and key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, Protocol

import msgspec

VERDICTS: Final = "verdicts"  # the `kind` of a verdict's changes; its key is the pod's
SYNC: Final = "sync"  # the `kind` of a sync state's changes; its key is the kind


class StaleEpoch(Exception):
    """The writer is not the leader any more (or Redis lost everything): stop, and stand for election again."""


class Trimmed(Exception):
    """The change stream no longer reaches back to the asked revision (or the model is a new one): load again."""


class StoreUnavailable(Exception):
    """Redis cannot be reached or refuses; the message says what to do. The caller retries with backoff."""


class Write(msgspec.Struct, frozen=True):
    """One change to apply. type: ADDED, MODIFIED or DELETED; object: the new JSON, for DELETED the last one known.

    ADDED and MODIFIED both put the object; the applied Change says which of the two it was for the model.
    """

    kind: str
    key: str
    type: str
    object: bytes


class Change(msgspec.Struct, frozen=True):
    """One applied change; revisions have no gaps. For VERDICTS and SYNC `object` is the verdict's or state's JSON."""

    revision: int
    kind: str
    key: str
    type: str
    object: bytes
    at: float


class DuePod(msgspec.Struct, frozen=True):
    """A pod to judge: because of the change at `revision` (0: first sight); hints: JSON array of HintNote."""

    pod: str
    revision: int = 0
    hints: bytes = b"[]"


class SyncState(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """state: unknown, notServed, forbidden, syncing, synced, stale (was synced, cannot be read now).

    Only of a past moment: notKept, the history does not say how far the kind was known then.
    """

    kind: str
    state: str = "unknown"
    version: str = ""  # API version watched
    resource_version: str = ""
    since: float = 0.0  # of the state
    seen: float = 0.0  # last word from the API server for this kind (event, bookmark or list)
    error: str = ""
    relists: int = 0
    events: int = 0
    malformed: int = 0

    def lasting(self) -> SyncState:
        """What of it the history keeps: all but what counts up while the state stays the same."""
        return SyncState(self.kind, self.state, self.version, since=self.since, error=self.error)


class HistoryEntry(msgspec.Struct, frozen=True):
    revision: int
    at: float
    type: str
    object: bytes


class Lease(msgspec.Struct, frozen=True):
    holder: str
    epoch: int
    expires_in: float  # seconds


class Queue(msgspec.Struct, frozen=True):
    """Pods that are due or being judged: how many, and since when the oldest of them (Unix seconds; 0.0: none)."""

    count: int = 0
    since: float = 0.0


class Loaded(msgspec.Struct, frozen=True):
    """Everything at `revision` or a little later (changes after `revision` may already be in it: apply them again)."""

    instance: str  # changes when the model was lost and began anew
    revision: int
    objects: dict[str, dict[str, bytes]]  # kind -> key -> JSON
    verdicts: dict[str, bytes]
    sync: dict[str, SyncState]
    node_slots: dict[str, int]
    changed_at: dict[str, dict[str, float]] = {}  # kind (also VERDICTS) -> key -> time of the object's last change


class LeaderModel(Protocol):
    """What only the informer's leader does. Every write names its epoch."""

    def acquire(self, holder: str, ttl: float) -> int | None:
        """Take the lease if free or already ours; its epoch (grows with each new holder), or None.

        Asking again while it is held keeps the epoch. After the model was lost, epochs go on growing, and this object's
        older epochs stay refused: every write also names the instance that was seen here.
        """

    def renew(self, holder: str, epoch: int, ttl: float) -> bool:
        """False when somebody else has led since, or the model is a new one. An expired lease is taken again."""

    def release(self, holder: str, epoch: int) -> None:
        """Let others lead at once; the epoch is over. Does nothing when it was over already."""

    def apply(self, epoch: int, writes: Sequence[Write], due: Sequence[DuePod], at: float) -> list[Change]:
        """Apply in order, atomically: object, revision, change stream, history, node slots and due pods together.

        Beyond 500 writes or 4 MB it is several such steps, each of which marks all of `due`. A pod is due because of
        the last change it came with at least: the caller cannot know that revision. Slots count up from 0 in the order
        in which names were first seen; a name keeps its slot when the node is deleted. ValueError: hints are no array.
        Raises StaleEpoch. A DELETED of an absent object and a write of an identical object are no change and
        are not returned.
        A DuePod already due keeps the highest revision and the joined hints (at most 20, newest last).
        A pod's DELETED also drops its verdict (with a DELETED change of kind VERDICTS) and its due entry.
        """

    def mark_due(self, epoch: int, due: Sequence[DuePod]) -> None: ...

    def set_sync(self, epoch: int, state: SyncState, at: float) -> None:
        """Store, and announce as a change unless it is identical: callers limit how often `seen` moves.

        The history keeps its `lasting` part, each time that this differs.
        """

    def housekeep(self, epoch: int, now: float) -> None:
        """Trim history by age and total memory, and node sets that no verdict or history names any more.

        What was in force at any time since `history_start` stays: the state of an object that has not changed for
        longer than the history reaches is never trimmed.
        """


class JudgeModel(Protocol):
    def take_due(self, now: float, limit: int, lease: float) -> list[DuePod]:
        """Up to `limit` pods that are due, those first that are due for longest.

        Nobody else gets them for `lease` seconds; then they are due again. Each call gives back at most `limit` of the
        ended leases, those that ended first.
        """

    def count_due(self) -> int:
        """Pods that are due or being judged."""

    def put_verdict(self, pod: str, revision: int, verdict: bytes, node_sets: dict[str, bytes], at: float) -> bool:
        """Store if newer than the verdict there (by revision) and the pod still exists (not a successor of its name).

        node_sets: every set that the verdict names, by its digest (letters and digits); they are kept as long as a
        verdict in force or in history names them. ValueError: the verdict is no JSON object.
        Clears the due entry, stored or not, unless that asks for a later revision: then the pod is due again at once.
        Refused without a trace when `revision` was never reached, or when the model was lost since this object's last
        `load` (revisions begin again then). Appends to the change stream and the history when
        the verdict differs in more than revision, judgedAt and hints. False when not stored.
        """


class CountModel(Protocol):
    def add_figures(self, figures: Mapping[str, float]) -> None:
        """Add to counters that all processes share, by name: what the workers do and the web process tells.

        They only grow, until the model is lost. Not atomic with anything else; no change and no revision come of it.
        """


class ReadModel(Protocol):
    def load(self) -> Loaded: ...

    def revision(self) -> int: ...

    def changes(self, instance: str, after: int, limit: int, block: float) -> list[Change]:
        """At most `limit` changes with revision > after, oldest first; waits up to `block` seconds for one (or less).

        Raises Trimmed. While nobody ever led, the model is empty, its instance is "" and there are no changes.
        """

    def changes_before(self, revision: int, limit: int) -> list[Change]:
        """At most `limit` changes with a lower revision, newest first, as far back as the stream is kept."""

    def states_before(self, changes: Sequence[Change]) -> list[bytes | None]:
        """For each change (its `object` is not looked at) the object's state that it superseded.

        None: there was no such object before, the history does not reach so far, or the kind is SYNC.
        """

    def node_slots(self, names: Sequence[str]) -> dict[str, int]:
        """Slots of those of the named nodes that have one (a follower asks when it sees a node for the first time)."""

    def verdict(self, pod: str) -> bytes | None:
        """The verdict as it is stored now. Its revision, judgedAt and hints may be newer than the last change of it."""

    def node_sets(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Those of the sets that there are, by digest, in one round trip."""

    def history(self, kind: str, key: str, start: float, end: float, limit: int) -> list[HistoryEntry]:
        """Entries with start <= at <= end, newest last; the entry in force at `start` is included as the first.

        The newest `limit` when there are more. So history(kind, key, t, t, 1) is the state at t: nothing when there was
        none, type DELETED with the last state when the object was gone. Of SYNC the states' lasting parts.
        """

    def histories(
        self, names: Sequence[tuple[str, str]], start: float, end: float, limit: int
    ) -> list[list[HistoryEntry]]:
        """`history` of each (kind, key), in one round trip: what a page of rows asks for.

        Only for an object that has changed `limit` times since `end` it takes another one.
        """

    def states_at(self, at: float, also: Collection[tuple[str, str]]) -> dict[tuple[str, str], HistoryEntry | None]:
        """What was in force at `at`, of all (kind, key) that were superseded since and of those in `also`.

        Each with since when it was in force; None: there was no such object. Together with what has not changed since,
        this is the whole model of then, as
        far back as `history_start`. Costs what has changed since.
        """

    def superseded_since(self, at: float) -> list[tuple[str, str]]:
        """(kind, key) of everything of which a state was superseded after `at`, what was so last first.

        Costs one line of the history's index for each such state.
        """

    def history_start(self) -> float | None:
        """Since when every object's state is known, None when nothing was ever applied."""

    def lease(self) -> Lease | None: ...

    def refuses_writes(self) -> str:
        """Why nobody can write now though it can be read (memory or disk are full), and what to do; "" otherwise."""

    def queue(self) -> Queue:
        """What waits to be judged. Costs the same however many pods wait."""

    def figures(self) -> dict[str, float]:
        """The counters that `add_figures` adds to."""

    def memory(self) -> dict[str, int]:
        """Bytes by part of the model (objects, changes, history, verdicts, nodesets), for the about page."""


class Model(LeaderModel, JudgeModel, CountModel, ReadModel, Protocol):
    pass
