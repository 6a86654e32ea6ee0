"""Which objects are not the same in two worlds, and in which fields. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from dradash.kinds.registry import KINDS
from dradash.reader.fielddiff import FieldChange, difference
from dradash.reader.withheld import without_secrets
from dradash.reader.world import World
from dradash.scheduling.verdict import Verdict
from dradash.store.model import VERDICTS

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
NOTHING: Final[Mapping[str, Any]] = {}


class Differs(msgspec.Struct, frozen=True):
    kind: str
    key: str
    type: str
    before: Any  # raw JSON, or a Verdict
    after: Any


def differing(before: World, after: World) -> list[Differs]:
    """All objects that are not the same in both, by kind and name."""
    found = list(_between(VERDICTS, before.verdicts, after.verdicts))
    for kind in KINDS:
        found += _between(kind, before.cluster.raw[kind], after.cluster.raw[kind])
    return sorted(found, key=lambda d: (place_of(d.kind), d.key))


def place_of(kind: str) -> int:
    """Where the kind stands in ORDER; all others after it."""
    return ORDER.index(kind) if kind in ORDER else len(ORDER)


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


# --- in which fields -------------------------------------------------------------------------------------------------


def fields_of(differs: Differs) -> list[FieldChange] | None:
    """None when only what changes with every write differs. Of an object that came or went: none."""
    verdict = differs.kind == VERDICTS
    if verdict:
        found = difference(verdict_words(differs.before), verdict_words(differs.after))
    else:
        found = difference(_body(differs.before), _body(differs.after)) if differs.type == "MODIFIED" else []
    if differs.type == "MODIFIED":
        return found or None
    return [change for change in found if change.path == "sentence"]  # the rest is on the pod's page


def _body(raw: bytes | None) -> Mapping[str, Any]:
    """Malformed JSON is told from other JSON, not field by field."""
    if raw is None:
        return NOTHING
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = raw.decode("utf-8", "replace")
    return without_secrets(value) if isinstance(value, dict) else {"malformed": value}
