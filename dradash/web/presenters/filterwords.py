"""Node selectors in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dradash.kinds.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

VALUES: Final = 6


def words(selector: NodeSelector | None) -> tuple[str, ...]:
    """One sentence for each term: a node passes if any of them holds. () for a selector that is not there."""
    return tuple(term_words(t) for t in selector.node_selector_terms) if selector else ()


def term_words(term: NodeSelectorTerm) -> str:
    parts = [_requirement(r, f"label {r.key}") for r in term.match_expressions]
    parts += [_requirement(r, "the name" if r.key == "metadata.name" else f"field {r.key}") for r in term.match_fields]
    return " and ".join(parts) or "nothing: an empty term matches no node"


def _requirement(requirement: NodeSelectorRequirement, what: str) -> str:
    values = requirement.values
    match requirement.operator:
        case "In":
            return f"{what} is {_any_of(values)}"
        case "NotIn":
            return f"{what} is not {_any_of(values)}"
        case "Exists":
            return f"{what} is there"
        case "DoesNotExist":
            return f"{what} is not there"
        case "Gt":
            return f"{what} is greater than {_any_of(values)}"
        case "Lt":
            return f"{what} is less than {_any_of(values)}"
        case other:
            return f"{what} {other} {_any_of(values)} (an unknown operator)"


def _any_of(values: Sequence[str]) -> str:
    shown = [v or '""' for v in values[:VALUES]]
    if len(values) > VALUES:
        shown.append(f"{len(values) - VALUES} more")
    if not shown:
        return "one of no values"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def asked_labels(selectors: Sequence[NodeSelector | None]) -> tuple[str, ...]:
    """The label keys that these selectors read."""
    return tuple(
        dict.fromkeys(
            r.key for s in selectors if s is not None for t in s.node_selector_terms for r in t.match_expressions
        )
    )
