"""Why a pod's claims get no devices, or which they could get: the funnel of each request, and what would change it.

Made while the cluster is held still: reading the inventory changes what it has found out, so it cannot be handed out
as a snapshot. What is done is bounded instead (looks.py): some 100 ms, less than a second at worst.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec
from msgspec.structs import replace

from dradash.kinds.deviceclaim import ResourceClaim
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.scheduling import nodechecks
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.status import Code, Status, error, unschedulable
from dradash.scheduling.structured import extended, plugin
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.allocator import Allocator
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.claimsize import oversized
from dradash.scheduling.structured.cycle import CycleState
from dradash.scheduling.structured.effort import Effort
from dradash.scheduling.structured.fates import Stage
from dradash.scheduling.structured.funnel import Holders, RequestFunnel, Told, fold
from dradash.scheduling.structured.listers import listed
from dradash.scheduling.structured.looks import ADVISED, ASKED, SEARCHED, SELECTORS, Budget
from dradash.scheduling.structured.nodefilter import alike
from dradash.scheduling.structured.nodefunnel import NodeFunnel, node_funnel
from dradash.scheduling.structured.selection import Answers
from dradash.scheduling.structured.selectorwants import besides, wants
from dradash.scheduling.structured.smallestchange import Advice, PodsOf
from dradash.scheduling.structured.trial import TRIALS, Trials
from dradash.scheduling.unblocking import holders
from dradash.scheduling.unreadable import sentence, unreadable

SITUATIONS: Final = 64  # of nodes that are looked at, those of most nodes first
NEAREST: Final = 3  # nodes on which changes are tried
HINTS: Final = 8
STEPS: Final = 500  # of the search on a node: a reader waits for it
CUT: Final = "not decided here: the search takes long"


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


class _Looked(msgspec.Struct, frozen=True):
    funnel: NodeFunnel
    nodes: int
    status: Status


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
        sets = [table.named((table.by_name[node].name,))] if node else self._sets()
        looked = self._looks(sets, SITUATIONS)
        nodes, seen = sum(s.bit_count() for s in sets), sum(one.nodes for one in looked)
        left_out = max((one.funnel.left_out for one in looked), default=0)
        return DeviceReport(
            pod=self._pod.key,
            node=node,
            nodes=nodes,
            nodes_seen=seen,
            refused=self._refused(),
            answers=_answers(looked) if self._status.is_success else (),
            requests=(requests := fold(((one.funnel, one.nodes) for one in looked), self._holders)),
            hints=self._hints(looked, requests, TRIALS, everywhere=not node),
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
        looked = self._looks(self._sets(), most, ask=False)
        requests = fold(((one.funnel, one.nodes) for one in looked), self._holders)
        return self._hints(looked, requests, trials, everywhere=True)

    def _looks(self, sets: list[int], most: int, *, ask: bool = True) -> list[_Looked]:
        """As many requests on each as on the first."""
        looked: list[_Looked] = []
        budget, asked = Budget(), Effort(ASKED)
        for members in sorted(sets, key=lambda s: -s.bit_count())[:most]:
            if budget.left <= 0:
                break
            one = self._look(members, budget, asked if ask else None)
            able = [other for other in looked if not other.funnel.error]
            if able and one.funnel.left_out > able[0].funnel.left_out:
                break
            looked.append(one)
        return looked

    def _sets(self) -> list[int]:
        """Alike nodes of those that the checks before the plugin leave; of all nodes if they leave none."""
        nodes = self._cluster.nodes
        _, shown = nodechecks.pre_filter(self._pod, nodes)
        _, left = nodechecks.check_nodes(self._pod, nodes, shown)
        return alike(self._state, nodes, left or nodes.all)

    def _look(self, members: int, budget: Budget, asked: Effort | None) -> _Looked:
        table = self._cluster.nodes
        node = table.by_name[table.names(members & -members)[0]]
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
        return _Looked(found, members.bit_count(), status)

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

    def _hints(
        self, looked: list[_Looked], requests: tuple[RequestFunnel, ...], trials: int, *, everywhere: bool
    ) -> tuple[Hint, ...]:
        if any(one.status.is_success for one in looked):
            return ()
        tried = Trials(self._cluster.inventory, self._cluster.device_classes, self._answers, trials)
        unread = self._cluster.malformed["deviceclasses"]
        work = Budget(ADVISED)
        advice = Advice(tried, self._holders, self._pods_of(), work, everywhere=everywhere, unread=unread)
        # A node without devices has nothing that could be changed: it is told of where no node has any.
        able = [one for one in looked if not one.funnel.sees_nothing] or looked
        nearest = sorted(able, key=_distance)[:NEAREST]
        if over := oversized(nearest[0].funnel.claims if nearest else []):
            return over[:HINTS]
        # That all requests find enough devices says little where some were left out, or nothing was decided.
        told = [o.funnel for o in nearest if o.funnel.short() or not (o.funnel.left_out or o.status.message == CUT)]
        advised = [hint for funnel in told for hint in advice.on(funnel)]
        found: dict[tuple[str, str, str], Hint] = {}
        for hint in sorted(advised, key=lambda h: not h.verified):
            about = _of_cluster(hint, requests, looked, work) if everywhere else hint
            found.setdefault((about.kind, about.request, about.sentence), about)
            if len(found) == HINTS:
                break
        return tuple(found.values())

    def _pods_of(self) -> PodsOf:
        claims = self._cluster.device_claims
        return lambda key: holders(claims[key]) if key in claims else ()


def _of_cluster(hint: Hint, requests: tuple[RequestFunnel, ...], looked: list[_Looked], work: Budget) -> Hint:
    """A selector is the same on all nodes: what it met anywhere is told."""
    if hint.kind != "selector":
        return replace(hint, node="") if hint.kind == "class" else hint
    values: Counter[str] = Counter()
    for request in requests:
        if (request.claim, request.request) == (hint.claim, hint.request):
            losses = (loss for s in request.stages if s.stage in (Stage.CLASS, Stage.REQUEST) for loss in s.losses)
            for loss in losses:
                if hint.names[0] in loss.why:
                    values.update({v.text: v.count for v in loss.values})
    owner = hint.sentence.partition(" wants ")[0]
    stage = Stage.CLASS if owner.startswith("class ") else Stage.REQUEST
    more = besides(((o.funnel, o.nodes) for o in looked), hint.claim, hint.request, hint.names[0], stage, work)
    return replace(hint, node="", sentence=wants(owner, hint.names[0], values, "this cluster", more))


def _answers(looked: list[_Looked]) -> tuple[NodesAnswer, ...]:
    """Errors first, then by the number of nodes."""
    found: dict[tuple[str, bool], list[_Looked]] = {}
    for one in looked:
        found.setdefault((one.status.message, one.status.code is Code.ERROR), []).append(one)
    answers = [
        NodesAnswer(message=message, stops=stops, nodes=sum(o.nodes for o in of), node=of[0].funnel.node.name)
        for (message, stops), of in found.items()
    ]
    return tuple(sorted(answers, key=lambda a: (not a.stops, -a.nodes)))


def _situations(looked: list[_Looked]) -> tuple[NodesAlike, ...]:
    """The nearest to a solution first."""
    found = [
        NodesAlike(node=o.funnel.node.name, nodes=o.nodes, missing=o.funnel.lacking, message=o.status.message)
        for o in sorted(looked, key=_distance)
    ]
    return tuple(found[:HINTS])


def _distance(one: _Looked) -> tuple[bool, bool, int, int, int, str]:
    """The least first: how far the node is from a solution."""
    of = one.funnel
    return (bool(one.status.message), of.sees_nothing, of.lacking, -of.reach, -one.nodes, of.node.name)


def device_report(pod: Pod, cluster: Cluster, now: float, node: str = "") -> DeviceReport | None:
    """None where the pod has no claim to allocate. Raises KeyError if there is no such node."""
    examination = Examination(pod, cluster, now)
    return examination.report(node) if examination.has_requests else None
