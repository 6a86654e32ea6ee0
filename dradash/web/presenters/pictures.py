"""The overview's pictures: claims by state and pending pods by reason, over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec

from dradash.reader.series import NO_REASON, OTHER, Sample
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.web.presenters.charts import COLUMNS, Stack, stack, thinned
from dradash.web.presenters.words import claim_chip

REASONS: Final = 6  # layers of their own; the other reasons share one
_CLAIM_FILLS: Final = {
    ClaimState.RESERVED: "fill-g0",
    ClaimState.ALLOCATED: "fill-g8",
    ClaimState.PENDING: "fill-g4",
    ClaimState.IMMEDIATE_UNALLOCATED: "fill-g2",
    ClaimState.DEALLOCATION_REQUESTED: "fill-g3",
    ClaimState.DELETING: "fill-g6",
}
_REASON_FILLS: Final = ("fill-g1", "fill-g2", "fill-g3", "fill-g4", "fill-g5", "fill-g7")


class PicturesView(msgspec.Struct, frozen=True):
    claims: Stack
    pending: Stack


def present(samples: Sequence[Sample]) -> PicturesView:
    """samples: oldest first."""
    samples = thinned(samples, COLUMNS)
    states = [(str(s), claim_chip(s).text, css) for s, css in _CLAIM_FILLS.items()]
    return PicturesView(
        claims=stack("claims-over-time", "Claims by state over time", [(s.at, s.claims) for s in samples], states),
        pending=_pending(samples),
    )


def _pending(samples: Sequence[Sample]) -> Stack:
    total: Counter[str] = Counter()
    for sample in samples:
        total.update(sample.pending)
    ranked = sorted((n, r) for r, n in total.items() if r not in (NO_REASON, OTHER))[::-1]
    top = sorted(reason for _, reason in ranked[:REASONS])
    counts = [(s.at, {r: s.pending.get(r, 0) for r in (*top, NO_REASON)} | {OTHER: _others(s, top)}) for s in samples]
    layers = [(reason, reason, css) for reason, css in zip(top, _REASON_FILLS, strict=False)]
    layers += [(OTHER, OTHER, "fill-g6"), (NO_REASON, "not refused", "fill-g0")]
    return stack("pending-over-time", "Pending pods by reason over time", counts, layers)


def _others(sample: Sample, top: Sequence[str]) -> int:
    return sum(n for reason, n in sample.pending.items() if reason not in top and reason != NO_REASON)
