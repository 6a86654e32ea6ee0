"""Search: its own page, and the results that the dialog on every page fetches."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from dradash.reader import current, topics
from dradash.reader.alertlabels import Found
from dradash.reader.departed import Departed
from dradash.scheduling.cluster import Cluster
from dradash.store.model import StoreUnavailable
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import found
from dradash.web.presenters.search import parse

RESULTS: Final = "found"  # the block, and what the dialog asks for

_haystacks: WeakKeyDictionary[Cluster, found.Haystacks] = WeakKeyDictionary()


def _departed(uid: str) -> Found | None:
    here = current.get()
    return here.part(Departed).find(uid, here.model)


class SearchPage(Page):
    template = "search/page.html"
    params = found.PARAMS
    section = "search"
    piece = "search-results"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        sought = parse(self.query.get("q"))
        states = self.readable(*sought.exactly) if sought.exactly is not None else []
        kept = None if states is None else bool(states)
        try:
            gone, unread = _departed(sought.uid) if sought.uid else None, False
        except StoreUnavailable:  # what is there is found all the same
            gone, unread = None, True
        with self.world() as world:
            haystacks = _haystacks.setdefault(world.cluster, found.Haystacks())
            view = found.present(world, self.query, haystacks, kept=kept, departed=gone, unread=unread)
        title = f"Search for {view.text}" if view.text else "Search"
        return title, [Part(RESULTS, "search/_found.html", view)], 200
