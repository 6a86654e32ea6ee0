"""Pages that show the doctor's findings beside what they are about."""

from __future__ import annotations

from collections.abc import Sequence

from dradash.reader import current
from dradash.scheduling.doctor.finding import Finding
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import doctor


class ShowsFindings(Page):
    """Findings may change while the revision does not, for time alone makes some: so they are part of the key."""

    @property
    def key(self) -> str:
        return super().key if self.at is not None else f"{super().key} {current.get().doctor.generation}"

    def about(self, kind: str, key: str) -> Sequence[Finding]:
        """Worst and oldest first. kind: plural, DRIVERS, POOLS or DEVICES."""
        return current.get().findings(self.at).by_object.get((kind, key), ())

    def findings_about(self, kind: str, key: str) -> Part:
        """The block "findings", which is empty where nothing is found."""
        return Part("findings", "_findings.html", doctor.lines(self.about(kind, key), kind, key))
