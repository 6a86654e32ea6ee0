"""What differs between two moments, object by object."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

from dradash.api import params
from dradash.api.asking import Ask
from dradash.api.changes import TYPES
from dradash.api.endpoint import Endpoint, projected
from dradash.api.paging import page_of
from dradash.api.schemas import Rows, Shape, Total, page, url
from dradash.kinds.registry import KINDS
from dradash.problems import NO_SUCH_MOMENT, Refusal
from dradash.reader.comparing import differing
from dradash.reader.differences import Differs, fields_of, place_of
from dradash.reader.moment import show
from dradash.store.model import VERDICTS
from dradash.store.past import BeforeHistory

WITH: Final = "with"
NOW: Final = "now"
FIELDS: Final = 100  # of one object


class FieldDifference(Shape, frozen=True):
    """path: as in `kubectl explain`, with [name] for an entry of a list. before, after: JSON or a text, cut where it is
    long; null where it was not set."""

    path: str
    before: str | None
    after: str | None


class ObjectDifference(Shape, frozen=True):
    """kind: a plural, or verdicts. type: ADDED, MODIFIED or DELETED, from the earlier moment to the later one.

    before, after: the verdict's outcome; null of other kinds, and where there was none. fields: of a MODIFIED one, and
    the sentence of a verdict that came or went; unlisted: how many more.
    """

    kind: str
    key: str
    type: str
    before: str | None
    after: str | None
    fields: tuple[FieldDifference, ...]
    unlisted: int
    url: str | None
    page: str | None


def answer(ask: Ask) -> Any:
    matching = [d for d in _differing(ask) if _matches(d, ask)]
    limit = ask.params.get("limit", params.ROWS)
    question = ask.question(ObjectDifference.__name__)
    shown, _, following = page_of(matching, _identity, _SORTINGS, ask.params, question, limit)
    rows = [row for d in shown if (row := _row(d)) is not None]
    with ask.world() as world:
        revision, instance = world.revision, world.instance
    return Rows(
        items=tuple(projected(row, ask) for row in rows),
        total=_total(matching, shown, rows),
        next=following,
        revision=revision,
        instance=instance,
    )


def _differing(ask: Ask) -> list[Differs]:
    other: float | None = None if ask.params[WITH] == NOW else ask.params[WITH]
    at, other = (None, ask.at) if other is None else (ask.at, other)
    if other is None:
        return []  # now with now
    if other > time.time():
        raise Refusal(NO_SUCH_MOMENT, "with: this time has not come yet")
    try:
        return differing(at, other)[0]
    except BeforeHistory as before:
        raise Refusal(NO_SUCH_MOMENT, f"history is kept since {show(before.start)}") from before


def _matches(differs: Differs, ask: Ask) -> bool:
    has = {"kind": differs.kind, "namespace": differs.key.rpartition("/")[0], "type": differs.type}
    return all(ask.get(name) in ("", value) for name, value in has.items())


def _identity(differs: Differs) -> str:
    return f"{differs.kind}/{differs.key}"


_SORTINGS: Final = {"kind": lambda d: place_of(d.kind)}


def _row(differs: Differs) -> ObjectDifference | None:
    """None: only what every write changes."""
    fields = fields_of(differs)
    if fields is None:
        return None
    before, after = differs.before, differs.after
    verdict = differs.kind == VERDICTS
    return ObjectDifference(
        kind=differs.kind,
        key=differs.key,
        type=differs.type,
        before=str(before.outcome) if verdict and before else None,
        after=str(after.outcome) if verdict and after else None,
        fields=tuple(
            FieldDifference(path=f.path, before=f.before or None, after=f.after or None) for f in fields[:FIELDS]
        ),
        unlisted=max(0, len(fields) - FIELDS),
        url=url(differs.kind, differs.key),
        page=page(differs.kind, differs.key),
    )


def _total(matching: Sequence[Differs], shown: Sequence[Differs], rows: Sequence[ObjectDifference]) -> Total:
    """Whether a changed object says anything is found out for the shown ones alone."""
    unsure = sum(map(_may_say_nothing, matching)) - sum(map(_may_say_nothing, shown))
    return Total(count=len(matching) - unsure - (len(shown) - len(rows)), exact=not unsure)


def _may_say_nothing(differs: Differs) -> bool:
    return differs.type == "MODIFIED" and differs.kind != VERDICTS


ENDPOINTS: Final = (
    Endpoint(
        "compare",
        "/compare",
        "changes",
        "What differs between two moments, object by object",
        Rows[ObjectDifference],
        answer,
        (
            params.other_moment(WITH, f"RFC 3339 time, or {NOW}: what `at` (now unless given) is compared with.", NOW),
            params.choice("kind", "Only objects of this kind.", (*KINDS, VERDICTS)),
            params.choice("type", "Only what came, changed or went.", TYPES),
            params.text("namespace", "Only objects in this namespace.", "ml"),
        ),
        row_type=ObjectDifference,
        varies="now",
    ),
)
