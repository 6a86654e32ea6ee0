"""The stream of changes as rows, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.moment import show
from dradash.store.model import SYNC, VERDICTS, Change
from dradash.web.presenters import diff
from dradash.web.presenters.query import Option, Query
from dradash.web.presenters.words import few, href

PARAMS: Final = frozenset({"kind", "ns", "type", "q", "before", "paused"})
ROWS: Final = 50
AFTER: Final = 0.001  # seconds: addresses carry milliseconds, and this one must not lie before the change
TYPES: Final[Mapping[str, str]] = {"ADDED": "created", "MODIFIED": "changed", "DELETED": "deleted"}
_LABELS: Final = {VERDICTS: "Verdict", SYNC: "State of the watch"} | {k.plural: k.kind for k in KINDS.values()}


class ChangeLine(msgspec.Struct, frozen=True):
    """href: the object's page; then: the same page as it was right after this change."""

    revision: int
    at: float
    kind: str
    type: str
    word: str
    key: str
    href: str
    then: str
    words: tuple[str, ...]


class ChangesView(msgspec.Struct, frozen=True):
    """older: address of the changes before these, "" at the end of what is kept. exhausted: nothing older is kept."""

    rows: tuple[ChangeLine, ...]
    kinds: tuple[Option, ...]
    types: tuple[Option, ...]
    namespaces: tuple[Option, ...]
    text: str
    paused: bool
    live: str
    pause: str
    older: str
    searched_to: int  # revision down to which a filter has looked, 0: it found enough
    before: int | None  # only changes below this revision are asked for
    kept_from: int  # the oldest revision kept, where this page reaches it; else 0
    active: bool
    clear: str
    note: str


class Read(msgspec.Struct, frozen=True):
    """What was read of the stream. last: the lowest revision looked at. ended: nothing older is kept.

    unread: the states of before could not be read; else None among them: there was none, or it is not kept.
    """

    changes: tuple[Change, ...]
    states: tuple[bytes | None, ...]
    newest: int
    last: int
    ended: bool
    note: str = ""
    unread: bool = False


def before_of(query: Query) -> int | None:
    """The revision that the page begins below, None for the newest."""
    text = query.get("before")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def matches(change: Change, query: Query) -> bool:
    """States of the watch are shown only when they are asked for: they come every few seconds."""
    kind, type_, namespace = query.get("kind"), query.get("type"), query.get("ns")
    if (change.kind != kind) if kind else change.kind == SYNC:
        return False
    if type_ and change.type != type_:
        return False
    if namespace and change.key.rpartition("/")[0] != namespace:
        return False
    text = query.get("q").casefold()
    return not text or text in change.key.casefold()


def present(read: Read, query: Query, namespaces: Iterable[str]) -> ChangesView:
    rows = [_line(c, s, unread=read.unread) for c, s in zip(read.changes[:ROWS], read.states, strict=False)]
    enough = len(read.changes) > ROWS
    last = rows[-1].revision if enough else read.last
    paused = before_of(query) is not None
    past = bool(query.get("at"))
    return ChangesView(
        rows=tuple(rows),
        kinds=_options(_LABELS, query.get("kind")),
        types=_options(TYPES, query.get("type")),
        namespaces=_options({n: n for n in sorted({*namespaces, query.get("ns")} - {""})}, query.get("ns")),
        text=query.get("q"),
        paused=paused,
        live=query.link(before=None, paused=None),
        pause="" if past else query.link(before=str(read.newest + 1), paused="1"),
        older="" if read.ended and not enough else query.link(before=str(last), paused="1"),
        searched_to=0 if enough or read.ended else last,
        before=before_of(query),
        kept_from=read.last if read.ended and not enough else 0,
        active=any(query.get(p) for p in ("kind", "ns", "type", "q")),
        clear=query.link(kind=None, ns=None, type=None, q=None),
        note=read.note,
    )


def _options(labels: Mapping[str, str], selected: str) -> tuple[Option, ...]:
    return tuple(Option(value, label, 0, value == selected) for value, label in labels.items())


def _line(change: Change, before: bytes | None, *, unread: bool) -> ChangeLine:
    page = href(change.kind, change.key)
    return ChangeLine(
        revision=change.revision,
        at=change.at,
        kind=_LABELS.get(change.kind, change.kind),
        type=change.type.lower(),
        word=TYPES.get(change.type, change.type),
        key=change.key,
        href=page,
        then=f"{page}?{urlencode({'at': show(change.at + AFTER)})}" if page else "",
        words=few(diff.words(change.kind, change.type, before, change.object, unread=unread)),
    )


def wanted(changes: Sequence[Change], query: Query) -> list[Change]:
    return [c for c in changes if matches(c, query)]
