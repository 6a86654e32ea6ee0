"""What an expression reads of a device: devices that agree in that get the same answer."""

from __future__ import annotations

import random
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.kinds.resourceslice import Device, DeviceAttribute, DeviceCapacity
from dradash.scheduling.structured.cel import RuntimeFault, compile_selector
from dradash.scheduling.structured.celreads import Read
from dradash.scheduling.structured.celvariables import variables
from dradash.scheduling.structured.reading import values_seen

DRIVER: Final = "gpu.example.com"
MINE: Final = f'device.attributes["{DRIVER}"]'
MODEL: Final = Read("attributes", DRIVER, "model")
INDEX: Final = Read("attributes", DRIVER, "index")
ALL_MINE: Final = Read("attributes", DRIVER)
MEMORY: Final = Read("capacity", DRIVER, "memory")

READS: Final = {
    "true": set(),
    f'device.driver == "{DRIVER}"': set(),
    "device.allowMultipleAllocations": set(),
    f'{MINE}.model == "a100"': {MODEL},
    f'{MINE}["model"] == "a100"': {MODEL},
    f'{MINE}.?model.orValue("") == "a100"': {MODEL},
    f'{MINE}[?"model"].orValue("") == "a100"': {MODEL},
    f"has({MINE}.model)": {MODEL},
    f'"model" in {MINE}': {MODEL},
    f'{MINE}.model.startsWith("a") || {MINE}.index in [0, 1]': {MODEL, INDEX},
    f'{MINE}.model in ["a100", "h100"] ? {MINE}.index > 0 : false': {MODEL, INDEX},
    f'"{DRIVER}" in device.attributes': {ALL_MINE},
    f'{MINE}.exists(k, k == "model")': {ALL_MINE},
    f"cel.bind(d, {MINE}, d.index > 0)": {INDEX},
    f'cel.bind(d, {MINE}, d.?model.orValue("") == "a100" && has(d.index) && d["index"] > 0)': {MODEL, INDEX},
    f'cel.bind(a, device.attributes, cel.bind(d, a["{DRIVER}"], d.model == "a100"))': {MODEL},
    f'cel.bind(m, {MINE}.model, m == "a100")': {MODEL},
    f"cel.bind(d, {MINE}, size(d) > 1)": {ALL_MINE},
    f'cel.bind(d, {MINE}, ["x"].exists(d, d == "x"))': set(),
    f'cel.bind(d, {MINE}, ["x"].exists(x, d.model == x))': {MODEL},
    f'cel.bind(d, {MINE}, cel.bind(d, device.capacity["{DRIVER}"], has(d.memory)))': {MEMORY},
    f'cel.bind(d, device.attributes[?"{DRIVER}"], d.?model.orValue("") == "a100")': {MODEL},
    f'cel.bind(d, device.attributes[?"{DRIVER}"], d.hasValue())': {ALL_MINE},
    f"size({MINE}) > 1": {ALL_MINE},
    "device.attributes.exists(d, true)": {Read("attributes")},
    "size(device.capacity) == 1": {Read("capacity")},
    'device.attributes[device.driver].model == "a100"': {Read("attributes")},
    f'{MINE}["mod" + "el"] == "a100"': {ALL_MINE},
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0': {MEMORY},
    f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("1Gi")) && {MINE}.index == 1': {MEMORY, INDEX},
    f'[{MINE}.index].exists(x, x == 1) && {{"a": {MINE}.model}}.a == "a100"': {MODEL, INDEX},
    f'cel.bind(d, device, d.attributes["{DRIVER}"].model == "a100")': {Read("attributes"), Read("capacity")},
    f'[device].all(d, d.driver == "{DRIVER}" && has(d.capacity))': {Read("attributes"), Read("capacity")},
    f'device.?attributes["{DRIVER}"].?model.orValue("") == "a100"': {MODEL},
    f'device.?capacity["{DRIVER}"].?memory.hasValue() && device.?driver.hasValue()': {MEMORY},
    'device.attributes["other.example.com"].rack == "r1"': {Read("attributes", "other.example.com", "rack")},
}


@pytest.mark.parametrize(("expression", "expected"), READS.items())
def test_it_reads_these_values(expression: str, expected: set[Read]) -> None:
    assert compile_selector(expression).reads == expected


def random_device(choose: random.Random) -> Device:
    attributes = {
        "model": DeviceAttribute(string_value=choose.choice(("a100", "h100"))),
        "index": DeviceAttribute(int_value=choose.randrange(3)),
        "other.example.com/rack": DeviceAttribute(string_value=choose.choice(("r1", "r2"))),
        f"{DRIVER}/extra": DeviceAttribute(bool_value=choose.random() < 0.5),
    }
    kept = {name: value for name, value in attributes.items() if choose.random() < 0.7}
    capacity = {"memory": DeviceCapacity(value=choose.choice(("40Gi", "80Gi")))} if choose.random() < 0.7 else {}
    return Device(name=f"gpu-{choose.random()}", attributes=kept, capacity=capacity)


def answer(expression: str, device: Device) -> bool | str:
    try:
        return compile_selector(expression).matches(variables(DRIVER, device))
    except RuntimeFault as fault:
        return str(fault)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_devices_that_agree_in_what_is_read_get_the_same_answer(seed: int) -> None:
    choose = random.Random(seed)
    devices = [random_device(choose) for _ in range(12)]
    for expression in READS:
        reads = compile_selector(expression).reads
        answers: dict[object, bool | str] = {}
        for device in devices:
            seen = values_seen(DRIVER, device, reads)
            assert answers.setdefault(seen, answer(expression, device)) == answer(expression, device), expression
