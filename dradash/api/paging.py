"""Pages of a list by cursor. A cursor holds the last row's sort key and identity, not a number of rows: what comes or
goes before it neither repeats nor skips a row that stays.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dradash.problems import BAD_CURSOR, Refusal

I = TypeVar("I")  # noqa: E741 - an item

Key = str | float
NEVER: Final = 9e15  # sorts behind every time; JSON has no infinity

_KEEP: Final = "keep the parameters of the answer that it comes from, or begin anew without a cursor"


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """question: a digest of the filters and of whatever else decides which rows there are (Ask.question)."""

    sort: str
    key: Key
    identity: str
    question: str


def encode(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def decode(text: str, sort: str, question: str) -> Cursor:
    """Raises Refusal for what was never handed out, or for another question."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        cursor = msgspec.json.decode(raw, type=Cursor)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise Refusal(BAD_CURSOR, "this cursor was not handed out here") from error
    if cursor.sort != sort:
        raise Refusal(BAD_CURSOR, f"this cursor belongs to sort={cursor.sort[:40]}: {_KEEP}")
    if cursor.question != question:
        raise Refusal(BAD_CURSOR, f"this cursor was made for other filters, another at or another resource: {_KEEP}")
    return cursor


def page_of(
    items: Iterable[I],
    identity: Callable[[I], str],
    sortings: Mapping[str, Callable[[I], Key]],
    params: Mapping[str, Any],
    question: str,
    limit: int,
) -> tuple[list[I], int, str | None]:
    """The rows of this page, how many there are in all, and the cursor of the next page."""
    sort = params.get("sort") or next(iter(sortings))
    key, descends = sortings[sort.lstrip("-")], sort.startswith("-")
    ordered = sorted(items, key=identity)
    ordered.sort(key=key, reverse=descends)
    total, start = len(ordered), 0
    if text := params.get("cursor"):
        start = _behind(decode(text, sort, question), ordered, identity, key, descends=descends)
    rows = ordered[start : start + limit]
    more = start + limit < total
    following = encode(Cursor(sort, key(rows[-1]), identity(rows[-1]), question)) if more and rows else None
    return rows, total, following


def _behind(
    cursor: Cursor, ordered: list[I], identity: Callable[[I], str], key: Callable[[I], Key], *, descends: bool
) -> int:
    """The index of the first row behind the cursor's place: rows are in order, so by halving."""
    low, high = 0, len(ordered)
    if ordered and isinstance(cursor.key, str) != isinstance(key(ordered[0]), str):
        raise Refusal(BAD_CURSOR, "this cursor was not handed out here")
    while low < high:
        middle = (low + high) // 2
        row = ordered[middle]
        at: Any = key(row)
        if at == cursor.key:
            before = identity(row) <= cursor.identity
        else:
            before = at > cursor.key if descends else at < cursor.key
        low, high = (middle + 1, high) if before else (low, middle)
    return low
