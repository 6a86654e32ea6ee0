"""Claims: the list and one claim."""

from __future__ import annotations

from typing import Final

from dradash.reader import current, topics
from dradash.reader.before import world_before
from dradash.reader.histories import is_cut
from dradash.reader.trails import CLAIM, marks_of
from dradash.store.model import HistoryEntry
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.pages.findings import ExaminedPage
from dradash.web.presenters import claim, claims, lines
from dradash.web.rows import Row


class ClaimsPage(Page):
    template = "claims/page.html"
    params = claims.PARAMS
    section = "claims"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.CLAIMS})

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            view = claims.present(world, self.query, current.get().claims(world, self.at))
        trails = current.get().trails(CLAIM, [r.key for r in view.rows], self.at)
        view = claims.with_trails(view, trails, self.now())
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "claims/_filters.html", view)
        return "Claims", [filters, Part("list", "claims/_list.html", view, rows, "claims/_row.html")], 200


CLAIM_BLOCKS: Final = ("headline", "requests", "allocation", "users", "history", "object")


class ClaimPage(ExaminedPage):
    template = "claim/page.html"
    section = "claims"
    kind = "resourceclaims"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.claim(self.object_key)})

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            facts = claim.gather(world, self.object_key)
        if facts is None and (last := self.last_state()) is not None:
            with world_before(current.get(), last.at, self.at) as (before, _):
                facts = claim.gather(before, self.object_key, last)
        if facts is None:
            return self.missing()
        history = self.readable(self.kind, self.object_key)
        view = claim.present(facts, history)
        headline, *blocks = [Part(n, f"claim/_{n}.html", view) for n in CLAIM_BLOCKS]
        course = Part("course", "_course.html", self._course(history))
        return self.object_key, [headline, self.findings_about(*self.subject), course, *blocks], 200

    def _course(self, history: list[HistoryEntry] | None) -> lines.Course | str | None:
        if history is None:
            return lines.UNREAD
        return lines.claim_course(marks_of(CLAIM, history), self.now(), cut=is_cut(history))
