"""What this dradash is, and how it does."""

from __future__ import annotations

from dradash.web import topics
from dradash.web.fragments import Part
from dradash.web.pages.base import Page


class AboutPage(Page):
    template = "about/page.html"
    section = "about"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        return "About", [], 200
