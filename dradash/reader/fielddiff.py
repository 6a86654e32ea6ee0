"""What differs between two states of an object, field by field, in words that fit on a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

SHOWN: Final = 160  # characters of one value
NAMES: Final = 8  # names of a list that are shown
# They change with every write and say nothing about it.
_NOISE: Final = frozenset({"metadata.resourceVersion", "metadata.managedFields", "metadata.generation"})
_HEARTBEAT: Final = ".lastHeartbeatTime"  # of a node's conditions
# What tells the entries of a list of objects apart, in this order.
_IDENTITY: Final = ("uid", "name", "type", "key")
_ABSENT: Final = object()


class FieldChange(msgspec.Struct, frozen=True):
    """path: as in `kubectl explain`, with `[name]` for an entry of a list. before, after: "" where it was not set."""

    path: str
    before: str
    after: str

    @property
    def type(self) -> str:
        return "MODIFIED" if self.before and self.after else "ADDED" if self.after else "DELETED"


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[FieldChange]:
    return [c for c in _objects("", before, after) if c.path not in _NOISE and not c.path.endswith(_HEARTBEAT)]


def _objects(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[FieldChange]:
    for name in dict.fromkeys((*before, *after)):
        here = f"{path}.{name}" if path else name
        yield from _values(here, before.get(name, _ABSENT), after.get(name, _ABSENT))


def _values(path: str, before: Any, after: Any) -> Iterator[FieldChange]:
    if before == after and type(before) is type(after):
        return
    match before, after:
        case dict(), dict():
            yield from _objects(path, before, after)
        case list(), list():
            yield from _lists(path, before, after)
        case _:
            yield FieldChange(path, text(before), text(after))


def _lists(path: str, before: Sequence[Any], after: Sequence[Any]) -> Iterator[FieldChange]:
    identity = _identity([*before, *after])
    if identity:
        old, new = ({str(entry[identity]): entry for entry in entries} for entries in (before, after))
        if len(old) == len(before) and len(new) == len(after):
            for name in dict.fromkeys((*old, *new)):
                yield from _values(f"{path}[{name}]", old.get(name, _ABSENT), new.get(name, _ABSENT))
            return
    if all(isinstance(entry, str) for entry in (*before, *after)):
        gone, come = _without(before, after), _without(after, before)
        if gone or come:
            yield FieldChange(path, _names(gone, len(before)), _names(come, len(after)))
            return
    yield FieldChange(path, text(before), text(after))


def _identity(entries: Sequence[Any]) -> str:
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        return ""
    return next((name for name in _IDENTITY if all(isinstance(e.get(name), str) for e in entries)), "")


def _without(names: Sequence[str], others: Sequence[str]) -> list[str]:
    known = set(others)
    return [name for name in names if name not in known]


def _names(names: Sequence[str], of: int) -> str:
    """Those that are in this list alone, and how many are in it altogether."""
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    only = f"{', '.join(names[:NAMES])}{more}; " if names else ""
    return f"{only}{of} in all"


def text(value: Any) -> str:
    if value is _ABSENT:
        return ""
    shown = value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
