"""One change in words: what the object was, what it is now, and only what somebody would ask about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dradash.kinds.meta import KubeObject
from dradash.kinds.registry import KINDS, MalformedObject, read_object
from dradash.reader.differences import verdict_words
from dradash.reader.fielddiff import FieldChange, difference
from dradash.reader.withheld import without_secrets
from dradash.scheduling.verdict import Verdict
from dradash.store.model import SYNC, VERDICTS, SyncState
from dradash.web.presenters.changewords import changed, created

FIELDS: Final = 3  # of an object that changed in none of the ways that have words
_MEANING: Final[Mapping[str, str]] = {
    "status.allocation": "allocation",
    "status.reservedFor": "reserved for",
    "status.deallocationRequested": "asks for deallocation",
    "metadata.finalizers": "finalizers",
}
LONGEST: Final = 300  # characters of one sentence
NOT_KEPT: Final = "changed; what it was before is not kept any more"


def words(kind: str, type_: str, before: bytes | None, after: bytes, *, unread: bool = False) -> tuple[str, ...]:
    """What the change was, beyond its type. before: the superseded state, None: there was none, or it is not kept.

    unread: nor could it be read.
    """
    lost = "changed; what it was before cannot be read now" if unread else NOT_KEPT
    said = _words(kind, type_, before, after, lost)
    return tuple(text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in said)


def _words(kind: str, type_: str, before: bytes | None, after: bytes, lost: str) -> tuple[str, ...]:
    if kind == SYNC:
        return _sync(after)
    if type_ == "DELETED":
        return ("with its pod",) if kind == VERDICTS else ()
    try:
        new, old = _read(kind, after), None if before is None else _read(kind, before)
    except MalformedObject as error:
        return (f"cannot be read: {error}",)
    if type_ == "ADDED" or old is None:
        said = tuple(created(new))
        return said if type_ == "ADDED" else (lost, *said)
    if isinstance(new, KubeObject) and isinstance(old, KubeObject) and new.uid != old.uid:
        return ("replaced by another object of the same name", *created(new))
    told = tuple(changed(old, new))
    if kind == VERDICTS:
        return told or _details(old, new)
    return told or _fields(before or b"{}", after)


def _read(kind: str, raw: bytes) -> Any:
    if kind != VERDICTS:
        return read_object(KINDS[kind], raw)
    try:
        return msgspec.json.decode(raw, type=Verdict)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedObject(str(error)) from error


def _details(old: Verdict, new: Verdict) -> tuple[str, ...]:
    """Of a verdict that still says the same: never when, at which revision or upon which hint it was judged."""
    return _arrows(difference(verdict_words(old), verdict_words(new))) or ("judged again, with the same result",)


def _arrows(changes: Sequence[FieldChange]) -> tuple[str, ...]:
    shown = [f"{named(c.path)}: {c.before or 'not set'} → {c.after or 'not set'}" for c in changes[:FIELDS]]
    more = len(changes) - len(shown)
    return (*shown, f"and {more} more") if more else tuple(shown)


def named(path: str) -> str:
    """What people call the field; others keep their path."""
    for field, name in _MEANING.items():
        if path == field or path.startswith((f"{field}.", f"{field}[")):
            return name
    return path


def _fields(before: bytes, after: bytes) -> tuple[str, ...]:
    """The first fields that differ, for what has no words of its own."""
    try:
        old, new = msgspec.json.decode(before), msgspec.json.decode(after)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ("changed",)
    if not isinstance(old, dict) or not isinstance(new, dict):
        return ("changed",)
    return _arrows(difference(without_secrets(old), without_secrets(new))) or ("nothing that is shown",)


def _sync(after: bytes) -> tuple[str, ...]:
    try:
        state = msgspec.json.decode(after, type=SyncState)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ("changed",)
    more = [f"{state.malformed} malformed"] if state.malformed else []
    more += [state.error] if state.error else []
    return (f"{state.state}{f' ({state.version})' if state.version else ''}", *more)
