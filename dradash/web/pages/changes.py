"""What happened, newest first."""

from __future__ import annotations

from dradash.web import topics
from dradash.web.fragments import Part
from dradash.web.pages.base import Page


class ChangesPage(Page):
    template = "changes/page.html"
    section = "changes"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.CHANGES})

    def parts(self) -> tuple[str, list[Part], int]:
        return "Changes", [], 200
