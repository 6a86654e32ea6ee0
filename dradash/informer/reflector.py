"""List and watch of one kind as a pure state machine (client-go: tools/cache Reflector, without its I/O).

The caller does what `next_action` says, gives the answer to `receive` with the time, and delivers what comes out:

    Discover -> Discovered     which resources the API server serves
    List     -> Listed         one page; the last one gives a Replaced
    Watch    -> Opened         from the last resourceVersion
    Read     -> Received | Ended
    Wait                       no answer; ask for the next action afterwards
    any of them -> Failed      with one of source.py's errors

No clock, no random and no thread here: `now` (Unix seconds) and the random numbers are arguments. The rules are the
two tables at the end of the file; what is in neither is a bug of the caller and raises KeyError.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Final

from dradash.informer import objects
from dradash.informer.backoff import Backoff
from dradash.informer.health import Health
from dradash.informer.listing import Listing
from dradash.informer.malformed import Malformed
from dradash.informer.messages import (
    Action,
    Answer,
    Changed,
    Discover,
    Discovered,
    Emission,
    Ended,
    Failed,
    List,
    Listed,
    Opened,
    Read,
    Received,
    Replaced,
    Wait,
    Watch,
)
from dradash.informer.sink import ObjectEvent
from dradash.informer.source import (
    Forbidden,
    Gone,
    NotServed,
    SourceError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    WatchEvent,
    error_of_status,
)
from dradash.kinds.registry import Kind, MalformedObject, read_object

# client-go's reflector backs off from 0.8 s to 30 s. Ours starts lower, because a page shows how old it is.
QUICK: Final = Backoff(base=0.5, cap=30.0)
# A permission or a resource that is missing comes back when a person acts: look rarely. Who renews credentials waits
# for us then, but not for longer than a minute.
SLOW: Final = Backoff(base=30.0, cap=300.0)
LONGEST_RETRY_AFTER: Final = 300.0  # a server (or a proxy) that asks for more is not believed
REFUSED: Final = ("forbidden", "notServed")  # a retry leaves the state as it is until it is known how it went
SHORT_WATCH: Final = 1.0  # a watch that ends sooner, and brought nothing, counts as a failure
SILENCE_GRACE: Final = 30.0  # beyond the asked time-out; then the connection is taken for dead
RESUMES_BEFORE_RELIST: Final = 5  # failures in a row of a watch, after which its resourceVersion is not trusted


class Phase(enum.Enum):
    DISCOVERING = "discovering"
    LISTING = "listing"
    CONNECTING = "connecting"
    READING = "reading"


class Reflector:
    """One kind. `keep` (key, JSON) decides what is delivered; what it refuses is not held, not even as a key."""

    def __init__(
        self,
        kind: Kind,
        *,
        random: Callable[[], float],
        keep: Callable[[str, bytes], bool] | None = None,
        limit: int = 500,
        timeout: int = 300,
    ) -> None:
        self.kind = kind
        self.phase = Phase.DISCOVERING
        self._keep = keep
        self._random = random
        self._timeout = timeout
        self._health = Health(kind.plural)
        self._malformed = Malformed()
        self._delay = 0.0  # to wait before the next action
        self._listing = Listing(limit)
        # The watch:
        self._version = ""  # API version
        self.resume_from = ""
        self._opened_at = 0.0
        self._heard_at = 0.0
        self._heard_anything = False
        self._synced_once = False
        # Failures in a row, by what ends the row: a list page, word from a watch, an allowed request.
        self._list_failures = 0
        self._watch_failures = 0
        self._refusals = 0
        self._watch_refused = False  # the last watch; a list that is allowed says nothing of the next one
        self._lists_again = False

    # -- what to do ----------------------------------------------------------------------------------------------

    def next_action(self) -> Action:
        """What to do now. A Wait is asked for once, then comes what was waited for."""
        if self._delay > 0:
            seconds, self._delay = self._delay, 0.0
            return Wait(seconds)
        if self._lists_again and self.phase in (Phase.CONNECTING, Phase.READING):
            self._begin_list()
        return _ACTIONS[self.phase](self)

    def _list(self) -> List:
        return List(self._version, self._listing.limit, self._listing.token)

    def _watch(self) -> Watch:
        return Watch(self._version, self.resume_from, self._timeout)

    def is_silent(self, now: float) -> bool:
        """The watch should have ended long ago and nothing comes: close it, and the reader will open another."""
        return self.phase is Phase.READING and now - self._heard_at > self._timeout + SILENCE_GRACE

    # -- what came of it -----------------------------------------------------------------------------------------

    def receive(self, answer: Answer, now: float) -> list[Emission]:
        """Take the answer to the last action; what comes back is to be delivered in order."""
        emissions = _TRANSITIONS[self.phase, type(answer)](self, answer, now)
        return [*emissions, *self._told(now)]

    def tick(self, now: float) -> list[Emission]:
        """Call it every second or so: a watch that has been open for a while is well, though nothing comes."""
        if self.phase is Phase.READING and now - self._opened_at >= SHORT_WATCH:
            self._is_well(now)
        return self._told(now)

    def _told(self, now: float) -> list[Emission]:
        # What is malformed in a list of many pages is told once, when it is over.
        unreadable = [] if self.phase is Phase.LISTING else self._malformed.report(now)
        return [*unreadable, *self._health.report(now)]

    def _is_well(self, now: float, **fields: Any) -> None:
        self._watch_failures = self._refusals = 0
        self._watch_refused = False
        self._health.change(now, state="synced", error="", **fields)

    def _discovered(self, answer: Discovered, now: float) -> list[Emission]:
        version = self._served_version(answer.served)
        if version is None:
            return self._refused(NotServed(f"the API server does not serve {self._wanted_versions()}"), now)
        self._list_failures = 0
        if not self._watch_refused:
            self._refusals = 0
        self._version = version
        self._begin_list()
        self._health.change(now, version=version)
        if self._health.state.state not in REFUSED:  # that a kind is in the directory does not mean that it is served
            self._health.change(now, error="", state=self._while_listing())
        return []

    def _while_listing(self) -> str:
        """A relist of a synced kind is no news; after anything worse the data are old until it is done."""
        if not self._synced_once:
            return "syncing"
        return "synced" if self._health.state.state == "synced" else "stale"

    def _served_version(self, served: Mapping[str, frozenset[str]]) -> str | None:
        for version in self.kind.versions:
            group_version = f"{self.kind.group}/{version}" if self.kind.group else version
            if self.kind.plural in served.get(group_version, frozenset()):
                return version
        return None

    def _wanted_versions(self) -> str:
        prefix = f"{self.kind.group}/" if self.kind.group else ""
        return " or ".join(f"{prefix}{version} {self.kind.plural}" for version in self.kind.versions)

    def list_again(self) -> None:
        """What `keep` wants is more than before. From any thread; the caller then closes the watch."""
        self._lists_again = True

    def _begin_list(self) -> None:
        self._lists_again = False
        self.phase = Phase.LISTING
        self._listing.begin()

    def _listed(self, answer: Listed, now: float) -> list[Emission]:
        page = answer.page
        if not page.resource_version:
            return self._failed(Failed(Unavailable("the list names no resourceVersion")), now)
        self._list_failures = 0
        malformed = sum(not self._take(raw) for raw in page.items)
        malformed += self._health.state.malformed
        self._health.change(now, seen=now, malformed=malformed)
        if not self._watch_refused:
            self._refusals = 0
            self._health.change(now, state=self._while_listing(), error="")
        try:
            return self._replace(now) if self._listing.turn(page) else []
        except Unavailable as endless:
            self._listing.begin()
            return self._failed(Failed(endless), now)

    def _take(self, raw: bytes) -> bool:
        """Add one item of the list. False when it is malformed; it is kept all the same if it has a name."""
        key = ""
        try:
            key = objects.identity(raw).key
            if self._keep is not None and not self._keep(key, raw):
                return True
            item = objects.normalized(raw, self.kind, self._version)
        except MalformedObject as error:
            self._malformed.found(key, error)
            return False
        self._listing.items[key] = item
        return self._is_readable(key, item)

    def _is_readable(self, key: str, item: bytes) -> bool:
        try:
            read_object(self.kind, item)
        except MalformedObject as error:
            self._malformed.found(key, error)
            return False
        return True

    def _replace(self, now: float) -> list[Emission]:
        items, version = self._listing.finish()
        relists = self._health.state.relists + 1 if self._synced_once else 0
        self.resume_from, self._synced_once = version, True
        self.phase = Phase.CONNECTING
        self._health.change(now, resource_version=version, relists=relists)
        if not self._watch_refused:
            self._health.change(now, state="synced", error="")
        return [Replaced(items, version)]

    def _opened(self, _answer: Opened, now: float) -> list[Emission]:
        self.phase = Phase.READING
        self._opened_at = self._heard_at = now
        self._heard_anything = False
        return []

    def _received(self, answer: Received, now: float) -> list[Emission]:
        self._heard_at = now
        kept: list[ObjectEvent] = []
        malformed = 0
        failure: Failed | None = None
        for event in answer.events:
            if event.type == "ERROR":
                failure = Failed(error_of_status(event.object))
                break  # the API server sends nothing after it
            try:
                self._take_event(event, kept)
            except MalformedObject as error:
                self._malformed.found("", error)
                malformed += 1
        self._count(answer, kept, malformed, now)
        emissions: list[Emission] = [Changed(tuple(kept), self.resume_from)] if kept else []
        return emissions + (self._failed(failure, now) if failure else [])

    def _take_event(self, event: WatchEvent, kept: list[ObjectEvent]) -> None:
        if event.type == "BOOKMARK":
            self._advance(objects.resource_version(event.object))
            return
        if event.type not in ("ADDED", "MODIFIED", "DELETED"):
            raise MalformedObject(f"a watch event of type {event.type!r}")
        identity = objects.identity(event.object)
        self._advance(identity.resource_version)
        if self._keep is None or self._keep(identity.key, event.object):
            item = objects.normalized(event.object, self.kind, self._version)
            kept.append(ObjectEvent(event.type, identity.key, item))

    def _advance(self, resource_version: str) -> None:
        # "" and "0" mean "any" to the API server: a watch resumed from there would miss deletions.
        if resource_version not in ("", "0"):
            self.resume_from = resource_version

    def _count(self, answer: Received, kept: list[ObjectEvent], malformed: int, now: float) -> None:
        unreadable = sum(not self._is_readable(event.key, event.object) for event in kept)
        if len(answer.events) > malformed + sum(event.type == "ERROR" for event in answer.events):
            self._heard_anything = True
            self._is_well(now)
        self._health.change(
            now,
            seen=now,
            resource_version=self.resume_from,
            events=self._health.state.events + sum(event.type not in ("BOOKMARK", "ERROR") for event in answer.events),
            malformed=self._health.state.malformed + malformed + unreadable,
        )

    def _ended(self, _answer: Ended, now: float) -> list[Emission]:
        """The server ended the watch: usual after the time-out; at once and empty-handed it is a failure."""
        if self._lists_again or now - self._opened_at >= SHORT_WATCH:
            self.phase = Phase.CONNECTING
            self._is_well(now, seen=now)
            return []
        if self._heard_anything:
            # It makes progress, but one connection per event must not become a busy loop either.
            self.phase = Phase.CONNECTING
            self._delay = QUICK.delay(1, self._random())
            return []
        return self._failed(Failed(Unavailable("the API server ends the watch at once")), now)

    # -- failures ------------------------------------------------------------------------------------------------

    def _failed(self, answer: Failed, now: float) -> list[Emission]:
        reaction = next(react for kind, react in _REACTIONS if isinstance(answer.error, kind))
        if self.phase is Phase.READING:
            self.phase = Phase.CONNECTING
        return reaction(self, answer.error, now)

    def _gone(self, error: SourceError, now: float) -> list[Emission]:
        if self.phase is Phase.LISTING:
            return self._token_expired(error, now)
        # What we know is too old to go on from. The first relist is at once, a storm of them is slowed down.
        self._watch_failures += 1
        if self._watch_failures > 1:
            self._delay = QUICK.delay(self._watch_failures - 1, self._random())
            self._health.change(now, error=str(error))
        self._begin_list()
        return []

    def _token_expired(self, error: SourceError, now: float) -> list[Emission]:
        if not self._listing.token:
            return self._unavailable(error, now)  # 410 to a fresh list: no token of ours is to blame
        self._listing.token_expired()
        return []

    def _refused(self, error: SourceError, now: float) -> list[Emission]:
        self._refusals += 1
        renewable = isinstance(error, Unauthorized)
        self._delay = SLOW.delay(min(self._refusals, 2) if renewable else self._refusals, self._random())
        self._watch_refused = self.phase is Phase.CONNECTING
        state = "forbidden" if isinstance(error, Forbidden) else "notServed"
        if isinstance(error, NotServed):
            self.phase = Phase.DISCOVERING
        elif renewable and self._watch_refused:
            # Not this watch is refused but whoever asks; and a server that knows us no longer may be another one.
            self._watch_refused = False
            self._begin_list()
        self._health.change(now, state=state, error=str(error))
        return []

    def _throttled(self, error: SourceError, now: float) -> list[Emission]:
        emissions = self._unavailable(error, now)
        asked = error.retry_after if isinstance(error, TooManyRequests) else None
        if asked:
            self._delay = max(self._delay, min(asked, LONGEST_RETRY_AFTER))
            self._health.change(now, error=_asks_to_wait(error, asked, now + self._delay))
        return emissions

    def _unavailable(self, error: SourceError, now: float) -> list[Emission]:
        failures = self._count_failure()
        self._delay = QUICK.delay(failures, self._random())
        # One lost connection is daily life (a load balancer, a restart): it is stale when the second try fails too.
        once_is_enough = self.phase is not Phase.CONNECTING and self._health.state.state not in REFUSED
        stale = self._synced_once and (failures > 1 or once_is_enough)
        self._health.change(now, error=str(error), state="stale" if stale else self._health.state.state)
        return []

    def _count_failure(self) -> int:
        if self.phase is not Phase.CONNECTING:
            self._list_failures += 1
            return self._list_failures
        self._watch_failures += 1
        if self._watch_failures % RESUMES_BEFORE_RELIST == 0:
            self._begin_list()
        return self._watch_failures


def _asks_to_wait(error: SourceError, asked: float, until: float) -> str:
    """A wait that somebody asked for is no fault that needs mending."""
    minutes, seconds = divmod(int(until) % 86400, 60)
    at = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02} UTC"
    return f"the API server asks to wait {asked:g} s, the next try is at {at}: {error}"


_ACTIONS: Final[dict[Phase, Callable[[Reflector], Action]]] = {
    Phase.DISCOVERING: lambda _: Discover(),
    Phase.LISTING: Reflector._list,
    Phase.CONNECTING: Reflector._watch,
    Phase.READING: lambda _: Read(),
}

_TRANSITIONS: Final[dict[tuple[Phase, type[Answer]], Callable[[Reflector, Any, float], list[Emission]]]] = {
    (Phase.DISCOVERING, Discovered): Reflector._discovered,
    (Phase.DISCOVERING, Failed): Reflector._failed,
    (Phase.LISTING, Listed): Reflector._listed,
    (Phase.LISTING, Failed): Reflector._failed,
    (Phase.CONNECTING, Opened): Reflector._opened,
    (Phase.CONNECTING, Failed): Reflector._failed,
    (Phase.READING, Received): Reflector._received,
    (Phase.READING, Ended): Reflector._ended,
    (Phase.READING, Failed): Reflector._failed,
}

# The first class that fits decides.
_REACTIONS: Final[tuple[tuple[type[SourceError], Callable[[Reflector, SourceError, float], list[Emission]]], ...]] = (
    (Gone, Reflector._gone),
    (Forbidden, Reflector._refused),
    (NotServed, Reflector._refused),
    (TooManyRequests, Reflector._throttled),
    (SourceError, Reflector._unavailable),
)
