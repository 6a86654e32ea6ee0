"""Pictures as SVG paths, with the same numbers as a table for people who read. Pure; colours come from the sheet.

Coordinates are rounded to a tenth: a picture that nobody can tell apart must not be sent again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

WIDTH: Final = 600.0
HEIGHT: Final = 120.0
COLUMNS: Final = 120  # moments that a picture shows at most
TABLE_ROWS: Final = 12
SPARK_WIDTH: Final = 80.0
SPARK_HEIGHT: Final = 18.0
BOUNDS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # seconds


class Area(msgspec.Struct, frozen=True):
    """One layer of a stack. css: a class of the sheet that fills it. latest: its value at the last moment."""

    label: str
    css: str
    path: str
    latest: int


class TableRow(msgspec.Struct, frozen=True):
    at: float  # Unix seconds
    values: tuple[int, ...]


class Stack(msgspec.Struct, frozen=True):
    """Counts over time, one upon the other, the first at the bottom. id: unique on the page."""

    id: str
    title: str
    description: str
    areas: tuple[Area, ...]
    most: int  # the value at the top edge
    start: float
    end: float
    rows: tuple[TableRow, ...]

    @property
    def drawn(self) -> bool:
        return self.end > self.start


class Bar(msgspec.Struct, frozen=True):
    label: str
    count: int
    x: float
    y: float
    width: float
    height: float


class Histogram(msgspec.Struct, frozen=True):
    id: str
    title: str
    description: str
    bars: tuple[Bar, ...]
    total: int


class Spark(msgspec.Struct, frozen=True):
    """A line without axes; `text` says the same in words, `rows` in numbers: (which of them, value), oldest first."""

    path: str
    text: str
    what: str = ""
    rows: tuple[tuple[int, float], ...] = ()
    count: int = 0  # of all values; rows are at most TABLE_ROWS of them


def stack(
    id_: str, title: str, samples: Sequence[tuple[float, Mapping[str, int]]], layers: Sequence[tuple[str, str, str]]
) -> Stack:
    """layers: (key in the samples, label, css) from the bottom up. samples: (Unix seconds, counts), oldest first."""
    shown = thinned(samples, COLUMNS)
    tops = [0] * len(shown)
    edges = [tops]
    for key, _, _ in layers:
        tops = [top + counts.get(key, 0) for top, (_, counts) in zip(tops, shown, strict=True)]
        edges.append(tops)
    most = max((*edges[-1], 1))
    start, end = (shown[0][0], shown[-1][0]) if shown else (0.0, 0.0)
    across = [_scaled(at - start, end - start, WIDTH) for at, _ in shown]
    last = shown[-1][1] if shown else {}
    areas = tuple(
        Area(label, css, _band(across, edges[i], edges[i + 1], most), last.get(key, 0))
        for i, (key, label, css) in enumerate(layers)
    )
    rows = tuple(
        TableRow(at, tuple(counts.get(key, 0) for key, _, _ in layers)) for at, counts in thinned(shown, TABLE_ROWS)
    )
    now = ", ".join(f"{area.latest} {area.label}" for area in areas if area.latest) or "nothing"
    return Stack(id_, title, f"{title}. Now {now}; at most {most} in all.", areas, most, start, end, rows[::-1])


def thinned(samples: Sequence[T], most: int) -> Sequence[T]:
    """Evenly chosen samples, the first and the last among them."""
    if len(samples) <= most:
        return samples
    step = (len(samples) - 1) / (most - 1)
    return [samples[round(i * step)] for i in range(most)]


def _scaled(value: float, of: float, size: float) -> float:
    return round(value / of * size, 1) if of > 0 else 0.0


def _band(across: Sequence[float], lower: Sequence[int], upper: Sequence[int], most: int) -> str:
    if not any(u > low for u, low in zip(upper, lower, strict=True)):
        return ""
    there = _points(across, upper, most)
    back = _points(reversed(across), reversed(lower), most)
    return f"M{' L'.join((*there, *back))} Z"


def _points(across: Iterable[float], values: Iterable[int], most: int) -> list[str]:
    return [f"{x:g},{round(HEIGHT - value / most * HEIGHT, 1):g}" for x, value in zip(across, values, strict=True)]


def histogram(id_: str, title: str, seconds: Sequence[float]) -> Histogram:
    """How long something took, in classes that grow threefold."""
    counts = [0] * (len(BOUNDS) + 1)
    for value in seconds:
        counts[sum(value >= bound for bound in BOUNDS)] += 1
    labels = [f"under {BOUNDS[0]:g} s", *(f"{a:g} to {b:g} s" for a, b in pairwise(BOUNDS))]
    labels.append(f"{BOUNDS[-1]:g} s or more")
    width, most = WIDTH / len(counts), max((*counts, 1))
    bars = []
    for i, (label, count) in enumerate(zip(labels, counts, strict=True)):
        height = round(count / most * HEIGHT, 1)
        bars.append(Bar(label, count, round(i * width + 2, 1), round(HEIGHT - height, 1), round(width - 4, 1), height))
    often = max(bars, key=lambda b: b.count)
    description = f"{title}: {len(seconds)} in all; most often {often.label}." if seconds else f"{title}: none yet."
    return Histogram(id_, title, description, tuple(bars), len(seconds))


def spark(values: Sequence[float], what: str) -> Spark | None:
    """A line through values at even distances, oldest first; None where there is nothing to see yet."""
    if len(values) < 2:
        return None
    most = max((*values, 1.0))
    step = SPARK_WIDTH / (len(values) - 1)
    points = (
        f"{round(i * step, 1):g},{round(SPARK_HEIGHT - 1 - v / most * (SPARK_HEIGHT - 2), 1):g}"
        for i, v in enumerate(values)
    )
    text = f"{what}: {values[0]:g} then, {values[-1]:g} now, at most {max(values):g}"
    rows = tuple(thinned(list(enumerate(values, 1)), TABLE_ROWS))
    return Spark(f"M{' L'.join(points)}", text, what, rows, len(values))


def steps(values: Sequence[tuple[float, float | None]], start: float, end: float, least: float = 1.0) -> str:
    """The path of a value that stays as it is from each time on, up to `end`; a gap where it is None.

    values: (Unix seconds, value), oldest first. least: what the top edge stands for at least.
    """
    most = max((least, *(value for _, value in values if value is not None)))
    path, drawing = "", False
    for at, value in values:
        x = across(at, start, end)
        path += f"H{x}" if drawing else ""
        if value is not None:
            y = f"{round(SPARK_HEIGHT - 1 - value / most * (SPARK_HEIGHT - 2), 1):g}"
            path += f"V{y}" if drawing else f"M{x},{y}"
        drawing = value is not None
    return f"{path}H{SPARK_WIDTH:g}" if drawing else path


def across(at: float, start: float, end: float) -> int:
    """Where in a spark a time is: in whole units, so that it does not move with every second."""
    return round(min(max((at - start) / (end - start), 0.0), 1.0) * SPARK_WIDTH)


def per_slot(times: Iterable[float], start: float, end: float, slots: int) -> list[float]:
    """How many of the times fall into each of so many equal parts of [start, end)."""
    counts = [0.0] * slots
    for at in times:
        if start <= at < end:
            counts[int((at - start) / (end - start) * slots)] += 1
    return counts
