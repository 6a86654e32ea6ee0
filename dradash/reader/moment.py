"""A moment in a URL: RFC 3339, as alerts and logs write it. Pure."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

_SHAPE: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)")
_NO_ZONE: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?")
_TIME_OF_DAY: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?[Zz]?")
_AGO: Final = re.compile(r"-?((?:\d{1,6}[dhms] ?)+)(ago)?")
_UNITS: Final = {"d": 86400, "h": 3600, "m": 60, "s": 1}
# As Go prints a time: an alert's template that does not format it. The plus may have become a space.
_GO: Final = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) ([+ -])(\d\d)(\d\d)(?: [A-Z\d+-]{1,6})?(?: m=.*)?"
)
_NUMBER: Final = re.compile(r"[0-9]{1,300}(\.[0-9]{0,300})?")
_MILLISECONDS: Final = 1e11  # more are no seconds: that is the year 5138
NO_VALUE: Final = "<no value>"  # an alert's template leaves it where a label is missing
ASKED: Final = "asked"  # of a page's address: the moment that was asked for, where it shows another one
APART: Final = 1.0  # seconds that make it another one: times are mostly written without the fraction
EXAMPLE: Final = "2026-11-30T03:12:00Z"


class BadMoment(ValueError):
    """The message says what is wrong and gives an example."""


def parse(text: str) -> float | None:
    """Unix seconds; None for "". A plus that a form turned into a space is forgiven."""
    text = text.strip()
    if not text:
        return None
    text = re.sub(r" (\d\d:\d\d)$", r"+\1", text)
    if not _SHAPE.fullmatch(text):
        raise BadMoment(f"“{text[:40]}” is no time with a zone, as in {EXAMPLE}")
    try:
        at = datetime.fromisoformat(text.upper()).astimezone(UTC).timestamp()
        show(at)  # near the ends of the calendar a time can be read but not shown
    except (ValueError, OverflowError) as error:
        raise BadMoment(f"“{text[:40]}” is no time: {error}") from error
    return at


def parse_alerts(text: str) -> float | None:
    """As alerts write it: what `parse` takes, Unix time in seconds or milliseconds, or what Go prints of a time.

    `<no value>` is none at all.
    """
    text = text.strip()
    if text == NO_VALUE:
        return None
    if of_go := _GO.fullmatch(text):
        return parse(f"{of_go[1]}{of_go[2].replace(' ', '+')}{of_go[3]}:{of_go[4]}")
    if not _NUMBER.fullmatch(text):
        return parse(text)
    at = float(text)
    at = at / 1000 if at > _MILLISECONDS else at
    if at > _MILLISECONDS:
        raise BadMoment(f"“{text[:40]}” is no time, as in {EXAMPLE}")
    return at


def show(at: float) -> str:
    """RFC 3339 in UTC; milliseconds only where there are some, rounded up: what changed at `at` has then changed."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=math.ceil(round(at * 1000, 3)))
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds").replace("+00:00", "Z")


def understand(text: str, now: float) -> str:
    """What somebody typed ("5m", "2h 10m ago", "03:12", a date and time without a zone: all UTC) as RFC 3339.

    A time of day is the last one that has been. What is not understood is returned as it is, for `parse` to refuse.
    """
    text = text.strip()
    short = text.lower()
    if ago := _AGO.fullmatch(short):
        back = sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([dhms])", ago[1]))
        return show(float(math.floor(now)) - back) if back < now else text
    if day := _TIME_OF_DAY.fullmatch(short):
        try:
            when = datetime.fromtimestamp(now, UTC).replace(
                hour=int(day[1]), minute=int(day[2]), second=int(day[3] or 0), microsecond=0
            )
        except ValueError:
            return text
        return show((when if when.timestamp() <= now else when - timedelta(days=1)).timestamp())
    return f"{text.replace(' ', 'T')}Z" if _NO_ZONE.fullmatch(text) else text
