"""watch=1: what changes of a list, from a revision on. Resumes by revision for as long as the stream is kept."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dradash.api.asking import Ask
from dradash.api.changes import CHANGES, matches, row_of
from dradash.api.endpoint import Endpoint, Listing, projected
from dradash.api.schemas import Shape
from dradash.problems import NOT_REACHED, REVISION_GONE, TOO_MANY_WATCHES, UNAVAILABLE, Problem, Refusal
from dradash.store.model import Change, StoreUnavailable, Trimmed

LOOK_EVERY: Final = 0.1  # seconds
BOOKMARK_EVERY: Final = 15.0
SECONDS: Final = 300
BATCH: Final = 500
MOST: Final = 200  # at the same time, of this process

_open = itertools.count()
_running: set[int] = set()


class WatchEvent(Shape, frozen=True):
    """type: ADDED, MODIFIED, DELETED (gone, or not in the filters any more; object is then null), BOOKMARK (nothing
    changed up to this revision) or ERROR (the stream ends; see problem)."""

    type: str
    revision: int
    key: str
    object: Any
    problem: Problem | None


@dataclass
class Watch:
    """after: the revision up to which everything was sent. known: keys that the reader has, None: not known."""

    listing: Listing[Any]
    ask: Ask
    instance: str
    after: int
    known: set[str] | None
    number: int = field(default_factory=lambda: next(_open))


def begin(endpoint: Endpoint, ask: Ask, since: int | None) -> Watch:
    """Raises Refusal, which is still a whole answer: nothing has been sent yet."""
    listing = endpoint.listing
    if listing is None:
        raise AssertionError("only lists are watched")
    if len(_running) >= MOST:
        raise Refusal(TOO_MANY_WATCHES, f"{MOST} watches are open; try again later")
    instance, revision, _, _ = ask.here.follower.version()
    known: set[str] | None = None
    if ask.params.get("instance", instance) != instance:
        raise Refusal(REVISION_GONE, "the model began anew since then: list again, and watch from its revision")
    if since is None:
        with ask.world() as world:
            known = {listing.identity(i) for i in listing.items(ask, world, None)}
            since = world.revision
    elif since > revision and since > ask.here.model.revision():  # another process may be ahead of this one
        raise Refusal(
            NOT_REACHED,
            f"revision {since} has not been reached yet: the model is at {revision}. If it once was, the model has "
            "begun anew (instance= would tell): list again",
        )
    else:
        _read(ask, instance, since, 1)
    return Watch(listing, ask, instance, since, known)


def _read(ask: Ask, instance: str, after: int, limit: int) -> list[Change]:
    try:
        return ask.here.model.changes(instance, after, limit, 0.0)
    except Trimmed as error:
        raise Refusal(REVISION_GONE, f"the changes after revision {after} are not kept any more: list again") from error


async def stream(watch: Watch, encode: Callable[[WatchEvent], bytes]) -> AsyncIterator[bytes]:
    follower = watch.ask.here.follower
    end = time.monotonic() + watch.ask.params.get("seconds", SECONDS)
    _running.add(watch.number)
    try:
        yield encode(_bookmark(watch))
        quiet = time.monotonic()
        while time.monotonic() < end:
            instance, revision, _, _ = follower.version()
            if revision > watch.after or instance != watch.instance:
                for event in await asyncio.to_thread(_news, watch, instance, revision):
                    yield encode(event)
                    quiet = time.monotonic()
                    if event.type == "ERROR":
                        return
            if time.monotonic() - quiet >= BOOKMARK_EVERY:
                quiet = time.monotonic()
                yield encode(_bookmark(watch))
            await asyncio.sleep(LOOK_EVERY)
        yield encode(_bookmark(watch))
    finally:
        _running.discard(watch.number)


def _bookmark(watch: Watch) -> WatchEvent:
    return WatchEvent(type="BOOKMARK", revision=watch.after, key="", object=None, problem=None)


def _news(watch: Watch, instance: str, revision: int) -> list[WatchEvent]:
    try:
        if instance != watch.instance:
            raise Refusal(REVISION_GONE, "the model began anew: list again, and watch from its revision")
        changes = [c for c in _read(watch.ask, instance, watch.after, BATCH) if c.revision <= revision]
    except StoreUnavailable as error:
        return [_failed(watch, Refusal(UNAVAILABLE, str(error)))]
    except Refusal as refusal:
        return [_failed(watch, refusal)]
    if not changes:
        return []
    events = _each(watch, changes) if watch.listing is CHANGES else _latest(watch, changes)
    watch.after = changes[-1].revision
    return events


def _failed(watch: Watch, refusal: Refusal) -> WatchEvent:
    return WatchEvent(type="ERROR", revision=watch.after, key="", object=None, problem=refusal.problem)


def _each(watch: Watch, changes: list[Change]) -> list[WatchEvent]:
    ask = watch.ask
    return [
        WatchEvent(type=c.type, revision=c.revision, key=c.key, object=projected(row_of(c), ask), problem=None)
        for c in changes
        if matches(c, ask)
    ]


def _latest(watch: Watch, changes: list[Change]) -> list[WatchEvent]:
    """One event for each item that the changes touched, as it is now."""
    listing, ask = watch.listing, Ask(watch.ask.here, watch.ask.params, watch.ask.where, time.time())
    if listing.touched is None:
        raise AssertionError("only lists that can be watched are")
    events = []
    if listing.prepare is not None:
        listing.prepare(ask)
    with ask.world() as world:
        touched: dict[str, Change] = {}
        for change in changes:
            for key in listing.touched(change, world):
                touched.pop(key, None)
                touched[key] = change
        there = {listing.identity(i): i for i in listing.items(ask, world, list(touched))}
        for key, change in touched.items():
            item = there.get(key)
            row = None if item is None else projected(listing.row(ask, world, item), ask)
            if event := _event(watch, key, change, row):
                events.append(event)
    return events


def _event(watch: Watch, key: str, change: Change, row: Any) -> WatchEvent | None:
    known = watch.known
    if row is not None:
        type_ = "MODIFIED" if known is None or key in known else "ADDED"
        if known is not None:
            known.add(key)
        return WatchEvent(type=type_, revision=change.revision, key=key, object=row, problem=None)
    namespace = watch.ask.get("namespace")
    if (known is not None and key not in known) or (namespace and key.partition("/")[0] != namespace):
        return None
    if known is not None:
        known.discard(key)
    return WatchEvent(type="DELETED", revision=change.revision, key=key, object=None, problem=None)


def as_line(event: WatchEvent) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def as_event(event: WatchEvent) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.revision,
        event.type.lower().encode(),
        msgspec.json.encode(event),
    )
