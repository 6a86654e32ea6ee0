"""What changed between two moments, object by object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.moment import show
from dradash.reader.world import World
from dradash.scheduling.verdict import Verdict
from dradash.store.model import VERDICTS
from dradash.web.presenters.fielddiff import FieldChange, difference
from dradash.web.presenters.query import Option, Pager, Query, options, page_of
from dradash.web.presenters.words import Chip, href, outcome_chip, split

PARAMS: Final = frozenset({"with", "kind", "ns", "type", "page"})
FIELDS: Final = 12  # of one object in a list; its own page has more
ALL_FIELDS: Final = 200
# Verdicts first: what people ask for; nodes and events last, as there are most of them.
ORDER: Final = (
    VERDICTS,
    "pods",
    "resourceclaims",
    "podschedulingcontexts",
    "resourceclasses",
    "resourceclaimtemplates",
    "namespaces",
    "nodes",
    "events",
)
TYPES: Final = {"ADDED": "added", "MODIFIED": "modified", "DELETED": "removed"}
NOTHING: Final[Mapping[str, Any]] = {}


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


class Differs(msgspec.Struct, frozen=True):
    kind: str
    key: str
    type: str
    before: Any  # raw JSON, or a Verdict
    after: Any


# --- which objects ---------------------------------------------------------------------------------------------------


def differing(before: World, after: World) -> list[Differs]:
    """All objects that are not the same in both, by kind and name."""
    found = list(_between(VERDICTS, before.verdicts, after.verdicts))
    for kind in KINDS:
        found += _between(kind, before.cluster.raw[kind], after.cluster.raw[kind])
    return sorted(found, key=lambda d: (ORDER.index(d.kind) if d.kind in ORDER else len(ORDER), d.key))


def differing_of(before: World, after: World, objects: Iterable[tuple[str, str]]) -> list[Differs]:
    """Those of the named (kind, key) that are not the same in both, in their order."""
    found: list[Differs] = []
    for kind, key in objects:
        old, new = (w.verdicts if kind == VERDICTS else w.cluster.raw.get(kind, {}) for w in (before, after))
        found += _between(kind, {k: old[k] for k in (key,) if k in old}, {k: new[k] for k in (key,) if k in new})
    return found


def _between(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Differs]:
    for key, new in after.items():
        old = before.get(key)
        # What has not changed is mostly the very same object in both worlds.
        if old is not new and old != new and (old is None or not _says_the_same(kind, old, new)):
            yield Differs(kind, key, "ADDED" if old is None else "MODIFIED", old, new)
    for key, old in before.items():
        if key not in after:
            yield Differs(kind, key, "DELETED", old, None)


def _says_the_same(kind: str, old: Any, new: Any) -> bool:
    return kind == VERDICTS and verdict_words(old) == verdict_words(new)


def verdict_words(verdict: Verdict | None) -> dict[str, Any]:
    """What of a verdict people compare: not when and why it was made."""
    if verdict is None:
        return {}
    said: dict[str, Any] = {
        "outcome": str(verdict.outcome),
        "sentence": verdict.sentence,
        "must act next": f"{verdict.acts_next.who} {', '.join(verdict.acts_next.names)}".strip(),
        "nodes that fit": verdict.nodes_fit,
        "nodes": verdict.nodes_total,
        "node": verdict.node,
    }
    said |= {f"claim {c.name}": c.state for c in verdict.claims}
    for step in verdict.steps:
        said |= {f"{step.point}: {g.reason or 'pass'}": g.count for g in step.groups}
    return {name: value for name, value in said.items() if value != ""}


# --- how they are shown ----------------------------------------------------------------------------------------------


def change_of(differs: Differs, fields: int) -> ObjectChange | None:
    """None when only what changes with every write differs."""
    verdict = differs.kind == VERDICTS
    found = (
        difference(verdict_words(differs.before), verdict_words(differs.after))
        if verdict
        else difference(_body(differs.before), _body(differs.after))
        if differs.type == "MODIFIED"
        else []
    )
    if differs.type == "MODIFIED" and not found:
        return None
    if verdict and differs.type != "MODIFIED":
        found = [change for change in found if change.path == "sentence"]  # the rest is on the pod's page
    return ObjectChange(
        kind=differs.kind,
        name="Verdict on Pod" if verdict else KINDS[differs.kind].kind,
        key=differs.key,
        type=differs.type,
        href=href(differs.kind, differs.key),
        before=outcome_chip(differs.before.outcome) if verdict and differs.before else None,
        after=outcome_chip(differs.after.outcome) if verdict and differs.after else None,
        fields=tuple(found[:fields]),
        unlisted=max(0, len(found) - fields),
    )


def _body(raw: bytes | None) -> Mapping[str, Any]:
    """Malformed JSON is told from other JSON, not field by field."""
    if raw is None:
        return NOTHING
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = raw.decode("utf-8", "replace")
    return value if isinstance(value, dict) else {"malformed": value}


def present(
    found: list[Differs], query: Query, moments: tuple[float, float], live: bool, fields: int = FIELDS
) -> Comparison:
    """moments: then and now. Rows are made for the shown page alone; a row may turn out to say nothing."""
    matching = [d for d in found if _matches(d, query)]
    shown, pager = page_of(matching, query)
    changes = tuple(c for c in (change_of(d, fields) for d in shown) if c is not None)
    then, now = moments
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
