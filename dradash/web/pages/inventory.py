"""What structured parameters publish: device classes, pools, slices and devices, each as a list and one by one."""

from __future__ import annotations

import abc
from itertools import islice
from typing import Any, ClassVar, Final, TypeAlias

import msgspec

from dradash.reader import current, topics
from dradash.reader.before import world_before
from dradash.reader.moment import show
from dradash.reader.nearest import first_state
from dradash.reader.unpublished import last_published
from dradash.reader.world import World
from dradash.scheduling.doctor.finding import DEVICES, POOLS
from dradash.scheduling.structured.devices import DeviceID
from dradash.scheduling.structured.pools import PoolID
from dradash.store.model import HistoryEntry
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.pages.findings import ExaminedPage, ShowsFindings
from dradash.web.presenters import deviceclasses, ledger, pools, slices, status
from dradash.web.presenters.inventory import Gone
from dradash.web.rows import Row

LOOKED_AT: Final = 5  # slices of a pool
JUST_BEFORE: Final = 0.001  # seconds: what moments in addresses are exact to


class _ListPage(Page):
    """A list with its filters. folder: of its templates."""

    heading: ClassVar[str]
    folder: ClassVar[str]

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES})

    @abc.abstractmethod
    def present(self, world: World) -> Any:
        """A view with `rows`, each with its id."""

    def parts(self) -> tuple[str, list[Part], int]:
        with self.world() as world:
            view = self.present(world)
        rows = tuple(Row(r.id, r) for r in view.rows)
        found = Part("list", f"{self.folder}/_list.html", view, rows, f"{self.folder}/_row.html")
        return self.heading, [Part("filters", f"{self.folder}/_filters.html", view), found], 200


class DeviceClassesPage(_ListPage):
    template = "deviceclasses/page.html"
    params = deviceclasses.PARAMS
    section = "deviceclasses"
    heading, folder = "Device classes", "deviceclasses"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES, topics.PODS})

    def present(self, world: World) -> deviceclasses.DeviceClassesView:
        return deviceclasses.present(world, self.query, self.samples())


DEVICE_CLASS_BLOCKS: Final = ("headline", "selectors", "pods", "object")


class DeviceClassPage(ExaminedPage):
    template = "deviceclass/page.html"
    section = "deviceclasses"
    kind = deviceclasses.KIND

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES, topics.PODS})

    def parts(self) -> tuple[str, list[Part], int]:
        view = self._view(None)
        if view is None and (last := self.last_state()) is not None:
            view = self._view(last)
        if view is None:
            return self.missing()
        headline, *blocks = [Part(n, f"deviceclass/_{n}.html", view) for n in DEVICE_CLASS_BLOCKS]
        return view.name, [headline, self.findings_about(*self.subject), *blocks], 200

    def _view(self, last: HistoryEntry | None) -> deviceclasses.DeviceClassView | None:
        with self.world() as world:
            return deviceclasses.detail(world, self.object_key, self.samples(), last)


class PoolsPage(_ListPage):
    template = "pools/page.html"
    params = pools.PARAMS
    section = "pools"
    heading, folder = "Pools", "pools"

    def present(self, world: World) -> pools.PoolsView:
        return pools.present(world, self.query)


PublishedView: TypeAlias = pools.PoolView | ledger.DeviceView


class _PublishedPage(ShowsFindings):
    """A pool or a device: it is no object, but what slices publish; one that is gone is shown as it was just before."""

    what: ClassVar[str]

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES})

    @property
    def looks_back(self) -> bool:
        return super().looks_back or self._seen() is None

    @property
    @abc.abstractmethod
    def subject(self) -> tuple[str, str]: ...

    @abc.abstractmethod
    def detail(self, world: World) -> PublishedView | None: ...

    def first_shown(self, start: float) -> float:
        """That of the first state of the slices that publish it now."""
        here, pool = current.get(), PoolID(self.where["driver"], self.where["pool"])
        with here.follower.world() as live:
            names = [item.name for item in islice(live.cluster.inventory.slices_of(pool), LOOKED_AT)]
        return min((first_state(here, slices.KIND, name, start) for name in names), default=start)

    def missing(self, unread: str = "") -> tuple[str, list[Part], int]:
        """Where no slice publishes it. While slices or the history cannot be read, it is not called absent.

        unread: why the history cannot be read.
        """
        what = self.what
        _, name = self.subject
        with self.world() as world:
            known, chip = status.can_tell(world, slices.KIND), status.chip_of(world, slices.KIND)
        told = {"what": what, "name": name, "kind": slices.KIND, "chip": chip, "known": known, "unread": unread}
        title = f"No {what} {name}" if known and not unread else f"Not known: {what} {name}"
        parts = [Part("page", "pool/_missing.html", told), self.findings_about(*self.subject)]
        return title, parts, 404 if known else self.not_known

    def unreadable(self, error: str) -> tuple[str, list[Part], int]:
        """Of what no slice publishes now, only the history can tell whether one ever did."""
        if self.at is not None or self._seen() is not None:
            return super().unreadable(error)
        title, parts, _ = self.missing(unread=error)
        return title, parts, 503

    def _seen(self) -> PublishedView | None:
        with self.world() as world:
            return self.detail(world)

    def view(self) -> PublishedView | None:
        """As it is, or its last state."""
        found = self._seen()
        if found is not None:
            return found
        pool = PoolID(self.where["driver"], self.where["pool"])
        device = self.where.get("device", "")
        last: tuple[PublishedView, float] | None = last_published(current.get(), pool, device, self.at, self.detail)
        if last is None:
            return None
        view, since = last
        return msgspec.structs.replace(view, gone=Gone(since, self.query.link(at=show(since - JUST_BEFORE))))


POOL_BLOCKS: Final = ("headline", "slices", "devices")


class PoolPage(_PublishedPage):
    template = "pool/page.html"
    what = "pool"
    section = "pools"

    @property
    def subject(self) -> tuple[str, str]:
        return POOLS, f"{self.where['driver']}/{self.where['pool']}"

    def detail(self, world: World) -> pools.PoolView | None:
        return pools.detail(world, self.where["driver"], self.where["pool"])

    def parts(self) -> tuple[str, list[Part], int]:
        view = self.view()
        if view is None:
            return self.missing()
        headline, *blocks = [Part(n, f"pool/_{n}.html", view) for n in POOL_BLOCKS]
        return self.where["pool"], [headline, self.findings_about(*self.subject), *blocks], 200


class SlicesPage(_ListPage):
    template = "slices/page.html"
    params = slices.PARAMS
    section = "pools"
    heading, folder = "Slices", "slices"

    def present(self, world: World) -> slices.SlicesView:
        return slices.present(world, self.query)


SLICE_BLOCKS: Final = ("headline", "devices", "object")


class SlicePage(ExaminedPage):
    template = "slice/page.html"
    section = "pools"
    kind = slices.KIND

    def topics(self) -> frozenset[str]:
        return frozenset({topics.DEVICES})

    def parts(self) -> tuple[str, list[Part], int]:
        view = self._view(None)
        if view is None and (last := self.last_state()) is not None:
            view = self._view(last)
        if view is None:
            return self.missing()
        headline, *blocks = [Part(n, f"slice/_{n}.html", view) for n in SLICE_BLOCKS]
        return view.name, [headline, self.findings_about(*self.subject), *blocks], 200

    def _view(self, last: HistoryEntry | None) -> slices.SliceView | None:
        if last is not None:  # its pool and who had its devices, as they were then
            with world_before(current.get(), last.at, self.at) as (before, _):
                return slices.detail(before, self.object_key, last)
        with self.world() as world:
            return slices.detail(world, self.object_key)


class DevicesPage(_ListPage):
    template = "devices/page.html"
    params = ledger.PARAMS
    section = "devices"
    heading, folder = "Devices", "devices"

    def present(self, world: World) -> ledger.DevicesView:
        return ledger.present(world, self.query)


DEVICE_BLOCKS: Final = ("headline", "holders", "about")


class DevicePage(_PublishedPage):
    template = "device/page.html"
    what = "device"
    section = "devices"

    @property
    def _id(self) -> DeviceID:
        return DeviceID(self.where["driver"], self.where["pool"], self.where["device"])

    @property
    def subject(self) -> tuple[str, str]:
        return DEVICES, str(self._id)

    def detail(self, world: World) -> ledger.DeviceView | None:
        return ledger.detail(world, self._id)

    def parts(self) -> tuple[str, list[Part], int]:
        id_ = self._id
        view = self.view()
        if view is None:
            return self.missing()
        headline, *blocks = [Part(n, f"device/_{n}.html", view) for n in DEVICE_BLOCKS]
        return id_.device, [headline, self.findings_about(*self.subject), *blocks], 200
