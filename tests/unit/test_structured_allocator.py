"""The allocator, case by case: what it picks, what it refuses, and with which words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dradash.kinds.deviceclass import DeviceClass
from dradash.kinds.node import Node
from dradash.kinds.registry import decode
from dradash.kinds.resourceslice import ResourceSlice
from dradash.scheduling.structured import allocator as al
from dradash.scheduling.structured import search, selection, shortcuts
from dradash.scheduling.structured.allocator import Allocator, SearchCut
from dradash.scheduling.structured.cel import Selector
from dradash.scheduling.structured.celframe import Frame
from dradash.scheduling.structured.claimwrites import held
from dradash.scheduling.structured.devices import AllocationError
from dradash.scheduling.structured.inventory import Inventory
from dradash.scheduling.structured.search import Search

Raw = dict[str, Any]
DRIVER = "gpu.example.com"
NODE = decode(Node, {"metadata": {"name": "node-0", "labels": {"zone": "a"}}})


def claim(*requests: Raw, name: str = "claim", **devices: Any) -> Raw:
    return {
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def request(name: str = "req", count: int = 1, **fields: Any) -> Raw:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **fields}
    if exactly["allocationMode"] == "All":
        del exactly["count"]
    return {"name": name, "exactly": exactly}


def device(name: str, model: str = "a100", **fields: Any) -> Raw:
    return {"name": name, "attributes": {"model": {"string": model}}, **fields}


def pool(*devices: Raw, name: str = "pool", generation: int = 1, count: int = 1, suffix: str = "0", **spec: Any) -> Raw:
    where = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & set(spec) else {"nodeName": "node-0"}
    return {
        "metadata": {"name": f"{name}-{suffix}"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": name, "generation": generation, "resourceSliceCount": count},
            "devices": list(devices),
            **where,
            **spec,
        },
    }


def allocate(
    claims: list[Raw], slices: list[Raw], taken: Iterable[Raw] = (), selectors: list[str] | None = None
) -> list[list[str]] | None:
    """Names of the devices of each claim."""
    spec = {"selectors": [{"cel": {"expression": e}} for e in selectors or ()]}
    device_class = decode(DeviceClass, {"metadata": {"name": "gpu"}, "spec": spec})
    holders = {str(i): held(c).claim for i, c in enumerate(taken)}
    inventory = Inventory([decode(ResourceSlice, s) for s in slices], holders)
    allocator = Allocator(inventory, {"gpu": device_class}, steps=5000)
    found = allocator.allocate(NODE, [held(c).claim for c in claims])
    return None if found is None else [[r["device"] for r in f["devices"].get("results", ())] for f in found]


def in_use(*names: str) -> list[Raw]:
    """A claim that holds these devices."""
    holder = claim(request(count=len(names)), name="holder")
    results = [{"request": "req", "driver": DRIVER, "pool": "pool", "device": n} for n in names]
    return [holder | {"status": {"allocation": {"devices": {"results": results}}}}]


def test_the_first_free_devices_are_taken_in_order() -> None:
    slices = [pool(device("a"), device("b"), device("c"))]
    assert allocate([claim(request(count=2))], slices, in_use("a")) == [["b", "c"]]


def test_too_few_devices_is_no_solution() -> None:
    assert allocate([claim(request(count=2))], [pool(device("a"))]) is None


def test_a_claim_without_requests_gets_nothing() -> None:
    assert allocate([claim()], [pool(device("a"))]) == [[]]


def test_pools_are_tried_by_name_and_those_with_binding_conditions_last() -> None:
    slices = [
        pool(device("x", bindingConditions=["ready"]), name="a"),
        pool(device("y"), name="c"),
        pool(device("z"), name="b"),
    ]
    assert allocate([claim(request(count=3))], slices) == [["z", "y", "x"]]


def test_only_the_newest_generation_counts() -> None:
    slices = [pool(device("old"), generation=1, suffix="0"), pool(device("new"), generation=2, suffix="1")]
    assert allocate([claim(request())], slices) == [["new"]]


def test_an_incomplete_pool_is_passed_over_by_count_and_stops_all() -> None:
    slices = [pool(device("a"), count=2), pool(device("b"), name="other")]
    assert allocate([claim(request())], slices) == [["b"]]
    with pytest.raises(AllocationError, match=r"resource pool gpu.example.com/pool is currently being updated"):
        allocate([claim(request(allocationMode="All"))], slices)


def test_a_pool_with_a_device_twice_is_invalid_and_says_so_if_nothing_else_fits() -> None:
    slices = [pool(device("a"), device("a"))]
    with pytest.raises(AllocationError, match="invalid resource pools were encountered") as refused:
        allocate([claim(request())], slices)
    assert refused.value.on_node


def test_devices_of_other_nodes_are_not_seen() -> None:
    here = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}
    assert allocate([claim(request())], [pool(device("a"), nodeSelector=here)]) is None
    per_device = pool(device("a", nodeName="node-1"), device("b", allNodes=True), perDeviceNodeSelection=True)
    assert allocate([claim(request())], [per_device]) == [["b"]]


def test_selectors_of_class_and_request_both_count() -> None:
    slices = [pool(device("a", "l4"), device("b"), device("c", "h100"))]
    wanted = request(selectors=[{"cel": {"expression": 'device.attributes["gpu.example.com"].model != "a100"'}}])
    not_l4 = ['device.attributes["gpu.example.com"].model != "l4"']
    assert allocate([claim(wanted)], slices, selectors=not_l4) == [["c"]]


def test_a_broken_selector_shows_when_a_device_is_free() -> None:
    wanted = claim(request(selectors=[{"cel": {"expression": 'device.attributes["gpu.example.com"].nothing == 1'}}]))
    slices = [pool(device("a"))]
    assert allocate([wanted], slices, in_use("a")) is None
    with pytest.raises(AllocationError, match="claim team/claim: selector #0: CEL runtime error: no such key: nothing"):
        allocate([wanted], slices)


def test_devices_that_look_the_same_to_a_selector_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = Selector.answer

    def counted(selector: Selector, frame: Frame) -> bool:
        asked.append(selector.expression)
        return answer(selector, frame)

    monkeypatch.setattr(Selector, "answer", counted)
    only_here = f'device.attributes["{DRIVER}"].model.matches("of this test alone")'
    slices = [pool(device("a"), device("b"), device("c", "l4"))]
    wanted = claim(request(selectors=[{"cel": {"expression": only_here}}]))
    assert allocate([wanted], slices) is None
    assert allocate([wanted], slices) is None
    assert asked == [only_here, only_here]


def test_an_attempt_spends_so_much_on_selectors_and_then_its_search_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream stops after ten seconds; here the work is counted, that of one evaluation too."""
    monkeypatch.setattr(selection, "SEARCHED", 1_000)
    short = f'["x", "y"].all(x, device.attributes["{DRIVER}"].model != x)'
    long = f"{list(range(400))}.all(x, {short.replace('(x', '(y').replace('!= x', '!= y')})"
    slices = [pool(device("a", "a"))]
    assert allocate([claim(request(selectors=[{"cel": {"expression": short}}]))], slices) is not None
    with pytest.raises(SearchCut):
        allocate([claim(request(selectors=[{"cel": {"expression": long}}]))], slices)


def test_all_devices_of_one_model_are_found_by_trying() -> None:
    slices = [pool(device("a"), device("b", "l4"), device("c"), device("d", "l4"))]
    same = [{"matchAttribute": "gpu.example.com/model"}]
    assert allocate([claim(request(count=2), constraints=same)], slices, in_use("a")) == [["b", "d"]]


def test_distinct_values_are_kept_per_request_only() -> None:
    distinct = [{"distinctAttribute": "gpu.example.com/model"}]
    three = [pool(device("a"), device("b", "l4"), device("c"))]
    assert allocate([claim(request(count=3), constraints=distinct)], three) == [["a", "b", "c"]]
    assert allocate([claim(request(count=2), constraints=distinct)], [pool(device("a"), device("b"))]) is None


def test_the_first_alternative_that_fits_is_taken() -> None:
    subs = [
        {"name": n, "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": c}
        for n, c in (("large", 4), ("small", 1))
    ]
    assert allocate([claim({"name": "req", "firstAvailable": subs})], [pool(device("a"))]) == [["a"]]


def test_admin_access_takes_devices_that_are_in_use() -> None:
    assert allocate([claim(request(adminAccess=True))], [pool(device("a"))], in_use("a")) == [["a"]]


def test_admin_access_to_what_another_claim_of_the_pod_has_leaves_the_free_device_to_others() -> None:
    mine = [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "h100"'}}]
    first = claim(request(adminAccess=True, selectors=mine), name="first")
    second = claim(request("watch", adminAccess=True), request("use"), name="second")
    assert allocate([first, second], [pool(device("a"), device("b", "h100"))]) == [["b"], ["b", "a"]]


def test_a_taint_must_be_tolerated() -> None:
    slices = [pool(device("a", taints=[{"key": "broken", "effect": "NoSchedule"}]))]
    assert allocate([claim(request())], slices) is None
    tolerations = [{"key": "broken", "operator": "Exists"}]
    assert allocate([claim(request(tolerations=tolerations))], slices) == [["a"]]


def test_partitions_share_their_counters() -> None:
    def part(name: str, memory: str) -> Raw:
        return device(name, consumesCounters=[{"counterSet": "card", "counters": {"memory": {"value": memory}}}])

    counters = pool(suffix="0", count=2, sharedCounters=[{"name": "card", "counters": {"memory": {"value": "40Gi"}}}])
    parts = pool(part("whole", "40Gi"), part("half-0", "20Gi"), part("half-1", "20Gi"), suffix="1", count=2)
    assert allocate([claim(request(count=2))], [counters, parts]) == [["half-0", "half-1"]]
    assert allocate([claim(request())], [counters, parts], in_use("half-0")) == [["half-1"]]
    assert allocate([claim(request())], [counters, parts], in_use("whole")) is None


def test_shares_of_a_device_are_handed_out_until_its_capacity_is_used() -> None:
    shared = device("a", allowMultipleAllocations=True, capacity={"memory": {"value": "10Gi"}})
    four = request(capacity={"requests": {"memory": "4Gi"}})
    assert allocate([claim(four), claim(four, name="two")], [pool(shared)]) == [["a"], ["a"]]
    assert allocate([claim(four), claim(four, name="two"), claim(four, name="three")], [pool(shared)]) is None
    unknown = request(capacity={"requests": {"lanes": "1"}})
    assert allocate([claim(unknown)], [pool(shared)]) is None


def test_allocations_in_the_cluster_count() -> None:
    taken = claim(request(), name="taken")
    result = {"request": "req", "driver": DRIVER, "pool": "pool", "device": "a"}
    taken["status"] = {"allocation": {"devices": {"results": [result, {**result, "device": "b", "adminAccess": True}]}}}
    assert allocate([claim(request())], [pool(device("a"), device("b"))], [taken]) == [["b"]]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (claim(request(count=33)), "number of requested devices 33 exceeds the claim limit of 32"),
        (claim(request(allocationMode="Half")), "claim team/claim, request req: unsupported count mode Half"),
        (claim(request(selectors=[{}])), r"selector #0: CEL expression empty \(unsupported selector type\?\)"),
        (claim(request(), constraints=[{}]), "constraint #0: empty constraint"),
        (claim(request(deviceClassName="")), "missing device class name"),
    ],
)
def test_a_claim_that_is_not_understood_ends_the_attempt(wanted: Raw, message: str) -> None:
    with pytest.raises(AllocationError, match=message):
        allocate([wanted], [pool(device("a"))])


def test_a_hopeless_request_behind_a_large_one_is_settled_at_once() -> None:
    devices = [device(f"d{i:02}") for i in range(20)]
    assert allocate([claim(request("one", 12), request("two", 20))], [pool(*devices)]) is None


def test_a_search_that_takes_too_long_is_cut() -> None:
    """Values in pairs, 24 devices: at most 12 in a row differ from the one before."""
    devices = [device(f"d{i:02}", attributes={"x": {"int": i // 2 % 2}}) for i in range(24)]
    wanted = claim(request(count=13), constraints=[{"distinctAttribute": "gpu.example.com/x"}])
    with pytest.raises(SearchCut):
        allocate([wanted], [pool(*devices)])


def test_after_some_searches_that_were_cut_the_next_ones_get_less_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(al, "STEPS", 3_000)
    monkeypatch.setattr(al, "FEWER_STEPS", 50)
    asked: list[int] = []

    def search(*arguments: Any) -> Search:
        asked.append(arguments[-2])
        return Search(*arguments)

    monkeypatch.setattr(al, "Search", search)
    devices = [device(f"d{i:02}", attributes={"x": {"int": i // 2 % 2}}) for i in range(24)]
    wanted = claim(request(count=13), constraints=[{"distinctAttribute": "gpu.example.com/x"}])
    device_class = decode(DeviceClass, {"metadata": {"name": "gpu"}})
    allocator = Allocator(Inventory([decode(ResourceSlice, pool(*devices))]), {"gpu": device_class})
    for _ in range(6):
        with pytest.raises(SearchCut):
            allocator.allocate(NODE, [held(wanted).claim])
    assert asked == [3_000] * 4 + [50] * 2


def parts(number: int, left: int) -> list[Raw]:
    """A card with so many parts, of which `left` can be had together."""
    one_each = [{"counterSet": "card", "counters": {"slots": {"value": "1"}}}]
    counters = [{"name": "card", "counters": {"slots": {"value": str(left)}}}]
    made = [device(f"d{i:02}", consumesCounters=one_each, attributes={"half": {"int": i % 2}}) for i in range(number)]
    return [pool(suffix="0", count=2, sharedCounters=counters), pool(*made, suffix="1", count=2)]


@pytest.mark.parametrize(
    "wanted",
    [
        [claim(request(count=12))],
        [claim(request("one", 6), request("two", 6))],
        [claim(request("one", 6)), claim(request("two", 6), name="other")],
        [claim(request(count=13), constraints=[{"matchAttribute": "gpu.example.com/half"}])],
    ],
    ids=["one request", "two requests", "two claims", "one half has too few"],
)
def test_what_cannot_be_had_together_is_settled_by_counting(wanted: list[Raw]) -> None:
    left = 11 if "constraints" not in wanted[0]["spec"]["devices"] else 24
    assert allocate(wanted, parts(24, left)) is None


def test_counting_says_nothing_where_the_search_may_end_with_an_error() -> None:
    """It ends with one only if a selector is asked that raises: not behind a request that is hopeless by itself."""
    raises = {"cel": {"expression": "device.attributes['gpu.example.com'].nothing == 1"}}
    second = request("two", 1, selectors=[raises])
    assert allocate([claim(request("one", 12), second)], parts(24, 11)) is None
    with pytest.raises(AllocationError, match="no such key: nothing"):
        allocate([claim(request("one", 11), second)], parts(24, 11))
    several = [claim(request("one", 6), request("two", 6), request("three", selectors=[raises]))]
    with pytest.raises(SearchCut):
        allocate(several, parts(24, 11))


NUMA = {"requests": ["rest"], "matchAttribute": "gpu.example.com/numa"}
REFUSED = "cannot add device gpu.example.com/pool/{} because a claim constraint would not be satisfied"


@pytest.mark.parametrize(
    ("wanted", "refused"),
    [
        ([claim(request("one"), request("rest", allocationMode="All"), constraints=[NUMA])], "a"),
        (
            [
                claim(request("one"), name="other"),
                claim(request("rest", allocationMode="All"), constraints=[NUMA]),
            ],
            "a",
        ),
        (
            [
                claim(
                    request("one"),
                    {
                        "name": "rest",
                        "firstAvailable": [{"name": "sub", "deviceClassName": "gpu", "allocationMode": "All"}],
                    },
                    constraints=[NUMA],
                )
            ],
            "a",
        ),
        ([claim(request("two", 2), request("rest", allocationMode="All"), constraints=[NUMA])], "a"),
    ],
    ids=["one request", "two claims", "an alternative", "two of three"],
)
def test_all_devices_that_a_constraint_refuses_are_an_error_once_the_first_of_them_is_free(
    wanted: list[Raw], refused: str
) -> None:
    """The first device is in use with the first choice for the request before: no error. With the second it is free."""
    with pytest.raises(AllocationError, match=REFUSED.format(refused)) as ended:
        allocate(wanted, [pool(device("a"), device("b"), device("c"))])
    assert not ended.value.on_node


def test_all_devices_behind_a_request_are_no_error_where_no_constraint_is_about_them() -> None:
    wanted = claim(request("one"), request("rest", allocationMode="All"), constraints=[NUMA | {"requests": ["one"]}])
    devices = [device(f"d{i}", attributes={"numa": {"int": 0}}) for i in range(4)]
    assert allocate([wanted], [pool(*devices)]) is None


def test_a_selector_that_fails_is_met_though_too_many_results_cut_the_look_at_the_others_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With `a` for the first claim the second turns back at `c`, before it asks about `b`; with `b` about `a`."""
    for module in (search, shortcuts):
        monkeypatch.setattr(module, "MAX_RESULTS", 2)
    monkeypatch.setattr(al, "MAX_RESULTS", 2)

    def of(expression: str) -> list[Raw]:
        return [{"cel": {"expression": f'device.attributes["{DRIVER}"].{expression}'}}]

    first = claim(request("one", selectors=of('model == "m"')))
    one_each = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    none = {"deviceClassName": "gpu", "allocationMode": "All", "selectors": [{"cel": {"expression": "false"}}]}
    either = [{"name": "big", **one_each, "selectors": of('model == "w"')}, {"name": "small", **none}]
    second = claim(
        {"name": "w", "firstAvailable": either}, request("x", selectors=of("ok")), request("y"), name="second"
    )
    devices = [
        device(name, model, attributes={"model": {"string": model}} | ({} if name == "a" else {"ok": {"bool": True}}))
        for name, model in (("w", "w"), ("a", "m"), ("c", "c"), ("b", "m"))
    ]
    with pytest.raises(AllocationError, match="no such key: ok"):
        allocate([first, second], [pool(*devices)])
