"""Timestamps and durations of CEL: text, arithmetic and parts, in UTC, at a fixed offset or in a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from dradash.scheduling.structured import celzones
from dradash.scheduling.structured.celvalues import Duration, EvalError, Timestamp, no_overload

_SECOND: Final = 10**9
_DAY: Final = 86_400
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION: Final = re.compile(r"([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_DURATION_PART: Final = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_OFFSET: Final = re.compile(r"(([+-]?)\d{1,4}):([+-]?\d{1,4})", re.ASCII)
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MIN_SECONDS: Final = -62_135_596_800
_MAX_SECONDS: Final = 253_402_300_799


def parse_duration(text: str) -> Duration:
    """time.ParseDuration. Raises EvalError."""
    if text in ("0", "+0", "-0"):
        return Duration(0)
    match = _DURATION.fullmatch(text) if len(text) <= 256 else None
    if match is None:
        raise EvalError("type conversion error from 'string' to 'google.protobuf.Duration'")
    total = 0
    for whole, fraction, unit in _DURATION_PART.findall(match[2]):
        total += int(whole or "0") * _UNITS[unit]
        total += int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
    return _duration(-total if match[1] == "-" else total)


def _duration(nanoseconds: int) -> Duration:
    if not -(2**63) <= nanoseconds < 2**63:
        raise EvalError("duration overflow")
    return Duration(nanoseconds)


def _timestamp(nanoseconds: int) -> Timestamp:
    if not _MIN_SECONDS <= nanoseconds // _SECOND <= _MAX_SECONDS:
        raise EvalError("timestamp overflow")
    return Timestamp(nanoseconds)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a day of the Gregorian calendar."""
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 + sum(_MONTH_DAYS[: month - 1]) + day - 1
    return days + (month > 2 and _is_leap(year)) - 719_162


def parse_timestamp(text: str) -> Timestamp:
    """time.Parse(RFC3339). Raises EvalError."""
    match = _RFC3339.fullmatch(text) if len(text) <= 64 else None
    wrong = EvalError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    if match is None:
        raise wrong
    year, month, day, hour, minute, second = (int(g) for g in match.groups()[:6])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59 or year == 0:
        raise wrong
    length = _MONTH_DAYS[month - 1] + (month == 2 and _is_leap(year))
    if not 1 <= day <= length:
        raise wrong
    seconds = _days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second
    if match[8]:
        shift = int(match[9]) * 3600 + int(match[10]) * 60
        seconds -= shift if match[8] == "+" else -shift
    nanoseconds = int((match[7] or "0")[:9].ljust(9, "0"))
    return _timestamp(seconds * _SECOND + nanoseconds)


def add(a: Timestamp | Duration, b: Timestamp | Duration) -> Timestamp | Duration:
    if isinstance(a, Timestamp) and isinstance(b, Timestamp):
        raise no_overload()
    total = a.nanoseconds + b.nanoseconds
    return _duration(total) if isinstance(a, Duration) and isinstance(b, Duration) else _timestamp(total)


def subtract(a: Timestamp | Duration, b: Timestamp | Duration) -> Timestamp | Duration:
    rest = a.nanoseconds - b.nanoseconds
    if isinstance(a, Timestamp):
        return _duration(rest) if isinstance(b, Timestamp) else _timestamp(rest)
    if isinstance(b, Timestamp):
        raise no_overload()
    return _duration(rest)


def text(value: Timestamp | Duration) -> str:
    """`string()` of it: RFC 3339 or seconds."""
    if isinstance(value, Duration):
        whole, rest = divmod(abs(value.nanoseconds), _SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if value.nanoseconds < 0 else ''}{whole}{fraction}s"
    parts = _parts(value, 0)
    rest = value.nanoseconds % _SECOND
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return (
        f"{parts['year']:04d}-{parts['month']:02d}-{parts['day']:02d}"
        f"T{parts['hour']:02d}:{parts['minute']:02d}:{parts['second']:02d}{fraction}Z"
    )


def _parts(value: Timestamp, offset: int) -> dict[str, int]:
    days, seconds = divmod(value.nanoseconds // _SECOND + offset, _DAY)
    year = (days + 719_162) * 400 // 146_097 + 1
    while _days(year, 1, 1) > days:
        year -= 1
    while _days(year + 1, 1, 1) <= days:
        year += 1
    day_of_year = days - _days(year, 1, 1)
    month, left = 1, day_of_year
    while left >= (length := _MONTH_DAYS[month - 1] + (month == 2 and _is_leap(year))):
        left -= length
        month += 1
    return {
        "year": year,
        "month": month,
        "day": left + 1,
        "day_of_year": day_of_year,
        "day_of_week": (days + 4) % 7,
        "hour": seconds // 3600,
        "minute": seconds // 60 % 60,
        "second": seconds % 60,
    }


def _offset(value: Timestamp, zone: str) -> int:
    """Seconds east of UTC at that time: the name of a zone, or hours and minutes (cel-go's timeZone)."""
    if zone in ("", "UTC", "Local"):
        return 0  # a scheduler's own zone is UTC
    if ":" not in zone:
        east = celzones.seconds_east(zone, value.nanoseconds // _SECOND)
        if east is None:
            raise EvalError(f"unknown time zone {zone}")
        return east
    match = _OFFSET.fullmatch(zone)
    if match is None:
        raise EvalError(f"invalid time zone offset {zone}")
    minutes = int(match[3])
    return (int(match[1]) * 60 + (-minutes if match[1].startswith("-") else minutes)) * 60


def _getter(part: str, less: int = 0) -> Callable[..., Any]:
    def run(value: Any, zone: str = "") -> int:
        if not isinstance(value, Timestamp):
            raise no_overload()
        return _parts(value, _offset(value, zone))[part] - less

    return run


def _duration_or(unit: int, part: str) -> Callable[..., Any]:
    of_timestamp = _getter(part)

    def run(value: Any, zone: str = "") -> Any:
        if isinstance(value, Duration):
            whole = abs(value.nanoseconds) // unit
            return whole if value.nanoseconds >= 0 else -whole
        return of_timestamp(value, zone)

    return run


def _milliseconds(value: Any, _zone: str = "") -> int:
    if isinstance(value, (Timestamp, Duration)):
        return value.nanoseconds // 10**6 % 1000 if isinstance(value, Timestamp) else value.nanoseconds // 10**6
    raise no_overload()


def _to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, str):
        return parse_timestamp(value)
    if type(value) is int:
        return _timestamp(value * _SECOND)
    raise no_overload()


def _to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, str):
        return parse_duration(value)
    if type(value) is int:
        return Duration(value)
    raise no_overload()


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "timestamp": _to_timestamp,
    "duration": _to_duration,
    "getFullYear": _getter("year"),
    "getMonth": _getter("month", 1),
    "getDate": _getter("day"),
    "getDayOfMonth": _getter("day", 1),
    "getDayOfWeek": _getter("day_of_week"),
    "getDayOfYear": _getter("day_of_year"),
    "getHours": _duration_or(3600 * _SECOND, "hour"),
    "getMinutes": _duration_or(60 * _SECOND, "minute"),
    "getSeconds": _duration_or(_SECOND, "second"),
    "getMilliseconds": _milliseconds,
}
