"""Evaluates a checked CEL tree: each node becomes a closure that is called with the frame of one evaluation.

Meaning, errors and cost follow cel-go's interpreter: error values that `&&`, `||` and the macros absorb, optional
values that carry on through selections, and a cost of one for each name, selection and call, more for long strings.
"""

from __future__ import annotations

from typing import Any, Final

from dradash.scheduling.structured.celcost import LONG_LIST, cost_of
from dradash.scheduling.structured.celdeclarations import DEVICE_FIELDS, DEVICE_MAPS, NAMED_TYPES
from dradash.scheduling.structured.celframe import Frame, Program
from dradash.scheduling.structured.celfunctions import FUNCTIONS
from dradash.scheduling.structured.celoperators import SPECIAL, find
from dradash.scheduling.structured.celtree import Call, Comprehension, Const, Ident, ListOf, MapOf, Node, Select
from dradash.scheduling.structured.celvalues import NONE, CelMap, EvalError, Optional, TypeOf, no_overload

# Names that are types when no variable has them.
_TYPES: Final = frozenset(
    (
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "optional_type",
        *NAMED_TYPES,
    )
)


def program(node: Node) -> Program:
    """The closure for a node. Calling it returns a value or raises CelError."""
    match node:
        case Const():
            value = node.value
            return lambda _frame: value
        case Ident():
            return _ident(node.name)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListOf():
            return _list(node)
        case MapOf():
            return _map(node)
        case _:
            return _comprehension(node)


def _ident(name: str) -> Program:
    def run(frame: Frame) -> Any:
        frame.spend(1)
        if name in frame.variables:
            value = frame.variables[name]
            # The accumulator of a macro may hold an error until something absorbs it.
            if isinstance(value, EvalError):
                raise value
            return value
        if name == "device":
            return CelMap([(field, frame.variables[f"device.{field}"]) for field in DEVICE_FIELDS])
        if name in _TYPES:
            return TypeOf(name)
        raise EvalError(f"no such attribute(s): {name}")

    return run


def _select(node: Select) -> Program:
    if not node.test_only and (place := _domain_of(node.operand)) is not None:
        return _value_of_device(*place, node.field)
    operand, field = program(node.operand), node.field

    def run(frame: Frame) -> Any:
        frame.spend(1)
        return _selected(operand(frame), field)

    def test(frame: Frame) -> Any:
        value = operand(frame)
        return find(value.value if isinstance(value, Optional) and value.present else value, field).present

    return test if node.test_only else run


def _domain_of(node: Node) -> tuple[str, str] | None:
    """`device.attributes["domain"]`: the variable and the domain."""
    match node:
        case Call(function="_[_]", target=None, args=(Ident(name=name), Const(value=str(domain)))) if (
            name in DEVICE_MAPS and "/" not in domain
        ):
            return name, domain
    return None


def _value_of_device(variable: str, domain: str, name: str) -> Program:
    """The same as its three parts, one after the other, in one step: nearly every selector is made of these."""

    def run(frame: Frame) -> Any:
        frame.spend(3)
        value = frame.variables[variable].named(domain, name)
        if value is None:
            raise EvalError(f"no such key: {name}")
        return value

    return run


def _selected(value: Any, field: str) -> Any:
    if isinstance(value, Optional):
        return find(value.value, field) if value.present else NONE
    if isinstance(value, CelMap):
        return value.get(field)
    raise no_overload()


def _call(node: Call) -> Program:
    args = [program(a) for a in ((node.target, *node.args) if node.target is not None else node.args)]
    special = SPECIAL.get(node.function)
    if special is not None:
        return special(args)
    function = FUNCTIONS.get(node.function)
    if function is None:
        raise EvalError(f"function {node.function} is not known")
    implementation = function

    def run(frame: Frame) -> Any:
        values = [a(frame) for a in args]
        frame.spend(cost_of(node.function, values))
        result = implementation(*values)
        if isinstance(result, list) and len(result) > LONG_LIST:
            frame.spend(len(result))
        return result

    return run


def _list(node: ListOf) -> Program:
    elements = [(program(e), i in node.optional) for i, e in enumerate(node.elements)]

    def run(frame: Frame) -> Any:
        frame.spend(10 + len(elements) // 10)
        values = []
        for element, optional in elements:
            value = element(frame)
            if not optional:
                values.append(value)
            elif value.present:
                values.append(value.value)
        return values

    return run


def _map(node: MapOf) -> Program:
    entries = [(program(k), program(v), optional) for k, v, optional in node.entries]

    def run(frame: Frame) -> Any:
        frame.spend(30 + len(entries))
        pairs = []
        for key_of, value_of, optional in entries:
            key, value = key_of(frame), value_of(frame)
            if not optional:
                pairs.append((key, value))
            elif value.present:
                pairs.append((key, value.value))
        return CelMap(pairs)

    return run


def _comprehension(node: Comprehension) -> Program:
    items_of, init = program(node.iter_range), program(node.accu_init)
    condition, step, result = program(node.loop_condition), program(node.loop_step), program(node.result)
    item_name, accu_name = node.iter_var, node.accu_var

    def run(frame: Frame) -> Any:
        items = _items(items_of(frame))
        variables = frame.variables
        # The accumulator of cel.bind is evaluated lazily by cel-go: an error in it counts only where it is used.
        start = _value_or_error(init, frame)
        frame.variables = {**variables, accu_name: start}
        try:
            for item in items:
                frame.variables[item_name] = item
                if condition(frame) is not True:
                    break
                frame.variables[accu_name] = _value_or_error(step, frame)
            frame.variables.pop(item_name, None)
            return result(frame)
        finally:
            frame.variables = variables

    return run


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, CelMap):
        return value.keys()
    raise no_overload()


def _value_or_error(run: Program, frame: Frame) -> Any:
    try:
        return run(frame)
    except EvalError as error:
        return error
