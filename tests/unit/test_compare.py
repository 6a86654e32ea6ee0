"""Two moments compared: which objects differ, and in which fields."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string

from dradash.reader import differences
from dradash.reader.fielddiff import FieldChange, difference
from dradash.scheduling.verdict import Outcome, Step
from dradash.store.model import VERDICTS
from dradash.web.presenters import compare
from dradash.web.presenters.compare import Comparison
from dradash.web.presenters.query import ROWS, Query
from dradash.web.presenters.words import outcome_chip
from tests import build
from tests.unit.test_presenters_lists import World

POD = build.pod("p", "ml", claims={"gpu": "c"})


def fields(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(c.path, c.before, c.after) for c in difference(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, [("a.b", "1", "2")]),
        ({"a": 1}, {}, [("a", "1", "")]),
        ({}, {"a": {"b": 1}}, [("a", "", '{"b":1}')]),
        ({"a": 1}, {"a": True}, [("a", "1", "true")]),
        ({"a": None}, {"a": ""}, [("a", "null", '""')]),
        ({"a": 1, "b": [1]}, {"a": 1, "b": [1]}, []),
        # names come and go
        ({"n": ["a", "b"]}, {"n": ["b", "c"]}, [("n", "a; 2 in all", "c; 2 in all")]),
        ({"n": ["a", "b"]}, {"n": ["b", "a"]}, [("n", '["a","b"]', '["b","a"]')]),
        # entries of a list are told apart by name, not by place
        (
            {"c": [{"type": "Ready", "status": "True"}, {"type": "Disk", "status": "False"}]},
            {"c": [{"type": "Disk", "status": "True"}, {"type": "Ready", "status": "True"}]},
            [("c[Disk].status", "False", "True")],
        ),
        ({"c": [{"name": "a"}]}, {"c": [{"name": "a"}, {"name": "b"}]}, [("c[b]", "", '{"name":"b"}')]),
        # two entries of one name cannot be told apart
        (
            {"c": [{"name": "a", "v": 1}, {"name": "a", "v": 2}]},
            {"c": [{"name": "a", "v": 1}]},
            [("c", '[{"name":"a","v":1},{"name":"a","v":2}]', '[{"name":"a","v":1}]')],
        ),
        # what every write changes
        ({"metadata": {"resourceVersion": "1"}}, {"metadata": {"resourceVersion": "2"}}, []),
        (
            {"conditions": [{"type": "Ready", "lastHeartbeatTime": "1"}]},
            {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2"}]},
            [],
        ),
    ],
)
def test_fields_that_differ(before: dict[str, Any], after: dict[str, Any], want: list[tuple[str, str, str]]) -> None:
    assert fields(before, after) == want


def test_long_values_and_long_lists_are_cut() -> None:
    (change,) = difference({"a": "x"}, {"a": "y" * 5000})
    assert len(change.after) < 200
    (change,) = difference({"n": []}, {"n": [f"node-{i}" for i in range(128)]})
    assert change == FieldChange(
        "n", "0 in all", f"{', '.join(f'node-{i}' for i in range(8))} and 120 more; 128 in all"
    )


def compared(before: World, after: World, **query: str) -> Comparison:
    found = differences.differing(before, after)
    return compare.present(found, Query.of(query, compare.PARAMS | {"at"}), (1.0, 2.0), live=True)


def test_objects_that_came_went_and_changed() -> None:
    before = World(POD, build.claim("c", "ml"), build.node("n"))
    after = World(POD, build.claim("c", "ml", mode="Immediate"), build.claim("d", "ml"))
    view = compared(before, after)
    assert [(c.name, c.key, c.word) for c in view.changes] == [
        ("ResourceClaim", "ml/c", "modified"),
        ("ResourceClaim", "ml/d", "added"),
        ("Node", "n", "removed"),
    ]
    assert [f.path for f in view.changes[0].fields] == ["spec.allocationMode"]
    assert dict(view.counts) == {"added": 1, "modified": 1, "removed": 1}


def test_a_verdict_is_compared_by_what_it_says_not_by_when_it_was_made() -> None:
    before, after = World(POD), World(POD)
    before.verdicts["ml/p"] = build.verdict(POD, Outcome.BLOCKED, "no claim", revision=1, at=1.0)
    after.verdicts["ml/p"] = build.verdict(POD, Outcome.BLOCKED, "no claim", revision=2, at=2.0)
    assert compared(before, after).changes == ()
    group = build.group(build.cluster(*build.nodes(3)), ["node-0", "node-1"], "excluded")
    after.verdicts["ml/p"] = build.verdict(POD, Outcome.WAITING, "", ran=(Step(point="Filter", groups=(group,)),))
    (change,) = compared(before, after).changes
    assert (change.before, change.after) == (
        outcome_chip(Outcome.BLOCKED),
        outcome_chip(Outcome.WAITING),
    )
    assert FieldChange("Filter: excluded", "", "2") in change.fields


def test_an_outcome_that_stays_is_told_once() -> None:
    before, after = World(POD), World(POD)
    before.verdicts["ml/p"] = build.verdict(POD, Outcome.BLOCKED, "no claim a")
    after.verdicts["ml/p"] = build.verdict(POD, Outcome.BLOCKED, "no claim b")
    told = render_to_string("compare/_changes.html", {"view": compared(before, after)})
    assert (told.count('class="chip'), told.count("→")) == (1, 0)
    after.verdicts["ml/p"] = build.verdict(POD, Outcome.BOUND, "no claim b")
    told = render_to_string("compare/_changes.html", {"view": compared(before, after)})
    assert (told.count('class="chip'), told.count("→")) == (2, 1)


def test_a_new_verdict_is_told_by_its_sentence() -> None:
    after = World(POD)
    after.verdicts["ml/p"] = build.verdict(POD, Outcome.BLOCKED, "no claim")
    (change,) = compared(World(POD), after).changes
    assert (change.word, change.fields) == ("added", (FieldChange("sentence", "", "no claim"),))


def test_filters_count_what_the_others_leave() -> None:
    before = World(POD, build.claim("c", "ml"), build.claim("c", "web"))
    after = World(build.node("n"))
    view = compared(before, after, kind="resourceclaims", ns="ml")
    assert [c.key for c in view.changes] == ["ml/c"]
    assert {o.value: o.count for o in view.kinds} == {"pods": 1, "resourceclaims": 1}
    assert {o.value: o.count for o in view.namespaces} == {"ml": 1, "web": 1}


def test_many_changes_come_in_pages() -> None:
    view = compared(World(), World(*build.nodes(ROWS + 20)), page="2")
    assert (len(view.changes), view.pager.total) == (20, ROWS + 20)


def test_named_objects_alone_are_compared_in_their_order() -> None:
    before, after = World(POD, build.claim("c", "ml")), World(build.claim("d", "ml"))
    found = differences.differing_of(before, after, [("resourceclaims", "ml/d"), ("pods", "ml/p"), (VERDICTS, "ml/p")])
    assert [(d.kind, d.key, d.type) for d in found] == [
        ("resourceclaims", "ml/d", "ADDED"),
        ("pods", "ml/p", "DELETED"),
    ]


def test_malformed_objects_are_compared_as_text() -> None:
    before, after = World(), World()
    before.cluster.put("pods", "ml/p", b"{not json")
    after.cluster.put("pods", "ml/p", b"[1]")
    (change,) = compared(before, after).changes
    assert change.fields == (FieldChange("malformed", "{not json", "[1]"),)


def test_each_object_is_linked_where_it_was_there() -> None:
    before = World(build.claim("went", "ml"), build.claim("changed", "ml"))
    after = World(build.claim("changed", "ml", mode="Immediate"), build.claim("came", "ml"))
    found = differences.differing(before, after)

    def links(*, live: bool, **query: str) -> dict[str, str]:
        view = compare.present(found, Query.of(query, compare.PARAMS | {"at"}), (1.0, 2.0), live)
        return {c.key: c.href for c in view.changes}

    then, later = "at=1970-01-01T00%3A00%3A01Z", "at=1970-01-01T00%3A00%3A02Z"
    went = f"/ns/ml/claims/went?{then}"
    past = {"ml/came": f"/ns/ml/claims/came?{later}", "ml/changed": f"/ns/ml/claims/changed?{later}", "ml/went": went}
    # Whichever of the two the page's own `at` is.
    assert links(live=False, at="1970-01-01T00:00:01Z") == links(live=False, at="1970-01-01T00:00:02Z") == past
    now = {"ml/came": "/ns/ml/claims/came", "ml/changed": "/ns/ml/claims/changed", "ml/went": went}
    assert links(live=True) == now
    # A page of the past that is compared with now: an `at` that names nothing is not taken for the page's.
    assert links(live=True, at="1970-01-01T00:00:01Z") == {
        "ml/came": "/ns/ml/claims/came?at=",
        "ml/changed": "/ns/ml/claims/changed?at=",
        "ml/went": went,
    }
