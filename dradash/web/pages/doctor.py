"""The doctor: all findings, and one finding."""

from __future__ import annotations

from django.conf import settings

from dradash.reader import current, topics
from dradash.scheduling.doctor.finding import code_of, subject
from dradash.scheduling.doctor.rules import RULES
from dradash.web.fragments import Part
from dradash.web.pages.findings import ShowsFindings
from dradash.web.presenters import doctor
from dradash.web.rows import Row


class DoctorPage(ShowsFindings):
    template = "doctor/page.html"
    params = doctor.PARAMS
    section = "doctor"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DOCTOR})

    def parts(self) -> tuple[str, list[Part], int]:
        report = current.get().findings(self.at)
        about = subject(self.query.get("about"))
        findings = report.findings if about is None else report.by_object.get(about, ())
        view = doctor.present(findings, self.query, report.at, report.faults)
        rows = tuple(Row(r.id, r) for r in view.rows)
        parts = [
            Part("counts", "doctor/_counts.html", view),
            Part("filters", "doctor/_filters.html", view),
            Part("list", "doctor/_list.html", view, rows, "doctor/_row.html"),
        ]
        return "Doctor", parts, 200


class FindingPage(ShowsFindings):
    template = "doctor/finding.html"
    section = "doctor"

    @property
    def looks_back(self) -> bool:
        """What is over is looked for in the history."""
        return super().looks_back or not current.get().doctor.recalls(self.where["id"])

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DOCTOR})

    def parts(self) -> tuple[str, list[Part], int]:
        here = current.get()
        id_ = self.where["id"]
        rule = RULES.get(code_of(id_))
        if rule is None:
            return "No such finding", [Part("page", "doctor/_unknown.html", id_)], 404
        report = here.findings(self.at)
        finding = report.by_id.get(id_)
        resolved = here.doctor.resolved(id_, self.at) if finding is None else None
        view = doctor.present_one(
            rule,
            id_,
            finding or (resolved.finding if resolved else None),
            holds=finding is not None,
            resolved_at=resolved.at if resolved else 0.0,
            looked_at=report.at,
            thresholds=settings.DRADASH.doctor,
            past=self.at is not None,
        )
        # A bad link must not look like a healthy cluster; before the doctor has looked, nobody can tell.
        never_was = finding is None and resolved is None and bool(report.at) and not self._is_of_now(id_)
        parts = [Part(n, f"doctor/_{n}.html", view) for n in ("finding", "remedy", "objects")]
        return rule.title, parts, 404 if never_was else 200

    def _is_of_now(self, id_: str) -> bool:
        """A page of the past: whether the finding came after the moment that it shows."""
        here = current.get()
        return self.at is not None and (here.doctor.recalls(id_) or here.doctor.resolved(id_) is not None)
