"""Node selectors: validation as upstream words it, and what matches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dradash.kinds.selectors import NodeSelector, NodeSelectorTerm
from dradash.scheduling.gotext import json_list
from dradash.scheduling.labels import parse_int64
from dradash.scheduling.nodeselector import selector_error, term_matches


def selector(*terms: dict[str, Any]) -> NodeSelector:
    return msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector)


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            expression("zone", "In"),
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: []string(nil): "
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            expression("zone", "Exists", "x"),
            'nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: []string{"x"}: '
            "values set must be empty for exists and does not exist",
        ),
        (
            expression("n", "Gt", "many"),
            'nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "many": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            expression("zone", "Near", "x"),
            'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": '
            'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        (
            field("metadata.name", "In", "a", "b"),
            'nodeSelectorTerms[0].matchFields[0].values: Invalid value: []string{"a", "b"}: must have one element',
        ),
        (
            field("metadata.name", "Exists"),
            'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": '
            'supported values: "In", "NotIn"',
        ),
        (
            expression("/x", "Exists"),
            'nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "/x": prefix part must be non-empty',
        ),
        (
            expression("not a key!", "Exists"),
            f'nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "not a key!": name part {NAME_RULE}',
        ),
        (
            expression("a/b/c", "Exists"),
            'nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "a/b/c": a qualified name '
            f"{NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        ),
    ],
)
def test_an_invalid_selector_is_refused_in_upstreams_words(wrong: dict[str, Any], message: str) -> None:
    assert selector_error(selector(wrong)) == message


def test_several_errors_are_listed_in_brackets_each_once() -> None:
    error = selector_error(selector(expression("n", "Gt", "x"), field("a", "Gt"), expression("n", "Gt", "x")))
    assert error is not None
    assert error.startswith("[nodeSelectorTerms[0].matchExpressions[0].values[0]: ")
    assert error.endswith("]")
    assert error.count(", nodeSelectorTerms[") == 2


def test_a_too_long_value_is_refused_by_its_bytes() -> None:
    error = selector_error(selector(expression("zone", "In", "é" * 40)))
    assert error is not None
    assert "must be no more than 63 characters; a valid label must be" in error


def test_an_empty_term_is_valid_and_matches_nothing() -> None:
    assert selector_error(selector({})) is None
    assert not term_matches(NodeSelectorTerm(), "node-0", {"a": "b"})


@pytest.mark.parametrize(
    ("term", "labels", "matches"),
    [
        (expression("zone", "In", "a", "b"), {"zone": "b"}, True),
        (expression("zone", "In", "a"), {}, False),
        (expression("zone", "NotIn", "a"), {}, True),
        (expression("zone", "NotIn", "a"), {"zone": "a"}, False),
        (expression("zone", "Exists"), {"zone": ""}, True),
        (expression("zone", "DoesNotExist"), {"zone": ""}, False),
        (expression("n", "Gt", "2"), {"n": "+3"}, True),
        (expression("n", "Gt", "2"), {"n": "many"}, False),
        (expression("n", "Lt", "2"), {"n": "-7"}, True),
        (expression("n", "Lt", "2"), {"n": "99999999999999999999"}, False),
        (expression("n", "Gt", "2"), {}, False),
        (field("metadata.name", "In", "node-0"), {}, True),
        (field("metadata.name", "NotIn", "node-0"), {}, False),
        (field("spec.other", "In", "node-0"), {}, False),
        (field("spec.other", "NotIn", "node-0"), {}, True),
    ],
)
def test_a_term_matches_as_upstream_matches(term: dict[str, Any], labels: dict[str, str], matches: bool) -> None:
    assert term_matches(selector(term).node_selector_terms[0], "node-0", labels) is matches


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("9" * 5000, None),
        ("0" * 5000 + "7", 7),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("+007", 7),
        ("--1", None),
        ("", None),
        ("-", None),
        ("\u0661", None),
    ],
)
def test_numbers_are_read_as_go_reads_an_int64(text: str, number: int | None) -> None:
    assert parse_int64(text) == number


def test_of_newer_schedulers_values_are_printed_as_json_that_is_safe_in_html() -> None:
    wrong = selector_error(selector(field("metadata.name", "In", 'a<b>&c"\u2028\u00e9', "b")), json_list)
    assert wrong == (
        r'nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["a\u003cb\u003e\u0026c\"\u2028é","b"]: '
        "must have one element"
    )
