"""`string.format` as version 2 of cel-go's string library has it, which Kubernetes uses (ext/formatting.go).

Lists and maps are written as CEL literals would be; numbers of %f and %e as English writes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dradash.scheduling import gotext
from dradash.scheduling.structured import celtime
from dradash.scheduling.structured.celcost import check_text
from dradash.scheduling.structured.celstrings import float_text, strings
from dradash.scheduling.structured.celvalues import CelMap, Duration, EvalError, Timestamp, TypeOf, no_overload

_DEFAULT_PRECISION: Final = 6
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
# Texts that %f and %e take for numbers.
_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _format(template: Any, args: Any) -> str:
    strings(template)
    if not isinstance(args, list):
        raise no_overload()
    out: list[str] = []
    used = place = length = 0
    while place < len(template):
        char = template[place]
        place += 1
        if char != "%":
            out.append(char)
            continue
        if template[place : place + 1] == "%":
            out.append("%")
            place += 1
            continue
        precision, place = _precision(template, place)
        if place >= len(template):
            raise EvalError("unexpected end of string")
        if used >= len(args):
            raise EvalError(f"index {used} out of range")
        out.append(_clause(template[place], precision, args[used]))
        length += len(out[-1])
        check_text(length)
        used += 1
        place += 1
    return "".join(out)


def _precision(template: str, place: int) -> tuple[int, int]:
    if template[place : place + 1] != ".":
        return _DEFAULT_PRECISION, place
    end = place + 1
    while end < len(template) and template[end].isdigit():
        end += 1
    if end == place + 1 or end - place > 4:
        raise EvalError("could not convert precision")
    return int(template[place + 1 : end]), end


def _clause(verb: str, precision: int, value: Any) -> str:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    match verb:
        case "s":
            return _shown(value)
        case "d" if is_integer:
            return str(int(value))
        case "f" if (number := _number(value)) is not None:
            return _special(number) or f"{number:,.{precision}f}"
        case "e" if (number := _number(value)) is not None:
            # What should be the precision is taken for the width.
            return (_special(number) or _scientific(number)).rjust(precision)
        case "b" if isinstance(value, int):
            return f"{int(value):b}"
        case "o" if is_integer:
            return f"{int(value):o}"
        case "x" | "X" if is_integer or isinstance(value, (str, bytes)):
            hexed = f"{int(value):x}" if is_integer else _hex(value)
            return hexed if verb == "x" else hexed.upper()
        case "d" | "f" | "e" | "b" | "o" | "x" | "X":
            raise EvalError(f"error during formatting: %{verb} cannot be used on this type")
        case _:
            raise EvalError(f'could not parse formatting clause: unrecognized formatting clause "{verb}"')


def _number(value: Any) -> float | None:
    return value if isinstance(value, float) else _NUMBERS.get(value) if isinstance(value, str) else None


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return ("\u221e" if number > 0 else "-\u221e") if math.isinf(number) else ""


def _scientific(number: float) -> str:
    mantissa, _, power = f"{number:.{_DEFAULT_PRECISION}e}".partition("e")
    return f"{mantissa}\u202f\u00d7\u202f10{power.removeprefix('+').translate(_SUPERSCRIPT)}"


def _hex(value: str | bytes) -> str:
    return (value.encode() if isinstance(value, str) else value).hex()


def _shown(value: Any) -> str:
    """FormatString."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, (Timestamp, Duration)):
        return celtime.text(value)
    return _literal(value)


def _literal(value: Any) -> str:
    """The value inside of a list or map (clauseForType, quoteForCEL)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, TypeOf):
        return value.name
    for kind, show in _LITERALS.items():
        if isinstance(value, kind):
            return show(value)
    raise EvalError(
        "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps"
    )


def _double(value: float) -> str:
    if math.isfinite(value):
        return f"{value:.{_DEFAULT_PRECISION}f}"
    return gotext.quote("NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf")


def _list(values: list[Any]) -> str:
    return "[" + ", ".join(map(_literal, values)) + "]"


def _map(values: CelMap) -> str:
    pairs = sorted((_key(key), _literal(value)) for key, value in values.items())
    return "{" + ", ".join(f"{key}:{value}" for key, value in pairs) + "}"


def _key(key: Any) -> str:
    if isinstance(key, float):
        raise EvalError("error during formatting: no formatting function for map key of type double")
    return _literal(key)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("error during formatting: invalid UTF-8 in bytes, cannot convert to string") from None


_LITERALS: Final[dict[type, Callable[[Any], str]]] = {
    str: gotext.quote,
    float: _double,
    bytes: lambda value: "b" + gotext.quote(_decoded(value)),
    Timestamp: lambda value: f"timestamp({gotext.quote(celtime.text(value))})",
    Duration: lambda value: f"duration({gotext.quote(celtime.text(value))})",
    list: _list,
    CelMap: _map,
}

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"format": _format}
