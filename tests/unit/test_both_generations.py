"""Claims of both generations side by side: in lists, counts, metrics, series, changes, topics and the REST API."""

from __future__ import annotations

from collections import deque

import pytest
from django.test import Client

from dradash.metrics import tally
from dradash.reader import current, series, topics
from dradash.reader.claimtable import ClaimTable
from dradash.reader.histories import claim_life
from dradash.reader.moment import show
from dradash.reader.observations import Observations
from dradash.scheduling import claimfacts
from dradash.scheduling.classic.claimstate import ClaimState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.verdict import Verdict
from dradash.store.model import Change, HistoryEntry, SyncState
from dradash.store.replica import Applied
from dradash.web.presenters import claim as claim_page
from dradash.web.presenters import claims, diff, found, overview
from dradash.web.presenters.query import Query
from tests import build
from tests import builddevices as make
from tests.scene import Scene

NODES = [build.node(f"node-{i}") for i in range(3)]
POD = build.pod("train", "ml", claims={"gpu": "two"})
CHOSEN = [make.result("gpu-0"), make.result("nic-0", driver="nic.example.com", request="nic")]
TWO = make.claim(
    "two",
    "ml",
    make.request("gpu", "gpu", selectors=['device.attributes["gpu.example.com"].model == "a100"']),
    make.request("nic", "nic"),
    devices=CHOSEN,
    on=build.on_nodes("node-0"),
    reserved_for=[POD],
)
OTHER = make.claim("other", "ml", devices=[make.result("gpu-0", shareID="s1", consumedCapacity={"memory": "1Gi"})])
PENDING = make.claim("pending", "ml", make.request("gpu", "gone"))
OLD = build.claim("old", "ml", resource_class="legacy", allocation=build.allocation("node-1"))
OBJECTS = (
    *NODES,
    POD,
    build.resource_class("legacy"),
    make.device_class("gpu"),
    make.device_class("nic"),
    make.resource_slice(make.device("gpu-0", capacity={"memory": {"value": "8Gi"}}), make.device("gpu-1")),
    TWO,
    OTHER,
    PENDING,
    OLD,
)


class World:
    def __init__(self, *objects: build.Obj) -> None:
        self.cluster: Cluster = build.cluster(*objects)
        self.verdicts: dict[str, Verdict] = {}
        self.sync = {kind: SyncState(kind, "synced") for kind in build.PLURALS.values()}
        self.recent: deque[Change] = deque()
        self.times: dict[str, dict[str, float]] = {}
        self.instance = "test"
        self.revision = 1


WORLD = World(*OBJECTS)


def shown(**params: str) -> dict[str, claims.ClaimRow]:
    return {r.name: r for r in claims.present(WORLD, Query.of(params, claims.PARAMS), ClaimTable.of(WORLD)).rows}


def test_the_list_has_the_claims_of_both_generations_with_their_classes_and_drivers() -> None:
    rows = shown()
    assert {name: [c.name for c in r.classes] for name, r in rows.items()} == {
        "two": ["gpu", "nic"],
        "other": ["gpu"],
        "pending": ["gone"],
        "old": ["legacy"],
    }
    assert rows["two"].drivers == ("gpu.example.com", "nic.example.com")
    assert [c.href for c in rows["two"].classes] == ["/deviceclasses/gpu", "/deviceclasses/nic"]
    assert [c.href for c in rows["old"].classes] == ["/classes/legacy"]
    assert [c.exists for c in rows["pending"].classes] == [False]
    assert rows["two"].where == claims.Where(1)
    assert rows["other"].where == claims.Where(3, everywhere=True)
    assert [r.name for r in rows["two"].reserved] == ["train"]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"class": "nic"}, {"two"}),
        ({"driver": "gpu.example.com"}, {"two", "other", "old"}),
        ({"state": "Pending"}, {"pending"}),
        ({"q": "legacy"}, {"old"}),
    ],
)
def test_a_filter_finds_claims_by_any_of_their_classes_and_drivers(params: dict[str, str], names: set[str]) -> None:
    assert set(shown(**params)) == names


def test_states_are_counted_over_both_generations_everywhere() -> None:
    by_state = {"Reserved": 1, "Allocated": 2, "Pending": 1}
    assert series.take(WORLD, build.NOW).claims == by_state
    counted = tally.count(WORLD, build.NOW, ())
    assert counted.claims == {
        ("Reserved", "gpu, nic"): 1,
        ("Allocated", "gpu"): 1,
        ("Pending", "gone"): 1,
        ("Allocated", "legacy"): 1,
    }
    assert counted.drivers == {"gpu.example.com", "nic.example.com"}
    view = overview.present(WORLD)
    assert (view.totals.claims, sum(s.count for s in view.claim_states)) == (4, 4)


def test_the_series_takes_back_a_change_of_either_generation() -> None:
    before = make.claim("two", "ml", make.request("gpu", "gpu"))
    earlier = Change(5, "resourceclaims", "ml/two", "MODIFIED", build.raw(TWO), build.NOW - 1)
    oldest = Change(4, "nodes", "node-0", "MODIFIED", b"{}", build.NOW - 40)
    (second, first) = series.rewind(WORLD, build.NOW, [(earlier, build.raw(before)), (oldest, b"{}")])
    assert first.claims == second.claims == {"Pending": 2, "Allocated": 2}


def test_a_node_has_the_claims_that_can_be_used_there() -> None:
    found = WORLD.cluster.places
    here = [found.here(WORLD.cluster.nodes.by_name[f"node-{i}"], WORLD.cluster.nodes) for i in range(3)]
    assert here == [["ml/two"], ["ml/old"], []]
    assert list(found.everywhere) == ["ml/other"]


def test_a_claim_shows_what_it_asks_for_and_the_devices_that_it_got() -> None:
    facts = claim_page.gather(WORLD, "ml/two")
    assert facts is not None
    view = claim_page.present(facts, [])
    assert view.requested is not None
    (gpu,) = view.requested.requests[0].alternatives
    assert (gpu.wants, gpu.class_exists, gpu.chosen) == ("1 device", True, True)
    assert gpu.selectors == ('device.attributes["gpu.example.com"].model == "a100"',)
    first, second = view.requested.devices
    assert (first.device, first.exists, first.attributes) == ("gpu-0", True, (("model", "a100"),))
    assert [(s.claim, s.href, s.pods) for s in first.shared_with] == [("ml/other", "/ns/ml/claims/other", ())]
    assert (second.driver, second.exists) == ("nic.example.com", False)
    assert view.flags == ("allocated", "reserved")


def test_a_share_of_a_device_is_shown_with_what_it_takes_of_it() -> None:
    facts = claim_page.gather(WORLD, "ml/other")
    assert facts is not None
    assert facts.requested is not None
    (device,) = facts.requested.devices
    assert (device.share, device.capacity) == ("s1", (("memory", "8Gi", "1Gi"),))


def test_alternatives_keep_their_order_and_say_which_was_chosen() -> None:
    subs = [{"name": "big", **make.exactly(count=2)}, {"name": "small", **make.exactly()}]
    choice = {"name": "gpu", "firstAvailable": subs}
    of = make.claim("choice", "ml", choice, devices=[make.result("gpu-1", request="gpu/small")])
    facts = claim_page.gather(World(*OBJECTS, of), "ml/choice")
    assert facts is not None
    assert facts.requested is not None
    (request,) = facts.requested.requests
    assert [(a.name, a.wants, a.chosen) for a in request.alternatives] == [
        ("big", "2 devices", False),
        ("small", "1 device", True),
    ]


def test_binding_conditions_are_awaited_until_the_driver_reports_them() -> None:
    results = [make.result("gpu-1", bindingConditions=["Attached"])]
    waiting = claimfacts.read_claim(build.raw(make.claim("bind", "ml", devices=results)))
    assert claimfacts.flags_of(waiting) == ("allocated", "waits for binding conditions")
    said = {"driver": make.DRIVER, "pool": "node-0", "device": "gpu-1"}
    status = {"devices": [said | {"conditions": [{"type": "Attached", "status": "True"}]}]}
    met = claimfacts.read_claim(build.raw(make.claim("bind", "ml", devices=results, status=status)))
    assert claimfacts.flags_of(met) == ("allocated",)


def entry(number: int, obj: build.Obj, type_: str = "MODIFIED") -> HistoryEntry:
    return HistoryEntry(number, build.NOW + number, type_, build.raw(obj))


def test_a_claims_life_tells_who_did_what() -> None:
    empty = make.claim("two", "ml")
    allocated = make.claim("two", "ml", devices=CHOSEN)
    said = {"driver": make.DRIVER, "pool": "node-0", "device": "gpu-0"}
    conditions = [{"type": "Ready", "status": "False", "reason": "Broken"}]
    ready = make.claim(
        "two", "ml", devices=CHOSEN, reserved_for=[POD], status={"devices": [said | {"conditions": conditions}]}
    )
    life = claim_life(
        [entry(1, empty), entry(2, allocated), entry(3, ready), entry(4, empty), entry(5, empty, "DELETED")], ""
    )
    assert [(t.actor, str(t.kind), t.text) for t in life] == [
        ("", "Created", "is created"),
        ("scheduler", "Allocated", "allocates node-0/gpu-0, node-0/nic-0"),
        ("scheduler", "Reserved", "reserves for train"),
        ("gpu.example.com", "Reported", "reports Ready False (Broken) for node-0/gpu-0"),
        ("", "Deallocated", "the allocation is taken back, by the scheduler or the claim controller"),
        ("", "Released", "no longer reserved for train"),
        ("", "Deleted", "is deleted"),
    ]


def test_changes_of_slices_classes_and_claims_are_told_in_words() -> None:
    gpu, tainted = make.device("gpu-0"), make.device("gpu-0", taints=[{"key": "bad", "effect": "NoExecute"}])
    before, after = make.resource_slice(gpu), make.resource_slice(tainted, make.device("gpu-1"), generation=2)
    assert diff.words("resourceslices", "MODIFIED", build.raw(before), build.raw(after)) == (
        "generation 1 → 2",
        "device gpu-1 added",
        "taint of gpu-0 bad:NoExecute added",
        "device gpu-0 changed",
    )
    was, now = make.device_class("gpu", "a"), make.device_class("gpu", "b")
    said = diff.words("deviceclasses", "MODIFIED", build.raw(was), build.raw(now))
    assert said == ("selector b added", "selector a removed")
    pending = make.claim("two", "ml")
    assert diff.words("resourceclaims", "MODIFIED", build.raw(pending), build.raw(TWO)) == (
        "allocates node-0/gpu-0, node-0/nic-0",
        "reserved for train",
    )


def applied(kind: str, key: str, old: build.Obj | None, new: build.Obj | None) -> Applied:
    cluster = Cluster()
    was = cluster.put(kind, key, build.raw(old))[1] if old else None
    now = cluster.put(kind, key, build.raw(new))[1] if new else None
    return Applied(Change(1, kind, key, "MODIFIED", b"", build.NOW), was, now)


def test_a_slice_wakes_the_pages_of_devices_and_of_the_claims_that_hold_them() -> None:
    item = make.resource_slice(make.device("gpu-0"))
    woken = topics.topics_of(applied("resourceslices", "node-0-gpu.example.com", item, item), WORLD.cluster)
    assert {topics.DEVICES, topics.NODES, topics.claim("ml/two"), topics.claim("ml/other")} <= woken
    assert topics.claim("ml/pending") not in woken


def test_a_claim_wakes_those_that_share_its_devices_and_the_pods_it_is_reserved_for() -> None:
    woken = topics.topics_of(applied("resourceclaims", "ml/two", TWO, TWO), WORLD.cluster)
    assert {topics.DEVICES, topics.claim("ml/other"), topics.pod("ml/train")} <= woken


def test_a_device_class_wakes_the_claims_that_ask_for_it() -> None:
    gpu = make.device_class("gpu")
    woken = topics.topics_of(applied("deviceclasses", "gpu", gpu, gpu), WORLD.cluster)
    assert {topics.DEVICES, topics.claim("ml/two"), topics.claim("ml/other")} <= woken
    assert topics.claim("ml/pending") not in woken


def test_drivers_owe_nothing_to_claims_that_the_scheduler_allocates() -> None:
    observations = Observations()
    deleting = make.claim("two", "ml", deletionTimestamp=build.CREATED, finalizers=["x/y"])
    observations.feed(applied("resourceclaims", "ml/two", TWO, deleting), WORLD.cluster)
    assert observations.waits.dues == {}
    for name in observations.drivers.names():
        record = observations.drivers.summary(name, build.NOW)
        assert (record.heard, record.responses, record.allocations, record.deallocations) == (0.0, 0, 0, 1)


def test_a_search_finds_device_classes_and_slices() -> None:
    def kinds(text: str) -> dict[str, list[str]]:
        view = found.present(WORLD, Query.of({"q": text}, found.PARAMS), found.Haystacks())
        return {g.kind: [h.href for h in g.hits] for g in view.groups}

    assert kinds("nic")["deviceclasses"] == ["/deviceclasses/nic"]
    assert kinds("slice/node-0-gpu.example.com") == {"resourceslices": ["/slices/node-0-gpu.example.com"]}
    assert "/ns/ml/claims/two" in kinds("two")["resourceclaims"]


def test_a_state_of_a_claim_is_read_in_the_generation_that_it_was_written_in() -> None:
    assert claimfacts.state_of(claimfacts.read_claim(build.raw(TWO))) is ClaimState.RESERVED
    assert claimfacts.state_of(claimfacts.read_claim(build.raw(OLD))) is ClaimState.ALLOCATED


@pytest.mark.parametrize("path", ["/", "/claims", "/nodes", "/search?q=train", "/about"])
def test_kinds_of_the_other_generation_are_missed_on_no_page(path: str) -> None:
    scene = Scene(*NODES, POD, make.device_class("gpu"), TWO)
    for kind in ("resourceclasses", "podschedulingcontexts"):
        scene.sync(kind, "notServed", error="the API server does not serve it")
    scene.look()
    current.use(scene.web)
    try:
        for asked in (path, f"{path}{'&' if '?' in path else '?'}at={show(scene.now)}"):
            page = Client().get(asked).content.decode()
            for words in ("As last seen", "Not known then", "Not known now", "There may be more"):
                assert words not in page, (asked, words)
    finally:
        current.use(None)
