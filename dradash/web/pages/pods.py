"""Pods: the list, one pod, and the nodes of its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from django.utils.html import format_html, format_html_join

from dradash.reader import current, topics
from dradash.reader.before import last_claims, world_before
from dradash.reader.devicereports import DeviceReports
from dradash.reader.trails import VERDICT
from dradash.scheduling.claimfacts import AnyClaim
from dradash.scheduling.generation import Generation
from dradash.store.model import VERDICTS, HistoryEntry, StoreUnavailable
from dradash.web.fragments import Fragment, Part, element
from dradash.web.pages.base import about_pod
from dradash.web.pages.findings import ExaminedPage, ShowsFindings
from dradash.web.presenters import nodegrid, nodes, pod, poddevices, pods
from dradash.web.rows import Row


class PodsPage(ShowsFindings):
    template = "pods/page.html"
    params = pods.PARAMS
    section = "pods"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.PODS, topics.DOCTOR})

    def parts(self) -> tuple[str, list[Part], int]:
        bypassed = [f for f in current.get().findings(self.at).findings if f.code == pods.BYPASSED]
        with self.world() as world:
            view = pods.present(world, self.query, bypassed)
        trails = current.get().trails(VERDICT, [r.key for r in view.rows], self.at)
        view = pods.with_trails(view, trails, self.now())
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "pods/_filters.html", view)
        return "Pods", [filters, Part("list", "pods/_list.html", view, rows, "pods/_row.html")], 200


POD_BLOCKS: Final = (
    "headline",
    "pipeline",
    "nodes",
    "claims",
    "negotiation",
    "effects",
    "agreement",
    "history",
    "object",
    "about",
)


class PodPage(ExaminedPage):
    template = "pod/page.html"
    params = frozenset({poddevices.NODE})
    section = "pods"
    kind = "pods"
    marked = VERDICTS

    def topics(self) -> frozenset[str]:
        own = topics.pod(self.object_key)
        return frozenset({own, topics.DEVICES} if self._is_structured() else {own})

    def _is_structured(self) -> bool:
        with current.get().follower.world() as world:
            verdict = world.verdicts.get(self.object_key)
        return verdict is not None and verdict.generation == Generation.STRUCTURED

    def related(self) -> list[tuple[str, str]]:
        return about_pod(self)

    def parts(self) -> tuple[str, list[Part], int]:
        view = self.view()
        if view is None:
            return self.missing()
        headline, *blocks = [Part(n, f"pod/_{n}.html", view) for n in POD_BLOCKS]
        if view.generation == Generation.STRUCTURED:
            blocks.append(Part("devices", "pod/_devices.html", self.devices(gone=bool(view.gone))))
        return self.object_key, [headline, self.findings_about(*self.subject), *blocks], 200

    def devices(self, *, gone: bool) -> poddevices.DevicesView:
        node = self.query.get(poddevices.NODE)
        with self.world() as world:
            no_node = bool(node) and node not in world.cluster.nodes.by_name
            pod_here = world.cluster.pods.get(self.object_key)
            report = None
            if pod_here is not None and not no_node:
                reports = current.get().part(DeviceReports)
                report = reports.report(world, pod_here, self.now(), node, self.at)
            selectors = poddevices.selectors_of(world.cluster.device_claims, report)
            verdict = world.verdicts.get(self.object_key)
        return poddevices.present(report, self.query, selectors, gone=gone, no_node=no_node, verdict=verdict)

    def view(self) -> pod.PodView | None:
        here = current.get()
        key = self.object_key
        facts, last = self._facts(None), None
        if facts is None and (last := self.last_state()) is not None:
            facts = self._facts(last)
        if facts is not None and (lost := pod.missing(facts)):
            facts = self._facts(last, self._left(lost, last))
        if facts is None:
            return None
        with self.world() as world:
            names = world.cluster.nodes.names
        # A judgement that changed nothing is announced to nobody, but it may have been for a new reason.
        if self.at is None and facts.verdict and (stored := here.verdict(key)) and stored.uid == facts.verdict.uid:
            facts = msgspec.structs.replace(facts, verdict=stored)
        history = self._told(facts)
        sets = here.node_sets.get(nodes.digests(pod.verdict_of(facts, history)))
        found = self.about("pods", key)
        bypassed = next((f for f in found if f.code == pods.BYPASSED), None)
        return pod.present(facts, history, sets, names, frozenset(f.id for f in found), bypassed)

    def _told(self, facts: pod.PodFacts) -> pod.PodHistory | None:
        """None: it cannot be read now. Raises StoreUnavailable where the pod is gone: only the history has it."""
        key = self.object_key
        try:
            return pod.PodHistory(
                verdicts=self.history(VERDICTS, key),
                contexts=self.history("podschedulingcontexts", key),
                claims={c.name: self.history("resourceclaims", c.key) for c in facts.claims if c.key},
            )
        except StoreUnavailable:
            if facts.gone or self.at is not None:
                raise
            return None

    def _left(self, lost: Mapping[str, str], last: HistoryEntry | None) -> Mapping[str, AnyClaim]:
        """Last states of claims that went; without them the claims of a pod that is there are shown as not there."""
        try:
            return last_claims(current.get(), lost, self.at)
        except StoreUnavailable:
            if last is not None or self.at is not None:
                raise
            return {}

    def _facts(self, last: HistoryEntry | None, left: Mapping[str, AnyClaim] = {}) -> pod.PodFacts | None:
        here, key = current.get(), self.object_key
        if last is not None:
            with world_before(here, last.at, self.at) as (before, _):
                return pod.gather(before, key, last, left=left)
        with self.world() as world:
            return pod.gather(world, key, waits=here.waits(self.at), now=self.now(), left=left)


class NodesPage(PodPage):
    """Every node of a pod's verdict, as a grid: the head, one block a group of nodes, and the names as text."""

    template = "pod/nodes_page.html"
    params = nodegrid.PARAMS

    def __init__(self, query: Mapping[str, str], **where: str) -> None:
        super().__init__(query, **where)
        # An empty reason means the nodes that pass, so that it is there matters.
        self.reason = query.get("reason")

    @property
    def key(self) -> str:
        return f"{super().key} {self.reason is None}"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.pod(self.object_key)})

    def parts(self) -> tuple[str, list[Part], int]:
        here = current.get()
        with self.world() as world:
            facts = pod.gather(world, self.object_key)
            labels = nodegrid.labels(world.cluster.nodes, self.query.get("group"))
            cluster = world.cluster
        history = pod.PodHistory()
        if facts is None and (last := self.last_state()) is not None:
            history = pod.PodHistory(verdicts=self.history(VERDICTS, self.object_key))
            with self.world() as world:
                facts = pod.gather(world, self.object_key, last)
        if facts is None:
            return self.missing()
        verdict = pod.verdict_of(facts, history)
        sets = here.node_sets.get(nodes.digests(verdict))
        view = nodegrid.present(
            self.object_key, verdict, sets, cluster.nodes.names, labels, self.query, self.reason, facts.gone
        )
        groups = [Part(g.id, "pod/_cells.html", g) for g in view.groups]
        head, listed = Part("grid-head", "pod/_grid_head.html", view), Part("grid-names", "pod/_grid_names.html", view)
        return f"Nodes for {self.object_key}", [head, *groups, listed], 200

    @staticmethod
    def grid(fragment: Fragment) -> str:
        """The cells alone, which a large cluster's pod page fetches."""
        cells = [element(b) for b in fragment.blocks if b.id.startswith(nodegrid.CELLS)]
        return format_html('<div class="grid">{}</div>', format_html_join("", "{}", ((c,) for c in cells)))
