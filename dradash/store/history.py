"""What both stores share about history.

A store keeps superseded states; the state in force is the model itself. So history costs nothing for what never
changes, and the state in force at any time since `history_start` is never trimmed away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dradash.store.model import HistoryEntry

# Estimated bytes that Redis needs for one entry beside its text: two list elements and their share of a key.
ENTRY_OVERHEAD: Final = 96
# A node set that no verdict names is kept so long (seconds) after it was last named, for readers on their way.
NODE_SET_GRACE: Final = 60.0
HINTS_KEPT: Final = 20


def select(newest_first: Iterable[HistoryEntry], start: float, end: float, limit: int) -> list[HistoryEntry]:
    """The newest `limit` entries of [start, end] with the one in force at `start`, oldest first."""
    chosen: list[HistoryEntry] = []
    for entry in newest_first:
        if len(chosen) >= limit:
            break
        if entry.at > end:
            continue
        chosen.append(entry)
        if entry.at <= start:
            break
    return chosen[::-1]


def in_force(newest_first: Iterable[HistoryEntry], at: float) -> HistoryEntry | None:
    """The state in force at `at`, None when there was none."""
    entry = next((e for e in newest_first if e.at <= at), None)
    return None if entry is None or entry.type == "DELETED" else entry


def before(newest_first: Iterable[HistoryEntry], revision: int) -> bytes | None:
    """The state that the change at `revision` superseded, None when there was none."""
    for entry in newest_first:
        if entry.revision < revision:
            return None if entry.type == "DELETED" else entry.object
    return None
