"""Pages that show the doctor's findings beside what they are about."""

from __future__ import annotations

from dradash.reader import current
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import doctor


class ShowsFindings(Page):
    """Findings may change while the revision does not, for time alone makes some: so they are part of the key."""

    @property
    def key(self) -> str:
        return super().key if self.at is not None else f"{super().key} {current.get().doctor.generation}"

    def findings_about(self, kind: str, key: str) -> Part:
        """The block "findings", which is empty where nothing is found."""
        found = current.get().findings(self.at).by_object.get((kind, key), [])
        return Part("findings", "_findings.html", doctor.lines(found, key))
