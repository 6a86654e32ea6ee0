"""Counts over time, for the pictures: a sample each so many seconds, within bounds. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.scheduling.classic.claimstate import claim_state
from dradash.web.world import World

STEP: Final = 15.0  # seconds between two samples
KEPT: Final = int(24 * 3600 / STEP)
REASONS: Final = 8  # per sample; the others are one
GROUPS: Final = 200  # classes that are counted one by one
OTHER: Final = "other reasons"
NO_REASON: Final = "no refusal"


class Sample(msgspec.Struct, frozen=True):
    """at: Unix seconds. claims: by state. pending: pending pods by the first reason of their verdict. waiting: pods
    by class."""

    at: float
    claims: Mapping[str, int]
    pending: Mapping[str, int]
    waiting: Mapping[str, int]


class Series:
    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    def is_due(self, now: float) -> bool:
        return not self._samples or now - self._samples[-1].at >= STEP

    def add(self, sample: Sample) -> None:
        """Times must not go back; a sample that would is dropped."""
        if not self._samples or sample.at > self._samples[-1].at:
            self._samples.append(sample)

    def prepend(self, earlier: list[Sample]) -> None:
        """Put samples of the past, oldest first, before those there are."""
        for sample in reversed(earlier):
            if len(self._samples) < KEPT and (not self._samples or sample.at < self._samples[0].at):
                self._samples.appendleft(sample)

    def until(self, at: float) -> list[Sample]:
        return [s for s in self._samples if s.at <= at]


def take(world: World, at: float) -> Sample:
    """A sample of the world; about 10 ms for 10,000 claims."""
    pending: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for key, pod in world.cluster.pods.items():
        if not pod.is_pending:
            continue
        verdict = world.verdicts.get(key)
        texts = verdict.reason_texts if verdict else ()
        pending[texts[0] if texts else NO_REASON] += 1
        waiting.update({c.resource_class for c in verdict.claims if c.resource_class} if verdict else ())
    claims = Counter(str(claim_state(c)) for c in world.cluster.claims.values())
    return Sample(at, dict(claims), _fold(pending), dict(waiting.most_common(GROUPS)))


def _fold(counts: Counter[str]) -> dict[str, int]:
    top = dict(counts.most_common(REASONS))
    rest = counts.total() - sum(top.values())
    return top | ({OTHER: rest} if rest else {})
