"""Server-side apply: who owns which field, and what an apply changes.

Kept simple next to structured-merge-diff: a manager owns leaf paths; an apply merges its fields in, takes away those
that it owned and does not send any more (unless another manager owns them too), and conflicts with other managers'
fields that it would change, unless forced. Ownership is kept beside the object: managedFields are never sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dradash.sim import apierrors, listtypes
from dradash.sim.apierrors import Cause

# A path's elements are field names; an item of a merging list is "[key=value]", a value of a set "[=value]".
Path = tuple[str, ...]
Fields = dict[Path, Any]


class Manager(msgspec.Struct, frozen=True):
    name: str
    operation: str  # Apply or Update
    subresource: str = ""


Owners = dict[Manager, frozenset[Path]]

# metadata that belongs to the server or names the object; it is nobody's field
_SYSTEM = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generateName",
        "managedFields",
        "selfLink",
    }
)


def fields(plural: str, obj: Mapping[str, Any]) -> Fields:
    """Leaf path -> value of everything in an object that can be owned."""
    found: Fields = {}
    for key, value in obj.items():
        if key == "metadata" and isinstance(value, dict):
            own = {k: v for k, v in value.items() if k not in _SYSTEM}
            if own:
                found.update(_leaves(plural, own, (key,), key))
        elif key not in ("kind", "apiVersion"):
            found.update(_leaves(plural, value, (key,), key))
    return found


def _leaves(plural: str, value: Any, path: Path, dotted: str) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value and not listtypes.is_atomic(dotted):
        for key, inner in value.items():
            yield from _leaves(plural, inner, (*path, key), listtypes.child(dotted, key))
        return
    key = listtypes.merge_key(plural, dotted) if isinstance(value, list) else None
    if key is None:
        yield path, value
        return
    for item in value:
        if key == listtypes.SET:
            yield (*path, f"[={item}]"), item
        elif isinstance(item, dict):
            yield from _leaves(plural, item, (*path, f"[{key}={item.get(key)}]"), dotted)


def after_update(plural: str, owners: Owners, old: Mapping[str, Any], new: Mapping[str, Any], by: Manager) -> Owners:
    """Ownership after a create, update or patch: what changed belongs to its writer, what is gone to nobody."""
    before, now = fields(plural, old), fields(plural, new)
    changed = {path for path, value in now.items() if path not in before or before[path] != value}
    result = {
        manager: kept
        for manager, paths in owners.items()
        if manager != by and (kept := frozenset(p for p in paths if p in now and p not in changed))
    }
    own = frozenset(p for p in owners.get(by, ()) if p in now) | changed
    return {**result, by: own} if own else result


def apply(
    plural: str, live: dict[str, Any], intent: dict[str, Any], owners: Owners, by: Manager, *, force: bool
) -> tuple[dict[str, Any], Owners]:
    """The merged object and the new ownership. Raises ApiError 409 naming the managers whose fields would change."""
    wanted, present = fields(plural, intent), fields(plural, live)
    taken = {p for p, value in wanted.items() if p in present and present[p] != value}
    others = {m: paths for m, paths in owners.items() if m != by}
    conflicts = [
        Cause("FieldManagerConflict", f'conflict with "{m.name}" using {m.operation}', "".join(f".{e}" for e in p))
        for m, paths in others.items()
        for p in sorted(taken & paths)
    ]
    if conflicts and not force:
        raise apierrors.apply_conflict(conflicts)
    merged = _merge(plural, live, intent, "")
    others = {m: kept for m, paths in others.items() if (kept := paths - taken)}
    for path in sorted(owners.get(by, frozenset()) - set(wanted)):
        if not any(path in paths for paths in others.values()):
            merged = _without(merged, path)
    return merged, {**others, by: frozenset(wanted)}


def _merge(plural: str, live: Any, intent: Any, path: str) -> Any:
    if isinstance(intent, dict) and isinstance(live, dict) and not listtypes.is_atomic(path):
        merged = dict(live)
        for key, value in intent.items():
            merged[key] = _merge(plural, live.get(key), value, listtypes.child(path, key))
        return merged
    key = listtypes.merge_key(plural, path) if isinstance(intent, list) and isinstance(live, list) else None
    if key is None:
        return intent
    if key == listtypes.SET:
        return live + [v for v in intent if v not in live]
    merged_list = list(live)
    for item in intent:
        if not isinstance(item, dict):
            raise apierrors.bad_request(f".{path}: element is not an object: its `{key}` is what it is merged by")
        place = _place(merged_list, key, item.get(key))
        if place is None:
            merged_list.append(item)
        else:
            merged_list[place] = _merge(plural, merged_list[place], item, path)
    return merged_list


def _place(items: list[Any], key: str, value: Any) -> int | None:
    """Where the item with that merge key is (keys are compared as paths show them, as text)."""
    return next(
        (i for i, item in enumerate(items) if isinstance(item, dict) and str(item.get(key)) == str(value)), None
    )


def _without(value: Any, path: Path) -> Any:
    """A copy less the leaf at `path`, and less what is empty because of it."""
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        name, _, wanted = head[1:-1].partition("=")
        if not name:
            return [v for v in value if str(v) != wanted]
        place = _place(value, name, wanted)
        if place is None:
            return value
        # The key stays as long as there is anything beside it, and alone is no item any more.
        item = value[place] if rest == (name,) else _without(value[place], rest)
        return value[:place] + ([item] if set(item) - {name} else []) + value[place + 1 :]
    if not isinstance(value, dict) or head not in value:
        return value
    result = dict(value)
    inner = _without(value[head], rest) if rest else None
    if inner:
        result[head] = inner
    else:
        del result[head]
    return result
