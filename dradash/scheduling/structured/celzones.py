"""Time zones by name, as CEL's timestamp functions take them (time.LoadLocation).

The only module here that reads something: the system's time zone data, which the container image has, once for a name.
The standard library asks for a datetime; of the clock it knows nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A datetime has the years 1 to 9999, in every zone.
_FIRST: Final = -62_135_596_800 + 2 * 86_400
_LAST: Final = 253_402_300_799 - 2 * 86_400


def seconds_east(name: str, at: int) -> int | None:
    """Seconds east of UTC in the zone at `at`, in Unix seconds. None: no zone of that name in the system's data."""
    zone = _zone(name)
    if zone is None:
        return None
    offset = (_EPOCH + timedelta(seconds=min(max(at, _FIRST), _LAST))).astimezone(zone).utcoffset()
    return None if offset is None else offset.days * 86_400 + offset.seconds


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
