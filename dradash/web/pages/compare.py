"""Two moments of the cluster: what changed between them."""

from __future__ import annotations

from dradash.web.fragments import Part
from dradash.web.pages.base import AT, NO_MOMENT, WITH, Page
from dradash.web.presenters import compare
from dradash.web.presenters.timetravel import NoMoment


class ComparePage(Page):
    template = "compare/page.html"
    params = compare.PARAMS
    section = "compare"
    has_timeline = False
    typed = (AT, WITH)

    def topics(self) -> frozenset[str]:
        return frozenset()

    @property
    def fixed(self) -> bool:
        """Also beside the present: comparing whole clusters with every change would be work for nothing."""
        return True

    def parts(self) -> tuple[str, list[Part], int]:
        if self.compared_with is None:
            return "Compare two moments", [self._ask()], 200
        found, moments, live = self.differing(self.compared_with)
        view = compare.present(found, self.query, moments, live)
        parts = [Part("filters", "compare/_filters.html", view), Part("list", "compare/_list.html", view)]
        return "What changed", parts, 200

    def no_moment(self, view: NoMoment) -> list[Part]:
        """With the form, and what was typed in it."""
        return [Part("refused", NO_MOMENT, view), self._ask()]

    def _ask(self) -> Part:
        asked = compare.Asked(self.query.get(WITH), self.query.get(AT), both_now=self.with_now and self.at is None)
        return Part("ask", "compare/_ask.html", asked)
