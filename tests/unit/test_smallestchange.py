"""What is said that would make a pod's claims fit: the right values, and only what the allocator confirms."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.cli.funneltext import funnel_lines
from dradash.cli.style import Style
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.structured.devicereport import device_report
from tests.devicescene import DRIVER, Raw, device, device_class, holder, model, pool, request, selectors
from tests.unit.test_funnel import cluster, hint, report, sentences

ATTRIBUTES = f'device.attributes["{DRIVER}"]'


# --- selectors: beside what there is ---------------------------------------------------------------------------------


def test_devices_of_nodes_where_the_selector_refuses_none_are_told_with_their_values() -> None:
    slices = [pool(device("a")), pool(device("b", "h100"), device("c", "h100"), node="node-1")]
    wanted = request(count=2, selectors=selectors(model("h100")))
    of = cluster(*slices, holder("b", node="node-1"), requests=[wanted], nodes=2)
    has = "a100 (1), and these that it takes: h100 (1: allocated), h100 (1)"
    assert hint(report(of), "selector").sentence == f'selector wants model == "h100"; this cluster has {has}'


def test_devices_of_unusable_pools_are_told_of_nodes_that_have_no_others() -> None:
    halves = [pool(device("h", "h100"), node=f"node-{i}", slices=2) for i in (1, 2)]
    twice = pool(device("i", "h100"), device("i", "h100"), node="node-3")
    wanted = request(selectors=selectors(model("h100")))
    of = cluster(pool(device("a")), *halves, twice, requests=[wanted], nodes=4)
    has = "a100 (1), and h100 (4) in pools that cannot be used"
    assert hint(report(of), "selector").sentence == f'selector wants model == "h100"; this cluster has {has}'


def test_of_attributes_whose_names_end_alike_each_is_told_with_its_own_values() -> None:
    """The word of one is in the word of the other."""
    devices = [device(f"d{i}", attributes={"ncores": {"int": 4 + i}, "cores": {"int": i}}) for i in range(3)]
    wanted = request(selectors=selectors(f"{ATTRIBUTES}.ncores == 4 && {ATTRIBUTES}.cores == 4"))
    told = [h.sentence for h in report(cluster(pool(*devices), requests=[wanted])).hints]
    assert told == [
        "selector wants cores == 4; this cluster has 0 (1)",
        "selector wants ncores == 4; this cluster has 5 (1), 6 (1)",
    ]


def test_an_attribute_that_no_device_has_is_named() -> None:
    wanted = request(selectors=selectors(f'{ATTRIBUTES}.modle == "h100"'))
    of = cluster(pool(device("a")), requests=[wanted])
    begins = 'selector wants modle == "h100", which fails (no such key: modle); no device of'
    assert hint(report(of), "selector").sentence == f"{begins} this cluster has modle"
    on_node = device_report(of.pods["team/train"], of, 0, "node-0")
    assert on_node is not None
    assert hint(on_node, "selector").sentence == f"{begins} node node-0 has modle"


def test_devices_without_the_attribute_are_counted_beside_those_of_another_value() -> None:
    slices = pool(device("a"), device("b", "l4"), {"name": "c", "attributes": {}})
    wanted = request(selectors=selectors(f'{ATTRIBUTES}[?"model"].orValue("") == "h100"'))
    sentence = hint(report(cluster(slices, requests=[wanted])), "selector").sentence
    assert sentence.endswith("; this cluster has a100 (1), l4 (1), no model (1)")


def test_a_part_that_fails_on_some_devices_says_so_beside_what_it_met() -> None:
    slices = pool({"name": "a", "attributes": {}}, device("b"), device("c", "l4"), device("d"))
    sentence = hint(
        report(cluster(slices, requests=[request(selectors=selectors(model("h100")))])), "selector"
    ).sentence
    fails = 'selector wants model == "h100", which fails (no such key: model)'
    assert sentence == f"{fails}; this cluster has a100 (2), no model (1), l4 (1)"


def test_a_selector_that_is_no_bool_is_told_as_such() -> None:
    wanted = request(selectors=selectors(f"{ATTRIBUTES}.model"))
    slices = pool(device("a"), device("b"), device("c", "l4"))
    sentence = hint(report(cluster(slices, requests=[wanted])), "selector").sentence
    assert sentence == "selector wants model, which is a string and no bool; this cluster has a100 (2), l4 (1)"


def test_of_a_bound_chain_the_part_that_refuses_is_told_with_what_it_met() -> None:
    wanted = request(selectors=selectors(f'cel.bind(g, {ATTRIBUTES}, g.model == "b200" && g.index > 0)'))
    slices = pool(device("a"), device("b"), device("c", "l4"))
    sentence = hint(report(cluster(slices, requests=[wanted])), "selector").sentence
    assert sentence == 'selector wants model == "b200"; this cluster has a100 (2), l4 (1)'


# --- changes that help only at once ----------------------------------------------------------------------------------


def of_two_drivers(*requests: Raw) -> Cluster:
    """a and b of the driver, and a net that all nodes see; a and the net are held."""
    net = pool({"name": "eth0", "attributes": {}}, name="net", allNodes=True, driver="net.example.com")
    held = holder("eth0", node="net", name="held-net", pod="other", driver="net.example.com")
    classes = [device_class(f'device.driver == "{DRIVER}"'), device_class(NET, name="net")]
    return cluster(*classes, pool(device("a")), net, holder("a"), held, requests=list(requests))


NET = 'device.driver == "net.example.com"'
FREE_BOTH = "free a on node-0 (held by pod team/user); and free eth0 on node-0 (held by pod team/other)"


def test_devices_of_two_requests_are_freed_at_once_and_none_alone_is_said_to_help() -> None:
    of = of_two_drivers(request("gpu"), request("net", deviceClassName="net"))
    assert sentences(report(of)) == [FREE_BOTH]
    assert not [h for h in report(of).hints if h.kind == "free" and h.sentence != FREE_BOTH]
    said = funnel_lines(report(of), Style(colours=False))
    assert f"  {FREE_BOTH} (tried)" in list(said)


def test_requests_for_the_same_devices_free_one_each() -> None:
    """The device that is free now helps one of them only."""
    slices = pool(*(device(f"d{i}") for i in range(7)))
    of = cluster(slices, holder(*(f"d{i}" for i in range(1, 7))), requests=[request("one", 3), request("two", 3)])
    frees = ["free d1, d2, d3 on node-0", "free d4, d5 on node-0"]
    assert sentences(report(of)) == ["; and ".join(f"{free} (held by pod team/user)" for free in frees)]


def test_a_request_may_need_a_device_freed_and_a_taint_tolerated() -> None:
    taint = {"key": "broken", "effect": "NoExecute"}
    slices = pool(device("a", taints=[taint]), device("b"))
    of = cluster(slices, holder("b"), requests=[request(count=2)])
    at_once = "free b on node-0 (held by pod team/user); and tolerate taint broken:NoExecute (a on node-0)"
    (told,) = [h for h in report(of).hints if h.verified]
    assert (told.sentence, told.kind, told.request) == (at_once, "together", "gpus")
    assert (told.names, told.pods) == (("broken:NoExecute",), ("team/user",))


def test_changes_of_two_requests_of_a_claim_do_not_undo_each_other() -> None:
    """A toleration for one and another selector for the other."""
    taint = {"key": "broken", "effect": "NoExecute"}
    slices = pool(device("a", "h100", taints=[taint]), device("b"))
    requests = [request("one", selectors=selectors(model("h100"))), request("two", selectors=selectors(model("l4")))]
    assert sentences(report(cluster(slices, requests=requests))) == [
        'tolerate taint broken:NoExecute (a on node-0); and leave out model == "l4" of the selector'
    ]


def test_what_is_not_needed_is_left_out_of_what_is_told_at_once() -> None:
    """A taint of a third device is in the way as well, and need not be tolerated."""
    one, other = {"key": "broken", "effect": "NoExecute"}, {"key": "hot", "effect": "NoSchedule"}
    slices = pool(device("a", taints=[one]), device("b"), device("c", taints=[other]), device("d"))
    of = cluster(slices, holder("b", "d"), requests=[request(count=3)])
    at_once = "free b, d on node-0 (held by pod team/user); and tolerate taint broken:NoExecute (a on node-0)"
    assert sentences(report(of)) == [at_once]


def test_two_pools_that_must_both_be_complete_are_told_as_one() -> None:
    slices = [pool(device(n), name=n, slices=2) for n in "pq"]
    found = report(cluster(*slices, requests=[request(count=2)]))
    said = [f"complete pool {n} (1 of 2 slices of generation 1)" for n in "pq"]
    assert sentences(found) == ["; and ".join(said)]
    assert hint(found, "pool").names == (DRIVER,)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from(["a100", "l4"]), st.booleans(), st.booleans()), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from(["a100", "l4"]), st.integers(1, 2)), min_size=1, max_size=2),
)
def test_freeing_and_tolerating_what_is_said_to_help_lets_the_pod_fit(
    devices: list[tuple[str, bool, bool]], wanted: list[tuple[str, int]]
) -> None:
    """Done to the cluster: the devices that it names are given back, the taints that it names removed."""
    taint = {"key": "broken", "effect": "NoSchedule"}

    def of(freed: set[str], tolerated: set[str]) -> Cluster:
        made = [device(f"d{i}", m, taints=[taint] if tainted and not tolerated else []) for i, (m, tainted, _) in pairs]
        held = [f"d{i}" for i, (_, _, h) in pairs if h and f"{DRIVER}/node-0/d{i}" not in freed]
        requests = [request(f"r{i}", n, selectors=selectors(model(m))) for i, (m, n) in enumerate(wanted)]
        return cluster(pool(*made), *([holder(*held)] if held else []), requests=requests)

    pairs = list(enumerate(devices))
    for told in report(of(set(), set())).hints:
        if not told.verified or any(w in told.sentence for w in ("selector", "1 of", "2 of")):
            continue
        changed = report(of(set(told.devices) if "free" in told.sentence else set(), set(told.names)))
        assert changed.answers[0].message == "", told.sentence


# --- capacity --------------------------------------------------------------------------------------------------------


def shared(name: str, value: str, **policy: Any) -> Raw:
    held: Raw = {"value": value} | ({"requestPolicy": policy} if policy else {})
    return device(name, allowMultipleAllocations=True, capacity={"memory": held})


def share(name: str, amount: str, device_name: str = "large", pod: str = "user") -> Raw:
    taken: Raw = {"shareID": f"uid-{name}", "consumedCapacity": {"memory": amount}}
    return holder(device_name, name=name, pod=pod, **taken)


def wanting(amount: str) -> Raw:
    return request(capacity={"requests": {"memory": amount}})


LARGE = shared("large", "80Gi", default="10Gi", validRange={"min": "10Gi", "step": "10Gi", "max": "60Gi"})
SMALL = shared("small", "20Gi")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            "55Gi",
            "55Gi of memory are asked for, rounded up to 60Gi, and 50Gi of 80Gi of large on node-0 are left: "
            "at most 50Gi may be asked for now",
        ),
        (
            "70Gi",
            "at most 60Gi of memory may be asked of large on node-0, and 70Gi are needed; 50Gi of 80Gi are left: "
            "at most 50Gi may be asked for now",
        ),
    ],
)
def test_beside_a_larger_device_a_small_one_is_not_called_the_largest(asked: str, says: str) -> None:
    of = cluster(pool(LARGE, SMALL), share("held", "30Gi"), requests=[wanting(asked)])
    told = [h.sentence for h in report(of).hints if h.kind == "capacity" and h.verified]
    assert told == [says, f"{asked} of memory are asked for, and small on node-0 has 20Gi"]


# --- classes that are missing ----------------------------------------------------------------------------------------


def alternatives(*given: tuple[str, str, int]) -> Raw:
    subs = [
        {"name": name, "deviceClassName": of, "allocationMode": "ExactCount", "count": count}
        for name, of, count in given
    ]
    return {"name": "r", "firstAvailable": subs}


def test_a_missing_class_of_one_alternative_is_told_where_another_one_would_fit() -> None:
    of = cluster(pool(device("a")), requests=[alternatives(("a", "absent", 1), ("b", "gpu", 1))])
    told = [(h.kind, h.sentence, h.request) for h in report(of).hints]
    assert told == [("class", "class absent is missing", "r/a")]


def test_a_missing_class_comes_before_what_lacks_less() -> None:
    of = cluster(pool(device("a")), holder("a"), requests=[alternatives(("a", "gpu", 1), ("b", "absent", 1))])
    told = [(h.sentence, h.verified) for h in report(of).hints]
    assert told == [("class absent is missing", False), ("free a on node-0 (held by pod team/user)", False)]


# --- shares of a device ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "says", "claims"),
    [
        (
            {"one": "32Gi", "two": "32Gi", "three": "8Gi"},
            "free 1 of the shares of d on node-0 (held by pod team/of-one, pod team/of-two)",
            ("team/one", "team/two"),
        ),
        (
            {"one": "40Gi", "two": "16Gi", "three": "16Gi"},
            "free a share of d on node-0 (held by pod team/of-one)",
            ("team/one",),
        ),
        (
            {"one": "8Gi", "two": "24Gi", "three": "8Gi", "four": "8Gi", "five": "24Gi"},
            "free 1 of the shares of d on node-0 (held by pod team/of-two, pod team/of-five)",
            ("team/two", "team/five"),
        ),
        (
            {"one": "12Gi", "two": "12Gi", "three": "8Gi", "four": "40Gi"},
            "free a share of d on node-0 (held by pod team/of-four)",
            ("team/four",),
        ),
        (
            {"one": "16Gi", "two": "14Gi", "three": "14Gi", "four": "14Gi", "five": "14Gi"},
            "free 2 shares of d on node-0 (held by pod team/of-one, pod team/of-two)",
            ("team/one", "team/two"),
        ),
    ],
)
def test_of_those_who_share_a_device_as_few_as_possible_are_named(
    shares: dict[str, str], says: str, claims: tuple[str, ...]
) -> None:
    held = [share(name, amount, "d", f"of-{name}") for name, amount in shares.items()]
    found = report(cluster(pool(shared("d", "80Gi")), *held, requests=[wanting("32Gi")]))
    assert sentences(found)[0] == says
    assert hint(found, "free").claims == claims


def test_where_all_shares_must_be_given_back_the_device_is_named() -> None:
    held = [share(name, "20Gi", "d", f"of-{name}") for name in ("one", "two")]
    found = report(cluster(pool(shared("d", "80Gi")), *held, requests=[wanting("80Gi")]))
    assert sentences(found)[0] == "free d on node-0 (held by pod team/of-one, pod team/of-two)"
