"""Which of many nodes are told of and advised about: pools that cannot be used by name, the nearest nodes first."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.structured import devicereport
from dradash.scheduling.structured.devicereport import DeviceReport, Examination, device_report
from dradash.scheduling.structured.funnel import FunnelStage
from dradash.scheduling.structured.glance import Glances
from dradash.scheduling.structured.looks import Budget
from dradash.scheduling.structured.nearest import distance
from dradash.scheduling.structured.nodefilter import read_by
from dradash.scheduling.structured.reading import EVERYTHING
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.verdict import ActsNext
from tests import build
from tests.devicescene import DRIVER, Raw, device, device_class, holder, model, pool, request, selectors, waiting_pod

TAINT: Raw = {"key": "broken", "effect": "NoSchedule"}


def cluster(*objects: Raw, requests: list[Raw], nodes: int) -> Cluster:
    found = Cluster()
    made = (device_class(), *(build.node(f"node-{i}") for i in range(nodes)), *objects, *waiting_pod(*requests))
    for obj in made:
        _, new = found.put(build.plural(obj), build.key(obj), build.raw(obj))
        assert new is not None, found.malformed
    return found


def wants(kind: str, count: int = 1) -> list[Raw]:
    return [request(count=count, selectors=selectors(model(kind)))]


def several(kind: str, count: int, **spec: Any) -> Raw:
    return pool(*(device(f"gpu-{i}", kind) for i in range(count)), **spec)


def report(of: Cluster) -> DeviceReport:
    found = device_report(of.pods["team/train"], of, build.NOW)
    assert found is not None
    return found


def moves(of: Cluster) -> ActsNext:
    return evaluate(of.pods["team/train"], of, 1, now=build.NOW).verdict.acts_next


def usable(found: DeviceReport) -> FunnelStage:
    return next(s for s in found.requests[0].stages if s.stage == "usable pool")


# --- pools that cannot be used ---------------------------------------------------------------------------------------


def unusable(kind: str = "h100") -> Cluster:
    """A usable pool of two, and three that are incomplete, of 2, 5 and 7 devices."""
    slices = [
        several("a100", 2),
        several("h100", 2, node="node-1", slices=2, generation=7),
        several("l4", 5, node="node-2", slices=3, generation=8),
        several("l4", 7, node="node-3", slices=3, generation=9),
    ]
    return cluster(*slices, requests=wants(kind), nodes=4)


def test_each_pool_that_cannot_be_used_is_told_with_its_own_devices_and_slices() -> None:
    found = report(unusable())
    seen = found.requests[0].stages[0]
    assert (seen.left, usable(found).lost, found.complete) == (16, 14, True)
    assert [(loss.count, loss.why) for loss in usable(found).losses] == [
        (7, "pool node-3 is incomplete: 1 of 3 slices of generation 9"),
        (5, "pool node-2 is incomplete: 1 of 3 slices of generation 8"),
        (2, "pool node-1 is incomplete: 1 of 2 slices of generation 7"),
    ]
    assert {d.pool for d in usable(found).losses[0].devices} == {"node-3"}


def test_the_pool_whose_devices_are_wanted_is_the_one_to_complete() -> None:
    found = report(unusable("l4"))
    tried = [h.sentence for h in found.hints if h.kind == "pool" and h.verified]
    assert tried == [
        "pool node-2 is incomplete: 1 of 3 slices of generation 8",
        "pool node-3 is incomplete: 1 of 3 slices of generation 9",
    ]
    assert not [h for h in found.hints if "node-1" in h.sentence]


def test_alike_nodes_are_told_with_the_pool_of_each() -> None:
    slices = [several("h100", 2, node=f"node-{i}", slices=2) for i in range(3)]
    losses = usable(report(cluster(*slices, requests=wants("h100"), nodes=3))).losses
    why = "pool node-{} is incomplete: 1 of 2 slices of generation 1"
    assert [(loss.count, loss.why) for loss in losses] == [(2, why.format(i)) for i in range(3)]
    assert [{d.node for d in loss.devices} for loss in losses] == [{f"node-{i}"} for i in range(3)]


def test_of_very_many_pools_some_are_named_and_all_counted() -> None:
    slices = [several("h100", 1 + i % 2, node=f"node-{i}", slices=2) for i in range(60)]
    found = report(cluster(*slices, requests=wants("h100"), nodes=60))
    assert (found.requests[0].stages[0].left, usable(found).lost, found.complete) == (90, 90, True)
    assert usable(found).losses[0].why == "pools of 20 more nodes cannot be used"
    assert usable(found).losses[0].count == 10 + 20


def test_what_is_passed_over_for_a_newer_generation_counts_only_where_it_is() -> None:
    old = several("h100", 3, name="p", slices=2)
    new = several("h100", 1, node="node-1", name="p", suffix="1", generation=2, slices=2)
    found = report(cluster(old, new, requests=wants("h100"), nodes=3))
    assert sorted((loss.count, loss.why) for loss in usable(found).losses) == [
        (1, "pool p is incomplete: 1 of 2 slices of generation 2"),
        (3, "pool p has a newer generation than 1, which does not reach the node"),
    ]


def test_nodes_that_were_not_told_apart_are_said_not_to_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devicereport, "APART", 2)
    found = report(unusable())
    assert (found.nodes_seen, found.nodes, found.complete) == (3, 4, False)


# --- who must act ----------------------------------------------------------------------------------------------------


def test_the_driver_must_act_where_a_pool_has_what_is_wanted() -> None:
    mover = moves(unusable("l4"))
    why = "pool node-2 is incomplete: 1 of 3 slices of generation 8"
    assert (mover.who, mover.names, mover.what) == ("driver", (DRIVER,), f"publish all slices: {why}")


def test_an_invalid_pool_is_its_drivers_to_correct() -> None:
    slices = [several("a100", 1), pool(device("a", "h100"), device("a", "h100"), node="node-1")]
    of = cluster(*slices, requests=wants("h100"), nodes=6)
    why = "pool node-1 is invalid: duplicate device name a"
    mover, first = moves(of), report(of).hints[0]
    assert (mover.who, mover.names, mover.what) == ("driver", (DRIVER,), f"correct the slices: {why}")
    assert (first.kind, first.sentence, first.verified) == ("pool", why, True)


def test_correcting_an_invalid_pool_is_not_said_to_help_where_too_few_devices_are_left_then() -> None:
    slices = pool(device("a", "h100"), device("a", "h100"))
    found = report(cluster(slices, requests=wants("h100", 2), nodes=1))
    assert [(h.kind, h.verified) for h in found.hints if h.kind == "pool"] == [("pool", False)]


def test_the_nearest_node_decides_who_must_act_however_many_are_different() -> None:
    slices = [several(f"m{i}", 1, node=f"node-{i}") for i in range(6)]
    of = cluster(*slices, holder("gpu-0", node="node-5"), requests=wants("m5"), nodes=6)
    mover = moves(of)
    free = "free gpu-0 on node-5 (held by pod team/user)"
    assert (mover.who, mover.names, mover.what) == ("pod", ("team/user",), f"finish or give devices back: {free}")
    assert report(of).hints[0].sentence == free


def test_the_nearest_of_more_nodes_than_a_report_looks_at_is_found_too() -> None:
    slices = [several(f"m{i}", 1, node=f"node-{i}") for i in range(80)]
    of = cluster(*slices, holder("gpu-0", node="node-79"), requests=wants("m79"), nodes=80)
    assert moves(of).names == ("team/user",)
    found = report(of)
    assert found.hints[0].pods == ("team/user",)
    assert (found.nodes_seen, found.nodes) == (64, 80)


def test_what_a_part_of_the_nodes_has_is_not_told_of_the_cluster() -> None:
    slices = [several(f"m{i}", 1, node=f"node-{i}") for i in range(6)]
    mover = moves(cluster(*slices, requests=wants("m9"), nodes=6))
    has = "a part of this cluster (4 of 6 nodes) has m0 (1), m1 (1), m2 (1), m3 (1)"
    assert mover.what == f'change what is asked for: selector wants model == "m9"; {has}'


def test_several_changes_that_only_help_together_are_told_as_one() -> None:
    slices = [
        pool(device("a", taints=[TAINT]), device("b"), device("c")),
        several("h100", 3, node="node-1"),
    ]
    of = cluster(*slices, holder("b", "c"), requests=wants("a100", 3), nodes=2)
    mover, first = moves(of), report(of).hints[0]
    sentence = "free b, c on node-0 (held by pod team/user); and tolerate taint broken:NoSchedule (a on node-0)"
    assert (first.kind, first.sentence, first.verified) == ("together", sentence, True)
    assert (mover.who, mover.names) == ("pod", ("team/user",))
    assert mover.what == f"finish or give devices back: {sentence}"


def test_several_changes_are_not_told_where_one_is_enough() -> None:
    slices = pool(device("a", taints=[TAINT]), device("b"), device("c"), device("d"))
    found = report(cluster(slices, holder("b", "c", "d"), requests=[request(count=2)], nodes=1))
    assert not [h for h in found.hints if h.kind == "together"]  # one change is enough
    assert found.hints[0].sentence == "free 2 of b, c, d on node-0 (held by pod team/user)"


def test_a_part_of_a_class_that_takes_enough_is_not_what_to_change() -> None:
    own = device_class(f'device.driver == "{DRIVER}"')
    nic = pool(device("eth0"), name="nic", suffix="n")
    nic["spec"]["driver"] = "nic.example.com"
    slices = pool(device("a", taints=[TAINT]), device("b"), device("c"))
    of = cluster(own, nic, slices, holder("b", "c", pod=""), requests=wants("a100", 4), nodes=1)
    assert [h.sentence for h in report(of).hints if h.sentence.startswith("class ")] == [
        f'class gpu wants device.driver == "{DRIVER}"; this cluster has nic.example.com (1), and these that it takes: '
        f"{DRIVER} (2: allocated), {DRIVER} (1: taint broken:NoSchedule)"
    ]
    enough = cluster(own, nic, slices, holder("b", "c", pod=""), requests=wants("h100", 3), nodes=1)
    assert not [h.sentence for h in report(enough).hints if h.sentence.startswith("class ")]


def test_a_class_that_only_an_alternative_names_and_that_is_missing_is_told_first() -> None:
    asks = [
        {"name": n, "deviceClassName": c, "allocationMode": "ExactCount", "count": 1}
        for n, c in (("a", "gpu"), ("b", "nope"))
    ]
    of = cluster(pool(device("a")), holder("a"), requests=[{"name": "r", "firstAvailable": asks}], nodes=1)
    first = report(of).hints[0]
    assert (first.kind, first.sentence, first.request) == ("class", "class nope is missing", "r/b")
    assert moves(of).names == ("nope",)


# --- the glance and the look agree -----------------------------------------------------------------------------------

DEVICES = st.tuples(st.sampled_from(["a100", "h100"]), st.booleans(), st.booleans())


@given(
    nodes=st.lists(st.tuples(st.lists(DEVICES, max_size=3), st.booleans()), min_size=2, max_size=5),
    count=st.integers(1, 3),
    mode=st.sampled_from(["ExactCount", "All"]),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_glance_finds_the_node_nearest_that_a_look_finds_nearest(nodes: Any, count: int, mode: str) -> None:
    objects: list[Raw] = []
    for i, (devices, is_whole) in enumerate(nodes):
        made = [device(f"d{j}", kind, taints=[TAINT] if bad else []) for j, (kind, bad, _) in enumerate(devices)]
        if made:
            objects.append(pool(*made, node=f"node-{i}", slices=1 if is_whole else 2))
        if held := [f"d{j}" for j, (_, _, is_held) in enumerate(devices) if is_held]:
            objects.append(holder(*held, node=f"node-{i}", name=f"held-{i}"))
    wanted = [request(count=count, selectors=selectors(model("h100")), allocationMode=mode)]
    of = cluster(*objects, requests=wanted, nodes=len(nodes))
    examination = Examination(of.pods["team/train"], of, build.NOW)
    each = [of.nodes.named((f"node-{i}",)) for i in range(len(nodes))]
    looked = [examination._look(one, Budget(), None) for one in each]
    glances = Glances(
        of.inventory, of.device_classes, Answers(), read_by(examination._state), examination._claims, Budget()
    )
    found = [of.nodes.names(s)[0] for s in glances.nearest(each, of.nodes, len(nodes))]
    assert found == [one.funnel.node.name for one in sorted(looked, key=distance)]


def test_a_verdict_glances_at_so_many_devices_only() -> None:
    slices = [several(f"m{i}", 10, node=f"node-{i}") for i in range(50)]
    of = cluster(*slices, requests=wants("m49"), nodes=50)
    work = Budget(100)
    claims = [of.device_claims["team/claim"]]
    glances = Glances(of.inventory, of.device_classes, Answers(), EVERYTHING, lambda _: claims, work)
    assert len(glances.nearest([1 << i for i in range(50)], of.nodes, 50)) == 7  # 14 looks each
    assert work.used <= 100


def test_devices_that_look_the_same_are_glanced_at_once() -> None:
    slices = [several("a100", 10, node=f"node-{i}") for i in range(50)]
    of = cluster(*slices, requests=wants("h100"), nodes=50)
    work = Budget(1_000)
    claims = [of.device_claims["team/claim"]]
    glances = Glances(of.inventory, of.device_classes, Answers(), EVERYTHING, lambda _: claims, work)
    assert len(glances.nearest([1 << i for i in range(50)], of.nodes, 50)) == 50
    assert work.used == 50 * 4 + 10
