"""Counts over time, for the pictures: a sample each so many seconds, within bounds. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.kinds.pod import Pod
from dradash.kinds.registry import MalformedObject, decode
from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim, claims_of, classes_in, read_claim, state_of
from dradash.scheduling.generation import Generation
from dradash.scheduling.verdict import NodeGroup, Verdict
from dradash.store.model import VERDICTS, Change
from dradash.store.replica import decode_verdict

STEP: Final = 15.0  # seconds between two samples
KEPT: Final = int(24 * 3600 / STEP)
REASONS: Final = 8  # per sample; the others are one
GROUPS: Final = 200  # classes that are counted one by one
OTHER: Final = "other reasons"
NO_REASON: Final = "no refusal"
PLUGIN: Final = "DynamicResources"


Groups = Mapping[tuple[str, bool], int]  # (digest of a node set, whether these nodes pass) -> pending pods


def groups_of(verdict: Verdict | None) -> tuple[NodeGroup, ...]:
    """Filter's node groups; () when it was not reached."""
    return next((s.groups for s in verdict.steps if s.groups), ()) if verdict else ()


def node_groups(world: World) -> Groups:
    """Of now. A millisecond for 1,000 pending pods."""
    pending = (world.verdicts.get(key) for key, pod in world.cluster.pods.items() if pod.is_pending)
    return Counter((g.nodes, not g.reason) for verdict in pending for g in groups_of(verdict))


class Sample(msgspec.Struct, frozen=True):
    """at: Unix seconds. claims: by state. pending: pending pods by `main_reason`. waiting: pods
    by ResourceClass, and by `device_class` of a DeviceClass, which may have the same name."""

    at: float
    claims: Mapping[str, int]
    pending: Mapping[str, int]
    waiting: Mapping[str, int]


class Series:
    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    def __len__(self) -> int:
        return len(self._samples)

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
    return Counts(world).sample(at)


def rewind(world: World, at: float, undone: Iterable[tuple[Change, bytes | None]]) -> list[Sample]:
    """Samples of before `at`, oldest first, made by taking changes back from the world as it is at `at`.

    undone: changes up to `at`, newest first, each with the state of its object that it superseded.
    """
    return [counts.sample(due) for due, counts in walk_back(world, at, undone)][::-1]


def walk_back(
    world: World, at: float, undone: Iterable[tuple[Change, bytes | None]], step: float = STEP
) -> Iterator[tuple[float, Counts]]:
    """As `rewind`, newest first: the counts of each moment, which are good until the next one is asked for."""
    counts = Counts(world)
    due, walked = at - step, 0
    for change, before in undone:
        while due >= change.at and walked < KEPT:
            yield due, counts
            due -= step
            walked += 1
        counts.undo(change.kind, change.key, before)


class Counts:
    """Counters over a world, and over what it was before: states that were taken back lie over those of the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._pods: dict[str, Pod | None] = {}
        self._verdicts: dict[str, Verdict | None] = {}
        self._claims: dict[str, AnyClaim | None] = {}
        self._by_state = Counter(str(state_of(c)) for c in claims_of(world.cluster).values())
        self._pending: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._groups: Counter[tuple[str, bool]] = Counter()
        for key in world.cluster.pods:
            self._count(key, 1)

    def sample(self, at: float) -> Sample:
        waiting = dict((+self._waiting).most_common(GROUPS))
        return Sample(at, dict(+self._by_state), _fold(+self._pending), waiting)

    def groups(self) -> Groups:
        return dict(+self._groups)

    def undo(self, kind: str, key: str, before: bytes | None) -> None:
        try:
            if kind == "resourceclaims":
                self._undo_claim(key, read_claim(before) if before else None)
            elif kind == "pods":
                pod = decode(Pod, before) if before else None
                self._count(key, -1)
                self._pods[key] = pod
                self._count(key, 1)
            elif kind == VERDICTS:
                verdict = decode_verdict(before) if before else None
                self._count(key, -1)
                self._verdicts[key] = verdict
                self._count(key, 1)
        except (MalformedObject, msgspec.DecodeError):
            return  # nobody could count it then: the counts stay as they were after it

    def _undo_claim(self, key: str, before: AnyClaim | None) -> None:
        after = self._claims[key] if key in self._claims else claims_of(self._world.cluster).get(key)
        if after is not None:
            self._by_state[str(state_of(after))] -= 1
        if before is not None:
            self._by_state[str(state_of(before))] += 1
        self._claims[key] = before

    def _count(self, key: str, by: int) -> None:
        pod = self._pods[key] if key in self._pods else self._world.cluster.pods.get(key)
        if pod is None or not pod.is_pending:
            return
        verdict = self._verdicts[key] if key in self._verdicts else self._world.verdicts.get(key)
        self._pending[main_reason(verdict)] += by
        for name in _waited_for(verdict) if verdict else ():
            self._waiting[name] += by
        for group in groups_of(verdict):
            self._groups[group.nodes, not group.reason] += by


def device_class(name: str) -> str:
    return f"deviceclasses/{name}"  # no name of an object has a slash in it


def _waited_for(verdict: Verdict) -> set[str]:
    names = {n for c in verdict.claims for n in classes_in(c.resource_class)}
    return {device_class(n) for n in names} if verdict.generation == Generation.STRUCTURED else names


def main_reason(verdict: Verdict | None) -> str:
    """The refusal that counts most: of the plugin that is about claims, and there of most nodes; NO_REASON for none."""
    if verdict is None:
        return NO_REASON
    refusals = [g for s in verdict.steps for g in s.groups if g.reason]
    if refusals:
        return max(refusals, key=lambda g: (g.plugin == PLUGIN, g.count)).reason
    return next(iter(verdict.reason_texts), NO_REASON)


def _fold(counts: Counter[str]) -> dict[str, int]:
    top = dict(counts.most_common(REASONS))
    rest = counts.total() - sum(top.values())
    return top | ({OTHER: rest} if rest else {})
