"""Negotiations: the list and one conversation."""

from __future__ import annotations

from typing import Final

from dradash.reader import current, topics
from dradash.reader.before import negotiation_before
from dradash.reader.histories import is_cut
from dradash.reader.trails import TALK, marks_of
from dradash.store.model import VERDICTS, HistoryEntry
from dradash.web.fragments import Part
from dradash.web.pages.base import Page, about_pod
from dradash.web.pages.findings import ExaminedPage
from dradash.web.presenters import lines, negotiation, negotiations
from dradash.web.rows import Row


class NegotiationsPage(Page):
    template = "negotiations/page.html"
    params = negotiations.PARAMS
    section = "negotiations"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.NEGOTIATIONS})

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            view = negotiations.present(world, self.query, current.get().waits(self.at), self.now())
        trails = current.get().trails(TALK, [r.key for r in view.rows], self.at)
        view = negotiations.with_trails(view, trails, self.now())
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "negotiations/_filters.html", view)
        listed = Part("list", "negotiations/_list.html", view, rows, "negotiations/_row.html")
        return "Negotiations", [filters, listed], 200


BLOCKS: Final = ("headline", "lanes", "answers", "object")


class NegotiationPage(ExaminedPage):
    template = "negotiation/page.html"
    params = frozenset({"rounds"})
    section = "negotiations"
    kind = negotiation.KIND

    def topics(self) -> frozenset[str]:
        return frozenset({topics.pod(self.object_key)})

    def related(self) -> list[tuple[str, str]]:
        return about_pod(self)

    def parts(self) -> tuple[str, list[Part], int]:
        facts = self._facts(None)
        if facts is None and (last := self.last_state()) is not None:
            facts = self._facts(last)
        if facts is None:
            return self.missing()
        over = facts.over if facts.gone else 0.0
        claims = {n: self._states("resourceclaims", c.key, over) for n, c in facts.talk.claims.items() if c is not None}
        contexts = self._states(self.kind, self.object_key, facts.gone)
        told = frozenset(f.id for f in self.about(self.kind, self.object_key))
        verdicts = self.history(VERDICTS, self.object_key) if facts.gone else ()
        view = negotiation.present(facts, contexts, claims, self.now(), self.query, told, verdicts)
        headline, *blocks = [Part(n, f"negotiation/_{n}.html", view) for n in BLOCKS]
        course = Part("course", "_course.html", self._course(contexts))
        parts = [headline, self.findings_about(*self.subject), course, *blocks]
        return f"Negotiation {self.object_key}", parts, 200

    def _course(self, contexts: list[HistoryEntry] | None) -> lines.Course | str | None:
        if contexts is None:
            return lines.UNREAD
        return lines.talk_course(marks_of(TALK, contexts), self.now(), cut=is_cut(contexts))

    def _states(self, kind: str, key: str, gone: float) -> list[HistoryEntry] | None:
        """Up to the end of a negotiation that is gone. None: they cannot be read now."""
        states = self.readable(kind, key)
        return states if states is None or not gone else [e for e in states if e.at <= gone]

    def _facts(self, last: HistoryEntry | None) -> negotiation.Facts | None:
        here, follower = current.get(), current.get().follower
        if last is not None:
            with negotiation_before(here, self.object_key, last, self.at) as (then, waits, over), follower.world():
                drivers = follower.observations.drivers
                return negotiation.gather(then, self.object_key, drivers, self.now(), waits, last=last, over=over)
        # Both are held: the drivers' record is of now, whatever moment is looked at.
        with self.world() as world, follower.world():
            drivers = follower.observations.drivers
            return negotiation.gather(world, self.object_key, drivers, self.now(), here.waits(self.at), last=last)
