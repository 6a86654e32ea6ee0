"""Times in bodies: what Go's decoder of metav1.Time and MicroTime takes, field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
# Where the watched kinds have times: a path, "*" for each entry of a list.
_METADATA: Final = ("metadata.creationTimestamp", "metadata.deletionTimestamp")
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "events": (
        "firstTimestamp",
        "lastTimestamp",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "eventTime",
        "series.lastObservedTime",
    ),
    "pods": ("status.startTime", "status.conditions.*.lastTransitionTime", "status.conditions.*.lastProbeTime"),
    "nodes": (
        "spec.taints.*.timeAdded",
        "status.conditions.*.lastTransitionTime",
        "status.conditions.*.lastHeartbeatTime",
    ),
}


def wrong_time(plural: str, obj: Mapping[str, Any]) -> str:
    """Go's words on the first field that holds no time; "": all of them do."""
    for path in (*_METADATA, *_FIELDS.get(plural, ())):
        for value in _at(obj, path.split(".")):
            if value is not None and not _is_time(value):
                return f'parsing time "{value}" as "{_LAYOUT}": cannot parse "{value}" as "2006"'
    return ""


def _at(value: Any, path: list[str]) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0] == "*":
        for entry in value if isinstance(value, list) else ():
            yield from _at(entry, path[1:])
    elif isinstance(value, Mapping):
        yield from _at(value.get(path[0]), path[1:])


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return value.startswith("0000-")  # a year for Go, and none for Python
    return True
