"""What can be tried out on the devices of the cluster, without anything being changed: a selector."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from dradash.reader import topics
from dradash.scheduling.structured import selectorbench
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import selectors
from dradash.web.presenters.query import EXPRESSION

SECONDS: Final = 2.0  # for one selector on all devices


def within(seconds: float) -> Callable[[], bool]:
    """Whether so much time is over."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


class SelectorsPage(Page):
    template = "selectors/page.html"
    params = selectors.PARAMS
    section = "devices"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES})

    @property
    def looks_back(self) -> bool:
        """What somebody typed may take its time: other pages must not wait for it."""
        return True

    def parts(self) -> tuple[str, list[Part], int]:
        asked_class, driver = self.query.get("class"), self.query.get("driver")
        with self.world() as world:
            asked = selectorbench.question(world.cluster, self.query.get(EXPRESSION), asked_class, driver)
            choices = selectors.choices(world, asked)
        # The cluster goes on meanwhile: slices are replaced, never changed.
        view = selectors.present(asked, selectorbench.answer(asked, within(SECONDS)))
        found = Part("found", "selectors/_found.html", view)
        return "Selector bench", [Part("filters", "selectors/_filters.html", choices), found], 200
