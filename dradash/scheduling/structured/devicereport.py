"""Why a pod's claims get no devices, or which they could get: the funnel of each request, and what would change it.

Made while the cluster is held still: reading the inventory changes what it has found out, so it cannot be handed out
as a snapshot. What is done is bounded instead (looks.py): some 100 ms, less than a second at worst.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.scheduling import nodechecks, nodeset
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.status import Code, Status, error, unschedulable
from dradash.scheduling.structured import extended, plugin
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.allocator import Allocator
from dradash.scheduling.structured.apart import Apart, apart
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.cycle import CycleState
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.funnel import Holders, RequestFunnel, Standing, Told, fold
from dradash.scheduling.structured.glance import Glances
from dradash.scheduling.structured.listers import listed
from dradash.scheduling.structured.looks import ASKED, SEARCHED, SEEN, SELECTORS, Budget
from dradash.scheduling.structured.nearest import CUT, HINTS, NEAREST, Advisers, Looked, Looks, distance
from dradash.scheduling.structured.nodefilter import MANY, alike, read_by
from dradash.scheduling.structured.nodefunnel import node_funnel
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.sight import Sight, sight_of
from dradash.scheduling.structured.smallestchange import PodsOf
from dradash.scheduling.structured.trial import TRIALS, Trials
from dradash.scheduling.unblocking import holders
from dradash.scheduling.unreadable import sentence, unreadable

SITUATIONS: Final = 64  # of nodes that are looked at: the nearest to a solution, then those of most nodes
APART: Final = 2_000  # nodes with devices in pools that cannot be used
STEPS: Final = 500  # of the search on a node: a reader waits for it
GLANCES: Final = 8_000  # looks at devices, to find out which nodes are near
FEW_GLANCES: Final = 300
FEW_APART: Final = 16
NAMED: Final = 19  # nodes beside one, of which the pools that cannot be used are named: as many as reasons are told


class NodesAnswer(Told, frozen=True):
    """What the plugin says of so many nodes, "" where the pod fits. node: one of them.

    stops: this error ends the attempt, whatever other nodes say; others only exclude their nodes.
    """

    message: str
    stops: bool
    nodes: int
    node: str


class NodesAlike(Told, frozen=True):
    """Nodes that look the same. missing: how many devices the requests lack there."""

    node: str
    nodes: int
    missing: int
    message: str


class DeviceReport(Told, frozen=True):
    """node: "" for all. nodesSeen: on how many of them the devices were looked at; nodes: how many there are.

    refused: PreFilter's words, where the attempt ends before any node is looked at; or what of it cannot be read.
    complete: all requests were looked at on all nodes; requestsLeftOut: those, with their alternatives, that were not.
    """

    pod: str
    node: str
    nodes: int
    nodes_seen: int
    refused: str
    answers: tuple[NodesAnswer, ...]
    requests: tuple[RequestFunnel, ...]
    hints: tuple[Hint, ...]
    situations: tuple[NodesAlike, ...]
    complete: bool = True
    requests_left_out: int = 0


class Examination:
    """One look at a pod. `now`: Unix seconds. answers: of an attempt at the same state of the cluster."""

    def __init__(self, pod: Pod, cluster: Cluster, now: float, answers: Answers | None = None) -> None:
        self._pod, self._cluster, self._now = pod, cluster, now
        self._answers = answers if answers is not None else Answers()
        self._answers.effort = Effort(SELECTORS)
        caches = listed(cluster)
        lookup = pod_claims(pod, caches.claims)
        self._state, self._status = plugin.pre_filter(pod, caches, lookup)
        if not self._status.is_success:
            self._state = CycleState(pod, caches, claims=list(lookup.found))
        self._holders: Holders = cluster.inventory.holders

    @property
    def has_requests(self) -> bool:
        return bool(self._state.to_allocate())

    def report(self, node: str = "") -> DeviceReport:
        """node: this one only. Raises KeyError if there is none of this name."""
        table = self._cluster.nodes
        sets, rest = Apart([table.named((table.by_name[node].name,))], 0) if node else self._sets(APART)
        looks = self._looks(sets, rest, SITUATIONS, GLANCES)
        if node:
            looks = looks._replace(of=0)
        nodes, looked = sum(s.bit_count() for s in (*sets, rest)), looks.looked
        seen = sum(one.nodes for one in looked)
        left_out = max((one.funnel.left_out for one in looked), default=0)
        return DeviceReport(
            pod=self._pod.key,
            node=node,
            nodes=nodes,
            nodes_seen=seen,
            refused=self._refused(),
            answers=_answers(looked) if self._status.is_success else (),
            requests=looks.requests,
            hints=self._hints(looks, TRIALS),
            situations=_situations(looked),
            complete=seen == nodes and not left_out,
            requests_left_out=left_out,
        )

    def _refused(self) -> str:
        if self._status.is_success:
            return ""
        wrong = unreadable(self._pod, self._cluster)
        return self._status.message if wrong is None else sentence(*wrong, self._cluster)

    def hints(self, most: int, trials: int) -> tuple[Hint, ...]:
        """For a pod that no node takes: the plugin is not asked again. most: situations of nodes that are looked at."""
        sets, rest = self._sets(FEW_APART)
        return self._hints(self._looks(sets, rest, most, FEW_GLANCES, ask=False), trials)

    def _looks(self, sets: list[int], rest: int, most: int, glances: int, *, ask: bool = True) -> Looks:
        """As many requests on each as on the first. rest: nodes that are not looked at."""
        looked: list[Looked] = []
        budget, asked = Budget(), Effort(ASKED)
        for members in self._ordered(sets, most, glances):
            if budget.left <= 0:
                break
            one = self._look(members, budget, asked if ask else None)
            able = [other for other in looked if not other.funnel.error]
            if able and one.funnel.left_out > able[0].funnel.left_out:
                break
            looked.append(one)
        requests = fold((Standing(one.funnel, one.nodes, one.also) for one in looked), self._holders)
        return Looks(looked, sum(s.bit_count() for s in (*sets, rest)), requests)

    def _ordered(self, sets: list[int], most: int, glances: int) -> list[int]:
        """The largest first, before them the nearest where not all are looked at."""
        largest = sorted(sets, key=lambda s: -s.bit_count())
        if len(sets) <= most:
            return largest
        of = self._cluster
        work = Budget(glances)
        reading = read_by(self._state)
        glance = Glances(of.inventory, of.device_classes, self._answers, reading, self._claims, work)
        coarse = sets if len(sets) <= MANY else self._alike(by_values=False)
        near = glance.nearest(coarse, of.nodes, NEAREST + 1)
        first = [next(s for s in sets if s & members) for members in near if any(s & members for s in sets)]
        return [*dict.fromkeys((*first, *largest))][:most]

    def _sets(self, most: int) -> Apart:
        """Alike nodes. most: that are told apart by what is in pools that cannot be used."""
        of = self._cluster
        return apart(self._alike(), of.nodes, of.inventory, read_by(self._state), most)

    def _alike(self, *, by_values: bool = True) -> list[int]:
        """Of those that the checks before the plugin leave; of all nodes if they leave none."""
        nodes = self._cluster.nodes
        _, shown = nodechecks.pre_filter(self._pod, nodes)
        _, left = nodechecks.check_nodes(self._pod, nodes, shown)
        return alike(self._state, nodes, left or nodes.all, by_values=by_values)

    def _look(self, members: int, budget: Budget, asked: Effort | None) -> Looked:
        table = self._cluster.nodes
        node = table.first(members)
        claims = self._claims(node)
        of = self._cluster
        unread = of.malformed["deviceclasses"]
        found = node_funnel(node, claims, of.inventory, of.device_classes, self._answers, unread, budget)
        status = self._status
        if found.error:
            status = error(found.error)
        elif asked is None:
            status = unschedulable(plugin.CANNOT_ALLOCATE)
        elif status.is_success:
            status = self._filtered(node, asked)
        return Looked(found, members.bit_count(), status, self._also(members & (members - 1), found.sight, budget))

    def _also(self, others: int, sight: Sight | None, budget: Budget) -> tuple[Sight, ...]:
        """What other nodes see, of pools that cannot be used: each node has its own."""
        if sight is None or not any(seen.trouble and seen.is_local for seen in sight.devices):
            return ()
        table = self._cluster.nodes
        named = islice(nodeset.slots(others), NAMED)
        return tuple(
            sight_of(self._cluster.inventory, table.by_name[table.name(slot)])
            for slot in named
            if budget.spend(1 + len(sight.devices) // SEEN)
        )

    def _filtered(self, node: Node, asked: Effort) -> Status:
        state, most = self._state, min(SEARCHED, asked.left)
        effort = Effort(most)
        if state.allocator is not None:
            state.allocator = Allocator(state.listed.inventory, state.listed.classes, STEPS, self._answers, effort)
        status = plugin.filter_node(state, node, self._now)
        asked.left -= most - effort.left
        return unschedulable(CUT) if status.message == plugin.TIMED_OUT else status

    def _claims(self, node: Node) -> list[ResourceClaim]:
        state = self._state
        special = extended.filter_node(state, node)
        return [
            special.claim.claim if special.claim is not None and state.is_extended(i) else state.claims[i].claim
            for i in state.to_allocate()
        ]

    # --- what would change it ----------------------------------------------------------------------------------------

    def _hints(self, looks: Looks, trials: int) -> tuple[Hint, ...]:
        tried = Trials(self._cluster.inventory, self._cluster.device_classes, self._answers, trials)
        unread = self._cluster.malformed["deviceclasses"]
        return Advisers(tried, self._holders, self._pods_of(), unread).hints(looks)

    def _pods_of(self) -> PodsOf:
        claims = self._cluster.device_claims
        return lambda key: holders(claims[key]) if key in claims else ()


def _answers(looked: list[Looked]) -> tuple[NodesAnswer, ...]:
    """Errors first, then by the number of nodes."""
    found: dict[tuple[str, bool], list[Looked]] = {}
    for one in looked:
        found.setdefault((one.status.message, one.status.code is Code.ERROR), []).append(one)
    answers = [
        NodesAnswer(message=message, stops=stops, nodes=sum(o.nodes for o in of), node=of[0].funnel.node.name)
        for (message, stops), of in found.items()
    ]
    return tuple(sorted(answers, key=lambda a: (not a.stops, -a.nodes)))


def _situations(looked: list[Looked]) -> tuple[NodesAlike, ...]:
    """The nearest to a solution first."""
    found = [
        NodesAlike(node=o.funnel.node.name, nodes=o.nodes, missing=o.funnel.lacking, message=o.status.message)
        for o in sorted(looked, key=distance)
    ]
    return tuple(found[:HINTS])


def device_report(pod: Pod, cluster: Cluster, now: float, node: str = "") -> DeviceReport | None:
    """None where the pod has no claim to allocate. Raises KeyError if there is no such node."""
    examination = Examination(pod, cluster, now)
    return examination.report(node) if examination.has_requests else None
