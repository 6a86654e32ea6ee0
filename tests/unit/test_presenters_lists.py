"""List pages and the overview as data: filters, order, pages, counts."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from dradash.reader.claimtable import ClaimTable
from dradash.scheduling.classic.claimstate import MISSING, UNREADABLE, ClaimState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import ActsNext, ClaimRef, Outcome, Step, Verdict
from dradash.store.model import Change, SyncState
from dradash.web.presenters import claims, overview, pods, words
from dradash.web.presenters.query import LONGEST_VALUE, Query
from tests import build


class World:
    """A presenter's world, put together by hand."""

    def __init__(self, *objects: build.Obj, verdicts: tuple[Verdict, ...] = ()) -> None:
        self.cluster: Cluster = build.cluster(*objects)
        self.verdicts = {v.pod: v for v in verdicts}
        self.sync = {kind: SyncState(kind, "synced") for kind in build.PLURALS.values()}
        self.recent: deque[Change] = deque()
        self.times: dict[str, dict[str, float]] = {}
        self.instance = "test"
        self.revision = 1


def refused(pod: build.Obj, reason: str, resource_class: str = "gpu") -> Verdict:
    step = Step(point="PreFilter", code=Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons=(reason,))
    ref = ClaimRef(name="gpu", claim="claim", resource_class=resource_class, state="Pending")
    return build.verdict(pod, sentence=f"0/3 nodes are available: {reason}.", ran=(step,), claims=(ref,), nodes_total=3)


def query(kind: frozenset[str] = pods.PARAMS, **params: str) -> Query:
    return Query.of(params, kind)


A = build.pod("a", "one", claims={"gpu": "claim"}, created="2026-11-30T04:00:03Z")
B = build.pod("b", "one", claims={"gpu": "claim"}, created="2026-11-30T04:00:01Z")
C = build.pod("c", "two", claims={"gpu": "claim"}, created="2026-11-30T04:00:02Z")
BOUND = build.pod("d", "two", claims={"gpu": "claim"}, node="node-0")
WORLD = World(
    A,
    B,
    C,
    BOUND,
    verdicts=(
        refused(A, "resourceclaim in use"),
        refused(B, "resourceclaim must be reallocated", "nic"),
        build.verdict(C, Outcome.WAITING, "waiting", acts_next=ActsNext(who="driver", names=("x",)), nodes_fit=2),
        build.verdict(BOUND, Outcome.BOUND, "Successfully assigned"),
    ),
)


def names(**params: str) -> list[str]:
    return [r.name for r in pods.present(WORLD, Query.of(params, pods.PARAMS)).rows]


def test_bound_pods_are_shown_only_when_asked_for() -> None:
    assert "d" not in names()
    assert "d" in names(outcome="any")
    assert names(outcome="Bound") == ["d"]


def test_the_longest_wait_comes_first() -> None:
    assert names() == ["b", "c", "a"]
    assert names(sort="-since") == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        ({"ns": "two"}, ["c"]),
        ({"reason": "resourceclaim in use"}, ["a"]),
        ({"class": "nic"}, ["b"]),
        ({"q": "REALLOCATED"}, ["b"]),
        ({"q": "two/c"}, ["c"]),
        ({"ns": "one", "q": "in use"}, ["a"]),
        ({"sort": "pod"}, ["a", "b", "c"]),
        ({"sort": "no such column"}, ["b", "c", "a"]),
        ({"page": "99"}, ["b", "c", "a"]),
        ({"page": "minus one"}, ["b", "c", "a"]),
    ],
)
def test_filters_and_order_come_from_the_address(params: dict[str, str], shown: list[str]) -> None:
    assert names(**params) == shown


def test_a_filters_counts_are_of_what_the_other_filters_leave() -> None:
    filters = pods.present(WORLD, query(ns="one")).filters
    assert [(o.value, o.count) for o in filters.namespaces] == [("one", 2), ("two", 1)]
    assert [o.value for o in filters.reasons] == ["resourceclaim in use", "resourceclaim must be reallocated"]


def test_a_selected_value_without_rows_stays_choosable() -> None:
    filters = pods.present(WORLD, query(ns="gone")).filters
    assert ("gone", 0, True) in [(o.value, o.count, o.selected) for o in filters.namespaces]


def test_a_pod_without_a_verdict_is_listed_as_not_judged() -> None:
    (row,) = pods.present(World(A), query()).rows
    assert (row.chip.text, row.actor) == ("Not judged yet", None)


def test_equal_values_keep_one_order_in_both_directions() -> None:
    world = World(*(build.pod(f"p{i}", claims={"gpu": "claim"}) for i in (3, 1, 2)))
    up = [r.name for r in pods.present(world, query(sort="since")).rows]
    down = [r.name for r in pods.present(world, query(sort="-since")).rows]
    assert up == down == ["p1", "p2", "p3"]


def test_pages_hold_a_hundred_rows_and_keep_the_filters() -> None:
    world = World(*(build.claim(f"claim-{i:03}", "ns") for i in range(250)))
    view = claims.present(world, query(claims.PARAMS, ns="ns", page="2"), ClaimTable.of(world))
    assert (view.pager.first, view.pager.last, view.pager.total, view.pager.pages) == (101, 200, 250, 3)
    assert view.rows[0].name == "claim-100"
    assert view.pager.next == "?ns=ns&page=3"
    assert claims.present(world, query(claims.PARAMS, ns="ns", page="3"), ClaimTable.of(world)).pager.next == ""


def test_another_order_starts_on_the_first_page() -> None:
    assert query(ns="one", page="4").link(sort="pod") == "?ns=one&sort=pod"


def test_unknown_and_endless_parameters_are_not_kept() -> None:
    kept = Query.of({"ns": "x" * 10_000, "evil": "1"}, pods.PARAMS)
    assert [(k, len(v)) for k, v in kept.params] == [("ns", LONGEST_VALUE)]


def test_every_state_has_words_of_its_own() -> None:
    assert set(words.OUTCOMES) == set(Outcome)
    assert set(words.CLAIM_STATES) == {*ClaimState, MISSING, UNREADABLE}
    assert set(words.CODES) == set(Code)
    chips = list(words.OUTCOMES.values())
    assert len({c.text for c in chips}) == len(chips)
    icons = (Path(__file__).parents[2] / "templates" / "_icons.html").read_text()
    every = [*chips, *words.CLAIM_STATES.values(), *words.CODES.values(), *words.SYNC_STATES.values()]
    for name in {c.icon for c in every} | set(words.ACTORS.values()):
        assert f'id="i-{name}"' in icons


# --- claims ----------------------------------------------------------------------------------------------------------

HOLDER = build.pod("holder", claims={"gpu": "held"})
CLAIMS = World(
    *build.nodes(3),
    HOLDER,
    build.resource_class("gpu", driver="gpu.example.com"),
    build.claim("held", allocation=build.allocation("node-0", "node-1"), reserved_for=[HOLDER], driver="other.driver"),
    build.claim("everywhere", allocation=build.allocation()),
    build.claim("broken", allocation={"availableOnNodes": {"nodeSelectorTerms": [{"matchFields": [{"key": "x"}]}]}}),
    build.claim("leaked", allocation=build.allocation("node-0"), reserved_for=[build.pod("ghost")]),
    build.claim("lost", resource_class="absent"),
)
ROWS = {r.name: r for r in claims.present(CLAIMS, query(claims.PARAMS), ClaimTable.of(CLAIMS)).rows}


def test_a_claim_says_where_it_is_available() -> None:
    held, everywhere, broken = (ROWS[n].where for n in ("held", "everywhere", "broken"))
    assert held is not None
    assert held.count == 2
    assert everywhere is not None
    assert (everywhere.everywhere, everywhere.count) == (True, 3)
    assert broken is not None
    assert "Unsupported value" in broken.error
    assert ROWS["lost"].where is None


def test_a_claims_driver_is_its_own_or_its_classs() -> None:
    assert ROWS["held"].drivers == ("other.driver",)
    assert (ROWS["lost"].drivers, [c.exists for c in ROWS["lost"].classes]) == ((), [False])


def test_a_reservation_for_a_pod_that_is_not_there_is_marked() -> None:
    (held,), (leaked,) = ROWS["held"].reserved, ROWS["leaked"].reserved
    assert (held.alive, held.href) == (True, "/ns/default/pods/holder")
    assert (leaked.alive, leaked.href) == (False, "")


def test_claims_are_filtered_by_state_class_and_driver() -> None:
    def shown(**params: str) -> set[str]:
        return {r.name for r in claims.present(CLAIMS, query(claims.PARAMS, **params), ClaimTable.of(CLAIMS)).rows}

    assert shown(state="Reserved") == {"held", "leaked"}
    assert shown(**{"class": "absent"}) == {"lost"}
    assert shown(driver="other.driver") == {"held"}
    assert shown(q="LEAK") == {"leaked"}


# --- overview --------------------------------------------------------------------------------------------------------


def test_counts_add_up_and_link_to_the_pods_that_they_count() -> None:
    view = overview.present(WORLD)
    assert view.totals.pending == 3
    assert sum(s.count for s in view.outcomes) == 3
    assert sum(s.width for s in view.outcomes) == pytest.approx(100, abs=0.01)
    for share in view.outcomes:
        outcome = share.href.removeprefix("/pods?outcome=")
        assert len(names(outcome=outcome)) == share.count


@pytest.mark.parametrize("state", ["unknown", "notServed", "forbidden", "syncing"])
def test_unknown_is_not_zero(state: str) -> None:
    world = World()
    world.sync["resourceclaims"] = SyncState("resourceclaims", state, error="why")
    view = overview.present(world)
    assert view.totals.claims is None
    row = next(k for k in view.kinds if k.kind == "resourceclaims")
    assert (row.count, row.error) == (None, "why")
    assert view.totals.nodes == 0


def test_a_stale_count_is_the_last_one_known() -> None:
    world = World(build.claim())
    world.sync["resourceclaims"] = SyncState("resourceclaims", "stale", since=5.0)
    row = next(k for k in overview.present(world).kinds if k.kind == "resourceclaims")
    assert (row.count, row.stale, row.since) == (1, True, 5.0)


def test_malformed_objects_are_counted_and_said_what_is_wrong_with() -> None:
    bad = build.claim("bad") | {"spec": "oops"}
    view = overview.present(World(bad, build.claim("good")))
    assert view.malformed_total == 1
    assert (view.malformed[0].key, view.totals.claims) == ("default/bad", 1)
    assert "spec" in view.malformed[0].error


def test_negotiations_of_waiting_pods_are_listed_longest_first() -> None:
    world = World(
        A,
        BOUND,
        C,
        build.context(A, potential=["n1", "n2"], selected="n1", unsuitable={"gpu": []}),
        build.context(BOUND, potential=["n1"]),
        build.context(C, potential=["n1"]),
        verdicts=(build.verdict(A, at=200.0), build.verdict(C, at=100.0)),
    )
    rows = overview.present(world).negotiations
    assert [r.pod for r in rows] == ["two/c", "one/a"]
    assert (rows[1].selected, rows[1].proposed, rows[1].answered, rows[1].claims) == ("n1", 2, 1, 1)


def test_an_object_that_changes_often_is_one_line_of_recent_changes() -> None:
    world = World()
    for revision in range(1, 6):
        world.recent.append(Change(revision, "pods", "one/a", "MODIFIED", b"{}", float(revision)))
    world.recent.append(Change(6, "resourceclaims", "one/c", "DELETED", b"{}", 6.0))
    changes = overview.present(world).changes
    assert [(c.key, c.revision) for c in changes] == [("one/c", 6), ("one/a", 5)]
    assert (changes[0].href, changes[1].href) == ("", "/ns/one/pods/a")


def test_pods_that_only_a_person_can_help_can_be_asked_for() -> None:
    stuck, slow = build.pod("stuck"), build.pod("slow")
    world = World(
        stuck,
        slow,
        verdicts=(
            build.verdict(stuck, acts_next=ActsNext(who="admin", what="create the class")),
            build.verdict(slow, acts_next=ActsNext(who="driver", names=("d",))),
        ),
    )
    view = pods.present(world, query(who="person"))
    assert [r.name for r in view.rows] == ["stuck"]
    assert [(o.value, o.count) for o in view.filters.actors] == [("admin", 1), ("driver", 1)]
    assert [r.name for r in pods.present(world, query(who="driver")).rows] == ["slow"]
