"""What happened, newest first: the change stream in words."""

from __future__ import annotations

from typing import Final

from dradash.reader import current, topics
from dradash.store.model import Change, StoreUnavailable
from dradash.web.fragments import Part
from dradash.web.pages.base import NO_MOMENT, Page
from dradash.web.presenters import changes, timetravel

BATCH: Final = 250  # changes read at once
SEARCHED: Final = 2000  # changes that one page looks through for those that its filters want


class ChangesPage(Page):
    """Live at the newest change; `before=<revision>` (the pause link, the older pages) stands still."""

    template = "changes/page.html"
    params = changes.PARAMS
    section = "changes"

    @property
    def fixed(self) -> bool:
        return super().fixed or changes.before_of(self.query) is not None

    def topics(self) -> frozenset[str]:
        return frozenset({topics.CHANGES})

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            newest = world.revision
            namespaces = set(world.cluster.namespaces) | {k.partition("/")[0] for k in world.cluster.pods}
            recent = list(world.recent)
        try:
            read = self._read(newest)
        except StoreUnavailable as error:
            if self.fixed:
                raise  # the newest ones are not those that are asked for
            found = changes.wanted(recent[::-1], self.query)[: changes.ROWS]
            note = f"Only what this process remembers, for the model cannot be read: {error}"
            last = found[-1].revision if found else recent[0].revision if recent else newest + 1
            read = changes.Read(tuple(found), (None,) * len(found), newest, last, ended=False, note=note, unread=True)
        view = changes.present(read, self.query, namespaces)
        filters = Part("filters", "changes/_filters.html", view)
        return "Changes", [filters, Part("list", "changes/_list.html", view)], 200

    def unreadable(self, error: str) -> tuple[str, list[Part], int]:
        live = self.query.link(at=None, before=None, paused=None)
        view = timetravel.NoMoment(f"The changes of then cannot be read: {error}", live, unread=True)
        return "Cannot be read now", [Part("page", NO_MOMENT, view)], 503

    def _read(self, newest: int) -> changes.Read:
        model = current.get().model
        before = changes.before_of(self.query)
        begin = newest + 1 if before is None else min(before, newest + 1)
        found: list[Change] = []
        last, searched, ended = begin, 0, False
        while len(found) <= changes.ROWS and searched < SEARCHED and not ended:
            batch = model.changes_before(last, BATCH)
            found += changes.wanted(batch, self.query)
            searched += len(batch)
            last = batch[-1].revision if batch else last
            ended = len(batch) < BATCH
        found = found[: changes.ROWS + 1]
        states = model.states_before(found[: changes.ROWS])
        return changes.Read(tuple(found), tuple(states), begin - 1, last, ended)
