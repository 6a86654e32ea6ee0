"""Where the informer delivers to: the pipeline's ingest, the recorder's counters, or a test's list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec


class ObjectEvent(msgspec.Struct, frozen=True):
    """One change as the watch reported it. type: ADDED, MODIFIED or DELETED; key: `namespace/name` or `name`.

    object: the JSON less managedFields; for DELETED the last state.
    """

    type: str
    key: str
    object: bytes


class KindState(msgspec.Struct, frozen=True):
    """How well one kind is known.

    state: unknown (not asked yet), notServed, forbidden, syncing (first list under way), synced, stale (was synced,
    cannot be read now). Times are Unix seconds.
    """

    kind: str
    state: str = "unknown"
    version: str = ""  # API version watched, "" while none is known
    resource_version: str = ""
    since: float = 0.0  # of the state
    seen: float = 0.0  # last word from the API server about this kind (list page, event or bookmark)
    error: str = ""  # the last failure's message; empty while all is well
    relists: int = 0  # whole lists after the first one
    events: int = 0  # watch events received, also those of objects that are not kept
    malformed: int = 0  # lines and objects that could not be read


class Sink(Protocol):
    """Called by one thread at a time for each kind (several kinds at once), and not after Informer.stop.

    A call that blocks holds the kind's reader back (back-pressure). A call that raises ends the informer: what was
    to be delivered would be lost otherwise, so the owner starts a new informer, which lists again.
    """

    def replace(self, kind: str, items: Mapping[str, bytes], resource_version: str) -> None:
        """The whole set of the kind, key -> JSON: what is not in it is gone."""

    def events(self, kind: str, events: Sequence[ObjectEvent], resource_version: str) -> None:
        """Changes in order; resource_version is where a watch would go on after them."""

    def sync(self, state: KindState) -> None: ...
