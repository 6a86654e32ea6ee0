"""Search: its own page, and the results that the dialog on every page fetches."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from dradash.reader import topics
from dradash.scheduling.cluster import Cluster
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import found
from dradash.web.presenters.search import parse

RESULTS: Final = "found"  # the block, and what the dialog asks for

_haystacks: WeakKeyDictionary[Cluster, found.Haystacks] = WeakKeyDictionary()


class SearchPage(Page):
    template = "search/page.html"
    params = found.PARAMS
    section = "search"
    piece = "search-results"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        named = parse(self.query.get("q")).exactly
        kept = named is not None and bool(self.history(*named))
        with self.world() as world:
            view = found.present(world, self.query, _haystacks.setdefault(world.cluster, found.Haystacks()), kept)
        title = f"Search for {view.text}" if view.text else "Search"
        return title, [Part(RESULTS, "search/_found.html", view)], 200
