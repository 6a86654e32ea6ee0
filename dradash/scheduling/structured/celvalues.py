"""The values of CEL expressions, when two are equal, and which is less (cel-go's common/types).

bool, int, float, str, bytes, list and None stand for themselves; the other types have a class here or in `kinds`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import msgspec

from dradash.kinds.quantity import Quantity
from dradash.kinds.semver import Version

MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1


class CelError(Exception):
    """Evaluation ended with an error; the message is cel-go's where we know it."""


class EvalError(CelError):
    """An error value: `&&`, `||` and the macros may absorb it."""


class CostExceeded(CelError):
    """The expression costs more than Kubernetes allows. Nothing absorbs it."""


class NoOverload(EvalError):
    """No function of this name takes values of these types."""


def no_overload() -> NoOverload:
    return NoOverload("no such overload")


class Uint(int):
    """An unsigned integer: a type of its own in CEL."""


class TypeOf(msgspec.Struct, frozen=True):
    name: str


class Timestamp(msgspec.Struct, frozen=True, order=True):
    nanoseconds: int  # since 1970-01-01T00:00:00Z


class Duration(msgspec.Struct, frozen=True, order=True):
    nanoseconds: int


class Optional(msgspec.Struct, frozen=True):
    """`value` counts only if `present`."""

    present: bool
    value: Any = None


NONE: Final = Optional(False)


class Opaque(msgspec.Struct, frozen=True):
    """Base of Kubernetes' own types: comparing one with a value of another type is an error when it stands left."""

    type_name: ClassVar[str] = "dyn"


def key_of(key: Any) -> tuple[str, Any]:
    """What makes map keys one: numbers of different types with the same value are the same key."""
    if isinstance(key, bool):
        return "b", key
    if isinstance(key, float):
        return ("n", int(key)) if key.is_integer() else ("f", key)
    if isinstance(key, int):
        return "n", int(key)
    if isinstance(key, str):
        return "s", key
    raise EvalError(f"unsupported key type: {type_name(key)}")


class CelMap:
    """A map. With `default`, looking up a missing key finds that value, though the map does not contain the key."""

    __slots__ = ("_entries", "default")

    def __init__(self, pairs: list[tuple[Any, Any]], default: CelMap | None = None) -> None:
        self._entries = {key_of(k): (k, v) for k, v in pairs}
        if len(self._entries) != len(pairs):
            raise EvalError("Failed with repeated key")
        self.default = default

    def find(self, key: Any) -> Optional:
        """mapper.Find. A key that cannot be one is not found."""
        try:
            entry = self._entries.get(key_of(key))
        except EvalError:
            entry = None
        if entry is not None:
            return Optional(True, entry[1])
        return NONE if self.default is None else Optional(True, self.default)

    def get(self, key: Any) -> Any:
        found = self.find(key)
        if not found.present:
            raise EvalError(f"no such key: {text_of_key(key)}")
        return found.value

    def contains(self, key: Any) -> bool:
        try:
            return key_of(key) in self._entries
        except EvalError:
            return False

    def keys(self) -> list[Any]:
        return [k for k, _ in self._entries.values()]

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


EMPTY_MAP: Final = CelMap([])


def text_of_key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return str(key)


_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    CelMap: "map",
    TypeOf: "type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
    Version: "kubernetes.Semver",
}
_OPAQUE: Final = (Quantity, Version, Opaque)


def type_name(value: Any) -> str:
    if isinstance(value, Opaque):
        return value.type_name
    return _NAMES[type(value)]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(a: Any, b: Any) -> bool:
    """types.Equal: false across types, except that numbers compare by value. EvalError when an opaque value is left."""
    if type(a) is str and type(b) is str:
        return a == b  # most comparisons of selectors
    if a is None or b is None:
        return a is None and b is None
    if is_number(a) and is_number(b):
        return bool(a == b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, CelMap) and isinstance(b, CelMap):
        return len(a) == len(b) and all(_has_equal(b, k, v) for k, v in a.items())
    if isinstance(a, Optional) and isinstance(b, Optional):
        return a.present == b.present and (not a.present or equal(a.value, b.value))
    if type(a) is type(b):
        return bool(a == b)
    if isinstance(a, _OPAQUE):
        raise no_overload()
    return False


def _has_equal(other: CelMap, key: Any, value: Any) -> bool:
    found = other.find(key)
    return found.present and equal(value, found.value)


def compare(a: Any, b: Any) -> int:
    """traits.Comparer: -1, 0, 1; EvalError for values that have no order."""
    if is_number(a) and is_number(b):
        if math.isnan(a) or math.isnan(b):
            raise EvalError("NaN values cannot be ordered")
        return bool(a > b) - bool(a < b)
    if type(a) is not type(b) or not isinstance(a, (bool, str, bytes, Timestamp, Duration)):
        raise no_overload()
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return bool(a > b) - bool(a < b)
