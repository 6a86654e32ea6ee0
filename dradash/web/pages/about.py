"""What this dradash is, how far it sees and how it is set up."""

from __future__ import annotations

import dataclasses
import platform
import time
from typing import Any, Final

from django.conf import settings

from dradash.conf import from_environ
from dradash.reader import current
from dradash.store.model import StoreUnavailable
from dradash.version import version
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.presenters import about

STARTED: Final = time.time()  # of this process, as far as a page is concerned
VERSION: Final = version()  # likewise: a checkout may move on under it


class AboutPage(Page):
    template = "about/page.html"
    section = "about"

    def topics(self) -> frozenset[str]:
        """Nothing: a socket looks anew every few seconds anyway, and no more is needed here."""
        return frozenset()

    def parts(self) -> tuple[str, list[Part], int]:
        here = current.get()
        with self.world() as world:
            lines, instance = about.kinds(world, past=self.at is not None), world.instance
            then = None if self.at is None else about.then(world)
        freshness = here.follower.freshness()
        stored, error = None, freshness.error
        if freshness.state == "live":  # else nobody has to wait to learn that it cannot be read
            try:
                lease = here.model.lease()
                start = here.model.history_start() or 0.0
                stored = about.Stored(here.model.memory(), start, lease.epoch if lease else 0)
            except StoreUnavailable as failure:
                error = str(failure)
        facts = about.Facts(
            version=VERSION,
            python=platform.python_version(),
            cluster=settings.DRADASH.cluster,
            started=STARTED,
            freshness=freshness,
            configuration=_values(settings.DRADASH),
            defaults=_values(from_environ({})),
            thresholds=settings.DRADASH.doctor,
            stored=stored,
            error=error,
            then=then,
        )
        view = about.present(facts, lines, instance)
        names = ("versions", "state", "memory", "kinds", "models", "settings", "thresholds")
        return "About", [Part(n, f"about/_{n}.html", view) for n in names], 200


def _values(conf: Any) -> dict[str, Any]:
    return {f.name: getattr(conf, f.name) for f in dataclasses.fields(conf) if f.name != "doctor"}
