"""Every page as path + query -> what it shows. The view and the socket of a page both take it from here."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django.conf import settings

from dradash.scheduling.verdict import Verdict
from dradash.store.model import VERDICTS, HistoryEntry
from dradash.web import current, topics
from dradash.web.fragments import Part, Row, Shown
from dradash.web.presenters import claim, claims, nodes, overview, pod, pods, status
from dradash.web.presenters.query import Query


class Page(abc.ABC):
    """A page is made for one request or socket and holds nothing but its address."""

    template: ClassVar[str]  # arranges the blocks
    params: ClassVar[frozenset[str]] = frozenset()  # of the query string; others are ignored
    section: ClassVar[str] = ""  # of the navigation

    def __init__(self, query: Mapping[str, str], **where: str) -> None:
        self.query = Query.of(query, self.params)
        self.where = where

    @property
    def key(self) -> str:
        return f"{type(self).__name__} {sorted(self.where.items())} {self.query.encoded}"

    @abc.abstractmethod
    def topics(self) -> frozenset[str]:
        """What wakes it, beside topics.EVERYTHING."""

    @abc.abstractmethod
    def parts(self) -> tuple[str, list[Part], int]:
        """Title, blocks and HTTP status, once the model was loaded."""

    def show(self) -> Shown:
        here = current.get()
        freshness = here.follower.freshness()
        with here.follower.world() as world:
            banner = status.present(freshness, world.sync, settings.DRADASH.cluster)
        bar = Part("freshness", "_freshness.html", banner)
        if freshness.state == "loading":
            return Shown("Loading", (bar, Part("page", "_loading.html", banner)), 503)
        title, parts, code = self.parts()
        return Shown(title, (bar, *parts), code)


class OverviewPage(Page):
    template = "overview/page.html"
    section = "overview"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.OVERVIEW})

    def parts(self) -> tuple[str, list[Part], int]:
        with current.get().follower.world() as world:
            view = overview.present(world)
        names = ("totals", "pending", "claims", "negotiations", "kinds", "changes")
        return "Overview", [Part(n, f"overview/_{n}.html", view) for n in names], 200


class PodsPage(Page):
    template = "pods/page.html"
    params = pods.PARAMS
    section = "pods"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.PODS})

    def parts(self) -> tuple[str, list[Part], int]:
        with current.get().follower.world() as world:
            view = pods.present(world, self.query)
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "pods/_filters.html", view)
        return "Pods", [filters, Part("list", "pods/_list.html", view, rows, "pods/_row.html")], 200


class ClaimsPage(Page):
    template = "claims/page.html"
    params = claims.PARAMS
    section = "claims"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.CLAIMS})

    def parts(self) -> tuple[str, list[Part], int]:
        with current.get().follower.world() as world:
            view = claims.present(world, self.query)
        rows = tuple(Row(r.id, r) for r in view.rows)
        filters = Part("filters", "claims/_filters.html", view)
        return "Claims", [filters, Part("list", "claims/_list.html", view, rows, "claims/_row.html")], 200


class ObjectPage(Page):
    """A page about one object: it may be gone, or may never have been."""

    kind: ClassVar[str]  # plural

    @property
    def object_key(self) -> str:
        return f"{self.where['namespace']}/{self.where['name']}"

    def last_state(self) -> HistoryEntry | None:
        """The last state of an object that is gone, with the time of its deletion."""
        entries = current.get().history(self.kind, self.object_key)
        return entries[-1] if entries else None

    def missing(self) -> tuple[str, list[Part], int]:
        here = current.get()
        with here.follower.world() as world:
            view = status.missing(world, self.kind, self.object_key)
        return f"No {view.singular} {self.object_key}", [Part("page", "_missing.html", view)], 404


POD_BLOCKS: Final = (
    "headline",
    "pipeline",
    "nodes",
    "claims",
    "negotiation",
    "effects",
    "agreement",
    "history",
    "about",
)


class PodPage(ObjectPage):
    template = "pod/page.html"
    section = "pods"
    kind = "pods"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.pod(self.object_key)})

    def parts(self) -> tuple[str, list[Part], int]:
        view = self.view()
        if view is None:
            return self.missing()
        return self.object_key, [Part(n, f"pod/_{n}.html", view) for n in POD_BLOCKS], 200

    def view(self) -> pod.PodView | None:
        here = current.get()
        key = self.object_key
        with here.follower.world() as world:
            facts = pod.gather(world, key)
            cluster = world.cluster
        if facts is None and (last := self.last_state()) is not None:
            with here.follower.world() as world:
                facts = pod.gather(world, key, last)
        if facts is None:
            return None
        history = pod.PodHistory(
            verdicts=here.history(VERDICTS, key),
            contexts=here.history("podschedulingcontexts", key),
            claims={c.name: here.history("resourceclaims", c.key) for c in facts.claims if c.key},
        )
        sets = here.node_sets.get(nodes.digests(pod.verdict_of(facts, history)))
        return pod.present(facts, history, sets, cluster.nodes.names)


class NodesPage(PodPage):
    """Every node of a pod's verdict. For htmx it is the grid alone, which a large cluster's pod page fetches."""

    template = "pod/nodes_page.html"
    params = frozenset({"reason", "passed"})

    def __init__(self, query: Mapping[str, str], **where: str) -> None:
        super().__init__(query, **where)
        # An empty reason means the nodes that pass, so that it is there matters.
        self.reason = query.get("reason")

    @property
    def key(self) -> str:
        return f"{super().key} {self.reason is None}"

    def parts(self) -> tuple[str, list[Part], int]:
        here = current.get()
        with here.follower.world() as world:
            facts = pod.gather(world, self.object_key)
            cluster = world.cluster
        if facts is None:
            return self.missing()
        verdict: Verdict | None = facts.verdict
        sets = here.node_sets.get(nodes.digests(verdict))
        view = nodes.present_all(verdict, sets, cluster.nodes.names, self.reason)
        page = status.NodesPageView(self.object_key, view, self.reason)
        return f"Nodes for {self.object_key}", [Part("all-nodes", "pod/_all_nodes.html", page)], 200


CLAIM_BLOCKS: Final = ("headline", "allocation", "users", "history", "object")


class ClaimPage(ObjectPage):
    template = "claim/page.html"
    section = "claims"
    kind = "resourceclaims"

    def topics(self) -> frozenset[str]:
        return frozenset({topics.claim(self.object_key)})

    def parts(self) -> tuple[str, list[Part], int]:
        here = current.get()
        with here.follower.world() as world:
            facts = claim.gather(world, self.object_key)
        if facts is None and (last := self.last_state()) is not None:
            with here.follower.world() as world:
                facts = claim.gather(world, self.object_key, last)
        if facts is None:
            return self.missing()
        view = claim.present(facts, here.history(self.kind, self.object_key))
        return self.object_key, [Part(n, f"claim/_{n}.html", view) for n in CLAIM_BLOCKS], 200


def context(page: Page) -> dict[str, Any]:
    """For the shell around the blocks."""
    return {"page": page, "section": page.section, "cluster": settings.DRADASH.cluster, "auth": settings.DRADASH.auth}
