"""The stream of changes, newest first. Its cursor is a revision, so it reaches back as far as the stream is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.endpoint import Endpoint, Listing, projected
from dradash.api.paging import Cursor, decode, encode
from dradash.api.schemas import Rows, Shape, Total, page, time_of, url
from dradash.kinds.registry import KINDS
from dradash.reader.world import World
from dradash.store.model import SYNC, VERDICTS, Change

BATCH: Final = 500
SEARCHED: Final = 4000  # changes that one answer looks through
TYPES: Final = ("ADDED", "MODIFIED", "DELETED")
_SORT: Final = "-revision"


class ChangeRow(Shape, frozen=True):
    """kind: a plural, verdicts, or sync (the state of a watch; its key is the kind)."""

    revision: int
    at: str | None
    kind: str
    key: str
    type: str
    url: str | None
    page: str | None


def matches(change: Change, ask: Ask) -> bool:
    given = ask.params
    kind = given.get("kind")
    if (change.kind != kind) if kind else change.kind == SYNC:
        return False
    if (type_ := given.get("type")) and change.type != type_:
        return False
    if (namespace := given.get("namespace")) and change.key.rpartition("/")[0] != namespace:
        return False
    text = given.get("q", "").casefold()
    return not text or text in change.key.casefold()


def row_of(change: Change) -> ChangeRow:
    return ChangeRow(
        revision=change.revision,
        at=time_of(change.at),
        kind=change.kind,
        key=change.key,
        type=change.type,
        url=url(change.kind, change.key),
        page=page(change.kind, change.key),
    )


def answer(ask: Ask) -> Any:
    with ask.world() as world:
        newest, instance = world.revision, world.instance
    last, limit, question = newest + 1, ask.params.get("limit", params.ROWS), ask.question(ChangeRow.__name__)
    if text := ask.params.get("cursor"):
        key = decode(text, _SORT, question).key
        last = min(last, int(key)) if not isinstance(key, str) else last
    found, ended = _read(ask, last, limit)
    rows = found[:limit]
    behind = rows[-1].revision if len(found) > limit else ended
    return Rows(
        items=tuple(projected(row_of(c), ask) for c in rows),
        total=Total(count=len(found), exact=behind is None and "cursor" not in ask.params),
        next=encode(Cursor(_SORT, behind, "", question)) if behind is not None else None,
        revision=newest,
        instance=instance,
    )


def _read(ask: Ask, last: int, limit: int) -> tuple[list[Change], int | None]:
    """Changes before `last`, one more than the limit, and from where to search on (None: nothing older is kept)."""
    found: list[Change] = []
    searched = 0
    while len(found) <= limit:
        batch = ask.here.model.changes_before(last, BATCH)
        found += [c for c in batch if matches(c, ask)]
        searched += len(batch)
        if len(batch) < BATCH:
            return found, None
        last = batch[-1].revision
        if searched >= SEARCHED:
            return found, last
    return found, last


def _items(ask: Ask, world: World, keys: Iterable[str] | None) -> Iterator[Change]:  # noqa: ARG001 - for the watch
    yield from ()


# Only its watch is used: a change is its own item (watching.py).
CHANGES: Final = Listing(
    row_type=ChangeRow,
    items=_items,
    identity=lambda c: str(c.revision),
    sortings={_SORT.lstrip("-"): lambda c: c.revision},
    row=lambda ask, world, change: row_of(change),  # noqa: ARG005 - as every resource's
    touched=lambda ask, world, applied: (applied.change.key,),  # noqa: ARG005 - as every resource's
)


class ChangesEndpoint(Endpoint):
    """A list in one order."""

    @property
    def params(self) -> tuple[params.Param, ...]:
        return tuple(p for p in super().params if p.name != "sort")


ENDPOINTS: Final = (
    ChangesEndpoint(
        "changes",
        "/changes",
        "changes",
        "What changed, newest first; watched: oldest first",
        Rows[ChangeRow],
        answer,
        (
            params.choice(
                "kind", "Only changes of this kind; sync is left out unless asked for.", (*KINDS, VERDICTS, SYNC)
            ),
            params.choice("type", "Only changes of this type.", TYPES),
            params.text("namespace", "Only changes in this namespace.", "ml"),
            params.text("q", "Only changes whose key contains this text.", "train"),
        ),
        CHANGES,
    ),
)
