"""What is said that would make a pod's claims fit: the right values, and only what the allocator confirms."""

from __future__ import annotations

from dradash.scheduling.structured.devicereport import device_report
from tests.devicescene import DRIVER, device, holder, model, pool, request, selectors
from tests.unit.test_funnel import cluster, hint, report

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


def test_a_selector_that_is_no_bool_is_told_as_such() -> None:
    wanted = request(selectors=selectors(f"{ATTRIBUTES}.model"))
    slices = pool(device("a"), device("b"), device("c", "l4"))
    sentence = hint(report(cluster(slices, requests=[wanted])), "selector").sentence
    assert sentence == "selector wants model, which is a string and no bool; this cluster has a100 (2), l4 (1)"
