"""RFC 3339 times as the API server writes them, to Unix seconds. The pure core has no datetime."""

from __future__ import annotations

import functools
import re
from typing import Final

from dradash.kinds.meta import ObjectMeta

_SHAPE: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)


@functools.lru_cache(maxsize=65536)  # the same few thousand times are asked for again and again
def seconds(text: str | None) -> float:
    """Unix seconds; 0.0 for None and for anything that is no time: it comes from the cluster."""
    found = _SHAPE.fullmatch(text) if text else None
    if found is None:
        return 0.0
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 23 and minute <= 59 and second <= 60):
        return 0.0
    fraction, sign, off_hours, off_minutes = found.groups()[6:]
    total = _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
    offset = (int(off_hours) * 3600 + int(off_minutes) * 60) * (-1 if sign == "-" else 1) if sign else 0
    return total - offset + float(fraction or 0)


def deletion_asked(meta: ObjectMeta) -> float:
    """When the object's deletion was asked for, in Unix seconds; 0.0 when it was not, or when that is no time.

    deletionTimestamp is when its grace period ends: the API server adds the period to the time of the request.
    """
    ends = seconds(meta.deletion_timestamp)
    return ends - (meta.deletion_grace_period_seconds or 0) if ends else 0.0


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, counted in years that begin with March."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
