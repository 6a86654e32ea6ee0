"""Node selectors: what is valid, and whether one node matches (component-helpers nodeaffinity, apimachinery labels).

NodeTable (nodetable.py) answers for all nodes at once; `term_matches` here is the meaning that it must agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dradash.kinds.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dradash.scheduling.gotext import aggregate, quote, string_slice
from dradash.scheduling.labels import key_errors, parse_int64, value_errors

OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS: Final = ("In", "NotIn")
NAME_FIELD: Final = "metadata.name"


def is_empty(term: NodeSelectorTerm) -> bool:
    """An empty term matches no node and is not validated (isEmptyNodeSelectorTerm)."""
    return not term.match_expressions and not term.match_fields


# How a list of values is printed: as Go does up to Kubernetes 1.30, as JSON in 1.36 (gotext.json_list).
ShowValues = Callable[[Sequence[str]], str]


def selector_error(selector: NodeSelector, show: ShowValues = string_slice) -> str | None:
    """The error of nodeaffinity.NewNodeSelector, None for a valid selector."""
    errors: list[str] = []
    for i, term in enumerate(selector.node_selector_terms):
        if not is_empty(term):
            errors += term_errors(term, f"nodeSelectorTerms[{i}]", show)
    return aggregate(errors) if errors else None


def term_errors(term: NodeSelectorTerm, path: str, show: ShowValues = string_slice) -> list[str]:
    """newNodeSelectorTerm's parseErrs, flattened; `path` is the term's field path."""
    errors: list[str] = []
    for i, requirement in enumerate(term.match_expressions):
        errors += _expression_errors(requirement, f"{path}.matchExpressions[{i}]", show)
    for i, requirement in enumerate(term.match_fields):
        errors += _field_errors(requirement, f"{path}.matchFields[{i}]", show)
    return errors


def _not_supported(path: str, operator: str, supported: tuple[str, ...]) -> str:
    return f"{path}.operator: Unsupported value: {quote(operator)}: supported values: " + ", ".join(
        quote(s) for s in supported
    )


def _expression_errors(requirement: NodeSelectorRequirement, path: str, show: ShowValues) -> list[str]:
    """labels.NewRequirement. An unknown operator is reported alone, as nodeSelectorRequirementsAsSelector does."""
    if requirement.operator not in OPERATORS:
        return [_not_supported(path, requirement.operator, OPERATORS)]
    errors = []
    if wrong := key_errors(requirement.key):
        errors.append(f"{path}.key: Invalid value: {quote(requirement.key)}: {'; '.join(wrong)}")
    errors += _value_count_errors(requirement, f"{path}.values", show)
    for i, value in enumerate(requirement.values):
        if wrong := value_errors(value):
            errors.append(f"{path}.values[{i}][{requirement.key}]: Invalid value: {quote(value)}: {'; '.join(wrong)}")
    return list(dict.fromkeys(errors))


def _value_count_errors(requirement: NodeSelectorRequirement, path: str, show: ShowValues) -> list[str]:
    values = requirement.values
    invalid = f"{path}: Invalid value: {show(values)}: "
    match requirement.operator:
        case "In" | "NotIn":
            return [] if values else [invalid + "for 'in', 'notin' operators, values set can't be empty"]
        case "Exists" | "DoesNotExist":
            return [invalid + "values set must be empty for exists and does not exist"] if values else []
        case _:
            errors = [] if len(values) == 1 else [invalid + "for 'Gt', 'Lt' operators, exactly one value is required"]
            for i, value in enumerate(values):
                if parse_int64(value) is None:
                    wrong = "for 'Gt', 'Lt' operators, the value must be an integer"
                    errors.append(f"{path}[{i}]: Invalid value: {quote(value)}: {wrong}")
            return errors


def _field_errors(requirement: NodeSelectorRequirement, path: str, show: ShowValues) -> list[str]:
    """nodeSelectorRequirementsAsFieldSelector."""
    if requirement.operator not in FIELD_OPERATORS:
        return [_not_supported(path, requirement.operator, FIELD_OPERATORS)]
    if len(requirement.values) != 1:
        return [f"{path}.values: Invalid value: {show(requirement.values)}: must have one element"]
    return []


def term_matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    """nodeSelectorTerm.match for a valid term and one node."""
    return (
        not is_empty(term)
        and all(expression_matches(r, labels) for r in term.match_expressions)
        and all(_field_matches(r, name) for r in term.match_fields)
    )


def expression_matches(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    """labels.Requirement.Matches."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return value is not None and compares(requirement, value)


def compares(requirement: NodeSelectorRequirement, value: str) -> bool:
    """Gt and Lt: a label value that is no integer matches neither."""
    have, want = parse_int64(value), parse_int64(requirement.values[0])
    if have is None or want is None:
        return False
    return have > want if requirement.operator == "Gt" else have < want


def _field_matches(requirement: NodeSelectorRequirement, name: str) -> bool:
    # Only metadata.name is a field of a node; any other reads as "" (fields.Set.Get). A node always has a name.
    value = name if requirement.key == NAME_FIELD else ""
    return (value == requirement.values[0]) == (requirement.operator == "In")
