"""CEL's string functions: the standard ones and cel-go's extension in the version that Kubernetes enables (2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dradash.scheduling.structured.celcost import check_text
from dradash.scheduling.structured.celvalues import EvalError, no_overload

# unicode.IsSpace
_SPACES: Final = "".join(
    map(
        chr,
        (*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
    )
)
_LOWER: Final = {ord(c): c.lower() for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER: Final = {ord(c): c.upper() for c in "abcdefghijklmnopqrstuvwxyz"}


def strings(*values: Any) -> None:
    if not all(isinstance(v, str) for v in values):
        raise no_overload()


def whole(*values: Any) -> None:
    if not all(type(v) is int for v in values):
        raise no_overload()


def float_text(value: float) -> str:
    """strconv.FormatFloat(value, 'g', -1, 64)."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    mantissa, _, power = f"{value!r}".partition("e")
    digits = mantissa.replace("-", "").replace(".", "")
    exponent = int(power or "0") + len(mantissa.lstrip("-").partition(".")[0]) - 1
    stripped = digits.lstrip("0")
    exponent -= len(digits) - len(stripped) if mantissa.lstrip("-").startswith("0") else 0
    stripped = stripped.rstrip("0")
    sign = "-" if value < 0 else ""
    if exponent < -4 or exponent >= 21:
        rest = f".{stripped[1:]}" if len(stripped) > 1 else ""
        return f"{sign}{stripped[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{stripped}"
    padded = stripped.ljust(exponent + 1, "0")
    rest = padded[exponent + 1 :]
    return sign + padded[: exponent + 1] + (f".{rest}" if rest else "")


def _contains(text: Any, part: Any) -> bool:
    strings(text, part)
    return part in text


def _starts_with(text: Any, part: Any) -> bool:
    strings(text, part)
    return bool(text.startswith(part))


def _ends_with(text: Any, part: Any) -> bool:
    strings(text, part)
    return bool(text.endswith(part))


def _char_at(text: Any, index: Any) -> str:
    strings(text)
    whole(index)
    if not 0 <= index <= len(text):
        raise EvalError(f"index out of range: {index}")
    return str(text[index : index + 1])


def _index_of(text: Any, part: Any, offset: Any = 0) -> int:
    strings(text, part)
    whole(offset)
    if part == "":
        return int(offset)
    if not 0 <= offset <= len(text):
        raise EvalError(f"index out of range: {offset}")
    return int(text.find(part, offset))


def _last_index_of(text: Any, part: Any, offset: Any = None) -> int:
    strings(text, part)
    if offset is None:
        return len(text) if part == "" else int(text.rfind(part))
    whole(offset)
    if part == "":
        return int(offset)
    if not 0 <= offset <= len(text):
        raise EvalError(f"index out of range: {offset}")
    return int(text.rfind(part, 0, offset + len(part)))


def _lower(text: Any) -> str:
    strings(text)
    return str(text.translate(_LOWER))


def _upper(text: Any) -> str:
    strings(text)
    return str(text.translate(_UPPER))


def _replace(text: Any, old: Any, new: Any, count: Any = -1) -> str:
    strings(text, old, new)
    whole(count)
    places = text.count(old)
    check_text(len(text) + max(0, len(new) - len(old)) * (places if count < 0 else min(count, places)))
    return str(text.replace(old, new, count if count >= 0 else -1))


def _split(text: Any, separator: Any, count: Any = -1) -> list[str]:
    strings(text, separator)
    whole(count)
    if count == 0:
        return []
    if separator == "":
        pieces = list(text)
        if 0 < count < len(pieces):
            pieces = [*pieces[: count - 1], "".join(pieces[count - 1 :])]
        return pieces
    return list(text.split(separator, count - 1 if count > 0 else -1))


def _join(items: Any, separator: Any = "") -> str:
    strings(separator)
    if not isinstance(items, list):
        raise no_overload()
    strings(*items)
    check_text(sum(map(len, items)) + len(separator) * len(items))
    return str(separator.join(items))


def _substring(text: Any, start: Any, end: Any = None) -> str:
    strings(text)
    end = len(text) if end is None else end
    whole(start, end)
    if not 0 <= start <= len(text) or not 0 <= end <= len(text):
        raise EvalError(f"index out of range: {start if not 0 <= start <= len(text) else end}")
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    return str(text[start:end])


def _trim(text: Any) -> str:
    strings(text)
    return str(text.strip(_SPACES))


_QUOTED: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def _quote(text: Any) -> str:
    strings(text)
    return '"' + "".join(_QUOTED.get(c, c) for c in text) + '"'


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "contains": _contains,
    "startsWith": _starts_with,
    "endsWith": _ends_with,
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": _lower,
    "upperAscii": _upper,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "substring": _substring,
    "trim": _trim,
    "strings.quote": _quote,
}
