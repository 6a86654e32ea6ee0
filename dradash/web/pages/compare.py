"""Two moments of the cluster: what changed between them."""

from __future__ import annotations

from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import compare


class ComparePage(Page):
    template = "compare/page.html"
    params = compare.PARAMS
    section = "compare"
    has_timeline = False

    def topics(self) -> frozenset[str]:
        return frozenset()

    @property
    def fixed(self) -> bool:
        """Also beside the present: comparing whole clusters with every change would be work for nothing."""
        return True

    def parts(self) -> tuple[str, list[Part], int]:
        if self.compared_with is None:
            return "Compare two moments", [Part("ask", "compare/_ask.html", None)], 200
        found, moments, live = self.differing(self.compared_with)
        view = compare.present(found, self.query, moments, live)
        parts = [Part("filters", "compare/_filters.html", view), Part("list", "compare/_list.html", view)]
        return "What changed", parts, 200
