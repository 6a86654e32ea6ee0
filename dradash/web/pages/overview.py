"""The overview, and the one for a screen on a wall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dradash.reader import current, topics
from dradash.web.fragments import Part
from dradash.web.pages.findings import ShowsFindings
from dradash.web.presenters import doctor, longest, overview, pictures, wall
from dradash.web.presenters.query import KIOSK

BLOCKS: Final = ("totals", "pending", "claims", "negotiations", "kinds", "changes")


class OverviewPage(ShowsFindings):
    template = "overview/page.html"
    section = "overview"

    def __init__(self, query: Mapping[str, str], **where: str) -> None:
        super().__init__(query, **where)
        self.on_a_wall = bool(self.query.get(KIOSK))
        if self.on_a_wall:
            self.template = "overview/wall.html"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        return "Overview", self._wall() if self.on_a_wall else self._desk(), 200

    def _desk(self) -> list[Part]:
        with self.world() as world:
            view, waiting = overview.present(world), longest.present(world)
        follower = current.get().follower
        with follower.world():
            samples = follower.observations.series.until(self.now())
        report = current.get().findings(self.at)
        findings = Part("doctor", "overview/_doctor.html", doctor.summary(report.findings, report.at))
        drawn = Part("pictures", "overview/_pictures.html", pictures.present(samples))
        first = Part("longest", "overview/_longest.html", waiting)
        return [first, *(Part(n, f"overview/_{n}.html", view) for n in BLOCKS), findings, drawn]

    def _wall(self) -> list[Part]:
        with self.world() as world:
            view = wall.present(world)
        report = current.get().findings(self.at)
        found = doctor.summary(report.findings, report.at)
        worst = {"troubles": wall.worst(report.findings), "looked_at": report.at}
        views = {"counts": view, "severities": found, "longest": view, "worst": worst}
        return [Part(name, f"overview/_wall_{name}.html", shown) for name, shown in views.items()]
