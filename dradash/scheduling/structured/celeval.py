"""Evaluates a checked CEL tree: each node becomes a closure that is called with the frame of one evaluation.

Meaning, errors and cost follow cel-go's interpreter: error values that `&&`, `||` and the macros absorb, optional values
that carry on through selections, and a cost of one for each name, selection and call, more for long strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from dradash.scheduling.structured.celfunctions import FUNCTIONS
from dradash.scheduling.structured.celtree import Call, Comprehension, Const, Ident, ListOf, MapOf, Node, Select
from dradash.scheduling.structured.celvalues import (
    NONE,
    CelMap,
    CostExceeded,
    EvalError,
    Optional,
    TypeOf,
    equal,
    no_overload,
)

# resourceapi.CELSelectorExpressionMaxCost
COST_LIMIT: Final = 1_000_000


class Regex(Protocol):
    """RE2, which Go's regexp speaks too. Raises EvalError for a pattern that is none."""

    def matches(self, text: str, pattern: str) -> bool: ...
    def find_all(self, text: str, pattern: str, limit: int) -> list[str]: ...


class Frame:
    """One evaluation: the variables, and the cost so far."""

    __slots__ = ("cost", "regex", "variables")

    def __init__(self, variables: dict[str, Any], regex: Regex) -> None:
        self.variables = variables
        self.regex = regex
        self.cost = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostExceeded("operation cancelled: actual cost limit exceeded")


Program = Callable[[Frame], Any]

_TYPES: Final = {
    "bool": "bool",
    "int": "int",
    "uint": "uint",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
    "list": "list",
    "map": "map",
    "null_type": "null_type",
    "type": "type",
    "google.protobuf.Timestamp": "google.protobuf.Timestamp",
    "google.protobuf.Duration": "google.protobuf.Duration",
    "optional_type": "optional_type",
    "kubernetes.Quantity": "kubernetes.Quantity",
    "kubernetes.Semver": "kubernetes.Semver",
}


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
        if name in _TYPES:
            return TypeOf(name)
        raise EvalError(f"no such attribute(s): {name}")

    return run


def _select(node: Select) -> Program:
    operand, field = program(node.operand), node.field

    def run(frame: Frame) -> Any:
        frame.spend(1)
        return _selected(operand(frame), field)

    def test(frame: Frame) -> Any:
        value = operand(frame)
        return _find(value.value if isinstance(value, Optional) and value.present else value, field).present

    return test if node.test_only else run


def _selected(value: Any, field: str) -> Any:
    if isinstance(value, Optional):
        return _find(value.value, field) if value.present else NONE
    if isinstance(value, CelMap):
        return value.get(field)
    raise no_overload()


def _find(value: Any, field: Any) -> Optional:
    if isinstance(value, Optional):
        return _find(value.value, field) if value.present else NONE
    if isinstance(value, CelMap):
        return value.find(field)
    if isinstance(value, list) and isinstance(field, int) and not isinstance(field, bool):
        return Optional(True, value[field]) if 0 <= field < len(value) else NONE
    raise no_overload()


def _call(node: Call) -> Program:
    args = [program(a) for a in ((node.target, *node.args) if node.target is not None else node.args)]
    special = _SPECIAL.get(node.function)
    if special is not None:
        return special(args)
    function = FUNCTIONS.get(node.function)
    if function is None:
        raise EvalError(f"function {node.function} is not known")
    implementation = function

    def run(frame: Frame) -> Any:
        values = [a(frame) for a in args]
        cost = 1
        for value in values:
            if isinstance(value, (str, bytes)):
                cost += len(value) // 10
        frame.spend(cost)
        return implementation(*values)

    return run


def _logical(args: list[Program], deciding: bool) -> Program:
    """`||` (deciding: True) and `&&` (False): the deciding value wins over an error on either side."""
    left, right = args

    def run(frame: Frame) -> Any:
        failed: EvalError | None = None
        for side in (left, right):
            try:
                value = side(frame)
            except EvalError as error:
                failed = failed or error
                continue
            if value is deciding:
                return deciding
            if not isinstance(value, bool):
                failed = failed or no_overload()
        if failed is not None:
            raise failed
        return not deciding

    return run


def _conditional(args: list[Program]) -> Program:
    condition, then, otherwise = args

    def run(frame: Frame) -> Any:
        value = condition(frame)
        if not isinstance(value, bool):
            raise no_overload()
        return then(frame) if value else otherwise(frame)

    return run


def _equals(args: list[Program]) -> Program:
    left, right = args

    def run(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        frame.spend(1)
        return equal(a, b)

    return run


def _differs(args: list[Program]) -> Program:
    left, right = args

    def run(frame: Frame) -> Any:
        a, b = left(frame), right(frame)
        frame.spend(1)
        try:
            return not equal(a, b)
        except EvalError:
            return True  # cel-go asks "is it not True", and an error is not

    return run


def _not_strictly_false(args: list[Program]) -> Program:
    (inner,) = args

    def run(frame: Frame) -> Any:
        try:
            return inner(frame) is not False
        except EvalError:
            return True

    return run


def _optional_index(args: list[Program]) -> Program:
    operand, index = args

    def run(frame: Frame) -> Any:
        value, key = operand(frame), index(frame)
        frame.spend(1)
        return _find(value, key)

    return run


def _index(args: list[Program]) -> Program:
    operand, index = args

    def run(frame: Frame) -> Any:
        value, key = operand(frame), index(frame)
        frame.spend(1)
        if isinstance(value, Optional):
            return _find(value, key)
        return _indexed(value, key)

    return run


def _indexed(value: Any, key: Any) -> Any:
    if isinstance(value, CelMap):
        return value.get(key)
    if not isinstance(value, list):
        raise no_overload()
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if isinstance(key, bool) or not isinstance(key, int):
        raise EvalError(f"unsupported index type in list: {key}")
    if not 0 <= key < len(value):
        raise EvalError(f"index out of range: {key}")
    return value[key]


def _or(args: list[Program]) -> Program:
    """`optional.or`: the right side is evaluated only if the left has no value."""
    left, right = args

    def run(frame: Frame) -> Any:
        value = left(frame)
        if not isinstance(value, Optional):
            raise no_overload()
        return value if value.present else right(frame)

    return run


def _or_value(args: list[Program]) -> Program:
    left, right = args

    def run(frame: Frame) -> Any:
        value = left(frame)
        if not isinstance(value, Optional):
            raise no_overload()
        return value.value if value.present else right(frame)

    return run


def _matching(args: list[Program], answer: Callable[..., Any]) -> Program:
    """The functions on regular expressions: text, pattern and perhaps a limit."""

    def run(frame: Frame) -> Any:
        text, pattern, *rest = (a(frame) for a in args)
        if not isinstance(text, str) or not isinstance(pattern, str) or any(type(r) is not int for r in rest):
            raise no_overload()
        frame.spend(1 + (1 + len(text) // 10) * (1 + len(pattern) // 4))
        return answer(frame.regex, text, pattern, *rest)

    return run


def _first(regex: Regex, text: str, pattern: str) -> str:
    return next(iter(regex.find_all(text, pattern, 1)), "")


def _all(regex: Regex, text: str, pattern: str, limit: int = -1) -> list[str]:
    return regex.find_all(text, pattern, limit)


_SPECIAL: Final[dict[str, Callable[[list[Program]], Program]]] = {
    "matches": lambda args: _matching(args, lambda regex, text, pattern: regex.matches(text, pattern)),
    "find": lambda args: _matching(args, _first),
    "findAll": lambda args: _matching(args, _all),
    "_||_": lambda args: _logical(args, deciding=True),
    "_&&_": lambda args: _logical(args, deciding=False),
    "_?_:_": _conditional,
    "_==_": _equals,
    "_!=_": _differs,
    "@not_strictly_false": _not_strictly_false,
    "__not_strictly_false__": _not_strictly_false,
    "_?._": _optional_index,
    "_[?_]": _optional_index,
    "_[_]": _index,
    "or": _or,
    "orValue": _or_value,
}


def _list(node: ListOf) -> Program:
    elements = [(program(e), i in node.optional) for i, e in enumerate(node.elements)]

    def run(frame: Frame) -> Any:
        frame.spend(10)
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
        frame.spend(30)
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
