"""Pools and devices as the cluster publishes them: states of pools, who holds what, counters, what selectors leave."""

from __future__ import annotations

import pytest

from dradash.kinds.registry import KINDS, read_object
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured import ledger, matching, usage
from dradash.scheduling.structured.anymatch import Budget
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.ledgerpages import TAKEN, Found, Place, Wanted
from dradash.scheduling.structured.pools import PoolID
from tests import build
from tests import builddevices as make

A100 = 'device.attributes["gpu.example.com"].model == "a100"'
MISSING = 'device.attributes["gpu.example.com"].nothing == "x"'


def device(name: str, pool: str = "node-0") -> DeviceID:
    return DeviceID(make.DRIVER, pool, name)


def state(cluster: Cluster, pool: str = "node-0") -> ledger.PoolState:
    found = ledger.state_of_pool(cluster.inventory, PoolID(make.DRIVER, pool))
    assert found is not None
    return found


def test_only_the_newest_generation_counts_and_it_must_be_complete() -> None:
    old = make.resource_slice(make.device("a"), make.device("b"), name="old")
    new = make.resource_slice(make.device("a"), name="new", generation=2, count=2)
    cluster = build.cluster(old, new)
    incomplete = state(cluster)
    assert (incomplete.state, incomplete.generation, incomplete.devices) == ("incomplete", 2, 1)
    assert [s.name for s in incomplete.outdated] == ["old"]
    cluster.put("resourceslices", "more", build.raw(make.resource_slice(name="more", generation=2, count=2)))
    assert (state(cluster).state, len(state(cluster).slices)) == ("usable", 2)
    cluster.remove("resourceslices", "new")
    cluster.remove("resourceslices", "more")
    assert (state(cluster).state, state(cluster).generation, state(cluster).devices) == ("usable", 1, 2)


def test_a_pool_with_a_name_twice_is_invalid_and_says_which() -> None:
    cluster = build.cluster(make.resource_slice(make.device("a"), make.device("b"), make.device("a")))
    assert (state(cluster).state, state(cluster).invalid) == ("invalid", "duplicate device name a")
    assert state(cluster).duplicates == ("a",)


def share(name: str, of: str, amount: str) -> build.Obj:
    return make.claim(name, "ml", devices=[make.result(of, shareID=name, consumedCapacity={"memory": amount})])


def test_devices_are_free_held_shared_or_held_twice() -> None:
    cluster = build.cluster(
        make.resource_slice(*(make.device(n) for n in "abcd")),
        make.claim("one", "ml", devices=[make.result("b")]),
        share("two", "c", "1Gi"),
        share("three", "c", "1Gi"),
        make.claim("four", "ml", devices=[make.result("d")]),
        make.claim("five", "ml", devices=[make.result("d")]),
        make.claim("admin", "ml", devices=[make.result("a", adminAccess=True)]),
    )
    inventory = cluster.inventory
    assert [ledger.hold_of(inventory, device(n)) for n in "abcd"] == ["free", "held", "shared", "held twice"]
    assert ledger.taken_in(inventory, state(cluster)) == 3
    cluster.remove("resourceclaims", "ml/five")
    assert ledger.hold_of(inventory, device("d")) == "held"


def test_capacity_is_used_by_shares_or_by_who_has_the_whole_device() -> None:
    memory = {"memory": {"value": "4Gi"}}
    cluster = build.cluster(
        make.resource_slice(make.device("a", capacity=memory), make.device("b", capacity=memory)),
        share("two", "a", "1Gi"),
        share("three", "a", "2Gi"),
        make.claim("whole", "ml", devices=[make.result("b")]),
    )
    used = {}
    for name in "ab":
        one = ledger.find(cluster.inventory, device(name))
        assert one is not None
        (used[name],) = ledger.capacities(cluster.inventory, one)
    assert (used["a"].used, used["a"].total, used["a"].share) == ("3Gi", "4Gi", 0.75)
    assert (used["b"].used, used["b"].share) == ("4Gi", 1.0)


def partition(name: str, memory: str) -> build.Obj:
    takes = [{"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}]
    return make.device(name, consumesCounters=takes)


def test_counters_are_used_by_the_devices_that_are_held() -> None:
    counters = [{"name": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}]
    cluster = build.cluster(
        make.resource_slice(sharedCounters=counters, count=2, name="counters"),
        make.resource_slice(partition("big", "30Gi"), partition("small", "10Gi"), count=2, name="devices"),
        make.claim("one", "ml", devices=[make.result("big")]),
    )
    (use,) = ledger.counters(cluster.inventory, state(cluster))
    assert (use.counter_set, use.name, use.used, use.total, use.share) == ("gpu-0", "memory", "30Gi", "40Gi", 0.75)


HALVES = {"whole": "40Gi", "half-0": "20Gi", "half-1": "20Gi"}


def partitioned() -> Cluster:
    """Two cards; `whole` takes all of gpu-0, each half the half of it. `lone` takes of a card of its own."""
    counters = [{"name": f"gpu-{i}", "counters": {"memory": {"value": "40Gi"}}} for i in range(2)]
    lone = make.device("lone", consumesCounters=[{"counterSet": "gpu-1", "counters": {"memory": {"value": "40Gi"}}}])
    return build.cluster(
        make.resource_slice(sharedCounters=counters, count=2, name="counters"),
        make.resource_slice(
            *(partition(name, memory) for name, memory in HALVES.items()), lone, count=2, name="devices"
        ),
        make.device_class("gpu"),
    )


def test_a_device_whose_counters_are_used_up_is_not_free() -> None:
    cluster = partitioned()
    inventory = cluster.inventory

    def holds() -> list[str]:
        return [ledger.hold_of(inventory, device(n)) for n in ("whole", "half-0", "half-1", "lone")]

    def told() -> tuple[int, int, int, dict[str, int] | None]:
        found = [Found(inventory, Wanted(hold=of)).count for of in (ledger.FREE, ledger.BLOCKED)]
        of_class = usage.of_class(inventory, (), Budget(100))
        return found[0], found[1], matching.free(inventory, ()).free, dict(+of_class) if of_class else None

    def hold(claim: str, name: str) -> None:
        cluster.put("resourceclaims", f"ml/{claim}", build.raw(make.claim(claim, "ml", devices=[make.result(name)])))

    assert holds() == ["free"] * 4
    assert told() == (4, 0, 4, {"free": 4})
    hold("one", "half-0")
    assert holds() == ["blocked by counters", "held", "free", "free"]
    assert told() == (2, 1, 2, {"free": 2, "blocked": 1, "held": 1})
    hold("all", "lone")
    assert told() == (1, 1, 1, {"free": 1, "blocked": 1, "held": 2})
    cluster.remove("resourceclaims", "ml/one")
    assert holds() == ["free", "free", "free", "held"]
    hold("one", "whole")
    assert holds() == ["held", "blocked by counters", "blocked by counters", "held"]
    assert usage.by_driver(inventory)["blocked", make.DRIVER] == 2
    assert [row.one.id.device for row in Found(inventory, Wanted(hold=ledger.BLOCKED)).after(None, 9)] == [
        "half-0",
        "half-1",
    ]


def test_a_quantity_that_is_none_is_told_and_breaks_nothing() -> None:
    counters = [{"name": "gpu-0", "counters": {"memory": {"value": "much"}}}]
    cluster = build.cluster(make.resource_slice(sharedCounters=counters, name="counters"))
    (use,) = ledger.counters(cluster.inventory, state(cluster))
    assert use.wrong
    assert use.total == "much"


# --- selectors -------------------------------------------------------------------------------------------------------


def leaves(cluster: Cluster, *chain: str) -> tuple[int, list[tuple[int, int]]]:
    seen, found = matching.leaves(cluster.inventory, chain)
    return seen, [(one.devices, one.failed) for one in found]


def test_each_selector_leaves_what_it_and_those_before_it_let_through() -> None:
    cluster = build.cluster(
        make.resource_slice(make.device("a"), make.device("b", "l4"), make.device("c")),
        make.resource_slice(make.device("d"), pool="other", driver="other.example.com"),
        make.resource_slice(make.device("e"), pool="half", count=2),
    )
    assert leaves(cluster, 'device.driver == "gpu.example.com"', A100) == (4, [(3, 0), (2, 0)])
    assert leaves(cluster) == (4, [])


def test_a_selector_that_fails_on_a_device_leaves_it_out_and_says_why() -> None:
    cluster = build.cluster(make.resource_slice(make.device("a"), make.device("b")))
    _, (found,) = matching.leaves(cluster.inventory, (MISSING,))
    assert (found.devices, found.failed) == (0, 2)
    assert "nothing" in found.error
    _, (wrong,) = matching.leaves(cluster.inventory, ("device.",))
    assert (wrong.devices, wrong.failed) == (0, 0)
    assert "compilation failed" in wrong.error


def test_the_count_follows_the_slices() -> None:
    cluster = build.cluster(make.resource_slice(make.device("a")))
    assert leaves(cluster, A100) == (1, [(1, 0)])
    cluster.put("resourceslices", "more", build.raw(make.resource_slice(make.device("b"), name="more", pool="p")))
    assert leaves(cluster, A100) == (2, [(2, 0)])
    cluster.put("resourceslices", "more", build.raw(make.resource_slice(make.device("b", "l4"), name="more", pool="p")))
    assert leaves(cluster, A100) == (2, [(1, 0)])
    cluster.remove("resourceslices", "more")
    assert leaves(cluster, A100) == (1, [(1, 0)])


def test_devices_that_differ_in_what_the_selector_reads_are_told_apart() -> None:
    shared = make.device("a", allowMultipleAllocations=True)
    cluster = build.cluster(make.resource_slice(shared, make.device("b")))
    assert leaves(cluster, "device.allowMultipleAllocations") == (2, [(1, 0)])


# --- a part of many --------------------------------------------------------------------------------------------------

TAINT = {"key": "x", "effect": "NoSchedule"}
MANY = build.cluster(
    *(
        make.resource_slice(
            *(make.device(f"gpu-{j}", taints=[TAINT] if j == 2 else []) for j in range(3)),
            node=f"node-{i}",
        )
        for i in range(4)
    ),
    make.resource_slice(make.device("nic"), node="node-0", driver="nic.example.com"),
    make.claim("one", "ml", devices=[make.result("gpu-0", pool="node-1"), make.result("gpu-1", pool="node-2")]),
)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(driver="nic.example.com"), ["nic.example.com/node-0/nic"]),
        (Wanted(pool="node-3", tainted=True), ["gpu.example.com/node-3/gpu-2"]),
        (Wanted(hold=ledger.HELD), ["gpu.example.com/node-1/gpu-0", "gpu.example.com/node-2/gpu-1"]),
        (Wanted(hold=TAKEN, text="gpu-1"), ["gpu.example.com/node-2/gpu-1"]),
        (Wanted(hold=ledger.SHARED), []),
        (Wanted(text="node-3", hold=ledger.FREE, pool="node-3"), [f"gpu.example.com/node-3/gpu-{j}" for j in range(3)]),
        (Wanted(node="node-0", text="nic"), ["nic.example.com/node-0/nic"]),
    ],
)
def test_filters_leave_the_devices_that_they_name(wanted: Wanted, found: list[str]) -> None:
    chosen = Found(MANY.inventory, wanted)
    assert [str(one.id) for _, one in chosen.rows(0, 100)] == found
    assert chosen.count == len(found)


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(text="gpu")])
def test_parts_put_together_are_the_whole(wanted: Wanted) -> None:
    chosen = Found(MANY.inventory, wanted)
    whole = [str(one.id) for _, one in chosen.rows(0, 100)]
    assert len(whole) == chosen.count
    for size in (1, 2, 5):
        parts = [chosen.rows(start, size) for start in range(0, len(whole), size)]
        assert [str(one.id) for part in parts for _, one in part] == whole
        last, walked = None, []
        while part := chosen.after(last, size):
            walked += [str(row.one.id) for row in part]
            last = part[-1].place
        assert walked == sorted(whole)


@pytest.mark.parametrize("descends", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("wanted", [Wanted(), Wanted(text="x")])
def test_devices_of_one_name_are_walked_once_each(wanted: Wanted, size: int, descends: bool) -> None:
    """The same driver, pool and name in two slices, and twice in one of them."""
    names = [("a", "x", "x", "y"), ("b", "x"), ("c", "x")]
    slices = [make.resource_slice(*map(make.device, devices), pool="p", name=name) for name, *devices in names]
    chosen = Found(build.cluster(*slices).inventory, wanted)
    walked: list[tuple[str, str]] = []
    last = None
    while part := chosen.after(last, size, descends=descends):
        walked += [(row.one.id.device, row.one.slice.name) for row in part]
        last = part[-1].place
    whole = [("x", "a"), ("x", "a"), ("x", "b"), ("x", "c")] + ([("y", "a")] if not wanted.text else [])
    assert walked == (whole[::-1] if descends else whole)


def test_a_walk_goes_on_behind_a_device_that_is_gone() -> None:
    chosen = Found(MANY.inventory, Wanted(pool="node-1"))
    place = Place(*device("gpu-0.5", "node-1"), "gone", "000000")
    assert [row.one.id.device for row in chosen.after(place, 10)] == ["gpu-1", "gpu-2"]
    assert [row.one.id.device for row in chosen.after(place, 10, descends=True)] == ["gpu-0"]


def test_a_slice_says_where_its_devices_are() -> None:
    item = read_object(KINDS["resourceslices"], build.raw(make.resource_slice(make.device("a"))))
    assert isinstance(item, ResourceSlice)
    assert [str(one.id) for one in ledger.devices_in([item])] == ["gpu.example.com/node-0/a"]
