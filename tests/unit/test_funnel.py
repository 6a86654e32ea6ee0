"""The funnel of a pod's requests: each stage with the devices that it loses and why, and what would change it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.structured import allocator
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.conjuncts import conjuncts, short
from dradash.scheduling.structured.devicereport import DeviceReport, device_report
from dradash.scheduling.structured.funnel import NAMED, FunnelStage, Loss
from dradash.scheduling.structured.nearest import CUT
from dradash.scheduling.structured.plugin import TIMED_OUT
from dradash.scheduling.verdict import ActsNext, Outcome
from tests import build
from tests.devicescene import (
    DRIVER,
    Raw,
    device,
    device_class,
    holder,
    model,
    pool,
    request,
    selectors,
    waiting_pod,
)


def cluster(*objects: Raw, requests: list[Raw], nodes: int = 1, **devices: Any) -> Cluster:
    """One pod, team/train, whose claim has these requests; nodes node-0 and so on."""
    found = Cluster()
    classes = [] if any(o["kind"] == "DeviceClass" for o in objects) else [device_class()]
    for obj in (
        *classes,
        *(build.node(f"node-{i}") for i in range(nodes)),
        *objects,
        *waiting_pod(*requests, **devices),
    ):
        _, new = found.put(build.plural(obj), build.key(obj), build.raw(obj))
        assert new is not None, found.malformed
    return found


def report(of: Cluster, node: str = "") -> DeviceReport:
    found = device_report(of.pods["team/train"], of, build.NOW, node)
    assert found is not None
    return found


def stages(found: DeviceReport, place: int = 0) -> dict[str, int]:
    """Stage -> devices left behind it."""
    return {s.stage: s.left for s in found.requests[place].stages}


def stage(found: DeviceReport, name: str, place: int = 0) -> FunnelStage:
    return next(s for s in found.requests[place].stages if s.stage == name)


def only_loss(found: DeviceReport, name: str, place: int = 0) -> Loss:
    (loss,) = stage(found, name, place).losses
    return loss


def sentences(found: DeviceReport, *, verified: bool = True) -> list[str]:
    return [h.sentence for h in found.hints if h.verified is verified]


def hint(found: DeviceReport, kind: str) -> Hint:
    return next(h for h in found.hints if h.kind == kind)


def moves(of: Cluster) -> ActsNext:
    verdict = evaluate(of.pods["team/train"], of, 1, now=build.NOW).verdict
    assert verdict.outcome in (Outcome.UNSCHEDULABLE, Outcome.ERROR)
    return verdict.acts_next


def test_a_search_that_was_cut_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values in pairs, 24 devices: at most 12 in a row differ from the one before, which only trying shows."""
    monkeypatch.setattr(allocator, "STEPS", 2_000)
    made = [device(f"d{i:02}", attributes={"x": {"int": i // 2 % 2}}) for i in range(24)]
    of = cluster(pool(*made), requests=[request(count=13)], constraints=[{"distinctAttribute": f"{DRIVER}/x"}])
    verdict = evaluate(of.pods["team/train"], of, 1, now=build.NOW).verdict
    assert verdict.sentence.startswith("0/1 nodes are available: 1 timed out trying to allocate devices.")
    assert [group.reason for group in verdict.step("Filter").groups] == [TIMED_OUT]
    assert (CUT, 1) in [(answer.message, answer.nodes) for answer in report(of).answers]


# --- the stages, one by one ------------------------------------------------------------------------------------------


def test_a_class_that_cannot_be_read_is_not_told_as_absent() -> None:
    of = cluster(pool(device("a")), requests=[request()])
    of.put("deviceclasses", "gpu", build.raw(device_class() | {"spec": {"selectors": 7}}))
    wrong = of.malformed["deviceclasses"]["gpu"]
    found = report(of)
    assert found.refused == evaluate(of.pods["team/train"], of, 1).verdict.sentence
    assert found.refused == f"cannot be judged: DeviceClass gpu cannot be read: {wrong}"
    assert only_loss(found, "class selectors").why == f"class gpu cannot be read: {wrong}"
    assert [(h.kind, h.sentence) for h in found.hints] == [("class", "class gpu cannot be read")]


def test_what_the_cluster_has_includes_devices_of_pools_that_cannot_be_used() -> None:
    wanted = request(selectors=selectors(model("h100")))
    pools = [
        pool(device("a")),
        pool(device("h", "h100"), device("i", "h100"), name="half", slices=2),
        pool(device("l", "l4"), device("l", "l4"), allNodes=True, name="twice"),
    ]
    found = report(cluster(*pools, requests=[wanted]))
    sentence = hint(found, "selector").sentence
    unusable = "h100 (2), l4 (1) in pools that cannot be used"
    assert sentence == f'selector wants model == "h100"; this cluster has a100 (1), and {unusable}'
    (other,) = [h for h in report(cluster(*pools, requests=[wanted]), "node-0").hints if h.kind == "selector"]
    assert other.sentence == sentence.replace("this cluster", "node node-0")


def test_a_request_that_fits_loses_nothing_and_needs_no_advice() -> None:
    found = report(cluster(pool(device("a"), device("b")), requests=[request()]))
    assert set(stages(found).values()) == {2}
    assert found.requests[0].needed == 1
    assert found.requests[0].nodes_enough == 1
    assert found.hints == ()
    assert [(a.message, a.stops, a.nodes) for a in found.answers] == [("", False, 1)]


def test_devices_of_an_incomplete_pool_are_seen_and_lost_at_once() -> None:
    found = report(cluster(pool(device("a"), slices=2, generation=7), requests=[request()]))
    assert (stages(found)["seen"], stages(found)["usable pool"]) == (1, 0)
    assert only_loss(found, "usable pool").why == "pool node-0 is incomplete: 1 of 2 slices of generation 7"
    assert sentences(found) == ["pool node-0 is incomplete: 1 of 2 slices of generation 7"]
    assert hint(found, "pool").names == (DRIVER,)


def test_completing_a_pool_is_no_advice_where_its_devices_are_not_wanted() -> None:
    wanted = request(selectors=selectors(model("h100")))
    found = report(cluster(pool(device("a"), slices=2), requests=[wanted]))
    assert sentences(found) == []
    assert sentences(found, verified=False) == ["pool node-0 is incomplete: 1 of 2 slices of generation 1"]


def test_an_invalid_pool_says_what_is_wrong_with_it() -> None:
    found = report(cluster(pool(device("a"), device("a")), requests=[request()]))
    assert only_loss(found, "usable pool").why == "pool node-0 is invalid: duplicate device name a"
    (answer,) = found.answers
    assert (answer.message, answer.stops) == ("invalid resource pools were encountered", False)


def test_a_newer_generation_elsewhere_takes_the_devices_of_the_older_one_away() -> None:
    old, new = (
        pool(device("a"), name="p", slices=2),
        pool(device("b"), node="node-1", name="p", suffix="1", generation=2),
    )
    found = report(cluster(old, new, requests=[request()], nodes=2), "node-0")
    why = "pool p has a newer generation than 1, which does not reach the node"
    assert only_loss(found, "usable pool").why == why


def test_the_class_loses_devices_with_the_values_that_its_selector_met() -> None:
    slices = pool(device("a"), device("b", "l4"), device("c", "l4"))
    found = report(cluster(device_class(model("h100")), slices, requests=[request()]))
    loss = only_loss(found, "class selectors")
    assert loss.why == 'class gpu wants model == "h100"'
    assert [(v.text, v.count) for v in loss.values] == [("l4", 2), ("a100", 1)]
    assert sentences(found) == ['class gpu wants model == "h100"; this cluster has l4 (2), a100 (1)']


def test_of_a_chain_the_part_that_fails_is_named() -> None:
    wanted = request(selectors=selectors(f'device.driver == "{DRIVER}" && {model("h100")}'))
    found = report(
        cluster(pool(device("a"), device("b", "h100")), requests=[request(**wanted["exactly"] | {"count": 2})])
    )
    loss = only_loss(found, "request selectors")
    assert (loss.why, loss.count) == ('the request wants model == "h100"', 1)
    assert [d.device for d in loss.devices] == ["a"]
    has = "a100 (1), and these that it takes: h100 (1)"
    assert hint(found, "selector").sentence == f'selector wants model == "h100"; this cluster has {has}'


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a && b && c", ("a && b && c",)),  # no expression: it does not compile
        ("true && (false && true)", ("true", "false", "true")),
        ('device.driver == "a && b" && true', ('device.driver == "a && b"', "true")),
        ("true || false && true", ("true || false && true",)),
        ("true && false ? true : false", ("true && false ? true : false",)),
        ("[true && false].all(x, x && x) && true", ("[true && false].all(x, x && x)", "true")),
    ],
)
def test_a_chain_is_split_only_where_all_parts_must_hold(expression: str, parts: tuple[str, ...]) -> None:
    assert conjuncts(expression) == parts


def test_a_part_is_shown_without_the_domain() -> None:
    assert short(f'device.attributes["{DRIVER}"].model == "x"') == 'model == "x"'


def test_an_error_of_a_selector_is_told_as_one_that_ends_the_attempt() -> None:
    wanted = request(selectors=selectors(f'device.attributes["{DRIVER}"].nothing == 1'))
    found = report(cluster(pool(device("a")), requests=[wanted]))
    loss = only_loss(found, "request selectors")
    assert loss.stops
    assert loss.why == "the request: selector #0: CEL runtime error: no such key: nothing"
    assert [v.text for v in loss.values] == ["nothing"]
    assert found.answers[0].stops


def test_taints_that_are_not_tolerated_are_named_and_tolerating_them_helps() -> None:
    taint = {"key": "broken", "value": "fan", "effect": "NoSchedule"}
    found = report(cluster(pool(device("a", taints=[taint])), requests=[request()]))
    assert only_loss(found, "tolerated taints").why == "taint broken=fan:NoSchedule"
    assert sentences(found) == ["tolerate taint broken=fan:NoSchedule (a on node-0)"]
    tolerated = request(tolerations=[{"key": "broken", "operator": "Exists"}])
    assert stages(report(cluster(pool(device("a", taints=[taint])), requests=[tolerated])))["constraints"] == 1


def test_allocated_devices_are_told_with_their_claims_and_pods() -> None:
    taken = holder("a", "b")
    found = report(cluster(pool(device("a"), device("b")), taken, requests=[request()]))
    loss = only_loss(found, "not allocated")
    assert (loss.why, loss.count) == ("allocated", 2)
    assert [(d.device, d.claims) for d in loss.devices] == [("a", ("team/held",)), ("b", ("team/held",))]
    free = hint(found, "free")
    assert free.sentence == "free 1 of a, b on node-0 (held by pod team/user)"
    assert free.verified
    assert (free.claims, free.pods) == (("team/held",), ("team/user",))


def test_only_devices_whose_freeing_helps_are_proposed() -> None:
    slices = pool(device("a"), device("b", numa=0), device("c", numa=1), device("d", numa=1))
    same = [{"matchAttribute": f"{DRIVER}/numa"}]
    found = report(cluster(slices, holder("b", "c"), requests=[request(count=2)], constraints=same))
    assert hint(found, "free").sentence == "free c on node-0 (held by pod team/user)"


def test_admin_access_takes_nothing_and_is_kept_from_nothing() -> None:
    found = report(cluster(pool(device("a")), holder("a"), requests=[request(adminAccess=True)]))
    assert stages(found)["constraints"] == 1
    assert found.answers[0].message == ""


def test_capacity_that_is_left_is_told_and_giving_back_a_share_helps() -> None:
    shared = device("a", allowMultipleAllocations=True, capacity={"memory": {"value": "80Gi"}})
    share: Raw = {"shareID": "s", "consumedCapacity": {"memory": "60Gi"}}
    wanted = request(capacity={"requests": {"memory": "40Gi"}})
    found = report(cluster(pool(shared), holder("a", **share), requests=[wanted]))
    assert only_loss(found, "not allocated").why == "capacity memory: needs 40Gi, 20Gi of 80Gi left"
    assert sentences(found) == [
        "free a on node-0 (held by pod team/user)",
        "40Gi of memory are asked for, and 20Gi of 80Gi of a on node-0 are left: at most 20Gi may be asked for now",
    ]


def test_more_capacity_than_a_device_has_is_freed_by_nobody() -> None:
    wanted = request(capacity={"requests": {"memory": "100Gi"}})
    shared = device("a", allowMultipleAllocations=True, capacity={"memory": {"value": "80Gi"}})
    found = report(cluster(pool(shared), requests=[wanted]))
    assert only_loss(found, "not allocated").why == "capacity memory: needs 100Gi, the device has 80Gi"
    assert sentences(found) == ["100Gi of memory are asked for, and the largest device on node-0 has 80Gi"]
    assert [h.kind for h in found.hints] == ["capacity"]


POLICY: Raw = {"default": "8Gi", "validRange": {"min": "8Gi", "max": "64Gi", "step": "8Gi"}}


def memory(name: str = "a", value: str = "80Gi", policy: Raw | None = None) -> Raw:
    held: Raw = {"value": value} | ({} if policy is None else {"requestPolicy": policy})
    return device(name, allowMultipleAllocations=True, capacity={"memory": held})


@pytest.mark.parametrize(
    ("asked", "policy", "why", "says", "now"),
    [
        (
            {"memory": "72Gi"},
            POLICY,
            "capacity memory: needs 72Gi, at most 64Gi may be asked for",
            "at most 64Gi of memory may be asked of a on node-1, and 72Gi are needed",
            "8Gi",
        ),
        (
            {"memory": "72Gi"},
            {"default": "8Gi", "validValues": ["8Gi", "16Gi"]},
            "capacity memory: needs 72Gi, at most 16Gi may be asked for",
            "at most 16Gi of memory may be asked of a on node-1, and 72Gi are needed",
            "8Gi",
        ),
        (
            {"memory": "62Gi"},
            {"default": "8Gi", "validRange": {"min": "8Gi", "max": "60Gi", "step": "8Gi"}},
            "capacity memory: needs 64Gi, at most 56Gi may be asked for",
            "at most 56Gi of memory may be asked of a on node-1, and 64Gi are needed",
            "8Gi",
        ),
        (
            {"mem": "8Gi"},
            None,
            "capacity mem: the device has none",
            "a on node-1 has no capacity mem; there is memory",
            "",
        ),
        (
            {"memory": "90Gi"},
            None,
            "capacity memory: needs 90Gi, the device has 80Gi",
            "90Gi of memory are asked for, and the largest device on node-1 has 80Gi",
            "8Gi",
        ),
        (
            {"memory": "90Gi"},
            {"default": "8Gi", "validRange": {"min": "8Gi", "max": "88Gi"}},
            "capacity memory: needs 90Gi, the device has 80Gi",
            "90Gi of memory are asked for, and the largest device on node-1 has 80Gi",
            "8Gi",
        ),
        (
            {"memory": "96Gi"},
            {"default": "32Gi", "validRange": {"min": "32Gi", "step": "32Gi"}},
            "capacity memory: needs 96Gi, the device has 80Gi",
            "96Gi of memory are asked for, and the largest device on node-1 has 80Gi: at most 64Gi may be asked for",
            None,
        ),
        (
            {"memory": "70Gi"},
            {"default": "32Gi", "validRange": {"min": "32Gi", "step": "32Gi"}},
            "capacity memory: needs 96Gi, the device has 80Gi",
            "70Gi of memory are asked for, rounded up to 96Gi, and the largest device on node-1 has 80Gi: "
            "at most 64Gi may be asked for",
            None,
        ),
        (
            {"memory": "140Gi"},
            {"default": "32Gi", "validRange": {"min": "32Gi", "max": "128Gi", "step": "32Gi"}},
            "capacity memory: needs 160Gi, the device has 80Gi",
            "140Gi of memory are asked for, rounded up to 160Gi, and the largest device on node-1 has 80Gi: "
            "at most 64Gi may be asked for",
            None,
        ),
        (
            {"memory": "70Gi"},
            {"default": "8Gi", "validValues": ["8Gi", "60Gi", "100Gi"]},
            "capacity memory: needs 100Gi, the device has 80Gi",
            "70Gi of memory are asked for, rounded up to 100Gi, and the largest device on node-1 has 80Gi: "
            "at most 60Gi may be asked for",
            "8Gi",
        ),
    ],
    ids=[
        "maximum",
        "values",
        "steps",
        "name",
        "size",
        "maximum above the size",
        "steps above the size",
        "rounded above the size",
        "rounded above a maximum above the size",
        "values above the size",
    ],
)
@pytest.mark.parametrize("is_held", [False, True])
def test_an_amount_that_no_device_ever_gives_is_the_advice_however_much_is_left(
    asked: Raw, policy: Raw | None, why: str, says: str, now: str | None, is_held: bool
) -> None:
    """node-0 has no devices, so it lacks as many as node-1 does. now: what may be asked for while 72Gi are held."""
    share: Raw = {"shareID": "s", "consumedCapacity": {"memory": "72Gi"}}
    taken = [holder("a", node="node-1", **share)] if is_held else []
    wanted = request(capacity={"requests": asked})
    of = cluster(pool(memory(policy=policy), node="node-1"), *taken, requests=[wanted], nodes=2)
    found = report(of)
    assert only_loss(found, "not allocated").why == why
    assert stage(found, "not allocated").losses[0].devices[0].claims == ()
    if is_held and now != "":
        says += "; 8Gi of 80Gi are left" + (f": at most {now} may be asked for now" if now else "")
    helps = not is_held or bool(now)
    assert [(h.kind, h.sentence, h.verified) for h in found.hints] == [("capacity", says, helps)]
    assert moves(of).who == "admin"
    assert moves(of).what.endswith(f"change what is asked for: {says}")


def test_a_device_smaller_than_the_least_that_may_be_asked_of_it_has_nothing_to_offer() -> None:
    policy: Raw = {"default": "96Gi", "validRange": {"min": "96Gi"}}
    small = pool(memory(policy=policy))
    found = report(cluster(small, requests=[request(capacity={"requests": {"memory": "90Gi"}})]))
    assert sentences(found, verified=False) == [
        "90Gi of memory are asked for, rounded up to 96Gi, and the largest device on node-0 has 80Gi, "
        "less than the least that its policy allows"
    ]
    found = report(cluster(small, requests=[request()]))
    assert sentences(found, verified=False) == [
        "96Gi of memory are taken where no amount is asked for, and the largest device on node-0 has 80Gi, "
        "less than the least that its policy allows"
    ]


def test_steps_are_counted_in_whole_numbers_of_a_device_that_has_a_fraction() -> None:
    policy: Raw = {"default": "1", "validRange": {"min": "1", "step": "1"}}
    found = report(
        cluster(pool(memory("a", "2500m", policy)), requests=[request(capacity={"requests": {"memory": "3"}})])
    )
    assert sentences(found) == [
        "3 of memory are asked for, and the largest device on node-0 has 2500m: at most 2 may be asked for"
    ]


def test_the_most_may_be_had_of_a_device_that_is_not_the_largest() -> None:
    steps: Raw = {"default": "50Gi", "validRange": {"min": "50Gi", "step": "50Gi"}}
    slices = pool(memory("a", "80Gi", steps), memory("b", "60Gi"))
    found = report(cluster(slices, requests=[request(capacity={"requests": {"memory": "90Gi"}})]))
    assert sentences(found) == [
        "90Gi of memory are asked for, and the largest device on node-0 has 80Gi: at most 60Gi may be asked for"
    ]


def test_of_devices_that_are_too_small_the_largest_is_told() -> None:
    slices = pool(memory("a", "40Gi"), memory("b", "80Gi"), memory("c", "60Gi"))
    found = report(cluster(slices, requests=[request(capacity={"requests": {"memory": "90Gi"}})]))
    assert sentences(found) == ["90Gi of memory are asked for, and the largest device on node-0 has 80Gi"]


def test_an_amount_that_a_held_device_never_gives_is_not_had_by_freeing_it() -> None:
    wanted = request(capacity={"requests": {"memory": "90Gi"}})
    whole = device("a", capacity={"memory": {"value": "80Gi"}})
    found = report(cluster(pool(whole), holder("a"), requests=[wanted]))
    assert only_loss(found, "not allocated").why == "capacity memory: needs 90Gi, the device has 80Gi"
    assert [h.kind for h in found.hints] == ["capacity"]


def test_more_of_a_counter_than_the_pool_has_is_freed_by_nobody() -> None:
    def part(name: str, slots: str) -> Raw:
        return device(name, consumesCounters=[{"counterSet": "card", "counters": {"slots": {"value": slots}}}])

    counters = pool(suffix="c", slices=2, sharedCounters=[{"name": "card", "counters": {"slots": {"value": "4"}}}])
    parts = pool(part("half", "2"), part("large", "5"), suffix="d", slices=2)
    found = report(cluster(counters, parts, holder("half"), requests=[request(count=2)]), "node-0")
    whys = {loss.why for loss in stage(found, "not allocated").losses}
    assert whys == {"allocated", "counter card/slots: needs 5, the pool has 4"}


def test_counters_that_are_used_up_are_named_with_who_uses_them() -> None:
    def part(name: str, slots: str) -> Raw:
        uses = [{"counterSet": "card", "counters": {"slots": {"value": slots}}}]
        return device(name, consumesCounters=uses)

    counters = pool(suffix="c", slices=2, sharedCounters=[{"name": "card", "counters": {"slots": {"value": "4"}}}])
    parts = pool(part("half", "2"), part("rest", "3"), suffix="d", slices=2)
    found = report(cluster(counters, parts, holder("half"), requests=[request()]), "node-0")
    whys = {loss.why for loss in stage(found, "not allocated").losses}
    assert whys == {"allocated", "counter card/slots: needs 3, 2 of 4 left"}
    assert sentences(found) == ["free half (held by pod team/user)"]


def test_the_value_on_which_devices_do_not_agree_is_named() -> None:
    slices = pool(device("a", numa=0), device("b", numa=0), device("c", numa=1), device("d"))
    same = [{"matchAttribute": f"{DRIVER}/numa"}]
    found = report(cluster(slices, requests=[request(count=3)], constraints=same))
    losses = {loss.why: loss.count for loss in stage(found, "constraints").losses}
    assert losses == {f"has no attribute {DRIVER}/numa": 1, f"{DRIVER}/numa = 1: 1 of the 3 needed have it": 1}
    assert stages(found)["constraints"] == 2
    assert hint(found, "constraint").verified


def test_a_value_must_serve_all_requests_of_the_constraint() -> None:
    slices = pool(device("a", numa=0), device("b", numa=1), device("c", "nic", numa=1))
    requests = [request("gpu", selectors=selectors(model("a100"))), request("nic", selectors=selectors(model("nic")))]
    found = report(cluster(slices, requests=requests, constraints=[{"matchAttribute": f"{DRIVER}/numa"}]))
    assert only_loss(found, "constraints", 0).why == f"{DRIVER}/numa = 0: another request has too few of it"
    assert found.answers[0].message == ""


def test_devices_that_must_differ_do_not_count_twice() -> None:
    slices = pool(device("a", numa=0), device("b", numa=0))
    found = report(cluster(slices, requests=[request(count=2)], constraints=[{"distinctAttribute": f"{DRIVER}/numa"}]))
    assert only_loss(found, "constraints").why == f"{DRIVER}/numa = 0: the device before it has it too"
    assert stages(found)["constraints"] == 1


def test_all_devices_are_needed_where_all_are_asked_for() -> None:
    slices = pool(device("a"), device("b"))
    found = report(cluster(slices, holder("b"), requests=[request(allocationMode="All")]))
    assert found.requests[0].needed is None
    assert found.requests[0].nodes_enough == 0
    assert sentences(found) == ["free b on node-0 (held by pod team/user)"]


def test_each_alternative_has_its_funnel() -> None:
    alternatives = [
        {"name": "big", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
        {"name": "small", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
    ]
    found = report(cluster(pool(device("a")), requests=[{"name": "gpus", "firstAvailable": alternatives}]))
    assert [(r.request, r.needed, r.nodes_enough) for r in found.requests] == [("gpus/big", 2, 0), ("gpus/small", 1, 1)]
    assert found.answers[0].message == ""


def test_a_missing_class_is_the_advice() -> None:
    found = report(cluster(device_class(name="other"), pool(device("a")), requests=[request()]))
    assert found.refused == "request gpus: device class gpu does not exist"
    assert only_loss(found, "class selectors").why == "class gpu does not exist"
    assert [(h.kind, h.sentence) for h in found.hints] == [("class", "class gpu is missing")]


def test_requests_that_need_two_changes_are_told_both_as_one() -> None:
    slices = pool(device("a"), device("b", "l4"))
    requests = [request("one", selectors=selectors(model("a100"))), request("two", selectors=selectors(model("l4")))]
    found = report(cluster(slices, holder("a"), holder("b", name="other", pod="second"), requests=requests))
    at_once = "free a on node-0 (held by pod team/user); and free b on node-0 (held by pod team/second)"
    assert sentences(found) == [at_once]
    told = hint(found, "free")
    assert (told.request, told.devices) == ("", (f"{DRIVER}/node-0/a", f"{DRIVER}/node-0/b"))
    assert (told.claims, told.pods) == (("team/held", "team/other"), ("team/user", "team/second"))


def test_requests_that_compete_for_the_same_devices_are_told_so() -> None:
    requests = [request("one"), request("two")]
    found = report(cluster(pool(device("a"), device("b")), holder("b"), requests=requests))
    assert [r.nodes_enough for r in found.requests] == [1, 1]
    assert sentences(found) == ["free b on node-0 (held by pod team/user)"]
    assert sentences(found, verified=False) == [
        "each request finds enough devices alone; together they need 2, and 1 is left"
    ]


def together(found: DeviceReport) -> str:
    (said,) = [h.sentence for h in found.hints if h.kind == "together"]
    assert said.startswith("each request finds enough devices alone; together ")
    return said.removeprefix("each request finds enough devices alone; together ")


def of_two_claims(*objects: Raw, first: list[Raw], second: list[Raw]) -> Cluster:
    claim, pod = waiting_pod(*first)
    other, _ = waiting_pod(*second, claim="other")
    pod["spec"]["resourceClaims"].append({"name": "o", "resourceClaimName": "other"})
    found = Cluster()
    for obj in (device_class(), build.node("node-0"), *objects, claim, other, pod):
        _, new = found.put(build.plural(obj), build.key(obj), build.raw(obj))
        assert new is not None, found.malformed
    return found


@pytest.mark.parametrize(("amount", "fits"), [("30Gi", True), ("50Gi", False)])
def test_requests_that_may_have_the_same_device_compete_for_its_capacity(amount: str, fits: bool) -> None:
    wanted = {"requests": {"memory": amount}}
    requests = [request("one", capacity=wanted), request("two", capacity=wanted)]
    found = report(cluster(pool(memory()), requests=requests))
    if fits:
        assert found.answers[0].message == ""
    else:
        assert together(found) == "they do not (capacity of devices that are shared)"


def test_beside_a_shared_device_those_that_want_others_are_counted() -> None:
    slices = pool(memory("a"), device("b", "l4"))
    l4 = selectors(model("l4"))
    found = report(
        cluster(slices, requests=[request("one", selectors=l4), request("any"), request("two", selectors=l4)])
    )
    assert together(found) == "one, two need 2, and 1 is left"


def test_those_that_want_the_same_devices_are_counted_however_many_others_there_are() -> None:
    slices = pool(device("a"), device("b", "l4"), device("c", "l4"), device("d", "l4"))
    a100 = selectors(model("a100"))
    l4 = request("many", 2, selectors=selectors(model("l4")))
    of = cluster(slices, requests=[request("one", selectors=a100), l4, request("two", selectors=a100)])
    assert together(report(of)) == "one, two need 2, and 1 is left"


def test_what_one_can_have_elsewhere_is_not_what_the_others_lack() -> None:
    """`any` could have d: only the others need more than there are."""
    slices = pool(device("a"), device("b", "l4"), device("c", "l4"), device("d", "h100"))
    l4 = selectors(model("l4"))
    of = cluster(slices, requests=[request("any"), request("one", 2, selectors=l4), request("two", selectors=l4)])
    assert together(report(of)) == "one, two need 3, and 2 are left"


def test_devices_that_a_constraint_refuses_in_one_order_only_are_not_taken_for_gone() -> None:
    slices = pool(device("a", numa=0), device("b", numa=0))
    both = [{"distinctAttribute": f"{DRIVER}/numa"}]
    found = report(cluster(slices, requests=[request("one"), request("two")], constraints=both))
    assert together(found) == "they do not (constraints)"


def test_counters_that_requests_have_in_common_are_named() -> None:
    uses = [{"counterSet": "all", "counters": {"slots": {"value": "3"}}}]
    slices = [
        pool(slices=2, suffix="c", sharedCounters=[{"name": "all", "counters": {"slots": {"value": "4"}}}]),
        pool(device("a", consumesCounters=uses), device("b", consumesCounters=uses), slices=2),
    ]
    found = report(cluster(*slices, requests=[request("one"), request("two")]))
    assert together(found) == "they do not (counters)"


def test_admin_access_of_one_claim_has_each_device_once() -> None:
    slices, see = (
        pool(device("a"), device("b", "l4")),
        request("see", adminAccess=True, selectors=selectors(model("l4"))),
    )
    too = {**see, "name": "too"}
    assert together(report(cluster(slices, requests=[see, too]))) == "they need 2, and 1 is left"
    assert report(of_two_claims(slices, first=[see], second=[too])).answers[0].message == ""


def test_admin_access_of_another_claim_is_not_counted_with_those_that_compete() -> None:
    slices, l4 = pool(device("a"), device("b", "l4")), selectors(model("l4"))
    see = request("see", adminAccess=True, selectors=l4)
    of = of_two_claims(slices, first=[request("one", selectors=l4), request("two", selectors=l4)], second=[see])
    assert together(report(of)) == "team/claim one, team/claim two need 2, and 1 is left"
    after = of_two_claims(slices, first=[request("one", selectors=l4)], second=[see])
    assert report(after).answers[0].message == ""


def test_admin_access_keeps_its_device_from_the_claims_after_it() -> None:
    """As upstream has it: allocateDevice asks whether any claim is being given the device."""
    see = request("see", adminAccess=True)
    found = report(of_two_claims(pool(device("a")), first=[see], second=[request("one")]))
    assert together(found) == "they need 2, and 1 is left"


def test_a_driver_whose_pool_has_the_name_of_anothers_does_not_confuse_counters() -> None:
    def partition(driver: str, counter: str) -> list[Raw]:
        uses = [{"counterSet": counter, "counters": {"slots": {"value": "1"}}}]
        sets = [{"name": counter, "counters": {"slots": {"value": "4"}}}]
        made = [
            pool(suffix=f"{driver}-c", slices=2, sharedCounters=sets),
            pool(device("part", consumesCounters=uses), suffix=f"{driver}-d", slices=2),
        ]
        for item in made:
            item["spec"]["driver"] = driver
        return made

    found = report(cluster(*partition("a.example.com", "x"), *partition("b.example.com", "y"), requests=[request()]))
    assert stages(found)["seen"] == 2
    assert found.answers[0].message == ""


# --- over all nodes --------------------------------------------------------------------------------------------------


def test_devices_of_alike_nodes_are_counted_and_those_of_all_nodes_once() -> None:
    local = [pool(device("a"), node=f"node-{i}") for i in range(3)]
    shared = pool(device("net"), name="fabric", allNodes=True)
    found = report(cluster(*local, shared, requests=[request(count=3)], nodes=3))
    assert stages(found)["seen"] == 4
    assert (found.nodes, found.nodes_seen, len(found.situations)) == (3, 3, 1)
    assert stages(report(cluster(*local, shared, requests=[request(count=3)], nodes=3), "node-1"))["seen"] == 2


def test_a_shared_device_counts_with_the_best_that_happens_to_it() -> None:
    only_here = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]
    }
    shared = pool(
        device("x", nodeSelector=only_here), device("y", allNodes=True), name="p", perDeviceNodeSelection=True
    )
    found = report(cluster(shared, requests=[request(count=2)], nodes=2))
    assert stages(found)["seen"] == 2
    assert found.requests[0].nodes_enough == 1


def test_answers_are_taken_apart_with_their_nodes() -> None:
    slices = [pool(device("a"), node="node-0"), pool(device("b"), device("b"), node="node-1")]
    found = report(cluster(*slices, requests=[request(count=2)], nodes=2))
    assert [(a.message, a.nodes, a.stops) for a in found.answers] == [
        ("cannot allocate all claims", 1, False),
        ("invalid resource pools were encountered", 1, False),
    ]


def test_the_nearest_node_is_advised_about() -> None:
    slices = [pool(device("a"), node="node-0"), pool(device("b"), device("c"), node="node-1")]
    taken = [holder("a", name="h0", pod="zero"), holder("b", node="node-1", name="h1", pod="one")]
    found = report(cluster(*slices, *taken, requests=[request(count=2)], nodes=2))
    assert found.situations[0].node == "node-1"
    assert sentences(found) == ["free b on node-1 (held by pod team/one)"]


def test_only_so_many_devices_are_named() -> None:
    many = [device(f"d{i:03}") for i in range(NAMED + 10)]
    found = report(cluster(pool(*many), holder(*(d["name"] for d in many)), requests=[request()]))
    loss = only_loss(found, "not allocated")
    assert (loss.count, len(loss.devices)) == (NAMED + 10, NAMED)


def test_a_pod_without_claims_to_allocate_has_no_report() -> None:
    of = cluster(pool(device("a")), requests=[request()])
    done = holder("a", name="claim")
    of.put("resourceclaims", "team/claim", json.dumps(done).encode())
    assert device_report(of.pods["team/train"], of, build.NOW) is None


def test_an_unknown_node_is_an_error() -> None:
    of = cluster(pool(device("a")), requests=[request()])
    with pytest.raises(KeyError):
        device_report(of.pods["team/train"], of, build.NOW, "node-9")


# --- who must act next -----------------------------------------------------------------------------------------------


def test_those_who_hold_the_devices_must_act() -> None:
    mover = moves(cluster(pool(device("a")), holder("a"), requests=[request()]))
    what = "finish or give devices back: free a on node-0 (held by pod team/user)"
    assert mover == ActsNext(who="pod", names=("team/user",), what=what)


def test_a_claim_that_holds_devices_for_nobody_is_the_admins() -> None:
    mover = moves(cluster(pool(device("a")), holder("a", pod=""), requests=[request()]))
    assert (mover.who, mover.names) == ("admin", ("team/held",))


def test_a_taint_is_the_admins() -> None:
    taint = {"key": "broken", "effect": "NoExecute"}
    mover = moves(cluster(pool(device("a", taints=[taint])), requests=[request()]))
    assert (mover.who, mover.names) == ("admin", ("broken:NoExecute",))
    assert mover.what == "remove the taint, or tolerate taint broken:NoExecute (a on node-0)"


def test_an_incomplete_pool_is_its_drivers() -> None:
    mover = moves(cluster(pool(device("a"), slices=2), requests=[request()]))
    assert (mover.who, mover.names) == ("driver", (DRIVER,))
    assert mover.what == "publish all slices: pool node-0 is incomplete: 1 of 2 slices of generation 1"


def test_a_selector_that_matches_nothing_is_the_admins() -> None:
    mover = moves(cluster(pool(device("a")), requests=[request(selectors=selectors(model("h100")))]))
    assert (mover.who, mover.names) == ("admin", ('model == "h100"',))
    assert mover.what == 'change what is asked for: selector wants model == "h100"; this cluster has a100 (1)'


def test_where_there_are_too_few_devices_the_admin_is_told_how_many() -> None:
    mover = moves(cluster(pool(device("a")), requests=[request(count=3)]))
    what = "add devices, or change what is asked for: 3 devices are asked for, and node-0 sees 1"
    assert mover == ActsNext(who="admin", what=what)
    assert moves(cluster(requests=[request()])).what.endswith(": no ResourceSlice has devices for node-0")


def test_what_the_selector_takes_and_something_else_refuses_is_told_with_what_refuses_it() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    slices = pool(device("a", "h100", taints=[taint]), device("b"))
    of = cluster(slices, requests=[request(count=2, selectors=selectors(model("h100")))])
    has = "a100 (1), and these that it takes: h100 (1: taint broken:NoSchedule)"
    assert sentences(report(of), verified=False) == [f'selector wants model == "h100"; this cluster has {has}']
    at_once = 'tolerate taint broken:NoSchedule (a on node-0); and leave out model == "h100" of the selector'
    assert moves(of).what == f"see to all of this: {at_once}"


def test_what_the_class_takes_is_told_of_all_nodes() -> None:
    slices = [pool(device("a", "h100"), device("b"), node=f"node-{i}") for i in range(2)]
    held = holder("a", node="node-1")
    found = report(cluster(device_class(model("h100")), *slices, held, requests=[request(count=2)], nodes=2))
    has = "a100 (2), and these that it takes: h100 (1), h100 (1: allocated)"
    assert hint(found, "selector").sentence == f'class gpu wants model == "h100"; this cluster has {has}'


MANY = pool(*(device(f"d{i:02}") for i in range(40)), node="node-1")


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            request(allocationMode="All"),
            "claim team/claim asks for 40 devices on node-1, and a claim may have 32 at most",
        ),
        (request(count=33), "claim team/claim asks for 33 devices, and a claim may have 32 at most"),
    ],
    ids=["All", "33"],
)
def test_more_devices_than_a_claim_may_have_are_told_with_the_limit(wanted: Raw, says: str) -> None:
    of = cluster(MANY, requests=[wanted], nodes=2)
    assert [(h.kind, h.sentence, h.verified) for h in report(of).hints] == [("limit", says, False)]
    what = f"ask for fewer devices in claim team/claim: it may have 32 at most, not {says.split()[4]}"
    assert moves(of) == ActsNext(who="admin", names=("team/claim",), what=what)


def test_the_limit_counts_the_alternative_of_fewest_devices_and_each_claim_alone() -> None:
    alternatives = [
        {"name": "many", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 30},
        {"name": "few", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 4},
    ]
    either = {"name": "either", "firstAvailable": alternatives}
    few = report(cluster(MANY, holder("d00", node="node-1"), requests=[either, request(count=28)], nodes=2))
    assert few.hints == ()
    much = report(cluster(MANY, requests=[either, request(count=29)], nodes=2))
    assert [h.sentence for h in much.hints] == ["claim team/claim asks for 33 devices, and a claim may have 32 at most"]


def test_a_node_without_devices_is_told_of_only_where_no_node_has_any() -> None:
    of = cluster(
        pool(device("a"), device("b"), node="node-1"),
        holder("a", node="node-1"),
        requests=[request(allocationMode="All")],
        nodes=2,
    )
    found = report(of)
    assert [(h.kind, h.sentence) for h in found.hints] == [("free", "free a on node-1 (held by pod team/user)")]
    assert [(s.node, s.missing) for s in found.situations] == [("node-1", 1), ("node-0", 1)]
    (alone,) = report(of, "node-0").hints
    assert (alone.kind, alone.sentence) == ("devices", "no ResourceSlice has devices for node-0")


def test_of_nodes_that_lack_as_many_the_one_whose_devices_get_further_is_the_nearest() -> None:
    taint = {"key": "broken", "effect": "NoSchedule"}
    slices = [pool(device("a", "l4"), node="node-0"), pool(device("a", taints=[taint]), node="node-1")]
    found = report(cluster(*slices, requests=[request(selectors=selectors(model("a100")))], nodes=2))
    assert [(s.node, s.missing) for s in found.situations] == [("node-1", 1), ("node-0", 1)]
    assert sentences(found)[0] == "tolerate taint broken:NoSchedule (a on node-1)"


def test_where_no_change_that_was_tried_helps_it_is_said_to_be_not_enough() -> None:
    sees = pool(device("a"), device("b"), name="p", slices=2)
    mover = moves(cluster(sees, requests=[request(count=1, selectors=selectors(model("h100")))]))
    why = "pool p is incomplete: 1 of 2 slices of generation 1"
    assert (mover.who, mover.names) == ("driver", (DRIVER,))
    assert mover.what == f"publish all slices: {why}, which alone is not enough"


def test_where_no_change_that_was_tried_helps_none_is_proposed() -> None:
    def part(name: str, slots: str) -> Raw:
        return device(name, consumesCounters=[{"counterSet": "card", "counters": {"slots": {"value": slots}}}])

    counters = pool(suffix="c", slices=2, sharedCounters=[{"name": "card", "counters": {"slots": {"value": "4"}}}])
    parts = pool(part("half", "2"), part("large", "5"), suffix="d", slices=2)
    mover = moves(cluster(counters, parts, holder("half"), requests=[request(count=2)]))
    assert (mover.who, mover.names) == ("admin", ())
    assert mover.what.startswith("free, add or change devices, or ask for others")


# --- property --------------------------------------------------------------------------------------------------------

MODELS = st.sampled_from(["a100", "l4"])
DEVICES = st.lists(st.tuples(MODELS, st.booleans(), st.booleans()), max_size=5)  # model, tainted, taken


@settings(max_examples=60, deadline=None, derandomize=True)
@given(DEVICES, st.integers(1, 4), st.sampled_from(["ExactCount", "All"]), st.booleans())
def test_without_constraints_enough_devices_are_left_exactly_where_the_allocator_finds_some(
    devices: list[tuple[str, bool, bool]], count: int, mode: str, picky: bool
) -> None:
    taint: Raw = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
    slices = pool(*(device(f"d{i}", m, **(taint if t else {})) for i, (m, t, _) in enumerate(devices)))
    taken = [f"d{i}" for i, (_, _, held) in enumerate(devices) if held]
    picked = selectors(model("l4")) if picky else []
    wanted = request(count=count, allocationMode=mode, selectors=picked)
    found = report(cluster(slices, *([holder(*taken)] if taken else []), requests=[wanted]))
    assert bool(found.requests[0].nodes_enough) == (found.answers[0].message == "")
