"""One scheduling attempt of kube-scheduler 1.36 on a pod with structured parameters, told step by step."""

from __future__ import annotations

from dataclasses import dataclass, field

from dradash.scheduling import fiterror, nodechecks
from dradash.scheduling.course import PLUGIN, Course, summary
from dradash.scheduling.status import SKIP, SUCCESS, Status, error
from dradash.scheduling.structured import awaited, binding, plugin
from dradash.scheduling.structured.claims import Lookup, pod_claims
from dradash.scheduling.structured.claimwrites import ClaimWrites
from dradash.scheduling.structured.cycle import CycleState, Listed
from dradash.scheduling.structured.listers import listed
from dradash.scheduling.structured.nodefilter import Filtered, filter_nodes
from dradash.scheduling.verdict import STRUCTURED_POINTS, Choice, NodeGroup, Outcome, Step

# The plugin of this version has none of these.
MISSING = ("PreScore", "PostBind")


@dataclass
class Attempt(Course):
    now: float = 0.0  # Unix seconds
    lookup: Lookup = field(default_factory=lambda: Lookup(()))
    state: CycleState | None = None
    filtered: Filtered | None = None

    def run(self) -> Attempt:
        if not self.stopped_by_gates():
            self._pre_enqueue(listed(self.cluster))
        return self

    def all_steps(self) -> tuple[Step, ...]:
        return self.told(STRUCTURED_POINTS, MISSING)

    # --- the points, in order --------------------------------------------------------------------------------------

    def _pre_enqueue(self, caches: Listed) -> None:
        self.lookup = pod_claims(self.pod, caches.claims)
        status = plugin.pre_enqueue(self.lookup)
        self.say("PreEnqueue", status)
        if not status.is_success:
            self.end(Outcome.BLOCKED, status.message)
        elif not self.cluster.nodes.all:
            self.end(Outcome.UNSCHEDULABLE, fiterror.NO_NODES)
        else:
            self._pre_filter(caches)

    def _pre_filter(self, caches: Listed) -> None:
        status, shown = nodechecks.pre_filter(self.pod, self.cluster.nodes)
        if not status.is_success:
            # DynamicResources' PreFilter never ran: its PostFilter then finds no state, and says just that.
            self.say("PreFilter", status, plugin="NodeAffinity")
            self._refuse_all(status, error("not found"))
            return
        self.state, status = plugin.pre_filter(self.pod, caches, self.lookup)
        self.say("PreFilter", status)
        if status.is_success or status is SKIP:
            self._filter(self.state, shown)
        elif status.is_rejected:
            self._refuse_all(status, plugin.post_filter(self.state, ClaimWrites({})))
        else:
            self.end(Outcome.ERROR, fiterror.plugin_error("PreFilter", PLUGIN, status.message))

    def _refuse_all(self, status: Status, post_filter: Status) -> None:
        self.say("PostFilter", post_filter)
        count = len(self.cluster.nodes)
        more = fiterror.post_filter_message(self.pod, count, post_filter)
        self.end(Outcome.UNSCHEDULABLE, fiterror.pre_filter_error(count, status.message, post_filter=more))

    def _filter(self, state: CycleState, shown: int) -> None:
        nodes = self.cluster.nodes
        refused, left = nodechecks.check_nodes(self.pod, nodes, shown, nodechecks.UNTOLERATED_UNNAMED)
        found = self.filtered = filter_nodes(state, nodes, left, self.now)
        self.feasible = found.feasible
        groups = [("NodeAffinity", nodechecks.FILTERED_OUT, nodes.all & ~shown)]
        groups += [(r.plugin, r.status, r.nodes) for r in refused]
        groups += [(PLUGIN, status, out) for status, out in found.statuses]
        told = tuple(self.group(name, status, out) for name, status, out in groups if out)
        if found.errors:
            self.say("Filter", error(found.errors[0]), groups=told)
            sentences = [fiterror.filter_error(PLUGIN, message) for message in found.errors]
            self.alternatives = tuple(sentences[1:])
            self.end(Outcome.ERROR, sentences[0])
            return
        self.say("Filter", SUCCESS if self.feasible else summary(list(found.statuses)), groups=told)
        if self.feasible:
            self._score(state, found)
        else:
            self._post_filter(state, told)

    def _writes(self, state: CycleState) -> ClaimWrites:
        return ClaimWrites({held.claim.key: held.raw for held in state.claims})

    def _post_filter(self, state: CycleState, groups: tuple[NodeGroup, ...]) -> None:
        writes = self._writes(state)
        options = plugin.deallocatable(state)
        status = plugin.post_filter(state, writes, self.seed.number)
        choices: tuple[Choice, ...] = ()
        if len(options) > 1:
            chosen = state.claims[options[self.seed.number % len(options)]].claim.name
            names = tuple(sorted(state.claims[i].claim.name for i in options))
            choices = (Choice(what="claim to deallocate", chosen=(chosen,), options=names),)
        self.say("PostFilter", status, effects=tuple(writes.effects), choices=choices)
        count = len(self.cluster.nodes)
        more = fiterror.post_filter_message(self.pod, count, status)
        self.end(
            Outcome.UNSCHEDULABLE, fiterror.fit_error(count, ((g.reason, g.count) for g in groups), post_filter=more)
        )

    def _score(self, state: CycleState, found: Filtered) -> None:
        nodes, best = self.cluster.nodes, found.scores[0][1]
        # Other plugins score too: any node that passed may be taken, one of those that this plugin likes best likelier.
        self.node = self.seed.node(nodes, best)
        choices: tuple[Choice, ...] = ()
        if self.feasible.bit_count() > 1:
            choices = (self.node_choice("node with the best score", (self.node,)),)
            self.say("Score", SUCCESS)
        # Filter asked one node of each situation; what would be taken here is asked for here.
        plugin.filter_node(state, nodes.by_name[self.node], self.now)
        self._bind(state, choices)

    def _bind(self, state: CycleState, choices: tuple[Choice, ...]) -> None:
        status = plugin.reserve(state, self.node)
        self.say("Reserve", status, choices=choices)
        if not status.is_success:
            self.end(Outcome.ERROR, fiterror.plugin_error("Reserve", PLUGIN, status.message))
            return
        flight = plugin.pre_bind_pre_flight(state)
        if not flight.is_success:
            self.say("PreBind", flight)
            self.end(Outcome.SCHEDULABLE, fiterror.assigned(self.pod, self.node))
            return
        writes = self._writes(state)
        status = binding.pre_bind(state, self.node, writes, self.now)
        waits = not status.is_success and binding.is_waiting(state, self.now)
        if waits:
            # The real PreBind waits here, for minutes; nothing is undone until it gives up.
            status = awaited.waiting((each.claim for each in state.claims), self.node)
        self.say("PreBind", status, effects=tuple(writes.effects))
        if status.is_success:
            self.end(Outcome.SCHEDULABLE, fiterror.assigned(self.pod, self.node))
        elif waits:
            self.end(Outcome.WAITING, binding.waiting_for_conditions(self.node))
        else:
            undone = self._writes(state)
            binding.unreserve(state, undone)
            self.say("Unreserve", SUCCESS, effects=tuple(undone.effects))
            self.end(Outcome.ERROR, fiterror.plugin_error("PreBind", PLUGIN, status.message))
