"""A list page's state is its query string: filters, order, page number. Nothing else remembers it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec

T = TypeVar("T")

ROWS: Final = 100
WALL_ROWS: Final = 40  # more than fit on any screen on a wall: kiosk.js hides those that do not
LONGEST_VALUE: Final = 300  # characters of one parameter that are read; nobody types more


def echo(text: str) -> str:
    """What was typed, as it may be shown: cut, without control characters and those that turn the text's direction."""
    shown = (" " if c.isspace() else c for c in text[: 2 * LONGEST_VALUE])
    return "".join(c for c in shown if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))[:LONGEST_VALUE]


# Neither HTML nor a header may hold them.
_UNSHOWABLE: Final = dict.fromkeys([*range(0x20), 0x7F])


class Query(msgspec.Struct, frozen=True):
    params: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, params: Mapping[str, str], known: Iterable[str]) -> Query:
        """Only known parameters that have a value, in a fixed order: equal pages then have equal queries."""
        read = ((k, value_of(k, params[k])) for k in sorted(known) if params.get(k))
        return cls(tuple((k, value) for k, value in read if value))

    def get(self, name: str, default: str = "") -> str:
        return dict(self.params).get(name, default)

    @property
    def page(self) -> int:
        text = self.get("page", "1")
        return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1

    def link(self, **changes: str | None) -> str:
        """Query string of the same page with these parameters changed; None or "" leaves one out.

        Another filter or order starts on the first page again.
        """
        params = dict(self.params)
        if "page" not in changes:
            params.pop("page", None)
        params |= {k: v or "" for k, v in changes.items()}
        return "?" + urlencode([(k, v) for k, v in params.items() if v])

    @property
    def encoded(self) -> str:
        return urlencode(self.params)


KIOSK: Final = "kiosk"  # for a wall screen, without navigation, where it says ...
ON_A_WALL: Final = "1"
_NO_NAMES: Final = frozenset({"q", "at", "with", "sort", "page"})
EXPRESSION: Final = "expression"  # a CEL selector: the one parameter that may be long and have several lines
LONGEST_EXPRESSION: Final = 4097  # characters: one more than is tried, which then says so
_LINES: Final = {**_UNSHOWABLE, ord("\n"): "\n", ord("\t"): " "}


def value_of(name: str, value: str) -> str:
    """Names are compared as they are; other text goes into the page's links and forms as people may see it."""
    if name == KIOSK:
        return value if value == ON_A_WALL else ""
    if name == EXPRESSION:
        return value[: 2 * LONGEST_EXPRESSION].translate(_LINES)[:LONGEST_EXPRESSION].strip()
    return echo(value) if name in _NO_NAMES else value[:LONGEST_VALUE].translate(_UNSHOWABLE)


class Option(msgspec.Struct, frozen=True):
    """One choice of a filter, with how many rows it would show."""

    value: str
    label: str
    count: int
    selected: bool


class Column(msgspec.Struct, frozen=True):
    """A column's heading. direction: "ascending", "descending" or "" as in aria-sort; href sorts by it."""

    label: str
    href: str = ""
    direction: str = ""
    css: str = ""


class Pager(msgspec.Struct, frozen=True):
    page: int
    pages: int
    total: int  # rows that the filters leave
    first: int  # number of the first shown row, from 1; 0 when there are none
    last: int
    previous: str  # query string, "" where there is none
    next: str


class Sorting(msgspec.Struct, frozen=True):
    """One sortable column: how rows compare. `key` must be total over all rows."""

    name: str
    label: str
    key: Callable[[Any], Any]
    css: str = ""
    inverted: bool = False  # the reader sees ages where `key` has times: more of one is less of the other


def page_of(items: Sequence[T], query: Query, rows: int = ROWS) -> tuple[Sequence[T], Pager]:
    """The shown part, of so many rows; a page number past the end shows the last page."""
    pager = pager_of(len(items), query, rows)
    return items[max(0, pager.first - 1) : pager.last], pager


def pager_of(total: int, query: Query, rows: int = ROWS) -> Pager:
    """Which of `total` rows the query's page shows; past the end the last page, and on a wall always the first."""
    on_a_wall = bool(query.get(KIOSK))
    rows = WALL_ROWS if on_a_wall else rows
    pages = max(1, -(-total // rows))
    page = 1 if on_a_wall else min(query.page, pages)
    start = (page - 1) * rows
    return Pager(
        page=page,
        pages=pages,
        total=total,
        first=start + 1 if total else 0,
        last=min(total, start + rows),
        previous=query.link(page=str(page - 1)) if page > 1 else "",
        next=query.link(page=str(page + 1)) if page < pages else "",
    )


def sorted_by(items: Iterable[T], query: Query, sortings: Sequence[Sorting], tie: Callable[[T], Any]) -> list[T]:
    """Sorted by `sort` of the query ("-name" descends; unknown names mean the first sorting); ties always ascend."""
    wanted = query.get("sort")
    sorting = next((s for s in sortings if s.name == wanted.lstrip("-")), sortings[0])
    ordered = sorted(items, key=tie)
    return sorted(ordered, key=sorting.key, reverse=wanted.startswith("-"))


def columns(query: Query, sortings: Sequence[Sorting]) -> tuple[Column, ...]:
    wanted = query.get("sort") or sortings[0].name
    heads = []
    for sorting in sortings:
        ascending, descending = wanted == sorting.name, wanted == f"-{sorting.name}"
        direction = "ascending" if ascending != sorting.inverted else "descending"
        link = query.link(sort=f"-{sorting.name}" if ascending else sorting.name)
        heads.append(Column(sorting.label, link, direction if ascending or descending else "", sorting.css))
    return tuple(heads)


def options(counts: Mapping[str, int], selected: str, labels: Mapping[str, str] | None = None) -> tuple[Option, ...]:
    """A filter's choices in alphabetical order; a selected value that no row has any more stays choosable."""
    labels = labels or {}
    values = sorted({*counts, selected} - {""})
    return tuple(Option(v, labels.get(v, v), counts.get(v, 0), v == selected) for v in values)
