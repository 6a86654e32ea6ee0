"""Parameters of a request: each with its schema, how it is read, and what it refuses."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from dradash.problems import BAD_PARAMETER, UNKNOWN_PARAMETER, Refusal
from dradash.reader.moment import EXAMPLE, NO_VALUE, BadMoment, parse, parse_alerts
from dradash.scheduling.reasons import REASONS

LONGEST: Final = 300
MOST_ROWS: Final = 1000
ROWS: Final = 100
_DURATION: Final = re.compile(r"(\d{1,9})([smhd]?)")
_LABEL: Final = re.compile(r"[^= ]+(?:=[^= ]*)?")
_YES: Final = ("1", "true")  # of a flag
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

Schema = Mapping[str, Any]


class Param(msgspec.Struct, frozen=True):
    """read: the text as a value; it raises ValueError with a sentence about what is allowed."""

    name: str
    description: str
    schema: Schema
    read: Callable[[str], Any]
    example: str = ""
    allowed: tuple[str, ...] = ()
    required: bool = False


def text(name: str, description: str, example: str = "") -> Param:
    def read(value: str) -> str:
        if len(value) > LONGEST:
            raise ValueError(f"at most {LONGEST} characters")
        return value

    return Param(name, description, {"type": "string", "maxLength": LONGEST}, read, example)


def choice(name: str, description: str, values: Iterable[str]) -> Param:
    allowed = tuple(map(str, values))

    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError("one of the allowed values")
        return value

    return Param(name, description, {"type": "string", "enum": list(allowed)}, read, allowed=allowed)


def reason(description: str) -> Param:
    """A code, or the scheduler's whole text. Its texts have several words: one word that is no code is refused."""
    allowed = tuple(REASONS)

    def read(value: str) -> str:
        if len(value) > LONGEST:
            raise ValueError(f"at most {LONGEST} characters")
        if value and value not in REASONS and not re.search(r"\s", value):
            raise ValueError(f"no such code: “{value[:40]}” (what has spaces is looked for as the scheduler's text)")
        return value

    told = f"{description}: a code of /api/v1/reasons?kind=reason, or one of the scheduler's texts, whole. "
    schema = {
        "type": "string",
        "maxLength": LONGEST,
        "pattern": rf"^(?:|{'|'.join(allowed)}|[\s\S]*\s[\s\S]*)$",
    }
    return Param("reason", f"{told}One word that is no code is refused.", schema, read, "ClaimInUse", allowed)


def label(name: str, description: str, example: str) -> Param:
    """The key of a label, or `key=value`; neither has an equals sign or a space of its own."""

    def read(value: str) -> str:
        if len(value) > LONGEST:
            raise ValueError(f"at most {LONGEST} characters")
        if value and not _LABEL.fullmatch(value):
            raise ValueError("a label's key, or key=value")
        return value

    schema = {"type": "string", "maxLength": LONGEST, "pattern": rf"^(?:|{_LABEL.pattern})$"}
    return Param(name, description, schema, read, example)


def flag(name: str, description: str) -> Param:
    param = choice(name, description, (*_YES, "0", "false"))
    return msgspec.structs.replace(param, read=lambda value: param.read(value) in _YES)


def integer(name: str, description: str, low: int, high: int) -> Param:
    def read(value: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", value, re.ASCII) or not low <= int(value) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(value)

    return Param(name, description, {"type": "integer", "minimum": low, "maximum": high}, read)


def duration(name: str, description: str) -> Param:
    def read(value: str) -> float:
        match = _DURATION.fullmatch(value) if value.isascii() else None
        if match is None:
            raise ValueError("a duration such as 90, 90s, 15m, 2h or 1d")
        return float(match[1]) * _SECONDS[match[2]]

    schema = {"type": "string", "pattern": r"^[0-9]{1,9}[smhd]?$"}
    return Param(name, description, schema, read, "5m")


def _moment(value: str) -> float:
    try:
        at = parse(value)
    except BadMoment as error:
        raise ValueError(str(error)) from error
    if at is None:
        raise ValueError(f"a time such as {EXAMPLE}")
    return at


AT: Final = Param(
    "at",
    "RFC 3339 time: answer as it was then, as far back as the history is kept.",
    {"type": "string", "format": "date-time"},
    _moment,
)


def other_moment(name: str, description: str, now: str) -> Param:
    """Another moment than `at`, which must be said; `now` stands for itself."""
    schema = {"type": "string", "anyOf": [{"format": "date-time"}, {"const": now}]}
    return Param(name, description, schema, lambda v: v if v == now else _moment(v), EXAMPLE, required=True)


def _alerts_moment(value: str) -> float | str:
    """ "" for now and for what has not come yet, as if it was not given."""
    try:
        at = parse_alerts(value)
    except BadMoment as error:
        raise ValueError(f"{error}, or Unix seconds or milliseconds") from error
    return "" if at is None or at >= time.time() else at


ALERTS_AT: Final = Param(
    "at",
    "The alert's time: RFC 3339, or Unix time in seconds or milliseconds; one that has not come yet is now. "
    "Labels and UIDs are looked for now and in the history whatever it is, `name` and `q` as it was then; `url` and "
    "`page` carry it on.",
    {
        "type": "string",
        "anyOf": [
            {"format": "date-time"},
            {"pattern": r"^([0-9]{1,14}(\.[0-9]{1,9})?)?$"},
            {"const": NO_VALUE},
        ],
    },
    _alerts_moment,
    EXAMPLE,
)
LIMIT: Final = integer("limit", f"Rows of one answer, {ROWS} unless given.", 1, MOST_ROWS)
CURSOR: Final = Param(
    "cursor",
    "`next` of the answer before: goes on behind its last row, whatever has changed in between. Filters, sort and at "
    "must be those of that answer.",
    {"type": "string", "maxLength": 1000, "pattern": "^[A-Za-z0-9_-]+$"},
    str,
)
NOT_WATCHED: Final = ("limit", "cursor", "sort", "at")
WATCH: Final = flag(
    "watch",
    "1: a stream of changes (server-sent events; NDJSON if that is accepted) and not a list. "
    f"Not together with {', '.join(NOT_WATCHED[:-1])} or {NOT_WATCHED[-1]}.",
)
SINCE: Final = integer(
    "since",
    "With watch: changes after this revision; only new ones unless given. One that is too old is 410, one that has not "
    "been reached yet 400.",
    0,
    2**62,
)
INSTANCE: Final = text("instance", "With watch: `instance` of the answer that `since` comes from; another one is 410.")
SECONDS: Final = integer("seconds", "With watch: the stream ends after so many seconds; 300 unless given.", 1, 3600)


def fields(names: Sequence[str]) -> Param:
    allowed = tuple(names)

    def read(value: str) -> tuple[str, ...]:
        wanted = tuple(dict.fromkeys(value.split(","))) if value else ()
        if wrong := [name for name in wanted if name not in allowed]:
            raise ValueError(f"no such field: {', '.join(wrong)[:LONGEST]}")
        return wanted

    schema = {"type": "array", "items": {"type": "string", "enum": list(allowed)}}
    return Param("fields", "Only these fields, separated by commas.", schema, read, allowed=allowed)


def sort(names: Iterable[str]) -> Param:
    names = tuple(names)
    values = (*names, *(f"-{n}" for n in names))
    return choice("sort", f"Order, descending with a minus before it; {names[0]} unless given.", values)


def read_all(params: Sequence[Param], given: Iterable[tuple[str, list[str]]]) -> dict[str, Any]:
    """The values by name, without those that were not given. Raises Refusal."""
    known = {p.name: p for p in params}
    found: dict[str, Any] = {}
    given = list(given)
    watched = "watch" in known and any(name == "watch" and values[-1] in _YES for name, values in given)
    for name, values in given:
        param = known.get(name)
        if param is None:
            shown = f"“{name[:40]}” is no parameter of this resource"
            refused = NOT_WATCHED if watched else ()
            raise Refusal(UNKNOWN_PARAMETER, shown, tuple(n for n in known if n not in refused))
        if len(values) > 1:
            raise Refusal(BAD_PARAMETER, f"{name} is given {len(values)} times; once is allowed")
        try:
            value = param.read(values[0])
        except ValueError as error:
            raise Refusal(BAD_PARAMETER, f"{name}: {error}", param.allowed) from error
        if value not in ("", ()):  # as if it was not given
            found[name] = value
    if missing := next((p for p in params if p.required and p.name not in found), None):
        raise Refusal(BAD_PARAMETER, f"{missing.name}: must be given, such as {missing.example}", missing.allowed)
    return found
