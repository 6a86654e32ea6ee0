"""The extension points as a pipeline, what the scheduler writes at them, and what it leaves open."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import msgspec
import yaml

from dradash.reader.withheld import without_secrets
from dradash.scheduling.effects import Effect
from dradash.scheduling.evaluate import MIXED
from dradash.scheduling.generation import Generation
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import Choice, Outcome, Step, StepState, Verdict
from dradash.web.presenters import kubectl
from dradash.web.presenters.words import Chip, cut, step_chip

OPTIONS: Final = 24  # names of a choice that are shown
# What a point is for, in one line: the page is read by people who do not know the framework by heart.
PURPOSE: Final = {
    "PreEnqueue": "May the pod enter the queue?",
    "PreFilter": "Can the pod be scheduled at all?",
    "Filter": "Which nodes fit?",
    "PostFilter": "No node fits: can something be freed?",
    "PreScore": "Which nodes are proposed to the drivers?",
    "Reserve": "Take a node, or wait for the drivers",
    "Unreserve": "Give back what was taken",
    "PreBind": "Reserve the claims for the pod",
    "PostBind": "Clean up after binding",
}
STRUCTURED_PURPOSE: Final = PURPOSE | {
    "PreScore": "Prepare the scores",
    "Score": "Which of the nodes that fit is best?",
    "Reserve": "Take a node, and devices on it",
    "PreBind": "Allocate the claims and reserve them for the pod",
}


class ChoiceView(msgspec.Struct, frozen=True):
    what: str
    chosen: tuple[str, ...]
    options: tuple[str, ...]
    unlisted: int
    count: int
    take: int
    nodes: bool  # it is made among the nodes that passed Filter


class StepView(msgspec.Struct, frozen=True):
    point: str
    purpose: str
    chip: Chip
    plugin: str
    reasons: tuple[str, ...]
    writes: int
    choices: tuple[ChoiceView, ...]
    reached: bool
    decided: bool  # the point that the attempt ends at


class EffectView(msgspec.Struct, frozen=True):
    point: str
    verb: str
    resource: str
    key: str
    detail: str  # subresource, patch type, field manager
    yaml: str  # "" where there is no body
    command: str


UNTOLD: Final = {
    Outcome.BOUND: "The pod has a node: the scheduler is done with it. How it came there is in the history.",
    Outcome.TERMINATING: "The scheduler leaves this pod alone, so no attempt is made.",
    Outcome.UNKNOWN: "Nothing can be said before the kinds that the verdict depends on are known.",
    Outcome.ERROR: "The pod could not be judged, so no attempt is told.",
}


MIXED_UNTOLD: Final = (
    "No attempt is told: claims of v1alpha2 and claims of later versions need different schedulers, "
    "and this pod has both."
)
UNREAD: Final = "No attempt is told: an object that it rests on cannot be read."
UNSAID: Final = "Nothing yet. A pod that PreEnqueue refuses gets neither an event nor a condition."


def untold(verdict: Verdict | None, *, gone: bool) -> str:
    """Why there are no steps to tell; "" when there are some."""
    if verdict is None:
        return "The pod is gone; its last verdicts are in the history." if gone else "Not judged yet."
    if verdict.steps:
        return ""
    if is_mixed(verdict):
        return MIXED_UNTOLD
    # Nothing is known of the pod's generation while kinds are unknown.
    if verdict.outcome is Outcome.UNKNOWN and verdict.generation:
        return UNREAD
    return UNTOLD.get(verdict.outcome, "No attempt is told.")


def is_mixed(verdict: Verdict | None) -> bool:
    """Whether it is not judged because its claims are of both generations."""
    return verdict is not None and verdict.outcome is Outcome.UNKNOWN and verdict.sentence == MIXED


def unsaid(verdict: Verdict | None) -> str:
    """Why the scheduler says nothing of a pod; "" where it would say something, or no attempt is told."""
    if verdict is None or not verdict.steps:
        return ""
    decides = _deciding(verdict.steps)
    return UNSAID if decides is not None and decides.point == "PreEnqueue" else ""


def present(verdict: Verdict | None) -> tuple[StepView, ...]:
    if verdict is None:
        return ()
    last = _deciding(verdict.steps)
    purpose = STRUCTURED_PURPOSE if verdict.generation == Generation.STRUCTURED else PURPOSE
    return tuple(_step(s, purpose.get(s.point, ""), decided=s is last) for s in verdict.steps)


def _deciding(steps: tuple[Step, ...]) -> Step | None:
    """The first point that does not let the pod pass; PostFilter only answers to Filter's refusal."""
    refusing = (s for s in steps if s.state is StepState.RAN and s.code not in (Code.SUCCESS, Code.SKIP))
    return next(refusing, None)


def _step(step: Step, purpose: str, *, decided: bool) -> StepView:
    return StepView(
        point=step.point,
        purpose=purpose,
        chip=step_chip(step),
        plugin=step.plugin,
        reasons=tuple(cut(r) for r in step.reasons),
        writes=len(step.effects),
        choices=tuple(_choice(c) for c in step.choices),
        reached=step.state is StepState.RAN,
        decided=decided,
    )


def _choice(choice: Choice) -> ChoiceView:
    shown = choice.options[:OPTIONS]
    count = choice.count or len(choice.options)
    return ChoiceView(
        choice.what, choice.chosen, shown, max(0, count - len(shown)), count, choice.take, bool(choice.nodes)
    )


def effects(verdict: Verdict | None) -> tuple[EffectView, ...]:
    """In the order in which the scheduler writes them."""
    if verdict is None:
        return ()
    return tuple(_effect(s.point, e) for s in verdict.steps for e in s.effects)


def _effect(point: str, effect: Effect) -> EffectView:
    details = [
        f"subresource {effect.subresource}" if effect.subresource else "",
        effect.patch_type,
        f"field manager {effect.field_manager}" if effect.field_manager else "",
        "force" if effect.force else "",
    ]
    return EffectView(
        point=point,
        verb=effect.verb,
        resource=effect.resource,
        key=f"{effect.namespace}/{effect.name}" if effect.namespace else effect.name,
        detail=", ".join(d for d in details if d),
        yaml=as_yaml(effect.body) if effect.body else "",
        command=kubectl.get(effect.resource, effect.namespace, effect.name),
    )


LEAVES: Final = 1500  # values of an object that are shown: more cost seconds to write, and megabytes
LEAF: Final = 40  # characters of a value; a longer one counts as several
ENTRIES: Final = 200  # of one map or list


def as_yaml(value: dict[str, Any]) -> str:
    """The object as YAML; of one that is too large the beginning of each part, with a note of what is left out."""
    pruning = _Pruning()
    text = yaml.safe_dump(pruning.pruned(value), sort_keys=False, allow_unicode=True, width=100)
    note = "# Not all of it is shown here: where “…” stands, more follows. kubectl shows the whole object.\n"
    return note + text if pruning.left_out else text


@lru_cache(maxsize=32)
def raw_as_yaml(raw: bytes) -> str:
    """The object's JSON as YAML. Remembered: writing it takes longer than all else, and its page is made often."""
    return as_yaml(without_secrets(msgspec.json.decode(raw)))


class _Pruning:
    def __init__(self) -> None:
        self.left_out = False
        self._budget = LEAVES  # values that may still be shown

    def pruned(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._map(value)
        if isinstance(value, (list, tuple)):
            items: list[Any] = []
            for item in value:
                if self._is_full(len(items)):
                    return [*items, f"… {len(value) - len(items):,} more"]
                items.append(self.pruned(item))
            return items
        if not isinstance(value, str):
            self._budget -= 1
            return value
        shown = cut(value)
        self.left_out |= shown != value
        self._budget -= 1 + len(shown) // LEAF
        return shown

    def _map(self, value: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, item in value.items():
            if self._is_full(len(kept)):
                return kept | {"…": f"{len(value) - len(kept):,} more"}
            self._budget -= len(key) // LEAF
            kept[key] = self.pruned(item)
        return kept

    def _is_full(self, entries: int) -> bool:
        full = entries >= ENTRIES or self._budget <= 0
        self.left_out |= full
        return full
