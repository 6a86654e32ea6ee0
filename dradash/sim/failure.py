"""How an attempt of the simulated scheduler failed, as its queue needs to know it."""

from __future__ import annotations

from typing import Final

import msgspec

from dradash.scheduling.status import Code
from dradash.scheduling.verdict import Outcome, Verdict

PLUGIN: Final = "DynamicResources"


class Failure(msgspec.Struct, frozen=True):
    """How an attempt failed. reason: of the PodScheduled condition; plugins: who has to change their mind.

    is_wait: the real scheduler would still be waiting in PreBind, and say nothing.
    """

    message: str
    reason: str = "Unschedulable"
    unschedulable: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    is_wait: bool = False


def refusal(verdict: Verdict, trouble: str = "") -> Failure:
    """The failed attempt as the queue needs it: which plugins refused (Diagnosis of the FitError)."""
    message = verdict.sentence + trouble
    if verdict.outcome is Outcome.ERROR:
        return Failure(message, reason="SchedulerError")
    reserve, pre_filter, filtered = verdict.step("Reserve"), verdict.step("PreFilter"), verdict.step("Filter")
    if reserve.code is Code.PENDING:
        return Failure(message, pending=frozenset((PLUGIN,)))
    if verdict.outcome is not Outcome.UNSCHEDULABLE:
        return Failure(message)  # PreBind refused: that is no FitError, so upstream remembers no plugin
    if pre_filter.code not in (Code.SUCCESS, Code.SKIP):
        return Failure(message, unschedulable=frozenset((pre_filter.plugin,)))
    return Failure(message, unschedulable=frozenset(g.plugin for g in filtered.groups if g.code is not Code.SUCCESS))
