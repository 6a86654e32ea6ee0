"""A selector that somebody types is tried on the cluster's devices: what matches, what refuses, and what fails."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from dradash.scheduling.structured import cel, selectorbench
from dradash.scheduling.structured.celfaults import COST, MISSING_KEY, UNREADABLE, WRONG_TYPE
from dradash.scheduling.structured.conjuncts import Met
from dradash.scheduling.structured.selectorbench import Answer, Share
from tests import builddevices as make
from tests.build import Obj, cluster, node

MINE = 'device.attributes["gpu.example.com"]'
H100 = {"name": "gpu-1", "attributes": {"model": {"string": "h100"}, "numa": {"int": 1}}}
SLICES = (
    make.resource_slice(make.device("gpu-0"), H100, node="node-0"),
    make.resource_slice(make.device("gpu-0"), make.device("gpu-1", "l4"), node="node-1"),
    make.resource_slice(make.device("nic-0", "x"), driver="nic.example.com", pool="rack/a", allNodes=True),
    make.resource_slice(make.device("half"), node="node-2", count=2),
)
CLASS = make.device_class("gpu", 'device.driver == "gpu.example.com"')


def never() -> bool:
    return False


def ask(
    expression: str,
    *more: Obj,
    device_class: str = "",
    driver: str = "",
    enough: Callable[[], bool] = never,
) -> Answer:
    made = cluster(*SLICES, CLASS, *(node(f"node-{i}") for i in range(3)), *more)
    return selectorbench.answer(selectorbench.question(made, expression, device_class, driver), enough)


def test_what_matches_is_counted_by_driver_pool_and_node_the_most_first() -> None:
    said = ask('device.driver == "gpu.example.com" && ' + f'{MINE}.model in ["a100", "h100"]')
    assert (said.asked, said.matching, said.failed) == (5, 3, 0)
    assert said.drivers == (Share(("gpu.example.com",), 3, 4), Share(("nic.example.com",), 0, 1))
    assert said.nodes == (Share(("node-0",), 2, 2), Share(("node-1",), 1, 2), Share(("",), 0, 1))
    assert said.pools[1] == Share(("gpu.example.com", "node-1"), 1, 2)
    assert next(str(one.id) for one in said.matches) == "gpu.example.com/node-0/gpu-0"


def test_devices_of_pools_that_give_none_are_counted_and_not_asked() -> None:
    asked = selectorbench.question(cluster(*SLICES), "true")
    assert (asked.devices, asked.unusable) == (5, 1)


def test_the_part_that_refuses_first_is_told_with_what_it_met() -> None:
    said = ask(f'device.driver == "gpu.example.com" && {MINE}.model == "h100"')
    first, second = said.parts
    assert (first.left, first.refused, first.met[0].values) == (4, 1, (Met("driver", "nic.example.com"),))
    assert (second.text, second.left, second.refused) == (f'{MINE}.model == "h100"', 1, 3)
    assert [(seen.values, seen.devices) for seen in second.met] == [
        ((Met("model", "a100"),), 2),
        ((Met("model", "l4"),), 1),
    ]


def test_what_is_bound_to_a_name_is_told_as_what_it_is() -> None:
    said = ask(f'cel.bind(g, {MINE}, g.model == "h100" && g.model != "")', driver="gpu.example.com")
    assert [(p.text, p.left) for p in said.parts] == [(f'{MINE}.model == "h100"', 1), (f'{MINE}.model != ""', 1)]
    assert [seen.values for seen in said.parts[0].met] == [(Met("model", "a100"),), (Met("model", "l4"),)]


def test_a_class_gives_its_selectors_before_the_one_that_is_typed() -> None:
    said = ask(f'{MINE}.model == "l4"', device_class="gpu")
    assert [(p.of_class, p.left) for p in said.parts] == [(True, 4), (False, 1)]
    assert ask("", device_class="gpu").matching == 4
    assert ask("true", device_class="none").wrong[0].message == "there is no DeviceClass none"


def test_a_driver_narrows_what_is_asked() -> None:
    assert ask("true", driver="nic.example.com").asked == 1


@pytest.mark.parametrize(
    ("expression", "kind", "message", "devices"),
    [
        (f"{MINE}.numa == 1", MISSING_KEY, "no such key: numa", 4),
        (f'{MINE}["model"].noSuch == 1', "", "", 0),
        (f"{MINE}.model > 3", WRONG_TYPE, "no such overload", 4),
        ("lists.range(9000).all(x, lists.range(9000).all(y, x + y >= 0))", COST, "", 5),
    ],
)
def test_failures_are_told_by_kind_with_the_devices(expression: str, kind: str, message: str, devices: int) -> None:
    said = ask(expression)
    if not kind:
        assert said.wrong or said.faults
        return
    assert said.kinds[0] == (kind, devices)
    assert message in said.faults[0].message
    assert said.faults[0].part == expression
    assert said.failed == sum(n for _, n in said.kinds)


def test_an_attribute_that_is_no_value_spoils_its_device_alone() -> None:
    odd = make.resource_slice(make.device("odd", attributes={"v": {"version": "one"}}), node="node-9")
    said = ask("true", odd)
    assert said.kinds == ((UNREADABLE, 1),)
    assert (said.matching, said.asked) == (5, 6)
    assert said.faults[0].named[0].id.device == "odd"


def test_what_is_missing_is_met_as_nothing() -> None:
    (fault,) = ask(f"{MINE}.numa == 1", driver="gpu.example.com").faults
    assert (fault.devices, fault.met[0].values) == (3, (Met("numa", "nothing"),))
    assert [one.id.pool for one in fault.named] == ["node-0", "node-1", "node-1"]


@pytest.mark.parametrize(
    ("expression", "line", "column", "words"),
    [
        ('device.driver == "x" &&\n  foo', 2, 3, "undeclared reference to 'foo'"),
        ("device.driver == ", 1, 18, "Syntax error"),
        ("has(device.x)", 0, 0, "undefined field 'x'"),
        ("1", 0, 0, "must evaluate to bool"),
        ("x" * 5000, 0, 0, "longer than 4096 characters"),
        ("device.attributes.all(k, v, foo)", 0, 0, "undeclared reference to 'foo'"),
    ],
)
def test_what_does_not_compile_says_where(expression: str, line: int, column: int, words: str) -> None:
    said = ask(expression)
    assert (said.wrong[0].line, said.wrong[0].column) == (line, column)
    assert words in said.wrong[0].message
    assert "INVALID_ARGUMENT" not in said.wrong[0].message
    assert said.wrong[0].source == ("  foo" if line == 2 else expression if line else "")


def test_the_selector_that_does_not_compile_is_named_where_it_is_the_classs() -> None:
    said = ask("true", make.device_class("bad", "true", "nonsense("), device_class="bad")
    assert said.wrong_at == 1


def test_time_that_is_over_ends_it_between_devices_and_within_one() -> None:
    ticks = count()
    said = ask("true", enough=lambda: next(ticks) >= 3)
    assert 0 < said.asked < 5
    ticks = count()
    nested = "lists.range(900).all(x, lists.range(90).all(y, x + y >= 0))"
    assert ask(nested, enough=lambda: next(ticks) > 100).asked == 0
    assert next(ticks) < 110


def test_what_people_type_pushes_nothing_out_of_the_clusters_memory() -> None:
    before = cel._compiled.cache_info().currsize
    for i in range(20):
        assert ask(f'device.driver == "{i}" && true').matching == 0
    assert cel._compiled.cache_info().currsize == before


def test_the_highest_cost_of_an_evaluation_is_told() -> None:
    assert 0 < ask(f'{MINE}.model == "a100"', driver="gpu.example.com").cost < 10
