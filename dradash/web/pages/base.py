"""Every page as path + query -> what it shows. The view and the socket of a page both take it from here.

`?at=<RFC 3339>` shows any page as it was: the same presenters then read a rebuilt past instead of the live state.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final

import msgspec
from django.conf import settings

from dradash.reader import current
from dradash.reader.comparing import differing
from dradash.reader.differences import Differs
from dradash.reader.moment import ASKED, BadMoment, parse
from dradash.reader.nearest import first_after, first_state
from dradash.reader.series import Sample
from dradash.reader.world import Freshness, World
from dradash.scheduling.cluster import claim_keys
from dradash.store.model import VERDICTS, HistoryEntry, StoreUnavailable
from dradash.store.past import BeforeHistory
from dradash.web.fragments import Part, Shown
from dradash.web.presenters import compare, status, timetravel
from dradash.web.presenters.query import KIOSK, Query
from dradash.web.presenters.status import FreshnessView
from dradash.web.presenters.words import Chip

AT = "at"
MANY = frozenset({"hide"})  # parameters that a form sends once for each checkbox
WITH = "with"  # another moment that `at` (or now) is compared with
LONGEST_ASKED = 40  # characters
NOW = "now"  # understood for either moment


def flat(params: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A query string as one value a name: the last one, but what checkboxes send is joined by dots."""
    found: dict[str, str] = {}
    for name, value in params:
        found[name] = f"{found[name]}.{value}" if name in MANY and name in found else value
    return found


NO_MOMENT: Final = "_no_moment.html"


class Page(abc.ABC):
    """A page is made for one request or socket and holds nothing but its address.

    at: Unix seconds of the moment that is looked at, None for now.
    """

    template: str  # arranges the blocks
    params: ClassVar[frozenset[str]] = frozenset()  # of the query string; others are ignored
    always: ClassVar[frozenset[str]] = frozenset({AT, KIOSK})  # parameters of all such pages
    section: ClassVar[str] = ""  # of the navigation
    piece: ClassVar[str] = ""  # id of the element for which htmx fetches the last block alone

    def __init__(self, query: Mapping[str, str], **where: str) -> None:
        self.query = Query.of(query, self.params | self.always)
        self.where = where
        self.asked = query.get(ASKED, "")[:LONGEST_ASKED]
        self.wrong_at = ""
        self.at = self._moment(self.query.get(AT))
        self.with_now = self.query.get(WITH).strip().lower() == NOW
        self.compared_with = time.time() if self.with_now else self._moment(self.query.get(WITH))
        if self.with_now and self.at is None:
            self.compared_with = None  # now with now: nothing to compare

    def _moment(self, text: str) -> float | None:
        if text.strip().lower() == NOW:
            return None
        try:
            return parse(text)
        except BadMoment as error:
            self.wrong_at = (
                f"{error}, nor how long ago (5m, 2h 10m) or a time of day (03:12)" if self.typed else str(error)
            )
            return None

    def asked_note(self) -> str:
        """Why another moment is shown than the link asked for."""
        if not self.asked:
            return ""
        try:
            start = current.get().model.history_start()
        except StoreUnavailable:
            start = None
        return timetravel.asked_note(self.asked, self.at, start, time.time())

    @property
    def key(self) -> str:
        return f"{type(self).__name__} {sorted(self.where.items())} {self.query.encoded}"

    @abc.abstractmethod
    def topics(self) -> frozenset[str]:
        """What wakes it, beside topics.EVERYTHING."""

    @abc.abstractmethod
    def parts(self) -> tuple[str, list[Part], int]:
        """Title, blocks and HTTP status, once the model was loaded."""

    @property
    def fixed(self) -> bool:
        """A moment that is over: the page does not change any more."""
        return self.at is not None

    @property
    def looks_back(self) -> bool:
        """It may take a while, as a cluster of the past has to be rebuilt: live pages must not wait for it."""
        return self.fixed

    @property
    def carried(self) -> dict[str, str]:
        """What stays in every link."""
        names = (KIOSK,) if self.at is None else (AT, KIOSK)
        return {name: value for name in names if (value := self.query.get(name))}

    has_timeline: ClassVar[bool] = True
    typed: ClassVar[tuple[str, ...]] = ()  # parameters for which people are asked to type a moment

    def changed(self) -> list[tuple[float, Chip]] | None:
        """When the page's object became another one, oldest first; None for a page without an object."""
        return None

    def first_shown(self, start: float) -> float:
        """The first moment that has what the page is about; start: of the history, in Unix seconds."""
        return start

    def comparison(self) -> list[Part]:
        """What changed of the page's object since the other moment, where one is asked for."""
        return []

    # --- what a page reads -----------------------------------------------------------------------------------------

    @contextmanager
    def world(self) -> Iterator[World]:
        """The state that the page shows: now's, locked while it is read, or a past one."""
        here = current.get()
        if self.at is None:
            with here.follower.world() as live:
                yield live
        else:
            yield here.past(self.at)

    def now(self) -> float:
        """The moment that ages count to, in Unix seconds."""
        return time.time() if self.at is None else self.at

    def history(self, kind: str, key: str) -> list[HistoryEntry]:
        """All that is kept of an object up to the moment that is looked at, oldest first.

        Raises StoreUnavailable, as of which `show` makes a page that says so: see `readable`.
        """
        return current.get().history(kind, key, float("inf") if self.at is None else self.at)

    def readable(self, kind: str, key: str) -> list[HistoryEntry] | None:
        """The same for a block of a page that has others; None: it cannot be read now, which the block must say."""
        try:
            return self.history(kind, key)
        except StoreUnavailable:
            return None

    def differing(
        self, other: float, objects: Sequence[tuple[str, str]] | None = None
    ) -> tuple[list[Differs], tuple[float, float], bool]:
        """What differs between the two moments, the moments, and whether the later one is the present."""
        if self.with_now and self.at is not None:
            return *differing(None, self.at, objects), True
        return *differing(self.at, other, objects), self.at is None

    def samples(self) -> list[Sample]:
        """Counts over time up to the moment that is looked at, as far as this process knows them."""
        follower = current.get().follower
        with follower.world():
            return follower.observations.series.until(self.now())

    # --- rendering -------------------------------------------------------------------------------------------------

    def show(self) -> Shown:
        here = current.get()
        freshness = here.follower.freshness()
        with here.follower.world() as live:
            banner = status.present(freshness, live.sync, settings.DRADASH.cluster)
            malformed = status.malformed(live)
        bar = Part("freshness", "_freshness.html", banner)
        if freshness.state == "loading":
            return Shown("Loading", (bar, Part("page", "_loading.html", banner)), 503, unread=True)
        now = time.time()
        self._take_the_start()
        past = self.at if self.at is not None and self.at <= now else None
        if past is not None:
            banner, malformed = self._then(banner, freshness)
        unread = False
        try:
            title, parts, code = self._parts_at(now)
        except StoreUnavailable as error:
            title, parts, code = self.unreadable(str(error))
            unread = code == 503
        if past is not None and all(part.template != NO_MOMENT for part in parts):
            compared = self.compared_with is not None
            bar = Part("freshness", "_past.html", timetravel.past_bar(past, self.query, now, banner, compared))
        kinds: dict[str, Mapping[str, Any]] = {
            "unknown": {kind.kind: kind for kind in banner.missed},
            "absent": {kind.kind: kind for kind in banner.absent},
            "last_seen": {kind.kind: kind for kind in banner.unknown},
            "malformed": malformed,
        }
        return Shown(title, (bar, *self._timeline(now), *parts), code, self.carried, kinds, self.at, unread)

    def _then(
        self, banner: FreshnessView, freshness: Freshness
    ) -> tuple[FreshnessView, dict[str, status.MalformedObjects]]:
        """What could not be read at the moment that is looked at, where there is such a moment."""
        try:
            with self.world() as world:
                return status.present(freshness, world.sync, settings.DRADASH.cluster), status.malformed(world)
        except (BeforeHistory, StoreUnavailable):
            return banner, {}  # the page's own parts say so

    def _take_the_start(self) -> None:
        """What is less than a second before history is its start: times are mostly written without the fraction."""
        if self.at is None and self.compared_with is None:
            return
        try:
            start = current.get().model.history_start()
        except StoreUnavailable:
            return  # the page's own parts say so
        if start is not None:
            self.at = timetravel.not_before(start, self.at)
            self.compared_with = timetravel.not_before(start, self.compared_with)

    def _timeline(self, now: float) -> list[Part]:
        """The slider; not on a wall screen, and not where there is nothing behind it.

        Where the history cannot be read it says so in its place: a page without it would have to be loaded anew.
        """
        here = current.get()
        if self.query.get(KIOSK) or not self.has_timeline:
            return []
        view = None
        if here.follower.freshness().state != "unavailable":  # no page has to wait to learn that it cannot be read
            with suppress(StoreUnavailable):
                start = here.model.history_start()
                if start is None:
                    return []
                first = max(start, self.first_shown(start))
                view = timetravel.timeline(self.query, start, now, self.at, self.changed(), first)
        return [Part("timeline", "_timeline.html", view)]

    def _parts_at(self, now: float) -> tuple[str, list[Part], int]:
        """The page's own parts, or why this moment cannot be shown. Raises StoreUnavailable."""
        live = timetravel.live_link(self.query)
        later = max(self.at or 0.0, self.compared_with or 0.0)
        # The request is wrong (400) only where it names no moment; one outside the history is well said and not found.
        code = 404
        if self.wrong_at:
            code, view = 400, timetravel.NoMoment(self.wrong_at, live)
        elif later > now:
            view = timetravel.NoMoment("This time has not come yet.", live)
        else:
            try:
                title, parts, answered = self.parts()
                return title, [*self.comparison(), *parts], answered
            except BeforeHistory as before:
                name = AT if self.at is not None and self.at < before.start else WITH
                first = max(before.start, self.first_shown(before.start))
                view = timetravel.before_history(first, self.query, name)
        return "No such moment", self.no_moment(view), code

    def no_moment(self, view: timetravel.NoMoment) -> list[Part]:
        return [Part("page", NO_MOMENT, view)]

    @property
    def not_known(self) -> int:
        """HTTP status where what the page is about may exist, and cannot be read: now to be asked again, but what could
        not be read at a moment that is over, never will be."""
        return 503 if self.at is None else 404

    def unreadable(self, error: str) -> tuple[str, list[Part], int]:
        """Title, blocks and status while what the page is made of cannot be read."""
        what = "The history, which this page needs," if self.at is None else "The past"
        view = timetravel.NoMoment(f"{what} cannot be read: {error}", timetravel.live_link(self.query), unread=True)
        return "Cannot be read now", self.no_moment(view), 503


class ObjectPage(Page):
    """A page about one object: it may be gone, or may never have been."""

    always = Page.always | {WITH}
    kind: ClassVar[str]  # plural
    marked: ClassVar[str] = ""  # the kind whose changes the slider marks, where it is another one

    @property
    def looks_back(self) -> bool:
        """What is gone is shown as it was just before."""
        if super().looks_back:
            return True
        with current.get().follower.world() as world:
            objects = world.cluster.raw.get(self.kind)
            return objects is not None and self.object_key not in objects

    @property
    def object_key(self) -> str:
        namespace = self.where.get("namespace")
        return f"{namespace}/{self.where['name']}" if namespace else self.where["name"]

    def last_state(self) -> HistoryEntry | None:
        """The last state of an object that is gone, with the time of its deletion. Raises StoreUnavailable."""
        entries = self.history(self.kind, self.object_key)
        return entries[-1] if entries else None

    def changed(self) -> list[tuple[float, Chip]] | None:
        kind = self.marked or self.kind
        return timetravel.changes(kind, current.get().history(kind, self.object_key))

    def first_shown(self, start: float) -> float:
        """That of its first state which is read: history begins before the kind was listed, or the object was made."""
        return first_state(current.get(), self.kind, self.object_key, start)

    def related(self) -> list[tuple[str, str]]:
        """(kind, key) of what is compared when this object is."""
        return [(self.kind, self.object_key)]

    def comparison(self) -> list[Part]:
        if self.compared_with is None:
            return []
        found, moments, live = self.differing(self.compared_with, self.related())
        view = compare.present(found, self.query, moments, live, compare.ALL_FIELDS)
        return [Part("comparison", "compare/_object.html", view)]

    def missing(self) -> tuple[str, list[Part], int]:
        last = self.last_state()
        with self.world() as world:
            view = status.missing(world, self.kind, self.object_key, last)
        first = first_after(current.get(), self.kind, self.object_key, self.at) if last is None else None
        if first is not None and self.at is not None:
            view = msgspec.structs.replace(view, later=status.later(first, self.at, self.kind, self.query))
        return view.title, [Part("page", "_missing.html", view)], self.not_known if view.unsure else 404

    def unreadable(self, error: str) -> tuple[str, list[Part], int]:
        """Of what is not there now, only the history can tell whether it ever was, unless the kind is not served."""
        with current.get().follower.world() as world:
            if self.at is not None or self.object_key in world.cluster.raw[self.kind]:
                return super().unreadable(error)
            view = status.missing(world, self.kind, self.object_key, unread=error)
        return view.title, [Part("page", "_missing.html", view)], 503 if view.unsure else 404


def about_pod(page: ObjectPage) -> list[tuple[str, str]]:
    """(kind, key) of all that is about the pod of the page's key: its verdict, its negotiation and its claims too."""
    key = page.object_key
    with page.world() as world:
        found = world.cluster.pods.get(key)
    claims = sorted(claim_keys(found)) if found else []
    about = [(VERDICTS, key), ("pods", key), ("podschedulingcontexts", key)]
    return about + [("resourceclaims", c) for c in claims]


def context(page: Page) -> dict[str, Any]:
    """For the shell around the blocks."""
    return {
        "page": page,
        "section": page.section,
        "cluster": settings.DRADASH.cluster,
        "auth": settings.DRADASH.auth,
        "at": page.at,
        "q": page.query.get("q"),
        "asked_note": page.asked_note(),
        "kiosk": bool(page.query.get(KIOSK)),
    }
