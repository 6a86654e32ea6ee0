"""A recording (of `dradash record`) as the objects that there were at its end. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from dradash.kinds.registry import KINDS

_ROW: Final = frozenset({"t", "kind", "type", "object"})
Objects = dict[str, dict[str, Any]]  # by namespace/name


class BadRow(ValueError):
    """A line that is no row; the message says which."""


class Ended(msgspec.Struct, frozen=True):
    """listed: "apiVersion kind" of the kinds that were listed. cut: the number of a last line without its end, or 0."""

    objects: list[dict[str, Any]]
    listed: frozenset[str]
    cut: int = 0


def is_recording(text: bytes) -> bool:
    """By its first line."""
    line = text.lstrip().partition(b"\n")[0]
    try:
        return line.startswith(b"{") and msgspec.json.decode(line).keys() >= _ROW
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def at_end(text: bytes) -> Ended:
    """Raises BadRow. A recording may break off in its last line; what came before is used then."""
    there: dict[str, Objects] = {}
    listed: set[str] = set()
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
            if not isinstance(row, dict) or not row.keys() >= _ROW or not isinstance(row["object"], dict):
                raise BadRow(f"line {number} is no row of a recording")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if number == len(lines):
                return Ended(_all(there), frozenset(listed), number)
            raise BadRow(f"line {number}: {error}") from error
        if row["kind"] in KINDS:
            _apply(there.setdefault(row["kind"], {}), listed, row)
    return Ended(_all(there), frozenset(listed))


def _apply(objects: Objects, listed: set[str], row: dict[str, Any]) -> None:
    kind, obj = KINDS[row["kind"]], row["object"]
    match row["type"]:
        case "LIST":
            version = str(obj.get("apiVersion") or "/".join(filter(None, (kind.group, kind.versions[0]))))
            listed.add(f"{version} {kind.kind}")
            objects.clear()
            for item in obj.get("items") or ():
                if isinstance(item, dict):
                    objects[_key(item)] = {"apiVersion": version, "kind": kind.kind} | item
        case "ADDED" | "MODIFIED":
            objects[_key(obj)] = obj
        case "DELETED":
            objects.pop(_key(obj), None)


def _key(obj: dict[str, Any]) -> str:
    meta = obj.get("metadata")
    return f"{meta.get('namespace')}/{meta.get('name')}" if isinstance(meta, dict) else ""


def _all(there: dict[str, Objects]) -> list[dict[str, Any]]:
    return [obj for objects in there.values() for obj in objects.values()]
