"""CEL selectors mean on a device what they mean in Kubernetes."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from dradash.kinds.resourceslice import Device, DeviceAttribute, DeviceCapacity
from dradash.scheduling.structured.cel import CompileError, RuntimeFault, compile_selector
from dradash.scheduling.structured.celvariables import variables

DRIVER = "gpu.example.com"
DEVICE = Device(
    name="gpu-0",
    attributes={
        "model": DeviceAttribute(string_value="a100"),
        "index": DeviceAttribute(int_value=2),
        "healthy": DeviceAttribute(bool_value=True),
        "driverVersion": DeviceAttribute(version_value="1.10.0"),
        "dra.example.org/rack": DeviceAttribute(string_value="r1"),
    },
    capacity={"memory": DeviceCapacity(value="40Gi")},
)
MINE = 'device.attributes["gpu.example.com"]'
NUMBERS = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"


def matches(expression: str, device: Device = DEVICE) -> bool:
    seen: dict[str, Any] = variables(DRIVER, device)
    return compile_selector(expression).matches(seen)


@pytest.mark.parametrize(
    "expression",
    [
        f'device.driver == "gpu.example.com" && {MINE}.model == "a100"',
        'device.attributes["dra.example.org"].rack == "r1"',
        f"{MINE}.index == 2.0 && {MINE}.index in [1.0, 2.0] && {MINE}.index < 2.5",
        f'{MINE}.driverVersion.isGreaterThan(semver("1.9.9"))',
        f'{MINE}.driverVersion == semver("1.10.0+build")',
        'device.capacity["gpu.example.com"].memory == quantity("40960Mi")',
        'device.capacity["gpu.example.com"].memory.sub(quantity("1Gi")).compareTo(quantity("39Gi")) == 0',
        '!("absent.example.com" in device.attributes)',
        'device.attributes["absent.example.com"] == {}',
        'device.attributes[?"absent.example.com"].hasValue()',
        'has(device.attributes) && !has(device.attributes["absent.example.com"].x)',
        f"{MINE}.nothing == 1 || {MINE}.index == 2",
        f"!({MINE}.index == 1 && {MINE}.nothing == 1)",
        f'{MINE}.?nothing.orValue("none") == "none"',
        f'{MINE}.driverVersion != "1.10.0"',
        f'{MINE}.all(k, v, k != "model" || v == "a100")',
        '{"a": 1, "b": 2}.transformMap(k, v, v > 1, v + 1) == {"b": 3}',
        "[3, 1].sortBy(x, -x)[0] == 3",
        "[[1, 2], [3]].flatten() == [1, 2, 3]",
        f"cel.bind(d, {MINE}, d.healthy && d.index < 5)",
        f'{MINE}.model.find("[0-9]+") == "100"',
        'ip("10.0.0.1").family() == 4 && cidr("10.0.0.0/8").containsIP("10.1.2.3")',
        'url("https://example.com:80/x").getHost() == "example.com:80"',
        '!format.dns1123Label().validate("a").hasValue()',
        '"%s-%d".format([string(1.5), 7]) == "1.5-7"',
        'timestamp("2024-02-29T23:00:00Z") + duration("90m") == timestamp("2024-03-01T00:30:00Z")',
        "-7 / 2 == -3 && -7 % 2 == -1",
        "!device.allowMultipleAllocations",
        'isQuantity("Gi") && isQuantity("-") && !isQuantity("Ei") && sign(quantity("Mi")) == 0',
        r'!isQuantity(" 1") && !isQuantity("1 ") && !isQuantity("1Gi\n") && isQuantity("1Gi")',
        'cel.bind(d, device, d.driver == "gpu.example.com" && d.attributes["gpu.example.com"].model == "a100")',
        'cel.bind(d, device, d.attributes["gpu.example.com"].healthy)',
        'cel.bind(d, device, has(d.driver) && has( d . capacity ) && !has(d.attributes["gpu.example.com"].x))',
        'cel.bind(d, device, d.capacity["gpu.example.com"].memory.isLessThan(quantity("41Gi")))',
        '"\u00e9" == "\u00e9" && [device].all(d, d . driver == "gpu.example.com" && !d.allowMultipleAllocations)',
        '[device].map(d, d.attributes["gpu.example.com"].model) == ["a100"]',
        '[device, device][1].?driver.orValue("") == "gpu.example.com"',
        '{"a": device}.transformMap(k, v, v.driver) == {"a": "gpu.example.com"}',
        'device.?driver.orValue("") == "gpu.example.com"',
        'device.?attributes["gpu.example.com"].?model.hasValue()',
        '!device.?attributes["gpu.example.com"].?nothing.hasValue()',
        "device == device && device in [device]",
        "device != null && null != device && !(device in [null])",
        'cel.bind(d, device, d != null && d.driver == "gpu.example.com")',
        "(true ? device : null) == device && (false ? device : null) == null",
        'device != null && "null" != device.driver',
        'optional.of(device).driver.value() == "gpu.example.com"',
        "optional.of(device).?driver == optional.of(device.driver)",
        'optional.of(device).attributes["gpu.example.com"].model == optional.of("a100")',
        '[device][?0].capacity["gpu.example.com"].memory.value() == quantity("40Gi")',
        "[device][?1].driver == optional.none() && !has([device][?1].driver) && has(optional.of(device).driver)",
        '{"a": device}.?a.driver.orValue("") == "gpu.example.com"',
        'optional.of(device).orValue(null).driver == "gpu.example.com"',
        'cel.bind(o, optional.of(device), o.driver == o.?driver && o.attributes["gpu.example.com"].index.value() == 2)',
        '[optional.of(device).driver,\n [device][?0]\n  .?driver][1].value() == "gpu.example.com"',
        "[device].map(d, optional.of(d)).all(o, o.driver.hasValue() && has(o.capacity))",
        '(true ? device : null).driver == "gpu.example.com" && has((true ? device : null).driver)',
        'cel.bind(d, true ? device : null, d.?driver.value() == "gpu.example.com" && d.attributes.size() == 2)',
        "optional.of(true ? device : null).driver.hasValue()",
        'cel.bind(device, {"driver": 1}, device.driver == 1)',
        "1 < 2.0 && type(1) == int",
        "[1, ?optional.of(2)] == [1, 2] && [?optional.none(), 2] == [2]",
        '{?"a": optional.none(), "b": 2} == {"b": 2} && {"a": 1, ?"b": {"b": 2}.?b} == {"a": 1, "b": 2}',
        "[[1], []].size() == 2 && [[], [1]].size() == 2 && [{}, {1: [2]}].size() == 2",
        "[null, null].size() == 2",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
        "optional.unwrap([optional.of([optional.of(2)].unwrapOpt()), optional.none()]) == [[2]]",
        f'[{MINE}.?model, {MINE}.?nothing].unwrapOpt() == ["a100"]',
        'timestamp("2024-01-01T00:00:00Z").getHours("America/New_York") == 19',
        'timestamp("2024-07-01T00:00:00Z").getHours("America/New_York") == 20',
        'timestamp("2024-01-01T00:00:00Z").getFullYear("US/Central") == 2023',
        'timestamp("2024-01-01T00:00:00Z").getDate("Asia/Kolkata") == 1',
        'timestamp("2024-01-01T00:00:00Z").getMinutes("Asia/Kolkata") == 30',
        'timestamp("0001-01-01T00:00:00Z").getHours("Etc/GMT-5") == 5',
        'timestamp("9999-12-31T23:59:59Z").getHours("Etc/GMT-5") == 4',
        'timestamp("2024-01-01T00:00:00Z").getHours("UTC") == 0 && timestamp("2024-01-01T00:00:00Z").getHours("") == 0',
        'timestamp("2024-01-01T00:00:00Z").getHours("-02:30") == 21',
        'timestamp("2024-01-01T00:00:00Z").getMinutes("-02:30") == 30',
        'timestamp("2024-01-01T00:00:00Z").getHours("+5:0") == 5',
        'type(cidr("192.168.0.0/24")) == net.CIDR && type(ip("::1")) == net.IP && type(ip("::1")) in [net.IP]',
        'type(cidr("10.0.0.0/8")) != net.IP && type(1) != net.IP && cel.bind(net, {"IP": 1}, net.IP == 1)',
        'isCIDR("10.0.0.0/8") && isCIDR("::1/128") && !isCIDR("10.0.0.0/08") && !isCIDR("10.0.0.0/+8")',
        '!isCIDR("::ffff:1.2.3.4/100") && !isCIDR("fe80::1%eth0/64") && !isCIDR("::ffff:102:304/120")',
        'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.0.0.0/8").containsCIDR("10.0.0.0/7")',
        """'%s'.format([[1, 'a', b'b', null, true, 1.5]]) == '[1, "a", b"b", null, true, 1.500000]'""",
        """'%s %d'.format([{1: [2, 'b'], 0: [], 2: [string]}, 1]) == '{0:[], 1:[2, "b"], 2:[string]} 1'""",
        """'%s'.format([{'b': duration('90s'), 'a': timestamp(0)}])
            == '{"a":timestamp("1970-01-01T00:00:00Z"), "b":duration("90s")}'""",
        '"%s %s %s".format([1.5, duration("90s"), b"x"]) == "1.5 90s x"',
        '"%.2f|%f".format([-1234567.891, 0.5]) == "-1,234,567.89|0.500000"',
        '"%e|%.12e".format([1052.032911275, "Infinity"])'
        ' == "1.052033\\u202f\\u00d7\\u202f10\\u2070\\u00b3|           \\u221e"',
        '"%f".format(["NaN"]) == "NaN" && "%x %X %b %o".format(["az", 255, true, 8]) == "617a FF 1 10"',
        '"%d".format([[1, "a"].size()]) == "2"',
    ],
)
def test_an_expression_matches(expression: str) -> None:
    assert matches(expression)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (f"{MINE}.nothing == 1", "no such key: nothing"),
        ('device.attributes["absent.example.com"].x == 1', "no such key: x"),
        (f'{MINE}.driverVersion == "1.10.0"', "no such overload"),
        (f"{MINE}.model > 3", "no such overload"),
        (f"{MINE}.index / 0 == 1", "division by zero"),
        (f"9223372036854775807 + {MINE}.index > 0", "integer overflow"),
        (f"{MINE}.model", "could not be converted to bool"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        (r'quantity("1Gi\n").isInteger()', "quantities must match the regular expression"),
        ('quantity("Ei").isInteger()', "unable to parse numeric part of quantity"),
        ('quantity(" 1").isInteger()', "quantities must match the regular expression"),
        ('(false ? device : null).driver == "x"', "no such overload"),
        ("[1, 2][5] == 1", "index out of range: 5"),
        (f'"%d".format([dyn({MINE}.model)]) == ""', "%d cannot be used"),
        ('"%f".format(["one"]) == ""', "%f cannot be used"),
        ('"%s".format([dyn([ip("::1")])]) == ""', "error during formatting"),
        ('timestamp(0).getHours("Mars/Olympus") == 1', "unknown time zone Mars/Olympus"),
        ('timestamp(0).getHours("../UTC") == 1', "unknown time zone ../UTC"),
        ('timestamp(0).getHours("/etc/hostname") == 1', "unknown time zone /etc/hostname"),
        ('timestamp(0).getHours("Z") == 1', "unknown time zone Z"),
        ('timestamp(0).getHours("America") == 1', "unknown time zone America"),
        ('timestamp(0).getHours("a:b") == 1', "invalid time zone offset a:b"),
    ],
)
def test_an_expression_fails_on_the_device(expression: str, message: str) -> None:
    with pytest.raises(RuntimeFault, match=re.escape(message)):
        matches(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        '"unterminated',
        "1",
        "dyn(true)",
        '"a" == 1',
        "device.nothing == 1",
        'device["driver"] == "x"',
        "device",
        "size(device) == 4",
        "device == {}",
        "device < null",
        "device == _nu_",
        "device.all(k, true)",
        '"driver" in device',
        "cel.bind(d, device, d.driver == 1)",
        'cel.bind(d, device, d.capacity["gpu.example.com"].memory == "40Gi")',
        'cel.bind(d, device, d.driver__() == "gpu.example.com")',
        "optional.of(device).driver == 1",
        'optional.of(device).optMap(d__, d__.driver__()).value() == "x"',
        "(true ? device : null).has__()",
        f'{MINE}.driverVersion > semver("1.0.0")',
        f"{MINE}.model.noSuchFunction()",
        '[1, "a"].size() == 2',
        '[[1], ["a"]].size() == 2',
        '{"a": [1], "b": ["x"]}.size() == 2',
        '{1: 2, "a": 2}.size() == 2',
        "[[1], [], ['a']].size() == 3",
        "[int, string].size() == 2",
        "[1, null].size() == 2",
        "[null, 1].size() == 2",
        '{"a": null, "b": 1}.size() == 2',
        f"[{MINE}.index, null].size() == 2",
        "[dyn(1), null].size() == 2",
        "[device, null].size() == 2",
        '[1, ?optional.of("a")].size() == 2',
        f'device.driver in [?{MINE}.?model, "x"] || true',
        "[1, optional.of(1)].size() == 2",
        '"%f".format([1]) == "1"',
        f'"%s".format([[{MINE}.model]]) == "[]"',
        f'"%s".format([{{1: {MINE}.model}}]) == "[]"',
        '"%s".format([optional.of(1)]) == "1"',
        'device.driver.matches("(")',
        'duration("soon") > duration("1h")',
        f'"%s".format([{MINE}.model]) == "a100"',
        "math.greatest(1, 2) == 2",
        'type(quantity("1")) == kubernetes.Quantity',
        "[1, 2, 3].existsOne(x, x > 2)",
        "[1].unwrapOpt() == [1]",
        "[optional.of(1)].unwrapOpt(1) == [1]",
        "optional.unwrap(1) == [1]",
        "optional.unwrap() == [1]",
        "[optional.of(1)].unwrap() == [1]",
        "x" * 20_000,
    ],
)
def test_an_expression_does_not_compile(expression: str) -> None:
    with pytest.raises(CompileError):
        compile_selector(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "has(device.nothing)",
        "cel.bind(d, device, d.nothing == 1)",
        "device.?nothing.hasValue()",
        "[device].all(d, d.x)",
        "optional.of(device).nothing.hasValue()",
        "has((true ? device : null).nothing)",
        '(true ? device : null).nothing == "a"',
    ],
)
def test_a_device_has_four_fields_whatever_it_is_called(expression: str) -> None:
    with pytest.raises(CompileError, match=r"undefined field '(nothing|x)'"):
        compile_selector(expression)


def test_a_field_that_a_device_has_not_does_not_compile() -> None:
    with pytest.raises(
        CompileError, match=r"1:16: found no matching overload for '_==_' applied to '\(null_type, int\)'"
    ):
        compile_selector("device.nothing == 1")


def test_an_attribute_of_unknown_type_breaks_every_selector() -> None:
    with pytest.raises(RuntimeFault, match="attribute tags: unsupported attribute value"):
        variables(DRIVER, Device(attributes={"tags": DeviceAttribute()}))


def test_the_cost_of_an_expression_is_limited() -> None:
    nested = f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, {NUMBERS}.all(d, a + b + c + d >= 0))))"
    with pytest.raises(RuntimeFault, match="actual cost limit exceeded"):
        matches(nested)


def test_a_pattern_that_might_run_for_ever_is_not_tried() -> None:
    device = Device(attributes={"model": DeviceAttribute(string_value="a" * 60 + "c")})
    with pytest.raises(RuntimeFault, match="repeats a repetition"):
        matches(f'{MINE}.model.find("((a+)+b|c)") == "c"', device)
    assert matches(f'{MINE}.model.matches("((a+)+b|c)")', device)
    assert matches(f'{MINE}.model.find("(a+)c") != ""', device)


@pytest.mark.parametrize("pattern", ["(a|a)*b|c", "(a|ab?)+b|c", "a*a*a*a*a*b|c", "a?" * 20 + "a" * 20 + "b|c"])
def test_neither_is_one_with_a_choice_that_is_repeated_or_with_many_repetitions(pattern: str) -> None:
    device = Device(attributes={"model": DeviceAttribute(string_value="a" * 60 + "c")})
    with pytest.raises(RuntimeFault, match="not evaluated here"):
        matches(f'{MINE}.model.find("{pattern}") == "c"', device)


@pytest.mark.parametrize(
    "expression",
    [
        "lists.range(100000).map(x, lists.range(100000)).size() > 0",
        "sets.contains(lists.range(100000), lists.range(100000).reverse())",
        "lists.range(20000).distinct().size() > 0",
        # Each doubles the list before it.
        "cel.bind(a, lists.range(9000), "
        + "".join(f"cel.bind({b}, {a} + {a}, " for a, b in pairwise("abcdefghijkl"))
        + "l.size() > 0"
        + ")" * 12,
        # 10 GB of text, in three steps.
        f'"{"a" * 100}".replace("a", "{"b" * 100}").replace("b", "{"c" * 1000}").replace("c", "{"d" * 1000}") == ""',
        f'lists.range(9999).map(x, "{"a" * 5000}").join() == ""',
    ],
)
def test_neither_memory_nor_time_grow_beyond_what_the_cost_allows(expression: str) -> None:
    with pytest.raises(RuntimeFault, match="actual cost limit exceeded"):
        matches(expression)
