"""Patches, selectors and printing of the simulated API server: pure functions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dradash.sim import duration, selectors
from dradash.sim.apierrors import ApiError
from dradash.sim.patch import json_patch, merge_patch
from dradash.sim.printers import PRINTERS
from dradash.sim.strategic import strategic_merge

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": {"b/c": 1}}, [{"op": "remove", "path": "/a/b~1c"}], {"a": {}}),
        ({"a": [1, 2]}, [{"op": "replace", "path": "/a/0", "value": 9}], {"a": [9, 2]}),
        ({"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}], {"b": 1}),
        (
            {"a": [1]},
            [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "remove", "path": "/a/0"}],
            {"a": [], "b": [1]},
        ),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 1}], {"a": 1}),
    ],
)
def test_json_patch_does_what_rfc_6902_says(document: Any, operations: Any, expected: Any) -> None:
    before = repr(document)
    assert json_patch(document, operations) == expected
    assert repr(document) == before


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([{"op": "test", "path": "/a", "value": 2}], 422),
        ([{"op": "remove", "path": "/nothing"}], 422),
        ([{"op": "replace", "path": "/l/7", "value": 1}], 422),
        ([{"op": "add", "path": "/l/01x", "value": 1}], 422),
        ([{"op": "replace", "path": "", "value": [1]}], 422),
        ([{"op": "jump", "path": "/a"}], 400),
        ([{"op": "remove", "path": "a"}], 400),
        ([7], 400),
        ({}, 400),
        ([{}] * 10_001, 413),
    ],
)
def test_a_json_patch_that_cannot_be_done_is_refused(operations: Any, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        json_patch({"a": 1, "l": [1]}, operations)
    assert caught.value.code == code


@given(json_values, json_values)
def test_a_merge_patch_twice_is_the_same_as_once(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


CONTAINERS = [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "1"}]


@pytest.mark.parametrize(
    ("patch", "names"),
    [
        ([{"name": "b", "image": "2"}], ["a", "b"]),
        ([{"name": "c", "image": "1"}], ["a", "b", "c"]),
        ([{"name": "a", "$patch": "delete"}], ["b"]),
        ([{"$patch": "replace"}, {"name": "z", "image": "1"}], ["z"]),
    ],
)
def test_a_strategic_patch_merges_containers_by_name(patch: Any, names: list[str]) -> None:
    found = strategic_merge("pods", {"spec": {"containers": CONTAINERS}}, {"spec": {"containers": patch}})
    assert [c["name"] for c in found["spec"]["containers"]] == names


def test_a_strategic_patch_reaches_into_nested_lists_and_keeps_the_rest() -> None:
    patch = {"spec": {"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]}}
    found = strategic_merge("pods", {"spec": {"containers": CONTAINERS, "nodeName": "n"}}, patch)
    assert found["spec"]["nodeName"] == "n"
    assert found["spec"]["containers"][0] == {
        "name": "a",
        "image": "1",
        "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
    }


def test_directives_for_order_values_keys_and_whole_objects() -> None:
    meta = {"metadata": {"finalizers": ["a", "b", "c"], "labels": {"x": "1", "y": "2"}}}
    patch: dict[str, Any] = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["d", "a"]}}
    assert strategic_merge("pods", meta, patch)["metadata"]["finalizers"] == ["a", "c", "d"]
    patch = {"metadata": {"labels": {"$patch": "replace", "z": "3"}}}
    assert strategic_merge("pods", meta, patch)["metadata"]["labels"] == {"z": "3"}
    patch = {"metadata": {"labels": {"$retainKeys": ["y", "z"], "z": "3"}}}
    assert strategic_merge("pods", meta, patch)["metadata"]["labels"] == {"y": "2", "z": "3"}
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": []}}
    found = strategic_merge("pods", {"spec": {"containers": CONTAINERS}}, patch)
    assert [c["name"] for c in found["spec"]["containers"]] == ["b", "a"]


def test_tolerations_and_taints_are_replaced_as_a_whole() -> None:
    for plural, field in (("pods", "tolerations"), ("nodes", "taints")):
        found = strategic_merge(plural, {"spec": {field: [{"key": "a"}]}}, {"spec": {field: [{"key": "b"}]}})
        assert found["spec"][field] == [{"key": "b"}]


def test_an_item_without_its_merge_key_is_refused() -> None:
    with pytest.raises(ApiError, match="does not contain declared merge key: uid"):
        strategic_merge("resourceclaims", {}, {"status": {"reservedFor": [{"name": "x"}]}})


LABELS = {"app": "train", "tier": "2", "empty": ""}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=train", True),
        ("app==train", True),
        ("app!=train", False),
        ("other!=train", True),
        ("app in (train, x)", True),
        ("app notin (train,x)", False),
        ("other notin (x)", True),
        ("app", True),
        ("!app", False),
        ("!other,app", True),
        ("empty=", True),
        ("tier>1", True),
        ("tier<2", False),
        ("app>1", False),
        ("app in (train),tier=3", False),
    ],
)
def test_label_selectors_choose_as_in_kubernetes(selector: str, matches: bool) -> None:
    predicate = selectors.compile_selectors("pods", selector, "")
    assert (predicate is None or predicate({"metadata": {"labels": LABELS}})) is matches


@pytest.mark.parametrize("selector", ["a=b=c", "a in b", "a b", "(a)", "=b"])
def test_a_label_selector_that_cannot_be_read_is_refused(selector: str) -> None:
    with pytest.raises(ApiError, match="unable to parse requirement"):
        selectors.compile_selectors("pods", selector, "")


def test_fields_are_selected_by_kind() -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"}, "source": {"component": "x"}}
    for selector, matches in (("involvedObject.kind=Pod,source=x", True), ("reason!=", False), ("type=", True)):
        predicate = selectors.compile_selectors("events", "", selector)
        assert predicate is not None
        assert predicate(event) is matches
    unschedulable = selectors.compile_selectors("nodes", "", "spec.unschedulable=false")
    assert unschedulable is not None
    assert unschedulable({"metadata": {}})
    with pytest.raises(ApiError, match=r"field label not supported: spec\.nodeName"):
        selectors.compile_selectors("nodes", "", "spec.nodeName=x")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (130, "2m10s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (9 * 3600, "9h"),
        (2 * 86400, "2d"),
        (2 * 86400 + 3600, "2d1h"),
        (30 * 86400, "30d"),
        (3 * 365 * 86400, "3y"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_read_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert duration.human(seconds) == text


def test_every_printer_has_a_cell_for_each_column_even_of_an_empty_object() -> None:
    for plural, printer in PRINTERS.items():
        assert len(printer.cells({"metadata": {}}, 0.0)) == len(printer.columns), plural


@pytest.mark.parametrize(
    ("status", "deleted", "state"),
    [
        ({}, False, "pending"),
        ({}, True, "deleted"),
        ({"allocation": {"shareable": True}}, False, "allocated"),
        ({"allocation": {}}, False, "allocated"),
        ({"allocation": {"shareable": True}, "reservedFor": [{}]}, True, "deleted,allocated,reserved"),
    ],
)
def test_a_claims_state_is_one_word_after_the_other(status: Any, deleted: bool, state: str) -> None:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    cells = PRINTERS["resourceclaims"].cells({"metadata": metadata, "status": status}, 0.0)
    assert cells[3] == state
