"""What there was about an object just before it went: the world of now has neither its pod nor its claims any more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from dradash.kinds.meta import controller_uid
from dradash.kinds.pod import Pod
from dradash.kinds.registry import MalformedObject, decode
from dradash.kinds.schedulingcontext import PodSchedulingContext
from dradash.reader.current import Current
from dradash.reader.waits import Since
from dradash.reader.world import World
from dradash.scheduling.claimfacts import AnyClaim, read_claim
from dradash.store.model import HistoryEntry
from dradash.store.past import BeforeHistory


@contextmanager
def world_before(here: Current, gone: float, at: float | None) -> Iterator[tuple[World, Since]]:
    """The world just before Unix time `gone`, and who waited since when.

    at: the moment asked about, None: now; it has to do where the history does not reach back any more.
    """
    moment = _kept(here, math.nextafter(gone, -math.inf), at)
    if moment is not None:
        yield here.past(moment), here.waits(moment)
        return
    with here.follower.world() as live:
        yield live, here.waits(None)


def _kept(here: Current, moment: float, at: float | None) -> float | None:
    try:
        here.past(moment)
    except BeforeHistory:
        return at
    return moment


def negotiated_until(last: HistoryEntry, pods: Sequence[HistoryEntry]) -> float:
    """When a negotiation that is gone was over: its context often outlives its pod, until the garbage is collected.

    last: of the context. pods: history of the pod's key.
    """
    try:
        owner = controller_uid(decode(PodSchedulingContext, last.object).metadata)
    except MalformedObject:
        return last.at
    for entry in pods:
        if entry.type == "DELETED" and entry.at <= last.at and _uid(entry) == owner:
            return entry.at
    return last.at


def _uid(entry: HistoryEntry) -> str:
    try:
        return decode(Pod, entry.object).uid
    except MalformedObject:
        return ""


def last_claims(here: Current, keys: Mapping[str, str], at: float | None) -> dict[str, AnyClaim]:
    """The last states of claims that are gone. keys: by whatever the caller calls them. at: the moment asked about.

    Raises StoreUnavailable.
    """
    found = {}
    for name, key in keys.items():
        states = here.history("resourceclaims", key, math.inf if at is None else at)
        with suppress(MalformedObject):
            if states:
                found[name] = read_claim(states[-1].object)
    return found
