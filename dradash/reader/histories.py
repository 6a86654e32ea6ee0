"""What the model kept of an object, as typed states. Entries that cannot be read are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dradash.kinds import deviceclaim
from dradash.kinds.claim import ResourceClaim
from dradash.kinds.meta import controller_uid
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.scheduling.claimfacts import AnyClaim, read_claim
from dradash.scheduling.classic.negotiation import SeenClaim, SeenContext
from dradash.scheduling.classic.turns import Turn, claim_turns
from dradash.scheduling.structured.life import device_claim_turns
from dradash.store.model import HistoryEntry

HISTORY_ENTRIES: Final = 200  # newest states of one object that are read for a page


def is_cut(history: Sequence[HistoryEntry]) -> bool:
    """Whether there may be earlier states than these, which were read for a page."""
    return len(history) >= HISTORY_ENTRIES


def seen_claims(history: Sequence[HistoryEntry]) -> list[SeenClaim]:
    """The v1alpha2 states. Entries that cannot be read are left out: they say nothing of the state."""
    return [SeenClaim(at, claim) for at, claim in _states(history) if not isinstance(claim, deviceclaim.ResourceClaim)]


def claim_life(history: Sequence[HistoryEntry], driver: str) -> list[Turn]:
    """What was done to a claim of either generation, oldest first. driver: where a v1alpha2 claim names none."""
    turns: list[Turn] = []
    before: AnyClaim | None = None
    for at, claim in _states(history):
        if isinstance(claim or before, deviceclaim.ResourceClaim):
            old, new = (c if isinstance(c, deviceclaim.ResourceClaim) else None for c in (before, claim))
            turns += device_claim_turns(at, old, new)
        else:
            was, now = (c if isinstance(c, ResourceClaim) else None for c in (before, claim))
            turns += claim_turns(at, was, now, driver=driver)
        before = claim
    return sorted(turns, key=lambda t: t.at)  # the first state may hold times of its own


def _states(history: Sequence[HistoryEntry]) -> Iterator[tuple[float, AnyClaim | None]]:
    for entry in history:
        try:
            yield entry.at, None if entry.type == "DELETED" else read_claim(entry.object)
        except MalformedObject:
            continue


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
