"""The overview."""

from __future__ import annotations

from dradash.web import topics
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import overview


class OverviewPage(Page):
    template = "overview/page.html"
    section = "overview"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            view = overview.present(world)
        names = ("totals", "pending", "claims", "negotiations", "kinds", "changes")
        return "Overview", [Part(n, f"overview/_{n}.html", view) for n in names], 200
