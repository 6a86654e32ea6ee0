"""The standard functions and operators of CEL by name, on values, together with those of all libraries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

from dradash.scheduling.structured import celformat, celkubernetes, cellists, celnetwork, celstrings, celtime
from dradash.scheduling.structured.celvalues import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    NONE,
    CelMap,
    Duration,
    EvalError,
    NoOverload,
    Optional,
    Timestamp,
    TypeOf,
    Uint,
    compare,
    equal,
    no_overload,
    type_name,
)

Function = Callable[..., Any]


def _integer(value: int, like: Any) -> int:
    if isinstance(like, Uint):
        if not 0 <= value <= MAX_UINT:
            raise EvalError("unsigned integer overflow")
        return Uint(value)
    if not MIN_INT <= value <= MAX_INT:
        raise EvalError("integer overflow")
    return value


def _same_integers(a: Any, b: Any) -> bool:
    return type(a) is type(b) and type(a) in (int, Uint)


def _add(a: Any, b: Any) -> Any:
    if _same_integers(a, b):
        return _integer(int(a) + int(b), a)
    if type(a) is type(b) and isinstance(a, (float, str, bytes, list)):
        return a + b
    if isinstance(a, (Timestamp, Duration)) and isinstance(b, (Timestamp, Duration)):
        return celtime.add(a, b)
    raise no_overload()


def _subtract(a: Any, b: Any) -> Any:
    if _same_integers(a, b):
        return _integer(int(a) - int(b), a)
    if isinstance(a, float) and isinstance(b, float):
        return a - b
    if isinstance(a, (Timestamp, Duration)) and isinstance(b, (Timestamp, Duration)):
        return celtime.subtract(a, b)
    raise no_overload()


def _multiply(a: Any, b: Any) -> Any:
    if _same_integers(a, b):
        return _integer(int(a) * int(b), a)
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    raise no_overload()


def _divide(a: Any, b: Any) -> Any:
    if _same_integers(a, b):
        if b == 0:
            raise EvalError("division by zero")
        quotient = abs(int(a)) // abs(int(b))
        return _integer(quotient if (a < 0) == (b < 0) else -quotient, a)
    if isinstance(a, float) and isinstance(b, float):
        if b == 0:
            return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)
        return a / b
    raise no_overload()


def _modulo(a: Any, b: Any) -> Any:
    if not _same_integers(a, b):
        raise no_overload()
    if b == 0:
        raise EvalError("modulus by zero")
    rest = abs(int(a)) % abs(int(b))
    return _integer(-rest if a < 0 else rest, a)


def _negate(a: Any) -> Any:
    if type(a) is int:
        return _integer(-a, a)
    if isinstance(a, float):
        return -a
    raise no_overload()


def _not(a: Any) -> bool:
    if not isinstance(a, bool):
        raise no_overload()
    return not a


def _in(a: Any, b: Any) -> bool:
    if isinstance(b, CelMap):
        return b.contains(a)
    if not isinstance(b, list):
        raise no_overload()
    return any(_equal_or_not(item, a) for item in b)


def _equal_or_not(a: Any, b: Any) -> bool:
    try:
        return equal(a, b)
    except EvalError:
        return False


def _size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, CelMap)):
        return len(value)
    raise no_overload()


def _type(value: Any) -> TypeOf:
    return TypeOf(type_name(value))


def _to_int(value: Any) -> int:
    if isinstance(value, bool):
        raise no_overload()
    if isinstance(value, int):
        return _integer(int(value), 0)
    if isinstance(value, float):
        if math.isnan(value) or not MIN_INT < value < MAX_INT:
            raise EvalError("integer overflow")
        return int(value)
    if isinstance(value, str):
        return _integer(_parsed(value, "int", signed=True), 0)
    if isinstance(value, Timestamp):
        return value.nanoseconds // 10**9
    if isinstance(value, Duration):
        return value.nanoseconds
    raise no_overload()


def _parsed(text: str, wanted: str, *, signed: bool) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+" if signed else r"[0-9]+", text, re.ASCII):
        raise EvalError(f"type conversion error from 'string' to '{wanted}'")
    return int(text[:40])


def _to_uint(value: Any) -> Uint:
    number: Any = value
    if isinstance(value, bool):
        raise no_overload()
    if isinstance(value, str):
        number = _parsed(value, "uint", signed=False)
    if isinstance(number, float) and (math.isnan(number) or not 0 <= number < 2**64):
        raise EvalError("unsigned integer overflow")
    if not isinstance(number, (int, float)):
        raise no_overload()
    return Uint(_integer(int(number), Uint(0)))


def _to_double(value: Any) -> float:
    if isinstance(value, bool):
        raise no_overload()
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        if not re.fullmatch(
            r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)", value, re.IGNORECASE | re.ASCII
        ):
            raise EvalError("type conversion error from 'string' to 'double'")
        return float(value)
    raise no_overload()


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in ("1", "t", "T", "TRUE", "true", "True"):
            return True
        if value in ("0", "f", "F", "FALSE", "false", "False"):
            return False
        raise EvalError("type conversion error from 'string' to 'bool'")
    raise no_overload()


def _to_string(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return celstrings.float_text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None
    if isinstance(value, (Timestamp, Duration)):
        return celtime.text(value)
    raise no_overload()


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    raise no_overload()


def _ordered(accepts: Callable[[int], bool]) -> Function:
    return lambda a, b: accepts(compare(a, b))


def _optional_of(value: Any) -> Optional:
    return Optional(True, value)


def _optional_of_non_zero(value: Any) -> Optional:
    empty = value is None or (isinstance(value, (str, bytes, list, CelMap)) and not len(value)) or value in (0, False)
    return NONE if empty else Optional(True, value)


def _has_value(value: Any) -> bool:
    if not isinstance(value, Optional):
        raise no_overload()
    return value.present


def _value(value: Any) -> Any:
    if not isinstance(value, Optional):
        raise no_overload()
    if not value.present:
        raise EvalError("optional.none() dereference")
    return value.value


_STANDARD: Final[dict[str, Function]] = {
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _modulo,
    "-_": _negate,
    "!_": _not,
    "@in": _in,
    "in": _in,
    "_in_": _in,
    "_<_": _ordered(lambda order: order < 0),
    "_<=_": _ordered(lambda order: order <= 0),
    "_>_": _ordered(lambda order: order > 0),
    "_>=_": _ordered(lambda order: order >= 0),
    "size": _size,
    "type": _type,
    "dyn": lambda value: value,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "bool": _to_bool,
    "string": _to_string,
    "bytes": _to_bytes,
    "optional.of": _optional_of,
    "optional.none": lambda: NONE,
    "optional.ofNonZeroValue": _optional_of_non_zero,
    "hasValue": _has_value,
    "value": _value,
}


def _merged(*libraries: dict[str, Function]) -> dict[str, Function]:
    """All functions by name; where several libraries have one of a name, the types decide."""
    found: dict[str, list[Function]] = {}
    for library in libraries:
        for name, function in library.items():
            found.setdefault(name, []).append(function)
    return {name: all_of[0] if len(all_of) == 1 else _first_of(all_of) for name, all_of in found.items()}


def _first_of(functions: list[Function]) -> Function:
    def run(*values: Any) -> Any:
        for function in functions[:-1]:
            try:
                return function(*values)
            except NoOverload:
                continue
        return functions[-1](*values)

    return run


FUNCTIONS: Final[dict[str, Function]] = _merged(
    _STANDARD,
    celtime.FUNCTIONS,
    celstrings.FUNCTIONS,
    celformat.FUNCTIONS,
    cellists.FUNCTIONS,
    celnetwork.FUNCTIONS,
    celkubernetes.FUNCTIONS,
)
