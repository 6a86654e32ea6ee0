"""One scheduling attempt of the default scheduler on a pod with v1alpha2 claims, told step by step.

Runs what kube-scheduler runs, as far as it is modelled: NodeAffinity's and DynamicResources' PreFilter, the node checks
and DynamicResources at Filter, and DynamicResources at every later point.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE
from dradash.scheduling import fiterror, nodechecks, nodeset
from dradash.scheduling.classic import plugin
from dradash.scheduling.classic.choice import Seed
from dradash.scheduling.classic.claims import Lookup, pod_claims
from dradash.scheduling.classic.cycle import CycleState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.effects import Effect
from dradash.scheduling.status import SKIP, SUCCESS, Code, Status, error
from dradash.scheduling.verdict import POINTS, Choice, NodeGroup, Outcome, Step, StepState

PLUGIN = "DynamicResources"
NOT_LOOKED_UP = Lookup(())


@dataclass
class Attempt:
    """The attempt's course. `outcome` and `sentence` are set when it ended."""

    pod: Pod
    cluster: Cluster
    seed: Seed
    # A dashboard shows what happens if the node selected before is taken again; the real scheduler goes by score.
    keep_selected: bool = True
    steps: dict[str, Step] = field(default_factory=dict)
    node_sets: dict[str, int] = field(default_factory=dict)
    lookup: Lookup = NOT_LOOKED_UP
    state: CycleState | None = None
    outcome: Outcome = Outcome.ERROR
    sentence: str = ""
    alternatives: tuple[str, ...] = ()
    feasible: int = 0
    node: str = ""

    def run(self) -> Attempt:
        self._pre_enqueue()
        return self

    def all_steps(self) -> tuple[Step, ...]:
        return tuple(self.steps.get(p) or Step(point=p, state=StepState.NOT_REACHED) for p in POINTS)

    def _end(self, outcome: Outcome, sentence: str) -> None:
        self.outcome, self.sentence = outcome, sentence

    def _say(
        self,
        point: str,
        status: Status,
        *,
        plugin: str = PLUGIN,
        effects: tuple[Effect, ...] = (),
        choices: tuple[Choice, ...] = (),
        groups: tuple[NodeGroup, ...] = (),
    ) -> None:
        self.steps[point] = Step(
            point=point,
            plugin=plugin,
            code=status.code,
            reasons=status.reasons,
            effects=effects,
            choices=choices,
            groups=groups,
        )

    # --- the points, in order --------------------------------------------------------------------------------------

    def _pre_enqueue(self) -> None:
        self.lookup = pod_claims(self.pod, self.cluster)
        status = plugin.pre_enqueue(self.lookup)
        self._say("PreEnqueue", status)
        if not status.is_success:
            self._end(Outcome.BLOCKED, status.message)
        elif self.pod.spec.scheduling_gates:
            self._say(
                "PreEnqueue", Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (fiterror.GATED,)), plugin="SchedulingGates"
            )
            self._end(Outcome.GATED, fiterror.GATED)
        elif not self.cluster.nodes.all:
            self._end(Outcome.UNSCHEDULABLE, fiterror.NO_NODES)
        else:
            self._pre_filter()

    def _pre_filter(self) -> None:
        status, shown = nodechecks.pre_filter(self.pod, self.cluster.nodes)
        if not status.is_success:
            # DynamicResources' PreFilter never ran: its PostFilter then finds no state, and says just that.
            self._say("PreFilter", status, plugin="NodeAffinity")
            self._refuse_all(status, error("not found"))
            return
        self.state, status = plugin.pre_filter(self.pod, self.cluster, self.lookup)
        self._say("PreFilter", status)
        if status.is_success or status is SKIP:
            self._filter(shown)
        elif status.is_rejected:
            self._refuse_all(status, plugin.NOTHING_TO_DEALLOCATE)
        else:
            self._end(Outcome.ERROR, fiterror.plugin_error("PreFilter", PLUGIN, status.message))

    def _refuse_all(self, status: Status, post_filter: Status) -> None:
        self._say("PostFilter", post_filter)
        count = len(self.cluster.nodes)
        more = fiterror.post_filter_message(self.pod, count, post_filter)
        self._end(Outcome.UNSCHEDULABLE, fiterror.pre_filter_error(count, status.message, post_filter=more))

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
        told = tuple(self._group(name, status, out) for name, status, out in groups if out)
        self._say("Filter", broken[0] if broken else SUCCESS if self.feasible else _summary(own), groups=told)
        if broken:
            self._end(Outcome.ERROR, fiterror.filter_error(PLUGIN, broken[0].message))
        elif self.feasible:
            self._score(state)
        else:
            self._post_filter(state, told)

    def _known_state(self) -> CycleState:
        if self.state is None:
            raise AssertionError("PreFilter ran before")
        return self.state

    def _group(self, name: str, status: Status, out: int) -> NodeGroup:
        digest = nodeset.digest(out)
        self.node_sets[digest] = out
        return NodeGroup(plugin=name, code=status.code, reason=status.message, nodes=digest, count=out.bit_count())

    def _post_filter(self, state: CycleState, groups: tuple[NodeGroup, ...]) -> None:
        options = plugin.deallocatable(state, self.seed)
        status, effects = plugin.post_filter(state, self.cluster, self.seed)
        choices: tuple[Choice, ...] = ()
        if len(options) > 1:
            names = tuple(sorted(state.claims[i].name for i in options))
            choices = (Choice(what="claim to deallocate", chosen=(state.claims[options[0]].name,), options=names),)
        self._say("PostFilter", status, effects=effects, choices=choices)
        count = len(self.cluster.nodes)
        more = fiterror.post_filter_message(self.pod, count, status)
        self._end(
            Outcome.UNSCHEDULABLE, fiterror.fit_error(count, ((g.reason, g.count) for g in groups), post_filter=more)
        )

    def _score(self, state: CycleState) -> None:
        nodes, count = self.cluster.nodes, self.feasible.bit_count()
        if count > 1:
            status = plugin.pre_score(state, nodes, self.feasible, self.seed)
            choices: tuple[Choice, ...] = ()
            if count > NODE_LIST_MAX_SIZE and state.potential_nodes is not None:
                choices = (self._node_choice("potential nodes", state.potential_nodes),)
            self._say("PreScore", status, choices=choices)
        self.alternatives = self._possible_sentences(state)
        self.node = self._pick(state)
        choices = (self._node_choice("node with the best score", (self.node,)),) if count > 1 else ()
        self._bind(state, choices)
        self.alternatives = tuple(s for s in self.alternatives if s != self.sentence)

    def _node_choice(self, what: str, chosen: tuple[str, ...]) -> Choice:
        passed = self.steps["Filter"].groups[-1]
        shown = chosen if len(chosen) == 1 else ()
        return Choice(what=what, chosen=shown, nodes=passed.nodes, count=passed.count, take=len(chosen))

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
        self._say("Reserve", status, choices=choices)
        if not status.is_success:
            self._say("Unreserve", SUCCESS, effects=plugin.unreserve(state, self.cluster))
            self._end(Outcome.WAITING, _waiting_sentence(status))
            return
        status, effects = plugin.pre_bind(state, self.cluster)
        self._say("PreBind", status, effects=effects)
        if not status.is_success:
            self._say("Unreserve", SUCCESS, effects=plugin.unreserve(state, self.cluster))
            self._end(Outcome.WAITING, status.message)
            return
        self._say("PostBind", SUCCESS, effects=plugin.post_bind(state))
        self._end(Outcome.SCHEDULABLE, fiterror.assigned(self.pod, self.node))


def _summary(groups: list[tuple[Status, int]]) -> Status:
    """Filter's own status when no node passed: the step shows the groups, so it carries no reasons of its own."""
    return Status(next((s.code for s, out in groups if out), Code.UNSCHEDULABLE_AND_UNRESOLVABLE))


def _waiting_sentence(reserve: Status) -> str:
    if reserve.is_success:
        return plugin.WAIT_FOR_DRIVER.message
    # A refusal at Reserve is reported as a FitError about the one node that was taken.
    return fiterror.fit_error(1, [(reserve.message, 1)])
