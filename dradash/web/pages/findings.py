"""Pages that show the doctor's findings beside what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dradash.reader import current
from dradash.scheduling.doctor.finding import Finding
from dradash.web.fragments import Part
from dradash.web.pages.base import ObjectPage, Page
from dradash.web.presenters import doctor

FINDINGS: Final = "findings"  # the block


class ShowsFindings(Page):
    """Findings may change while the revision does not, for time alone makes some: so they are part of the key."""

    @property
    def key(self) -> str:
        return super().key if self.at is not None else f"{super().key} {current.get().doctor.generation}"

    @property
    def subject(self) -> tuple[str, str] | None:
        """Kind (plural, DRIVERS, POOLS or DEVICES) and key of what the page is about, None: no single thing."""
        return None

    def about(self, kind: str, key: str) -> Sequence[Finding]:
        """Worst and oldest first. kind: plural, DRIVERS, POOLS or DEVICES."""
        return current.get().findings(self.at).by_object.get((kind, key), ())

    def findings_about(self, kind: str, key: str) -> Part:
        """The block "findings", which is empty where nothing is found."""
        return Part(FINDINGS, "_findings.html", doctor.lines(self.about(kind, key), kind, key))


class ExaminedPage(ShowsFindings, ObjectPage):
    """A page about one object, with what is found about it: also about one that others name and that does not exist."""

    @property
    def subject(self) -> tuple[str, str]:
        return self.kind, self.object_key

    def missing(self) -> tuple[str, list[Part], int]:
        title, parts, status = super().missing()
        return title, [*parts, self.findings_about(*self.subject)], status

    def unreadable(self, error: str) -> tuple[str, list[Part], int]:
        title, parts, code = super().unreadable(error)
        return title, parts if self.at is not None else [*parts, self.findings_about(*self.subject)], code
