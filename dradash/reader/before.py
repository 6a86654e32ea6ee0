"""What there was about an object just before it went: the world of now has neither its pod nor its claims any more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

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

BEHIND: Final = 10.0  # seconds by which the watch of pods may be behind that of contexts


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


@contextmanager
def negotiation_before(
    here: Current, key: str, last: HistoryEntry, at: float | None
) -> Iterator[tuple[World, Since, float]]:
    """The world in which a negotiation that is gone ended, who waited since when just before, and until when what was
    done to its claims belongs to it (Unix seconds).

    last: of the context. at: the moment asked about, None: now.
    """
    pods = here.history("pods", key, math.inf if at is None else at)
    over = negotiated_until(last, pods)
    bound = bound_after(last, pods, over)
    if bound and _kept(here, bound, None) is not None:
        # The scheduler binds the pod and deletes the context at once, but each kind has a watch of its own.
        then = here.past(bound)
        with world_before(here, over, at) as (_, waits):
            yield then, waits, max(last.at, bound)
        return
    with world_before(here, over, at) as (world, waits):
        yield world, waits, last.at


def negotiated_until(last: HistoryEntry, pods: Sequence[HistoryEntry]) -> float:
    """When a negotiation that is gone was over: its context often outlives its pod, until the garbage is collected.

    last: of the context. pods: history of the pod's key.
    """
    owner = _owner(last)
    for entry in pods:
        if owner and entry.type == "DELETED" and entry.at <= last.at and _uid(entry) == owner:
            return entry.at
    return last.at


def bound_after(last: HistoryEntry, pods: Sequence[HistoryEntry], over: float) -> float:
    """When it was seen that the pod has a node, where that was heard of only after the negotiation's end; else 0.0."""
    owner = _owner(last)
    for entry in pods:
        if entry.at > over + BEHIND:
            break
        with suppress(MalformedObject):
            pod = decode(Pod, entry.object)
            if pod.uid == owner and pod.spec.node_name and entry.type != "DELETED":
                return entry.at if entry.at >= over else 0.0
    return 0.0


def _owner(context: HistoryEntry) -> str | None:
    with suppress(MalformedObject):
        return controller_uid(decode(PodSchedulingContext, context.object).metadata)
    return None


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
