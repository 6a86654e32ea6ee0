"""From when on something counts as wrong. Each is a setting: DRADASH_DOCTOR_ and its name in capitals."""

from __future__ import annotations

from typing import Final

import msgspec


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds, except `changes`."""

    missing: float = 10.0
    create: float = 30.0
    retry: float = 60.0
    bypass: float = 30.0
    blocked: float = 60.0
    immediate: float = 60.0
    deallocate: float = 60.0
    deleting: float = 60.0
    released: float = 60.0
    idle: float = 600.0
    silent: float = 60.0
    disagree: float = 60.0
    stale: float = 30.0
    publish: float = 120.0
    binding: float = 120.0
    window: float = 600.0
    changes: int = 6


MEANINGS: Final = {
    "missing": "an object that is named may be absent so long: things are often created in the wrong order",
    "create": "the claim controller may take so long to create a claim from its template",
    "retry": "the scheduler (or the claim controller) may take so long to try again after it could succeed",
    "bypass": "a pod that was given a node without the scheduler may wait so long for its claims",
    "blocked": "a pod may be kept out of the scheduler's queue so long",
    "immediate": "a driver may take so long to allocate an Immediate claim",
    "deallocate": "a driver may take so long to take an allocation back",
    "deleting": "the deletion of a claim may take so long",
    "released": "a claim may stay reserved so long for a pod that is gone or has finished",
    "idle": "a claim may be allocated so long while it is reserved for nobody",
    "silent": "a driver may take so long to answer in a negotiation",
    "disagree": "the scheduler's words and our verdict may differ so long",
    "stale": "a kind may be out of sync so long",
    "publish": "a driver may take so long to publish its devices, counted from when a node was Ready",
    "binding": "a driver may take so long to report the binding conditions of an allocated device",
    "window": "changes that go back and forth are counted over so long",
    "changes": "number of changes within the window from which on an object flaps",
}
