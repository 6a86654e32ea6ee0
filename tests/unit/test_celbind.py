"""The name of a cel.bind is put out of the way, so that its body can be taken apart."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.kinds.resourceslice import Device, DeviceAttribute
from dradash.scheduling.structured.cel import RuntimeFault, compile_selector
from dradash.scheduling.structured.celbind import unbound
from dradash.scheduling.structured.celvariables import variables
from dradash.scheduling.structured.conjuncts import conjuncts, short, without

DRIVER: Final = "gpu.example.com"
MINE: Final = f'device.attributes["{DRIVER}"]'


@pytest.mark.parametrize(
    ("expression", "body"),
    [
        (f'cel.bind(g, {MINE}, g.model == "b" && g.index > 0)', f'{MINE}.model == "b" && {MINE}.index > 0'),
        (f'cel.bind( g , {MINE} ,g["model"] == "g")', f'{MINE}["model"] == "g"'),
        (f"cel.bind(g, {MINE}, g.?g.orValue(false) || has(g.g))", f"{MINE}.?g.orValue(false) || has({MINE}.g)"),
        (f'cel.bind(g, {MINE}.a + "x", g == "x")', f'({MINE}.a + "x") == "x"'),
        (f"cel.bind(n, size({MINE}), n > 1 && 1 < n)", f"(size({MINE})) > 1 && 1 < (size({MINE}))"),
        (f"cel.bind(g, {MINE}, [g.a, g.b].exists(x, x == 1))", f"[{MINE}.a, {MINE}.b].exists(x, x == 1)"),
        (f"cel.bind(g, {MINE}, g.a) && true", ""),
        (f"cel.bind(g, {MINE}, [1].all(g, g == 1))", ""),
        (f"cel.bind(g, {MINE}, cel.bind(g, 1, g == 1))", ""),
        (f"{MINE}.a", ""),
        ("cel.bind(", ""),
        ("cel.bind", ""),
        ("", ""),
    ],
)
def test_the_body_has_what_is_bound_in_place_of_its_name(expression: str, body: str) -> None:
    assert unbound(expression) == body


def test_names_within_names_do_not_grow_without_end() -> None:
    expression = "x"
    for i in range(40):
        expression = f"cel.bind(n{i}, {'n' + str(i - 1) if i else MINE}, n{i} == n{i} && {expression})"
    assert len(max(conjuncts(expression), key=len)) < 10_000


def test_a_bound_chain_is_taken_apart_also_within_another() -> None:
    chain = f'device.driver == "{DRIVER}" && (cel.bind(g, {MINE}, g.model == "b200" && g.index > 0))'
    assert [short(part) for part in conjuncts(chain)] == [
        f'device.driver == "{DRIVER}"',
        'model == "b200"',
        "index > 0",
    ]
    left = without(chain, f'{MINE}.model == "b200"')
    assert left == f'(device.driver == "{DRIVER}") && ({MINE}.index > 0)'


def answer(expression: str, device: Device) -> bool | str:
    try:
        return compile_selector(expression).matches(variables(DRIVER, device))
    except RuntimeFault as fault:
        return str(fault)


BODIES: Final = [
    'g.model == "a100" && g.index > 0',
    'has(g.model) && g.model.startsWith("a")',
    "g.index in [0, 1] ? g.model == 'a100' : g.?index.orValue(2) == 2",
    '["a100"].exists(x, g.model == x) && !(g.index == 1)',
    'size(g) == 2 && "model" in g',
]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(BODIES), st.sampled_from(["a100", "l4", None]), st.sampled_from([0, 1, None]))
def test_without_the_name_it_says_the_same_of_every_device(body: str, model: str | None, index: int | None) -> None:
    attributes = {} if model is None else {"model": DeviceAttribute(string_value=model)}
    attributes |= {} if index is None else {"index": DeviceAttribute(int_value=index)}
    device = Device(name="d", attributes=attributes)
    expression = f"cel.bind(g, {MINE}, {body})"
    assert answer(unbound(expression), device) == answer(expression, device)
