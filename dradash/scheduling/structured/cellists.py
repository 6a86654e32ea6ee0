"""List and set functions: Kubernetes' list library, cel-go's lists and sets extensions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from dradash.scheduling.structured.celvalues import (
    MAX_INT,
    MIN_INT,
    CelMap,
    Duration,
    EvalError,
    Opaque,
    Optional,
    Uint,
    compare,
    equal,
    no_overload,
)

# More is no use to a selector, and the items would cost memory before they cost anything else.
_MAX_RANGE: Final = 1_000_000


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise no_overload()
    return value


def _same(a: Any, b: Any) -> bool:
    try:
        return equal(a, b)
    except EvalError:
        return False


def _is_sorted(value: Any) -> bool:
    items = _items(value)
    return all(compare(a, b) <= 0 for a, b in pairwise(items))


def _sum(value: Any) -> Any:
    items = _items(value)
    if not items:
        return 0
    first = items[0]
    if isinstance(first, Duration):
        return Duration(sum(i.nanoseconds if isinstance(i, Duration) else _refuse() for i in items))
    if isinstance(first, bool) or not isinstance(first, (int, float)) or any(type(i) is not type(first) for i in items):
        raise no_overload()
    total = sum(items)
    if isinstance(first, float):
        return float(total)
    if isinstance(first, Uint):
        return Uint(total)
    if not MIN_INT <= total <= MAX_INT:
        raise EvalError("integer overflow")
    return total


def _refuse() -> int:
    raise no_overload()


def _extreme(sign: int, name: str) -> Callable[..., Any]:
    def run(value: Any) -> Any:
        items = _items(value)
        if not items:
            raise EvalError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if compare(item, best) * sign > 0:
                best = item
        return best

    return run


def _index_of(value: Any, item: Any) -> int:
    return next((i for i, v in enumerate(_items(value)) if _same(v, item)), -1)


def _last_index_of(value: Any, item: Any) -> int:
    items = _items(value)
    return next((i for i in range(len(items) - 1, -1, -1) if _same(items[i], item)), -1)


def _slice(value: Any, start: Any, end: Any) -> list[Any]:
    items = _items(value)
    if type(start) is not int or type(end) is not int:
        raise no_overload()
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(value: Any, depth: Any = 1) -> list[Any]:
    items = _items(value)
    if type(depth) is not int:
        raise no_overload()
    if depth < 0:
        raise EvalError("level must be non-negative")
    flat: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            flat += _flatten(item, depth - 1)
        else:
            flat.append(item)
    return flat


def _sort(value: Any) -> list[Any]:
    return sorted(_items(value), key=cmp_to_key(compare))


class Pair(Opaque, frozen=True):
    """A key and a value; only the rewritten macros (`celmacros`) make and read them."""

    key: Any
    value: Any


def _pairs(value: Any) -> list[Any]:
    if isinstance(value, CelMap):
        return [Pair(k, v) for k, v in value.items()]
    return [Pair(i, v) for i, v in enumerate(_items(value))]


def _sorted_pairs(value: Any) -> list[Any]:
    return [p.value for p in sorted(_items(value), key=lambda p: cmp_to_key(compare)(p.key))]


def _merged(value: Any) -> CelMap:
    maps = _items(value)
    if not all(isinstance(m, CelMap) for m in maps):
        raise no_overload()
    return CelMap([item for m in maps for item in m.items()])


def _distinct(value: Any) -> list[Any]:
    kept: list[Any] = []
    for item in _items(value):
        if not any(_same(k, item) for k in kept):
            kept.append(item)
    return kept


def _range(count: Any) -> list[int]:
    if type(count) is not int:
        raise no_overload()
    if count > _MAX_RANGE:
        raise EvalError(f"lists.range({count}): more than {_MAX_RANGE} items are not evaluated here")
    return list(range(count))


def _reverse(value: Any) -> list[Any]:
    return _items(value)[::-1]


def _first(value: Any) -> Optional:
    items = _items(value)
    return Optional(True, items[0]) if items else Optional(False)


def _last(value: Any) -> Optional:
    items = _items(value)
    return Optional(True, items[-1]) if items else Optional(False)


def _set_contains(a: Any, b: Any) -> bool:
    have = _items(a)
    return all(any(_same(h, wanted) for h in have) for wanted in _items(b))


def _set_intersects(a: Any, b: Any) -> bool:
    have = _items(a)
    return any(any(_same(h, wanted) for h in have) for wanted in _items(b))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme(-1, "min"),
    "max": _extreme(1, "max"),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "slice": _slice,
    "flatten": _flatten,
    "sort": _sort,
    "pair__": Pair,
    "pairs__": _pairs,
    "key__": lambda pair: pair.key,
    "value__": lambda pair: pair.value,
    "sorted__": _sorted_pairs,
    "map__": lambda pairs: CelMap([(p.key, p.value) for p in _items(pairs)]),
    "merged__": _merged,
    "distinct": _distinct,
    "lists.range": _range,
    "reverse": _reverse,
    "first": _first,
    "last": _last,
    "sets.contains": _set_contains,
    "sets.equivalent": lambda a, b: _set_contains(a, b) and _set_contains(b, a),
    "sets.intersects": _set_intersects,
}
