"""The course of one scheduling attempt, told step by step: what the attempts of both generations have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from dradash.kinds.pod import Pod
from dradash.scheduling import fiterror, nodeset
from dradash.scheduling.choice import Seed
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.effects import Effect
from dradash.scheduling.status import Code, Status
from dradash.scheduling.verdict import Choice, NodeGroup, Outcome, Step, StepState

PLUGIN = "DynamicResources"


@dataclass
class Course:
    """`outcome` and `sentence` are set when it ended."""

    pod: Pod
    cluster: Cluster
    seed: Seed
    steps: dict[str, Step] = field(default_factory=dict)
    node_sets: dict[str, int] = field(default_factory=dict)
    outcome: Outcome = Outcome.ERROR
    sentence: str = ""
    alternatives: tuple[str, ...] = ()
    feasible: int = 0
    node: str = ""

    def told(self, points: tuple[str, ...], missing: tuple[str, ...] = ()) -> tuple[Step, ...]:
        """A step for each point; those in `missing` are not in this version."""
        states = {p: StepState.NOT_IN_VERSION if p in missing else StepState.NOT_REACHED for p in points}
        return tuple(self.steps.get(p) or Step(point=p, state=state) for p, state in states.items())

    def stopped_by_gates(self) -> bool:
        """SchedulingGates is the first of the default plugins: while it refuses, no other PreEnqueue is asked."""
        if not self.pod.spec.scheduling_gates:
            return False
        gated = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (fiterror.GATED,))
        self.say("PreEnqueue", gated, plugin="SchedulingGates")
        self.end(Outcome.GATED, fiterror.GATED)
        return True

    def end(self, outcome: Outcome, sentence: str) -> None:
        self.outcome, self.sentence = outcome, sentence

    def say(
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

    def group(self, name: str, status: Status, out: int) -> NodeGroup:
        digest = nodeset.digest(out)
        self.node_sets[digest] = out
        return NodeGroup(plugin=name, code=status.code, reason=status.message, nodes=digest, count=out.bit_count())

    def node_choice(self, what: str, chosen: tuple[str, ...]) -> Choice:
        passed = self.steps["Filter"].groups[-1]
        shown = chosen if len(chosen) == 1 else ()
        return Choice(what=what, chosen=shown, nodes=passed.nodes, count=passed.count, take=len(chosen))


def summary(groups: list[tuple[Status, int]]) -> Status:
    """Filter's own status when no node passed: the step shows the groups, so it carries no reasons of its own."""
    return Status(next((s.code for s, out in groups if out), Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
