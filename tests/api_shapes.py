"""The fields and types of an answer, as far as the schema promises them: not the values, not the names in a map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_TYPES: Final = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
_FIELD: Final = "field"


def shape(value: Any, schema: Schema, schemas: Mapping[str, Schema]) -> dict[str, set[str]]:
    """By path (`items[].name`; `{}` any name in a map): the types that are there, and the fields of an object."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, what in _walk(value, schema, schemas, ""):
        found[path].add(what)
    return found


def differences(one: Mapping[str, set[str]], other: Mapping[str, set[str]]) -> list[str]:
    """Where both have something: other fields, or another type. An empty list or a null has nothing to compare."""
    faults = []
    for path in sorted(one.keys() & other.keys()):
        names, others = ({w for w in of[path] if w.startswith(_FIELD)} for of in (one, other))
        faults += [f"{path or 'the answer'}: {name} is only on one side" for name in sorted(names ^ others)]
        types, other_types = one[path] - names, other[path] - others
        if types and other_types and not types & other_types:
            faults.append(f"{path or 'the answer'}: {'/'.join(sorted(types))} and {'/'.join(sorted(other_types))}")
    return faults


def _walk(value: Any, schema: Schema, schemas: Mapping[str, Schema], path: str) -> Iterator[tuple[str, str]]:
    if value is None:
        return
    schema = _of(value, schema, schemas)
    yield path, _TYPES[type(value)]
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, schema.get("items", {}), schemas, f"{path}[]")
    elif isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            if name in schema.get("required", value):  # others are left out where they say nothing
                yield path, f"{_FIELD} {name}"
            yield from _walk(inner, schema["properties"].get(name, {}), schemas, f"{path}.{name}".lstrip("."))
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for inner in value.values():
            yield from _walk(inner, schema["additionalProperties"], schemas, f"{path}.{{}}".lstrip("."))


def _of(value: Any, schema: Schema, schemas: Mapping[str, Schema]) -> Schema:
    """The schema behind references, of several the one that has most of the object's fields."""
    if "$ref" in schema:
        return _of(value, schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "anyOf" in schema:
        several = [_of(value, s, schemas) for s in schema["anyOf"]]
        wanted = _TYPES[type(value)]
        fitting = [
            s for s in several if s.get("type") in (wanted, None) or (wanted, s["type"]) == ("number", "integer")
        ]
        names = set(value) if isinstance(value, dict) else set()
        return max(fitting or several, key=lambda s: len(names & set(s.get("properties", ()))))
    return schema
