"""CEL's operators and functions that do not just take values: lazy ones, and those that need the frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dradash.scheduling.structured.celframe import Frame, Program, Regex
from dradash.scheduling.structured.celvalues import NONE, CelMap, EvalError, Optional, equal, no_overload


def find(value: Any, field: Any) -> Optional:
    if isinstance(value, Optional):
        return find(value.value, field) if value.present else NONE
    if isinstance(value, CelMap):
        return value.find(field)
    if isinstance(value, list) and isinstance(field, int) and not isinstance(field, bool):
        return Optional(True, value[field]) if 0 <= field < len(value) else NONE
    raise no_overload()


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
        return find(value, key)

    return run


def _index(args: list[Program]) -> Program:
    operand, index = args

    def run(frame: Frame) -> Any:
        value, key = operand(frame), index(frame)
        frame.spend(1)
        if isinstance(value, Optional):
            return find(value, key)
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
        frame.tried += 1
        frame.spend(1 + (1 + len(text) // 10) * (1 + len(pattern) // 4))
        return answer(frame.regex, text, pattern, *rest)

    return run


def _first(regex: Regex, text: str, pattern: str) -> str:
    return next(iter(regex.find_all(text, pattern, 1)), "")


def _all(regex: Regex, text: str, pattern: str, limit: int = -1) -> list[str]:
    return regex.find_all(text, pattern, limit)


SPECIAL: Final[dict[str, Callable[[list[Program]], Program]]] = {
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
