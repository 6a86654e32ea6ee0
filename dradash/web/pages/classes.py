"""Classes and drivers: the lists, one class, one driver."""

from __future__ import annotations

from typing import Final

from dradash.reader import current, topics
from dradash.reader.series import Sample
from dradash.scheduling.doctor.finding import DRIVERS
from dradash.store.model import HistoryEntry
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.pages.findings import ExaminedPage, ShowsFindings
from dradash.web.presenters import classes, drivers
from dradash.web.presenters.overview import is_known
from dradash.web.presenters.status import is_expected
from dradash.web.rows import Row


class ClassesPage(Page):
    template = "classes/page.html"
    params = classes.PARAMS
    section = "classes"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.CLASSES})

    def parts(self) -> tuple[str, list[Part], int]:
        heard, samples = seen(self)
        with self.world() as world:
            view = classes.present(world, self.query, heard, samples)
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "classes/_filters.html", view)
        return "Classes", [filters, Part("list", "classes/_list.html", view, rows, "classes/_row.html")], 200


def seen(page: Page) -> tuple[frozenset[str], list[Sample]]:
    """Drivers that were heard, and the samples, up to the moment that the page shows."""
    follower = current.get().follower
    with follower.world():
        stats = follower.observations.drivers
        heard = frozenset(name for name in stats.names() if stats.summary(name, page.now()).heard)
    return heard, page.samples()


CLASS_BLOCKS: Final = ("headline", "pods", "object")


class ClassPage(ExaminedPage):
    template = "class/page.html"
    section = "classes"
    kind = classes.KIND

    def topics(self) -> frozenset[str]:
        return frozenset({topics.CLASSES})

    def parts(self) -> tuple[str, list[Part], int]:
        view = self._view(None)
        if view is None and (last := self.last_state()) is not None:
            view = self._view(last)
        if view is None:
            return self.missing()
        headline, *blocks = [Part(n, f"class/_{n}.html", view) for n in CLASS_BLOCKS]
        return view.name, [headline, self.findings_about(*self.subject), *blocks], 200

    def _view(self, last: HistoryEntry | None) -> classes.ClassView | None:
        heard, samples = seen(self)
        with self.world() as world:
            return classes.detail(world, self.object_key, heard, samples, last)


class DriversPage(Page):
    template = "drivers/page.html"
    params = drivers.PARAMS
    section = "drivers"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DRIVERS})

    def parts(self) -> tuple[str, list[Part], int]:
        here, follower = current.get(), current.get().follower
        with self.world() as world, follower.world():  # the record is of now, whatever moment is looked at
            stats = follower.observations.drivers
            view = drivers.present(world, stats, self.query, self.now(), here.waits(self.at))
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "drivers/_filters.html", view)
        return "Drivers", [filters, Part("list", "drivers/_list.html", view, rows, "drivers/_row.html")], 200


NAMING_DRIVERS: Final = (classes.KIND, "resourceslices")
DRIVER_BLOCKS: Final = ("headline", "pools", "durations", "debts", "refused", "reports", "pods")


class DriverPage(ShowsFindings):
    template = "driver/page.html"
    section = "drivers"

    @property
    def subject(self) -> tuple[str, str]:
        return DRIVERS, self.where["name"]

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DRIVERS})

    def parts(self) -> tuple[str, list[Part], int]:
        name, here, follower = self.where["name"], current.get(), current.get().follower
        with self.world() as world, follower.world():
            stats = follower.observations.drivers
            view = drivers.detail(world, stats, name, self.now(), here.waits(self.at))
            known = all(is_known(world.sync.get(k)) or is_expected(k, world.sync) for k in NAMING_DRIVERS)
        if view is None:
            missing = Part("page", "driver/_missing.html", {"name": name, "known": known})
            title = f"No driver {name}" if known else f"Not known: driver {name}"
            return title, [missing, self.findings_about(*self.subject)], 404 if known else self.not_known
        headline, *blocks = [Part(n, f"driver/_{n}.html", view) for n in DRIVER_BLOCKS]
        return name, [headline, self.findings_about(*self.subject), *blocks], 200
