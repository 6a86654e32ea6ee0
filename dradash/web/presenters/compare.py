"""What changed between two moments, object by object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlencode

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.differences import Differs, fields_of
from dradash.reader.fielddiff import FieldChange
from dradash.reader.moment import show
from dradash.store.model import VERDICTS
from dradash.web.presenters.query import Option, Pager, Query, options, page_of
from dradash.web.presenters.words import Chip, href, outcome_chip, split

PARAMS: Final = frozenset({"with", "kind", "ns", "type", "page"})
FIELDS: Final = 12  # of one object in a list; its own page has more
ALL_FIELDS: Final = 200
TYPES: Final = {"ADDED": "added", "MODIFIED": "modified", "DELETED": "removed"}


class ObjectChange(msgspec.Struct, frozen=True):
    """before, after: the verdict's outcome, for verdicts alone. fields: the first ones; unlisted: how many more."""

    kind: str
    name: str  # of the kind, as people write it
    key: str
    type: str  # ADDED, MODIFIED, DELETED
    href: str
    before: Chip | None
    after: Chip | None
    fields: tuple[FieldChange, ...]
    unlisted: int

    @property
    def word(self) -> str:
        return TYPES[self.type]


class Asked(msgspec.Struct, frozen=True):
    """What the form that asks for two moments has in it: as it was typed."""

    then: str
    now: str
    both_now: bool = False  # there is nothing to compare


class Comparison(msgspec.Struct, frozen=True):
    """then, now: Unix seconds, then < now; live: `now` is the present."""

    then: float
    now: float
    live: bool
    changes: tuple[ObjectChange, ...]
    counts: tuple[tuple[str, int], ...]  # word -> objects, before paging
    kinds: tuple[Option, ...]
    namespaces: tuple[Option, ...]
    types: tuple[Option, ...]
    pager: Pager
    known: int  # before filters
    swap: str
    clear: str
    then_href: str
    now_href: str

    @property
    def close(self) -> bool:
        """Only the milliseconds tell the two moments apart."""
        return not self.live and int(self.then) == int(self.now)


# --- how they are shown ----------------------------------------------------------------------------------------------


def change_of(differs: Differs, fields: int, moments: tuple[str, str]) -> ObjectChange | None:
    """None when only what changes with every write differs. moments: the queries that show then and now."""
    verdict = differs.kind == VERDICTS
    found = fields_of(differs)
    if found is None:
        return None
    return ObjectChange(
        kind=differs.kind,
        name="Verdict on Pod" if verdict else KINDS[differs.kind].kind,
        key=differs.key,
        type=differs.type,
        # Where it is there to be seen: what was added has no page of before, what was removed none of after.
        href=_href_at(href(differs.kind, differs.key), moments[differs.type != "DELETED"]),
        before=outcome_chip(differs.before.outcome) if verdict and differs.before else None,
        after=outcome_chip(differs.after.outcome) if verdict and differs.after else None,
        fields=tuple(found[:fields]),
        unlisted=max(0, len(found) - fields),
    )


def _href_at(address: str, moment: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{moment}" if address and moment else address


def present(
    found: list[Differs], query: Query, moments: tuple[float, float], live: bool, fields: int = FIELDS
) -> Comparison:
    """moments: then and now. Rows are made for the shown page alone; a row may turn out to say nothing."""
    matching = [d for d in found if _matches(d, query)]
    shown, pager = page_of(matching, query)
    then, now = moments
    # A page of the past carries its own `at` into each link that has none, and it may be the earlier moment.
    present_at = "at=" if query.get("at") else ""
    shown_at = (urlencode({"at": show(then)}), present_at if live else urlencode({"at": show(now)}))
    changes = tuple(c for c in (change_of(d, fields, shown_at) for d in shown) if c is not None)
    words = Counter(TYPES[d.type] for d in matching)
    return Comparison(
        then=then,
        now=now,
        live=live,
        changes=changes,
        counts=tuple((word, words[word]) for word in TYPES.values() if words[word]),
        kinds=_options("kind", (d.kind for d in found if _matches(d, query, "kind")), query),
        namespaces=_options("ns", (split(d.key)[0] for d in found if _matches(d, query, "ns")), query),
        types=_options("type", (d.type for d in found if _matches(d, query, "type")), query),
        pager=pager,
        known=len(found),
        swap=query.link(at=show(then), **{"with": show(now)}),
        clear=query.link(kind=None, ns=None, type=None),
        then_href=query.link(at=show(then), **{"with": None}),
        now_href=query.link(at=None if live else show(now), **{"with": None}),
    )


def _options(name: str, values: Iterable[str], query: Query) -> tuple[Option, ...]:
    labels = {kind: KINDS[kind].kind for kind in KINDS} | {VERDICTS: "Verdicts"} | TYPES
    return options(Counter(v for v in values if v), query.get(name), labels)


def _matches(differs: Differs, query: Query, without: str = "") -> bool:
    has = {"kind": differs.kind, "ns": split(differs.key)[0], "type": differs.type}
    return all(name == without or query.get(name) in ("", value) for name, value in has.items())
