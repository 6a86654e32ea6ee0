"""What can be tried out on the devices of the cluster, without anything being changed: a selector, a taint."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from dradash.reader import topics
from dradash.scheduling.structured import selectorbench, taintpreview
from dradash.scheduling.structured.taintpreview import Preview
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import selectors, taints
from dradash.web.presenters.query import EXPRESSION

SECONDS: Final = 2.0  # for one selector on all devices, and for the pods of one taint


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


class TaintsPage(Page):
    """Rules, and the preview of one or of a taint that is typed."""

    template = "taints/page.html"
    params = taints.PARAMS
    section = "devices"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES, topics.PODS})

    @property
    def looks_back(self) -> bool:
        """Pods are tried on a cluster with the taint: other pages must not wait for it."""
        return True

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            asked = taints.question(self.query, world.cluster) if taints.is_asked(self.query) else None
            prepared = taintpreview.prepare(asked, world.cluster) if asked else None
        said = taintpreview.finish(prepared, within(SECONDS)) if prepared else Preview()
        with self.world() as world:
            view = taints.present(world, self.query, asked, said)
        blocks = [Part(n, f"taints/_{n}.html", view) for n in ("filters", "rules", "preview")]
        return "Device taints", blocks, 200
