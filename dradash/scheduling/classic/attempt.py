"""One scheduling attempt of the default scheduler on a pod with v1alpha2 claims, told step by step.

Runs what kube-scheduler runs, as far as it is modelled: NodeAffinity's and DynamicResources' PreFilter, the node checks
and DynamicResources at Filter, and DynamicResources at every later point.
"""

from __future__ import annotations

from dataclasses import dataclass

from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE
from dradash.scheduling import fiterror, nodechecks
from dradash.scheduling.classic import plugin
from dradash.scheduling.classic.claims import Lookup, pod_claims
from dradash.scheduling.classic.cycle import CycleState
from dradash.scheduling.course import PLUGIN, Course, summary
from dradash.scheduling.status import SKIP, SUCCESS, Code, Status, error
from dradash.scheduling.verdict import POINTS, Choice, NodeGroup, Outcome, Step

NOT_LOOKED_UP = Lookup(())


@dataclass
class Attempt(Course):
    # A dashboard shows what happens if the node selected before is taken again; the real scheduler goes by score.
    keep_selected: bool = True
    lookup: Lookup = NOT_LOOKED_UP
    state: CycleState | None = None

    def run(self) -> Attempt:
        if not self.stopped_by_gates():
            self._pre_enqueue()
        return self

    def all_steps(self) -> tuple[Step, ...]:
        return self.told(POINTS)

    # --- the points, in order --------------------------------------------------------------------------------------

    def _pre_enqueue(self) -> None:
        self.lookup = pod_claims(self.pod, self.cluster)
        status = plugin.pre_enqueue(self.lookup)
        self.say("PreEnqueue", status)
        if not status.is_success:
            self.end(Outcome.BLOCKED, status.message)
        elif not self.cluster.nodes.all:
            self.end(Outcome.UNSCHEDULABLE, fiterror.NO_NODES)
        else:
            self._pre_filter()

    def _pre_filter(self) -> None:
        status, shown = nodechecks.pre_filter(self.pod, self.cluster.nodes)
        if not status.is_success:
            # DynamicResources' PreFilter never ran: its PostFilter then finds no state, and says just that.
            self.say("PreFilter", status, plugin="NodeAffinity")
            self._refuse_all(status, error("not found"))
            return
        self.state, status = plugin.pre_filter(self.pod, self.cluster, self.lookup)
        self.say("PreFilter", status)
        if status.is_success or status is SKIP:
            self._filter(shown)
        elif status.is_rejected:
            self._refuse_all(status, plugin.NOTHING_TO_DEALLOCATE)
        else:
            self.end(Outcome.ERROR, fiterror.plugin_error("PreFilter", PLUGIN, status.message))

    def _refuse_all(self, status: Status, post_filter: Status) -> None:
        self.say("PostFilter", post_filter)
        count = len(self.cluster.nodes)
        more = fiterror.post_filter_message(self.pod, count, post_filter)
        self.end(Outcome.UNSCHEDULABLE, fiterror.pre_filter_error(count, status.message, post_filter=more))

    def _filter(self, shown: int) -> None:
        state, nodes = self._known_state(), self.cluster.nodes
        refused, left = nodechecks.check_nodes(self.pod, nodes, shown)
        own = plugin.filter_nodes(state, nodes, left)
        # The default scheduler keeps asking for one node after another in the background: an Error of any ends it.
        broken = [status for status, out in own if status.code is Code.ERROR and out]
        self.feasible = own[-1][1]
        groups = [("NodeAffinity", nodechecks.FILTERED_OUT, nodes.all & ~shown)]
        groups += [(r.plugin, r.status, r.nodes) for r in refused]
        groups += [(PLUGIN, status, out) for status, out in own]
        told = tuple(self.group(name, status, out) for name, status, out in groups if out)
        self.say("Filter", broken[0] if broken else SUCCESS if self.feasible else summary(own), groups=told)
        if broken:
            self.end(Outcome.ERROR, fiterror.filter_error(PLUGIN, broken[0].message))
        elif self.feasible:
            self._score(state)
        else:
            self._post_filter(state, told)

    def _known_state(self) -> CycleState:
        if self.state is None:
            raise AssertionError("PreFilter ran before")
        return self.state

    def _post_filter(self, state: CycleState, groups: tuple[NodeGroup, ...]) -> None:
        options = plugin.deallocatable(state, self.seed)
        status, effects = plugin.post_filter(state, self.cluster, self.seed)
        choices: tuple[Choice, ...] = ()
        if len(options) > 1:
            names = tuple(sorted(state.claims[i].name for i in options))
            choices = (Choice(what="claim to deallocate", chosen=(state.claims[options[0]].name,), options=names),)
        self.say("PostFilter", status, effects=effects, choices=choices)
        count = len(self.cluster.nodes)
        more = fiterror.post_filter_message(self.pod, count, status)
        self.end(
            Outcome.UNSCHEDULABLE, fiterror.fit_error(count, ((g.reason, g.count) for g in groups), post_filter=more)
        )

    def _score(self, state: CycleState) -> None:
        nodes, count = self.cluster.nodes, self.feasible.bit_count()
        if count > 1:
            status = plugin.pre_score(state, nodes, self.feasible, self.seed)
            choices: tuple[Choice, ...] = ()
            if count > NODE_LIST_MAX_SIZE and state.potential_nodes is not None:
                choices = (self.node_choice("potential nodes", state.potential_nodes),)
            self.say("PreScore", status, choices=choices)
        self.alternatives = self._possible_sentences(state)
        self.node = self._pick(state)
        choices = (self.node_choice("node with the best score", (self.node,)),) if count > 1 else ()
        self._bind(state, choices)
        self.alternatives = tuple(s for s in self.alternatives if s != self.sentence)

    def _pick(self, state: CycleState) -> str:
        selected = state.context.spec.selected_node if state.context else ""
        if self.keep_selected and selected and self.cluster.nodes.named((selected,)) & self.feasible:
            return selected
        return self.seed.node(self.cluster.nodes, self.feasible)

    def _possible_sentences(self, state: CycleState) -> tuple[str, ...]:
        """One node of each sort that Reserve tells apart: selected, asked about, any other."""
        if all(c.status.allocation is not None for c in state.claims) or state.context is None:
            return ()
        nodes, spec = self.cluster.nodes, state.context.spec
        selected = nodes.named((spec.selected_node,))
        asked = nodes.named(spec.potential_nodes) & ~selected
        sorts = (self.feasible & selected, self.feasible & asked, self.feasible & ~selected & ~asked)
        statuses = [plugin.decide(state, self.seed.node(nodes, sort)).status for sort in sorts if sort]
        return tuple(dict.fromkeys(_waiting_sentence(status) for status in statuses))

    def _bind(self, state: CycleState, choices: tuple[Choice, ...]) -> None:
        status = plugin.reserve(state, self.node)
        self.say("Reserve", status, choices=choices)
        if not status.is_success:
            self.say("Unreserve", SUCCESS, effects=plugin.unreserve(state, self.cluster))
            self.end(Outcome.WAITING, _waiting_sentence(status))
            return
        status, effects = plugin.pre_bind(state, self.cluster)
        self.say("PreBind", status, effects=effects)
        if not status.is_success:
            self.say("Unreserve", SUCCESS, effects=plugin.unreserve(state, self.cluster))
            self.end(Outcome.WAITING, status.message)
            return
        self.say("PostBind", SUCCESS, effects=plugin.post_bind(state))
        self.end(Outcome.SCHEDULABLE, fiterror.assigned(self.pod, self.node))


def _waiting_sentence(reserve: Status) -> str:
    if reserve.is_success:
        return plugin.WAIT_FOR_DRIVER.message
    # A refusal at Reserve is reported as a FitError about the one node that was taken.
    return fiterror.fit_error(1, [(reserve.message, 1)])
