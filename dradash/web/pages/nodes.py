"""Nodes: the list and one node."""

from __future__ import annotations

from typing import Final

from dradash.reader import current, topics
from dradash.reader.nodeseries import marks_of
from dradash.store.model import HistoryEntry
from dradash.web.fragments import Part
from dradash.web.pages.base import Page
from dradash.web.pages.findings import ExaminedPage
from dradash.web.presenters import inventory, lines, node, nodelist
from dradash.web.rows import Row


class NodeListPage(Page):
    template = "nodes/page.html"
    params = nodelist.PARAMS
    section = "nodes"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.NODES})

    def parts(self) -> tuple[str, list[Part], int]:
        here = current.get()
        # What the drivers refused is counted up to now only: a past list would have to recount all of it.
        with here.follower.world():
            refusals = here.follower.observations.drivers.refusals_by_node() if self.at is None else None
        with self.world() as world:
            facts = nodelist.gather(world, self.query, refusals)
        view = nodelist.present(facts, self.query, here.node_sets.get)
        with self.world() as world:
            view = nodelist.with_devices(view, world)
        view = nodelist.with_trails(view, here.node_samples(self.at), self.now())
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "nodes/_filters.html", view)
        return "Nodes", [filters, Part("list", "nodes/_list.html", view, rows, "nodes/_row.html")], 200


BLOCKS: Final = ("headline", "find", "pods", "claims", "drivers", "object")


class NodePage(ExaminedPage):
    template = "node/page.html"
    params = node.PARAMS
    section = "nodes"
    kind = "nodes"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.NODES, topics.DEVICES})

    def parts(self) -> tuple[str, list[Part], int]:
        facts = self._facts(None)
        if facts is None and (last := self.last_state()) is not None:
            facts = self._facts(last)
        if facts is None:
            return self.missing()
        view = node.present(facts, self.query, current.get().node_sets.get(facts.digests))
        rows = tuple(Row(p.id, p) for p in view.pods)
        parts = [Part(n, f"node/_{n}.html", view) for n in BLOCKS]
        parts[2] = Part("pods", "node/_pods.html", view, rows, "node/_pod_row.html")
        with self.world() as world:
            devices = inventory.devices_of_node(world, view.name)
        parts.insert(3, Part("devices", "node/_devices.html", devices))
        parts[1:1] = [self.findings_about(*self.subject), Part("course", "_course.html", self._course())]
        return view.name, parts, 200

    def _course(self) -> lines.Course | None:
        with self.world() as world:
            slot = world.cluster.nodes.bit(self.object_key).bit_length() - 1
        marks = marks_of(current.get().node_samples(self.at), [slot])[slot] if slot >= 0 else []
        return lines.node_course(marks, self.now())

    def _facts(self, last: HistoryEntry | None) -> node.Facts | None:
        follower = current.get().follower
        with follower.world():
            seen = follower.observations.drivers
            refused, since = seen.refused(self.object_key, self.now()), seen.since
        with self.world() as world:
            return node.gather(world, self.object_key, refused, since, last)
