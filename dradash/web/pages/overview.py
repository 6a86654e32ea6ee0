"""The overview."""

from __future__ import annotations

from dradash.reader import current, topics
from dradash.web.fragments import Part
from dradash.web.pages.findings import ShowsFindings
from dradash.web.presenters import doctor, overview, pictures


class OverviewPage(ShowsFindings):
    template = "overview/page.html"
    section = "overview"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            view = overview.present(world)
        follower = current.get().follower
        with follower.world():
            samples = follower.observations.series.until(self.now())
        names = ("totals", "pending", "claims", "negotiations", "kinds", "changes")
        report = current.get().findings(self.at)
        findings = Part("doctor", "overview/_doctor.html", doctor.summary(report.findings, report.at))
        drawn = Part("pictures", "overview/_pictures.html", pictures.present(samples))
        return "Overview", [*(Part(n, f"overview/_{n}.html", view) for n in names), findings, drawn], 200
