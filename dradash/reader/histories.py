"""What the model kept of an object, as typed states. Entries that cannot be read are left out."""

from __future__ import annotations

from collections.abc import Sequence

from dradash.kinds.claim import ResourceClaim
from dradash.kinds.meta import controller_uid
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.classic.negotiation import SeenClaim, SeenContext
from dradash.store.model import HistoryEntry


def seen_claims(history: Sequence[HistoryEntry]) -> list[SeenClaim]:
    """Entries that cannot be read are left out: they say nothing of the state."""
    seen = []
    for entry in history:
        try:
            claim = None if entry.type == "DELETED" else decode(ResourceClaim, entry.object)
        except MalformedObject:
            continue
        seen.append(SeenClaim(entry.at, claim))
    return seen


def seen_contexts(history: Sequence[HistoryEntry], uid: str) -> list[SeenContext]:
    """States of this pod's context: an earlier pod of the same name had negotiations of its own."""
    seen = []
    for entry in history:
        try:
            context = decode(PodSchedulingContext, entry.object)
        except MalformedObject:
            continue
        if controller_uid(context.metadata) in (uid, None):
            seen.append(SeenContext(entry.at, None if entry.type == "DELETED" else context))
    return seen
