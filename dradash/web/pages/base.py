"""Every page as path + query -> what it shows. The view and the socket of a page both take it from here.

`?at=<RFC 3339>` shows any page as it was: the same presenters then read a rebuilt past instead of the live state.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from django.conf import settings

from dradash.store.model import HistoryEntry, StoreUnavailable
from dradash.store.past import BeforeHistory
from dradash.web import current
from dradash.web.fragments import Part, Shown
from dradash.web.moment import BadMoment, parse
from dradash.web.presenters import status, timetravel
from dradash.web.presenters.query import Query
from dradash.web.world import World

AT = "at"
KIOSK = "kiosk"  # "1": for a wall screen, without navigation


class Page(abc.ABC):
    """A page is made for one request or socket and holds nothing but its address.

    at: Unix seconds of the moment that is looked at, None for now.
    """

    template: ClassVar[str]  # arranges the blocks
    params: ClassVar[frozenset[str]] = frozenset()  # of the query string; others are ignored
    section: ClassVar[str] = ""  # of the navigation
    piece: ClassVar[str] = ""  # id of the element for which htmx fetches the last block alone

    def __init__(self, query: Mapping[str, str], **where: str) -> None:
        self.query = Query.of(query, self.params | {AT, KIOSK})
        self.where = where
        self.wrong_at = ""
        self.at: float | None = None
        try:
            self.at = parse(query.get(AT, ""))
        except BadMoment as error:
            self.wrong_at = str(error)

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
    def carried(self) -> dict[str, str]:
        """What stays in every link."""
        return {name: value for name in (AT, KIOSK) if (value := self.query.get(name))}

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
        """All that is kept of an object up to the moment that is looked at, oldest first."""
        return current.get().history(kind, key, float("inf") if self.at is None else self.at)

    # --- rendering -------------------------------------------------------------------------------------------------

    def show(self) -> Shown:
        here = current.get()
        freshness = here.follower.freshness()
        with here.follower.world() as live:
            banner = status.present(freshness, live.sync, settings.DRADASH.cluster)
        bar = Part("freshness", "_freshness.html", banner)
        if freshness.state == "loading":
            return Shown("Loading", (bar, Part("page", "_loading.html", banner)), 503)
        title, parts, code = self._parts_at(time.time())
        return Shown(title, (bar, *parts), code, self.carried)

    def _parts_at(self, now: float) -> tuple[str, list[Part], int]:
        """The page's own parts, or why this moment cannot be shown."""
        view: timetravel.NoMoment | None = None
        if self.wrong_at:
            view = timetravel.NoMoment(self.wrong_at, self.query.link(at=None))
        elif self.at is not None and self.at > now:
            view = timetravel.NoMoment("This time has not come yet.", self.query.link(at=None))
        else:
            try:
                return self.parts()
            except BeforeHistory as before:
                view = timetravel.before_history(before.start, self.query)
            except StoreUnavailable as error:
                view = timetravel.NoMoment(f"The past cannot be read: {error}", self.query.link(at=None))
        return "No such moment", [Part("page", "_no_moment.html", view)], 404


class ObjectPage(Page):
    """A page about one object: it may be gone, or may never have been."""

    kind: ClassVar[str]  # plural

    @property
    def object_key(self) -> str:
        namespace = self.where.get("namespace")
        return f"{namespace}/{self.where['name']}" if namespace else self.where["name"]

    def last_state(self) -> HistoryEntry | None:
        """The last state of an object that is gone, with the time of its deletion."""
        entries = self.history(self.kind, self.object_key)
        return entries[-1] if entries else None

    def missing(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            view = status.missing(world, self.kind, self.object_key)
        return f"No {view.singular} {self.object_key}", [Part("page", "_missing.html", view)], 404


def context(page: Page) -> dict[str, Any]:
    """For the shell around the blocks."""
    return {
        "page": page,
        "section": page.section,
        "cluster": settings.DRADASH.cluster,
        "auth": settings.DRADASH.auth,
        "at": page.query.get(AT),
        "q": page.query.get("q"),
        "kiosk": page.query.get(KIOSK) == "1",
    }
