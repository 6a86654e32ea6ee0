"""Nodes over HTTP: the list and one node."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.test import Client

from dradash.reader import current
from dradash.reader.moment import show
from dradash.scheduling.nodecounts import NodeCounts
from dradash.scheduling.nodeset import of_slots
from dradash.scheduling.places import slots_of
from dradash.web.presenters.filterwords import words
from dradash.web.presenters.node import EVERYWHERE
from tests import build
from tests.scene import Scene
from tests.unit import html

EVIL = "<b>evil</b>"
POD = build.pod("train", "ml", claims={"gpu": "gpu"})
STUCK = build.pod("stuck", "ml", claims={"gpu": "held"})
HELD = build.claim("held", "ml", allocation=build.allocation("node-0"))


@pytest.fixture
def scene() -> Iterator[Scene]:
    zone_a = build.with_labels(zone="a")
    made = Scene(
        *(build.node(f"node-{i}", labels={"zone": "ab"[i % 2]}) for i in range(4)),
        build.node("tainted", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}], unschedulable=True),
        build.resource_class(suitable=zone_a),
        build.resource_class("anywhere", driver="other.example.com"),
        POD,
        STUCK,
        HELD,
        build.claim("gpu", "ml"),
        build.claim("free", "ml", allocation=build.allocation()),
    )
    made.look()
    made.put(build.context(POD, potential=["node-0", "node-2"]))
    made.put(build.context(POD, potential=["node-0", "node-2"], unsuitable={"gpu": ["node-2"]}))
    made.look()
    current.use(made.web)
    yield made
    current.use(None)


def get(path: str, status: int = 200) -> str:
    response = Client().get(path)
    assert response.status_code == status, response.content[:500]
    return response.content.decode()


PATHS = (
    "/nodes",
    "/nodes?label=zone%3Da&class=gpu&state=schedulable&q=node&sort=-fit",
    "/nodes?q=nothing+like+it",
    "/nodes/node-0",
    "/nodes/node-2?answer=fits&q=train",
    "/nodes/tainted",
)


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize("path", PATHS)
def test_the_pages_are_well_formed(path: str) -> None:
    assert html.read(get(path)).faults == []


@pytest.mark.usefixtures("scene")
@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("label=zone%3Da", ["node-0", "node-2"]),
        ("label=zone", ["node-0", "node-1", "node-2", "node-3"]),
        ("class=gpu", ["node-0", "node-2"]),
        ("class=none", []),
        ("state=cordoned", ["tainted"]),
        ("q=zone%3Db", ["node-1", "node-3"]),
        ("q=NODE-3", ["node-3"]),
        ("label=zone%3Da&q=2", ["node-2"]),
    ],
)
def test_filters_leave_the_nodes_that_they_name(query: str, shown: list[str]) -> None:
    page = get(f"/nodes?{query}")
    names = ("node-0", "node-1", "node-2", "node-3", "tainted")
    assert [n for n in names if f'<a href="/nodes/{n}">' in page] == shown


@pytest.mark.usefixtures("scene")
def test_the_order_is_by_any_count() -> None:
    page = get("/nodes?sort=claims")
    assert page.index('"/nodes/node-0"') < page.index('"/nodes/node-1"')
    assert get("/nodes?sort=-claims").index('"/nodes/node-1"') < get("/nodes?sort=-claims").index('"/nodes/node-0"')
    assert get("/nodes?sort=refusals").index('"/nodes/node-2"') < get("/nodes?sort=refusals").index('"/nodes/node-0"')


@pytest.mark.usefixtures("scene")
def test_a_node_tells_what_it_is_for_classes_claims_pods_and_drivers() -> None:
    page = get("/nodes/node-2")
    for said in ("label zone is a", "any node", "2 of 2 pass here"):
        assert said in page
    assert "resourceclaim not available on the node" in page, "what the stuck pod's verdict says of it"
    assert "Drivers that refused this node" in page
    assert "gpu.example.com" in page
    assert "/ns/ml/negotiations/train" in page
    assert "No allocation names this node" in page
    assert "/ns/ml/claims/held" in get("/nodes/node-0")
    assert "1 on every node" in get("/nodes/node-0")


def test_claims_that_name_no_node_are_listed_on_each(scene: Scene) -> None:
    """The first ones by name, with how many more; and on the page of a node that is gone none."""
    page = get("/nodes/node-1")
    assert 'href="/ns/ml/claims/free"' in page
    assert "1 on every node" in page
    assert "more</p>" not in page
    scene.put(*(build.claim(f"of-all-{i:02}", "ml", allocation=build.allocation()) for i in range(EVERYWHERE + 2)))
    scene.look()
    page = get("/nodes/node-1")
    assert html.read(page).faults == []
    assert page.count('href="/ns/ml/claims/of-all-') == EVERYWHERE - 1
    assert "and 3 more</p>" in page
    scene.delete(build.node("node-1"))
    scene.look()
    gone = get("/nodes/node-1")
    assert "of-all-" not in gone
    assert "on every node" not in gone


def test_of_the_classes_that_a_node_passes_those_left_out_are_counted(scene: Scene) -> None:
    (row,) = re.findall(r'<td data-label="Classes passed">.*?</td>', get("/nodes?q=node-1"))
    assert "more" not in row
    scene.put(*(build.resource_class(f"class-{i}") for i in range(4)))
    scene.look()
    (row,) = re.findall(r'<td data-label="Classes passed">.*?</td>', get("/nodes?q=node-1"))
    assert [*re.findall(r">([a-z0-9-]+)</a>", row)] == ["anywhere", "class-0", "class-1"]
    assert row.endswith('<span class="muted">and 2 more</span></td>')


@pytest.mark.usefixtures("scene")
def test_pods_of_a_node_are_filtered_by_what_it_answers() -> None:
    assert "/ns/ml/pods/stuck" not in get("/nodes/node-2?answer=fits")
    assert "/ns/ml/pods/stuck" in get("/nodes/node-2?q=stuck")
    assert "No pod matches" in get("/nodes/node-2?q=zzz")


def test_a_node_that_is_gone_shows_its_last_state(scene: Scene) -> None:
    scene.delete(build.node("node-3"))
    scene.look()
    page = get("/nodes/node-3")
    assert "This node is gone" in page
    assert html.read(page).faults == []
    assert "No Node" in get("/nodes/never", 404)


def test_a_past_node_is_shown_as_it_was(scene: Scene) -> None:
    before = show(scene.now)
    scene.put(build.node("node-0", unschedulable=True))
    scene.look()
    assert "Cordoned" in get("/nodes/node-0")
    assert "Cordoned" not in get(f"/nodes/node-0?at={before}")
    assert html.read(get(f"/nodes?at={before}")).faults == []


def test_hostile_labels_and_taints_stay_text(scene: Scene) -> None:
    scene.put(
        build.node("evil", labels={EVIL: EVIL}, taints=[{"key": EVIL, "effect": EVIL}]),
        build.resource_class(EVIL, suitable=build.with_labels(**{EVIL: EVIL}), driver=EVIL),
    )
    scene.look()
    for path in ("/nodes", "/nodes/evil"):
        page = get(path)
        assert EVIL not in page
        assert html.read(page).faults == []


# --- what the pages count with ---------------------------------------------------------------------------------------


def test_counts_of_sets_are_what_counting_gives() -> None:
    sets = [([0, 1, 2], 1), ([2, 3], 5), ([2], 100), ([], 7), ([0, 2], 0)]
    counts = NodeCounts()
    for members, times in sets:
        counts.add(of_slots(members), times)
    expected = {s: sum(t for members, t in sets if s in members) for s in range(6)}
    assert counts.of_all(range(6)) == expected
    assert {s: counts.of(s) for s in range(6)} == expected


def test_claims_are_found_where_their_selectors_say() -> None:
    by_two = build.allocation() | {
        "availableOnNodes": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a"]},
                        {"key": "gpu", "operator": "Exists"},
                    ]
                }
            ]
        }
    }
    invalid = build.allocation() | {
        "availableOnNodes": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}]
        }
    }
    by_label = build.allocation() | {"availableOnNodes": build.with_labels(zone="a")}
    cluster = build.cluster(
        build.node("a1", labels={"zone": "a", "gpu": "yes"}),
        build.node("a2", labels={"zone": "a"}),
        build.node("b", labels={"zone": "b"}),
        build.claim("named", allocation=build.allocation("b")),
        build.claim("either", allocation=build.allocation("a2", "b")),
        build.claim("label", allocation=by_label),
        build.claim("two", allocation=by_two),
        build.claim("invalid", allocation=invalid),
        build.claim("all", allocation=build.allocation()),
        build.claim("none"),
    )
    found = cluster.places
    here = {n: sorted(found.here(cluster.nodes.by_name[n], cluster.nodes)) for n in ("a1", "a2", "b")}
    assert here == {
        "a1": ["default/label", "default/two"],
        "a2": ["default/either", "default/label"],
        "b": ["default/either", "default/named"],
    }
    assert list(found.everywhere) == ["default/all"]
    members = slots_of(cluster.nodes.all, cluster.nodes)
    counts = found.counts(cluster.nodes, members)
    assert {n.name: counts[s] for s, n in members} == {"a1": 2, "a2": 2, "b": 2}


def test_selectors_read_as_sentences() -> None:
    cluster = build.cluster(
        build.resource_class(suitable=build.on_nodes("a", "b")),
        build.resource_class("label", suitable=build.with_labels(zone="a", rack="r")),
        build.resource_class("empty", suitable={"nodeSelectorTerms": [{}]}),
        build.resource_class("none"),
    )
    said = {name: words(c.suitable_nodes) for name, c in cluster.classes.items()}
    assert said == {
        "gpu": ("the name is a", "the name is b"),
        "label": ("label zone is a and label rack is r",),
        "empty": ("nothing: an empty term matches no node",),
        "none": (),
    }


def test_what_drivers_refused_is_not_counted_of_a_past_list(scene: Scene) -> None:
    at = show(scene.now - 0.5)
    assert "not counted of past moments" in get(f"/nodes?at={at}")
    assert "not counted of past moments" not in get("/nodes")
