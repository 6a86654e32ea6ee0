"""The verdict on one pod: what each extension point of the scheduler says, in order, and what follows from it.

Both generations of DRA produce this shape; store, pages, REST and command line read nothing else. Node sets are
stored content-addressed: a verdict carries digests and counts, an Evaluation carries the sets themselves.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from dradash.scheduling.effects import Effect
from dradash.scheduling.status import Code


class Outcome(enum.StrEnum):
    """The verdict in one word; the order is the order of a pod's life."""

    ERROR = "Error"  # judging raised, or a point of the framework answered Error
    GATED = "Gated"  # scheduling gates: not modelled further
    BLOCKED = "Blocked"  # PreEnqueue refuses: the pod is not even in the scheduler's queue, and there is no event
    UNSCHEDULABLE = "Unschedulable"  # no node passes, or PreFilter refuses
    WAITING = "Waiting"  # scheduler and drivers negotiate
    SCHEDULABLE = "Schedulable"  # the next attempt binds the pod
    BOUND = "Bound"  # has a node
    UNKNOWN = "Unknown"  # what the verdict depends on is not served, forbidden or not read yet
    TERMINATING = "Terminating"  # being deleted or finished before it had a node: the scheduler leaves it alone


class StepState(enum.StrEnum):
    RAN = "Ran"
    NOT_REACHED = "NotReached"
    NOT_IN_VERSION = "NotInVersion"


POINTS: Final = (
    "PreEnqueue",
    "PreFilter",
    "Filter",
    "PostFilter",
    "PreScore",
    "Reserve",
    "PreBind",
    "PostBind",
    "Unreserve",  # follows whichever of the three before it refused
)
STRUCTURED_POINTS: Final = (*POINTS[:5], "Score", *POINTS[5:])


class Base(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class NodeGroup(Base, frozen=True, kw_only=True):
    """Nodes with the same answer at Filter. `nodes` is the digest of the node set."""

    plugin: str
    code: Code
    reason: str = ""  # empty: these nodes passed
    nodes: str
    count: int


class Choice(Base, frozen=True, kw_only=True):
    """A place where upstream chooses at random: what we assumed, and all that it may choose.

    `options` holds names (nodes, claims); `take` of them are chosen. For nodes the options are a node set's digest
    in `nodes` instead, because there may be thousands.
    """

    what: str
    chosen: tuple[str, ...]
    options: tuple[str, ...] = ()
    nodes: str = ""
    count: int = 0
    take: int = 1


class Step(Base, frozen=True, kw_only=True):
    """One extension point. `plugin` is the plugin that decided it (DynamicResources unless another one refused)."""

    point: str
    state: StepState = StepState.RAN
    plugin: str = "DynamicResources"
    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    groups: tuple[NodeGroup, ...] = ()  # Filter only; every node is in exactly one group
    effects: tuple[Effect, ...] = ()
    choices: tuple[Choice, ...] = ()


class ClaimRef(Base, frozen=True, kw_only=True):
    """One entry of pod.spec.resourceClaims and what it resolves to, or the claim for the pod's extended resources.

    state: see scheduling/classic/claimstate.py (ClaimState); "Missing" when there is no claim,
    "Unreadable" when it is malformed.
    """

    name: str  # the pod's name for the claim; "<extended-resources>" is no name that a pod can give
    claim: str = ""  # the ResourceClaim's name; empty when it is not known yet
    template: str = ""
    resource_class: str = ""
    driver: str = ""
    state: str = ""


PERSON: Final = "person"


class ActsNext(Base, frozen=True, kw_only=True):
    """Who must move for this pod to get on.

    who: "scheduler", "driver", "claim controller", "garbage collector", "pod" (another pod must free the claim),
    "admin" or "nobody".
    names: which ones (driver names, pods `namespace/name`, the absent object ...); what: one sentence.
    """

    who: str
    names: tuple[str, ...] = ()
    what: str = ""


class HintNote(Base, frozen=True, kw_only=True):
    """The upstream queueing hint for the change that made us judge again."""

    kind: str
    key: str
    change: str  # ADDED, MODIFIED, DELETED
    hint: str  # Queue or QueueSkip; Queue also where upstream registers the event without a hint function
    revision: int = 0


class Clause(Base, frozen=True, kw_only=True):
    """One clause of the scheduler's sentence beside ours. count 0: the clause carries no count."""

    text: str
    count: int = 0
    ours: int | None = None  # our count for the same text, None when we do not say it
    modelled: bool = True


class Agreement(Base, frozen=True, kw_only=True):
    """What the scheduler itself last said, and whether our verdict says the same.

    agrees is None when nothing can be compared (the scheduler said nothing yet, or only of checks we do not model).
    """

    said: str = ""
    source: str = ""  # "event" or "condition"
    at: str = ""  # RFC 3339
    agrees: bool | None = None
    clauses: tuple[Clause, ...] = ()


class Verdict(Base, frozen=True, kw_only=True):
    pod: str  # namespace/name
    uid: str
    revision: int  # of the model it was judged at
    outcome: Outcome
    sentence: str  # as the scheduler would write it in the FailedScheduling event, or ours where it writes none
    generation: str = "classic"
    steps: tuple[Step, ...] = ()
    claims: tuple[ClaimRef, ...] = ()
    nodes_fit: int = 0  # nodes that pass Filter
    nodes_total: int = 0
    node: str = ""  # the node taken for Reserve, or the one it is bound to
    acts_next: ActsNext = ActsNext(who="nobody")
    # What the scheduler may write instead, where it depends on a choice (see Step.choices).
    alternatives: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()  # what of this pod the verdict leaves out: "scheduler my-scheduler", ...
    agreement: Agreement = Agreement()
    hints: tuple[HintNote, ...] = ()
    # Filled by the judge, who knows time and the verdict before:
    judged_at: float = 0.0  # Unix seconds
    since: float = 0.0  # Unix seconds: the outcome and who must act next are the same since then

    def step(self, point: str) -> Step:
        return next(s for s in self.steps if s.point == point)

    def waits_for(self, who: str) -> bool:
        """Whether this one (as in ActsNext.who) must act next; PERSON: nobody but a person can help."""
        if who != PERSON:
            return self.acts_next.who == who
        return self.acts_next.who in ("admin", "nobody") and self.outcome not in (Outcome.BOUND, Outcome.TERMINATING)

    @property
    def reason_texts(self) -> tuple[str, ...]:
        """Every refusal in it, for filtering; PostFilter's follows from the others and explains nothing."""
        texts = [g.reason for s in self.steps for g in s.groups if g.reason]
        texts += [r for s in self.steps if s.point != "PostFilter" for r in s.reasons]
        return tuple(dict.fromkeys(texts))


class Evaluation(msgspec.Struct, frozen=True):
    """A verdict with the node sets that it names: digest -> bit set over node slots."""

    verdict: Verdict
    node_sets: dict[str, int]
