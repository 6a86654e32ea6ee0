"""How many pending pods fit on each node, and how many Filter refuses there, over time. Pure.

No history tells it of one node: what refuses it are the verdicts of all pods. So it is counted for all nodes each
minute, whatever happens in between, and kept packed: some kilobytes for 5,000 nodes.
"""

from __future__ import annotations

import zlib
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from dradash.reader.series import Groups, node_groups, walk_back
from dradash.reader.trails import WINDOW
from dradash.reader.world import World
from dradash.scheduling.nodecounts import NodeCounts
from dradash.store.model import Change

STEP: Final = 60.0  # seconds between two samples
KEPT: Final = int(24 * 3600 / STEP)
LOOKED_BACK: Final = int(WINDOW / STEP)  # samples of before this process
MOST: Final = 65_535  # pods on one node that can be told apart


class NodeMark(msgspec.Struct, frozen=True):
    """fit, refused: pending pods that fit on the node, and that Filter refuses there."""

    at: float
    fit: int
    refused: int

    @property
    def said(self) -> tuple[int, int]:
        return self.fit, self.refused


class NodeSample(msgspec.Struct, frozen=True):
    """at: Unix seconds. packed: what fits, then what is refused, of each slot."""

    at: float
    packed: bytes

    def of(self, slots: Sequence[int]) -> list[tuple[int, int]]:
        counts = array("H", zlib.decompress(self.packed))
        width = len(counts) // 2
        return [(counts[s], counts[width + s]) if s < width else (0, 0) for s in slots]


def sample(at: float, groups: Groups, sets: Mapping[str, int]) -> NodeSample:
    """groups: (digest, whether these nodes pass) -> pods; a set that is not there counts for nobody. Milliseconds."""
    fit, refused, width = NodeCounts(), NodeCounts(), 0
    for (digest, passes), pods in groups.items():
        nodes = sets.get(digest, 0)
        width = max(width, nodes.bit_length())
        (fit if passes else refused).add(nodes, pods)
    slots = range(width)
    counts = array("H")
    for of_all in (fit.of_all(slots), refused.of_all(slots)):
        counts.extend(min(of_all[slot], MOST) for slot in slots)
    return NodeSample(at, zlib.compress(counts.tobytes(), 1))


def samples(
    of_moments: Iterable[tuple[float, Groups]], sets: Callable[[Sequence[str]], Mapping[str, int]]
) -> Iterator[NodeSample]:
    """sets: reads node sets by digest. Moments that are alike share one sample."""
    before, last = None, None
    for at, groups in of_moments:
        if last is None or groups != before:
            last = sample(at, groups, sets([digest for digest, _ in groups]))
        before = groups
        yield NodeSample(at, last.packed)


class NodeSeries:
    def __init__(self) -> None:
        self._samples: deque[NodeSample] = deque(maxlen=KEPT)

    def is_due(self, now: float) -> bool:
        return not self._samples or now - self._samples[-1].at >= STEP

    def add(self, new: NodeSample) -> None:
        """Times must not go back; a sample that would is dropped. Equal ones share their memory."""
        if self._samples and new.at <= self._samples[-1].at:
            return
        if self._samples and self._samples[-1].packed == new.packed:
            new = NodeSample(new.at, self._samples[-1].packed)
        self._samples.append(new)

    def until(self, at: float) -> list[NodeSample]:
        """Those of the hour before `at`, oldest first."""
        return [s for s in self._samples if at - WINDOW <= s.at <= at]

    def reaches(self, at: float) -> bool:
        """Whether it began an hour before `at`, or soon after."""
        return bool(self._samples) and self._samples[0].at <= at - WINDOW + STEP


def rewound(world: World, at: float, undone: Iterable[tuple[Change, bytes | None]]) -> list[tuple[float, Groups]]:
    """What samples of the hour before `at` are made of, oldest first: see series.rewind."""
    found = [(at, node_groups(world))]
    for moment, counts in walk_back(world, at, undone, STEP):
        if moment < at - WINDOW:
            break
        found.append((moment, counts.groups()))
    return found[::-1]


def marks_of(samples: Iterable[NodeSample], slots: Sequence[int]) -> dict[int, list[NodeMark]]:
    """Of each slot, oldest first, one for each change."""
    marks: dict[int, list[NodeMark]] = {slot: [] for slot in slots}
    before = b""
    for one in samples:
        if one.packed == before:
            continue  # nothing has changed on any node
        before = one.packed
        for slot, (fit, refused) in zip(slots, one.of(slots), strict=True):
            note(marks[slot], NodeMark(one.at, fit, refused))
    return marks


def note(marks: list[NodeMark], mark: NodeMark) -> None:
    if not marks or marks[-1].said != mark.said:
        marks.append(mark)
