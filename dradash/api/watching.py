"""watch=1: what changes of a list, from a revision on. Resumes by revision for as long as the stream is kept."""

from __future__ import annotations

import asyncio
import itertools
import math
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from dradash.api.asking import Ask
from dradash.api.changes import CHANGES, matches, row_of
from dradash.api.endpoint import Endpoint, Listing, projected
from dradash.api.following import Following
from dradash.api.schemas import Shape
from dradash.problems import NOT_REACHED, REVISION_GONE, TOO_MANY_WATCHES, UNAVAILABLE, Problem, Refusal
from dradash.store.model import Change, StoreUnavailable, Trimmed

LOOK_EVERY: Final = 0.1  # seconds
BOOKMARK_EVERY: Final = 15.0
RESTS: Final = 4  # times as long as it took to make and send what was new
SECONDS: Final = 300
BATCH: Final = 500
MOST: Final = 200  # at the same time, of this process
# Seconds that a place is kept for a stream that has not started. A request that is cancelled before that leaves a
# response that nobody closes.
START_WITHIN: Final = 30.0

_open = itertools.count()
# The numbers of those that have a place, and how long each keeps it (monotonic seconds).
_running: dict[int, float] = {}
_places = threading.Lock()


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
    """after: the revision up to which everything was sent. following: None for the changes themselves.

    waits_for: a revision that another process has reached and this one has not; it begins then.
    It has one of the `MOST` places from the beginning, before anything is sent, until `end`.
    """

    listing: Listing[Any]
    ask: Ask
    instance: str
    after: int
    following: Following | None
    waits_for: int | None = None
    number: int = field(default_factory=lambda: next(_open))

    def __post_init__(self) -> None:
        """Raises Refusal when no place is free."""
        with _places:  # looked at and taken in one: a burst of requests is many threads
            now = time.monotonic()
            for number in [n for n, until in _running.items() if until <= now]:
                del _running[number]
            if len(_running) >= MOST:
                raise Refusal(TOO_MANY_WATCHES, f"{MOST} watches are open; try again later")
            _running[self.number] = now + START_WITHIN

    def start(self) -> None:
        with _places:
            _running[self.number] = math.inf

    def end(self) -> None:
        with _places:
            _running.pop(self.number, None)

    def has_news(self, revision: int, instance: str) -> bool:
        if self.waits_for is not None:
            return revision >= self.waits_for or instance != self.instance
        due = self.following is not None and self.following.is_due(time.time())
        return revision > self.after or instance != self.instance or due


def begin(endpoint: Endpoint, ask: Ask, since: int | None) -> Watch:
    """Raises Refusal, which is still a whole answer: nothing has been sent yet."""
    listing = endpoint.listing
    if listing is None:
        raise AssertionError("only lists are watched")
    instance, revision, _, _ = ask.here.follower.version()
    watch = Watch(listing, ask, instance, revision, None)
    try:
        _take_up(watch, since)
    except BaseException:
        watch.end()
        raise
    return watch


def _take_up(watch: Watch, since: int | None) -> None:
    ask, instance, revision = watch.ask, watch.instance, watch.after
    if ask.params.get("instance", instance) != instance:
        raise Refusal(REVISION_GONE, "the model began anew since then: list again, and watch from its revision")
    following = watch.following = None if watch.listing is CHANGES else Following(watch.listing, ask)
    if since is not None and since > revision:
        if since > ask.here.model.revision():  # another process may be ahead of this one
            raise Refusal(
                NOT_REACHED,
                f"revision {since} has not been reached yet: the model is at {revision}. If it once was, the model has "
                "begun anew (instance= would tell): list again",
            )
        watch.after = watch.waits_for = since
    elif following is not None:
        following.begin(since)
        watch.after = following.after
    elif since is not None:
        _read(ask, instance, since, 1)
        watch.after = since


def _read(ask: Ask, instance: str, after: int, limit: int) -> list[Change]:
    try:
        return ask.here.model.changes(instance, after, limit, 0.0)
    except Trimmed as error:
        raise Refusal(REVISION_GONE, f"the changes after revision {after} are not kept any more: list again") from error


async def stream(watch: Watch, encode: Callable[[WatchEvent], bytes]) -> AsyncIterator[bytes]:
    follower = watch.ask.here.follower
    end = time.monotonic() + watch.ask.params.get("seconds", SECONDS)
    watch.start()
    try:
        yield encode(_bookmark(watch))
        quiet = time.monotonic()
        while time.monotonic() < end:
            instance, revision, _, _ = follower.version()
            began = time.monotonic()
            if watch.has_news(revision, instance):
                for event in await asyncio.to_thread(_news, watch, instance, revision):
                    yield encode(event)
                    quiet = time.monotonic()
                    if event.type == "ERROR":
                        return
            now = time.monotonic()
            if now - quiet >= BOOKMARK_EVERY:
                quiet = now
                yield encode(_bookmark(watch))
            # What changes many rows comes less often: what follows it is then told in one go.
            await asyncio.sleep(min(max(LOOK_EVERY, RESTS * (now - began)), end - now, BOOKMARK_EVERY))
        yield encode(_bookmark(watch))
    finally:
        watch.end()


def _bookmark(watch: Watch) -> WatchEvent:
    return WatchEvent(type="BOOKMARK", revision=watch.after, key="", object=None, problem=None)


def _news(watch: Watch, instance: str, revision: int) -> list[WatchEvent]:
    try:
        if instance != watch.instance:
            raise Refusal(REVISION_GONE, "the model began anew: list again, and watch from its revision")
        if watch.following is None:
            return _changes(watch, instance, revision)
        if watch.waits_for is not None:
            watch.following.begin(watch.waits_for)
            watch.waits_for = None
        return _rows(watch, watch.following)
    except StoreUnavailable as error:
        return [_failed(watch, Refusal(UNAVAILABLE, str(error)))]
    except Refusal as refusal:
        return [_failed(watch, refusal)]


def _failed(watch: Watch, refusal: Refusal) -> WatchEvent:
    return WatchEvent(type="ERROR", revision=watch.after, key="", object=None, problem=refusal.problem)


def _changes(watch: Watch, instance: str, revision: int) -> list[WatchEvent]:
    ask = watch.ask
    watch.waits_for = None
    changes = [c for c in _read(ask, instance, watch.after, BATCH) if c.revision <= revision]
    watch.after = changes[-1].revision if changes else watch.after
    return [
        WatchEvent(type=c.type, revision=c.revision, key=c.key, object=projected(row_of(c), ask), problem=None)
        for c in changes
        if matches(c, ask)
    ]


def _rows(watch: Watch, following: Following) -> list[WatchEvent]:
    """Only the last event has the new revision: a reader that is cut off in between comes back for all of them."""
    before, told = watch.after, following.news()
    watch.after = following.after
    return [
        WatchEvent(
            type=one.type,
            revision=watch.after if number == len(told) else before,
            key=one.key,
            object=one.row,
            problem=None,
        )
        for number, one in enumerate(told, 1)
    ]


def as_line(event: WatchEvent) -> bytes:
    return msgspec.json.encode(event) + b"\n"


def as_event(event: WatchEvent) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.revision,
        event.type.lower().encode(),
        msgspec.json.encode(event),
    )
