"""Strategic merge patch (k8s.io/apimachinery/pkg/util/strategicpatch): lists merge by key, with $-directives."""

from __future__ import annotations

from typing import Any, Final

from dradash.sim import apierrors, listtypes

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE_VALUES: Final = "$deleteFromPrimitiveList/"


def strategic_merge(plural: str, original: dict[str, Any], patch: dict[str, Any], path: str = "") -> dict[str, Any]:
    """The patched copy of `original`; `path` is where both are in an object of `plural`."""
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {k: v for k, v in patch.items() if k != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise apierrors.bad_request(f"unrecognized patch directive: {directive!r:.80}")
    result = dict(original)
    if _RETAIN in patch:
        result = {k: v for k, v in result.items() if k in patch[_RETAIN]}
    for key, value in patch.items():
        if key.startswith(_DELETE_VALUES):
            name = key.removeprefix(_DELETE_VALUES)
            result[name] = [v for v in result.get(name) or [] if v not in value]
        elif not key.startswith("$"):
            _merge_field(plural, result, key, value, listtypes.child(path, key))
    for key, order in patch.items():
        name = key.removeprefix(_ORDER)
        if key.startswith(_ORDER) and isinstance(result.get(name), list):
            result[name] = _ordered(result[name], order, listtypes.merge_key(plural, listtypes.child(path, name)))
    return result


def _merge_field(plural: str, result: dict[str, Any], key: str, value: Any, path: str) -> None:
    if value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        old = result.get(key)
        result[key] = strategic_merge(plural, old if isinstance(old, dict) else {}, value, path)
    elif isinstance(value, list) and (merge_by := listtypes.merge_key(plural, path)) is not None:
        old = result.get(key)
        result[key] = _merge_list(plural, old if isinstance(old, list) else [], value, merge_by, path)
    else:
        result[key] = value


def _merge_list(plural: str, original: list[Any], patch: list[Any], key: str, path: str) -> list[Any]:
    if key == listtypes.SET:
        return list(original) + [v for v in patch if v not in original]
    if {_DIRECTIVE: "replace"} in patch:
        return [item for item in patch if item != {_DIRECTIVE: "replace"}]
    result = list(original)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise apierrors.bad_request(f"map: {item!r:.120} does not contain declared merge key: {key}")
        place = next((i for i, old in enumerate(result) if isinstance(old, dict) and old.get(key) == item[key]), None)
        if item.get(_DIRECTIVE) == "delete":
            if place is not None:
                del result[place]
            continue
        merged = strategic_merge(plural, result[place] if place is not None else {}, item, path)
        if place is None:
            result.append(merged)
        else:
            result[place] = merged
    return result


def _ordered(items: list[Any], order: Any, key: str | None) -> list[Any]:
    """The items that `order` names in its order, the others behind them."""
    wanted = [entry.get(key) if isinstance(entry, dict) else entry for entry in order if entry is not None]

    def rank(item: Any) -> int:
        value = item.get(key) if isinstance(item, dict) else item
        return wanted.index(value) if value in wanted else len(wanted)

    return sorted(items, key=rank)
