"""Every code that a page, an answer of the API, a metric or the command line can show, with its meaning and remedy.

docs/reasons.md and /api/v1/reasons are made from ALL. A code is unique within its kind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import msgspec

from dradash.scheduling import states
from dradash.scheduling.classic.invariants import InvariantCode
from dradash.scheduling.doctor.negotiations import CODES as FINDING_OF
from dradash.scheduling.doctor.rules import RULES
from dradash.scheduling.reasons import REASONS


class Code(msgspec.Struct, frozen=True):
    """kind: of KINDS. source: who writes it. example: such a text, "" where the code stands alone."""

    kind: str
    code: str
    source: str
    example: str
    meaning: str
    remedy: str


# kind -> where it is shown
KINDS: Final = {
    "reason": "the message of a verdict: `reasonCodes` of pods, `code` of a reason, label `reason` of metrics, filter "
    "`reason=`",
    "rule": "a broken rule of a negotiation: `broken` of negotiations",
    "finding": "what the doctor finds ([doctor.md](doctor.md)): `code` of findings, label `code` of metrics, `code=`",
    "status": "how an extension point of the scheduler answers: `code` of a step and of a group of nodes",
    "outcome": "the verdict in one word: `outcome` of pods, label `outcome` of metrics",
    "step": "whether an extension point was asked: `state` of a step",
    "actor": "who must act next: `actsNext.who`, label `acts_next` of metrics",
    "claim": "the state of a claim: `state` of claims, label `state` of metrics",
    "negotiation": "the state of a negotiation: `state` of negotiations",
    "turn": "one move of a negotiation or in the life of a claim: `kind` of a turn",
    "deviceStage": "a stage of the funnel of devices: `stage` of a pod's devices; the remedy is for when none is left",
    "deviceHint": "what would make the devices suffice: `kind` of a pod's `hints` about devices",
    "taintFate": "what a taint on devices would do: `fate` of claims and pods",
    "queueingHint": "whether a change is worth another attempt: `hint` of a verdict",
    "watch": "how a kind is watched: `state` of health, label `state` of `dradash_informer_state`",
}

_EXAMPLES: Final = {
    InvariantCode.SELECTED_NOT_POTENTIAL: "The selected node node-1 is not among the potential nodes.",
    InvariantCode.SELECTED_UNSUITABLE: "The selected node node-1 is unsuitable for claim gpu.",
    InvariantCode.NOTHING_LEFT: "gpu.example.com finds all 12 proposed nodes unsuitable for claim gpu.",
    InvariantCode.LIST_CUT: "potentialNodes is cut at 128 nodes: if more of them fit, drivers were asked about a "
    "random part of them only.",
    InvariantCode.FOREIGN_OWNER: "The PodSchedulingContext belongs to Pod train (1f3c), not to this pod (2a4d): the "
    "scheduler does not use it.",
    InvariantCode.FLAPPING: "Node node-1 was selected and refused 3 times.",
    InvariantCode.NEVER_ANSWERED: "gpu.example.com never answered for claim gpu.",
}

_STATES: Final[tuple[tuple[str, str, states.Rows], ...]] = (
    ("status", "scheduler", states.STATUSES),
    ("outcome", "dradash", states.OUTCOMES),
    ("step", "dradash", states.STEPS),
    ("actor", "dradash", states.ACTORS),
    ("claim", "dradash", states.CLAIMS),
    ("negotiation", "dradash", states.NEGOTIATIONS),
    ("turn", "dradash", states.TURNS),
    ("deviceStage", "dradash", states.DEVICE_STAGES),
    ("deviceHint", "dradash", states.DEVICE_HINTS),
    ("taintFate", "dradash", states.TAINT_FATES),
    ("queueingHint", "scheduler", states.QUEUEING_HINTS),
    ("watch", "dradash", states.WATCHES),
)


def _listed() -> Iterator[Code]:
    for reason in REASONS.values():
        yield Code("reason", reason.code, reason.source, reason.example, reason.meaning, reason.remedy)
    for code in InvariantCode:
        rule = RULES[FINDING_OF[code][0]]
        yield Code("rule", code, "dradash", _EXAMPLES[code], rule.meaning, rule.remedy)
    for rule in RULES.values():
        yield Code("finding", rule.code, "doctor", rule.title, rule.meaning, rule.remedy)
    for kind, source, rows in _STATES:
        for name, meaning, remedy in rows:
            yield Code(kind, name, source, "", meaning, remedy)


ALL: Final = tuple(_listed())

_HEAD: Final = """\
# Reason codes

Everything that dradash says in a code, by kind: what it means and what to do. Every message that a verdict can carry
has a stable code beside the scheduler's text. A code is never given another meaning. The same list: `/api/v1/reasons`,
one kind of it: `/api/v1/reasons?kind=rule`. The types of errors are in [api.md](api.md).

This page is made by `python -m dradash.scheduling.codes`.
"""


def document() -> str:
    """docs/reasons.md."""
    return _HEAD + "".join(_section(kind, shown) for kind, shown in KINDS.items())


def _section(kind: str, shown: str) -> str:
    listed = [c for c in ALL if c.kind == kind]
    head = f"\n## {kind}\n\n{shown[0].upper()}{shown[1:]}.\n\n"
    if any(c.example for c in listed):
        table = "| code | written by | text, as in | meaning | what to do |\n|---|---|---|---|---|\n"
        return (
            head
            + table
            + "".join(f"| `{c.code}` | {c.source} | {c.example} | {c.meaning} | {c.remedy} |\n" for c in listed)
        )
    table = "| code | meaning | what to do |\n|---|---|---|\n"
    return head + table + "".join(f"| `{c.code}` | {c.meaning} | {c.remedy} |\n" for c in listed)


if __name__ == "__main__":
    sys.stdout.write(document())
