"""The grid of all nodes of a verdict: groups by a label, marks by reason."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from dradash.scheduling import nodeset
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.verdict import Step, Verdict
from dradash.web.presenters import nodegrid
from dradash.web.presenters.nodegrid import UNGROUPED, GridView, Labels, labels
from dradash.web.presenters.query import Query
from dradash.web.templatetags.dradash import node_cells
from tests import build

POD = build.pod("p")
ZONE = "topology.kubernetes.io/zone"


def cluster(count: int, **values: int) -> Cluster:
    """`count` nodes; values: label -> how many values it has, dealt out in turn."""
    return build.cluster(
        *(
            build.node(f"node-{i}", labels={key.replace("zone", ZONE): f"v{i % n}" for key, n in values.items()})
            for i in range(count)
        )
    )


def judged(of: Cluster, *groups: tuple[Iterable[int], str]) -> tuple[Verdict, dict[str, int]]:
    """Groups of Filter by node numbers, and their sets by digest."""
    made = [build.group(of, [f"node-{i}" for i in members], reason) for members, reason in groups]
    sets = {g.nodes: of.nodes.named([f"node-{i}" for i in m]) for g, (m, _) in zip(made, groups, strict=True)}
    return build.verdict(POD, ran=(Step(point="Filter", groups=tuple(made)),)), sets


def shown(of: Cluster, judgement: tuple[Verdict, dict[str, int]], only: str | None = None, **query: str) -> GridView:
    verdict, sets = judgement
    taken = labels(of.nodes, query.get("group", ""))
    return nodegrid.present("default/p", verdict, sets, of.nodes.names, taken, Query.of(query, nodegrid.PARAMS), only)


def cells(view: GridView) -> dict[str, dict[str, int]]:
    """Label -> node -> number of its reason."""
    return {g.label: {n: k for c in g.chunks for n, k in zip(c.names, c.kinds, strict=True)} for g in view.groups}


def test_nodes_are_grouped_by_zone_unless_another_label_is_asked_for() -> None:
    of = cluster(6, zone=2, rack=3)
    judgement = judged(of, ((0, 1), "excluded"), ((2, 3, 4), ""), ((5,), "unsuitable"))
    assert cells(shown(of, judgement)) == {
        "v0": {"node-0": 1, "node-2": 0, "node-4": 0},
        "v1": {"node-1": 1, "node-3": 0, "node-5": 2},
    }
    assert set(cells(shown(of, judgement, group="rack"))) == {"v0", "v1", "v2"}
    assert set(cells(shown(of, judgement, group=UNGROUPED))) == {""}


def test_groups_that_are_numbered_stand_in_the_order_of_their_numbers() -> None:
    of = cluster(24, rack=12)
    view = shown(of, judged(of, (range(24), "")), group="rack")
    assert [g.label for g in view.groups] == [f"v{n}" for n in range(12)]


@pytest.mark.parametrize(
    ("values", "offered"),
    [
        ({"zone": 3, "rack": 4, "app": 2}, [ZONE, "rack", "app"]),  # topology first
        ({"app": 2, "one": 1, "each": 20}, ["app"]),  # one value says nothing, as many as there are nodes neither
        ({}, []),
    ],
)
def test_labels_with_a_sensible_number_of_values_are_offered(values: dict[str, int], offered: list[str]) -> None:
    assert [key for key, _ in labels(cluster(20, **values).nodes, "").choices] == offered


def test_without_a_topology_label_nodes_are_not_grouped_by_themselves() -> None:
    assert labels(cluster(20, app=2).nodes, "").key == UNGROUPED


def test_a_label_that_is_asked_for_is_offered_whatever_it_is() -> None:
    taken = labels(cluster(20, zone=2).nodes, "nobody/has-it")
    assert taken.choices[0] == ("nobody/has-it", 0)


def test_nodes_without_the_label_and_nodes_that_are_gone_come_last() -> None:
    of = cluster(4, zone=2)
    of.put("nodes", "node-9", build.raw(build.node("node-9")))
    judgement = judged(of, ((0, 1, 2, 3, 9), ""))
    of.remove("nodes", "node-3")
    assert list(cells(shown(of, judgement))) == ["v0", "v1", f"without {ZONE}", "gone by now"]
    assert cells(shown(of, judgement))["gone by now"] == {"node-3": 0}


def test_one_answer_alone_can_be_shown() -> None:
    of = cluster(4, zone=2)
    judgement = judged(of, ((0, 1), "excluded"), ((2, 3), ""))
    assert [r.group.reason for r in shown(of, judgement, only="excluded").reasons] == ["excluded"]
    passing = shown(of, judgement, only="")
    assert [r.names for r in passing.reasons] == ["node-2\nnode-3"]
    assert sum(g.count for g in passing.groups) == 2


def test_hidden_reasons_are_in_the_address_by_what_they_say_not_by_their_letter() -> None:
    of = cluster(4, zone=2)
    before = shown(of, judged(of, ((0,), "excluded"), ((1,), "unsuitable"), ((2, 3), "")))
    token = next(r.token for r in before.reasons if r.group.reason == "unsuitable")
    after = shown(of, judged(of, ((1,), "unsuitable"), ((2, 3), "")), hide=f"{token}.gone")
    assert [(r.group.reason, r.group.mark, r.hidden) for r in after.reasons] == [
        ("", "", False),
        ("unsuitable", "A", True),
    ]
    assert {g.hidden for g in after.groups} == {(1,)}


def test_passing_nodes_of_each_group_are_counted() -> None:
    of = cluster(6, zone=2)
    view = shown(of, judged(of, ((0, 1, 3), "excluded"), ((2, 4, 5), "")))
    assert [(g.label, g.fit, g.count) for g in view.groups] == [("v0", 2, 3), ("v1", 1, 3)]


def test_a_label_with_a_value_for_every_node_makes_a_bounded_number_of_groups() -> None:
    of = cluster(400, each=400)
    view = shown(of, judged(of, (range(400), "")), group="each")
    assert len(view.groups) == nodegrid.MOST_VALUES + 1
    assert (view.groups[-1].label, view.groups[-1].count) == ("other values", 100)


def test_node_sets_that_cannot_be_read_leave_their_counts() -> None:
    of = cluster(4, zone=2)
    verdict, _ = judged(of, (range(4), "excluded"))
    view = shown(of, (verdict, {}))
    assert (view.total, view.groups, [r.group.count for r in view.reasons]) == (4, (), [4])


def test_before_filter_there_is_no_grid() -> None:
    view = shown(cluster(4), (build.verdict(POD), {}))
    assert (view.known, view.reasons, view.groups) == (False, (), ())


def test_more_reasons_than_letters_use_letters_again() -> None:
    of = cluster(30, zone=2)
    view = shown(of, judged(of, *(((i,), f"reason {i}") for i in range(28))))
    assert [(r.group.mark, r.group.kind) for r in view.reasons][24:] == [("Y", 25), ("Z", 26), ("A", 1), ("B", 2)]


def test_names_from_the_cluster_are_escaped_in_cells() -> None:
    assert node_cells(["a.b-1"], 3) == '<a class="k3" href="/nodes/a.b-1">a.b-1</a>'
    hostile = node_cells(['"><script>'], [0])
    assert "<script>" not in hostile
    assert 'href="/nodes/%22%3E%3Cscript%3E"' in hostile


def test_sets_are_taken_as_they_are_and_later_changes_do_not_reach_them() -> None:
    of = cluster(4, zone=2)
    taken: Labels = labels(of.nodes, ZONE)
    of.remove("nodes", "node-0")
    assert taken.sets == (("v0", nodeset.of_slots([0, 2])), ("v1", nodeset.of_slots([1, 3])))
