"""Who must move for a pod with structured parameters to get on: one answer for each way an attempt can end."""

from __future__ import annotations

import re
from typing import Final

from dradash.kinds.deviceclaim import MAX_RESULTS
from dradash.scheduling.structured import plugin
from dradash.scheduling.structured.advised import Hint
from dradash.scheduling.structured.attempt import Attempt
from dradash.scheduling.structured.awaited import set_conditions
from dradash.scheduling.structured.devicereport import Examination
from dradash.scheduling.structured.nearest import FACTS
from dradash.scheduling.unblocking import NOBODY, holders, open_gates, unblock
from dradash.scheduling.verdict import ActsNext, Outcome

INVALID_POOLS: Final = "invalid resource pools were encountered"
SITUATIONS: Final = 4  # of nodes, the nearest to a solution, and trials of the allocator: what a verdict spends
TRIALS: Final = 16

_POOL: Final = re.compile(
    r"resource pool (?P<driver>[^/ ]+)/(?P<pool>\S+) is currently (?P<what>being updated|invalid)"
)
_LIMIT: Final = re.compile(r"claim (?P<claim>\S+): number of requested devices (?P<n>\d+) exceeds the claim limit")
_CLASS: Final = re.compile(r"device class (?P<name>\S+) does not exist")


def acts_next(attempt: Attempt) -> ActsNext:
    match attempt.outcome:
        case Outcome.BLOCKED:
            return unblock(attempt.pod, attempt.cluster)
        case Outcome.GATED:
            return open_gates(attempt.pod)
        case Outcome.SCHEDULABLE:
            return ActsNext(who="scheduler", what=f"allocate and reserve the claims and bind the pod to {attempt.node}")
        case Outcome.WAITING if attempt.state is not None:
            return set_conditions(each.claim for each in attempt.state.claims)
        case Outcome.ERROR:
            return _mend(attempt.sentence)
        case Outcome.UNSCHEDULABLE:
            return _make_fit(attempt)
        case _:
            return NOBODY


def _mend(sentence: str) -> ActsNext:
    if pool := _POOL.search(sentence):
        what = f"publish all slices of the newest generation of pool {pool['pool']}"
        if pool["what"] == "invalid":
            what = f"correct the slices of pool {pool['pool']}"
        return ActsNext(who="driver", names=(pool["driver"],), what=what)
    if over := _LIMIT.search(sentence):
        what = f"ask for fewer devices in claim {over['claim']}: it may have {MAX_RESULTS} at most, not {over['n']}"
        return ActsNext(who="admin", names=(over["claim"],), what=what)
    if "CEL " in sentence:
        return ActsNext(who="admin", what="correct the selector that the message names, or the attributes it reads")
    if "invalid resource pools" in sentence:
        return ActsNext(who="driver", what="correct the slices of the invalid pools")
    return ActsNext(who="admin", what="correct what the message names")


def _make_fit(attempt: Attempt) -> ActsNext:
    if missing := _CLASS.search(attempt.sentence):
        name = missing["name"]
        return ActsNext(who="admin", names=(name,), what=f"create the DeviceClass {name}: it does not exist")
    effects = attempt.steps["PostFilter"].effects if "PostFilter" in attempt.steps else ()
    if effects:
        key = f"{effects[-1].namespace}/{effects[-1].name}"
        return ActsNext(who="scheduler", what=f"deallocate the ResourceClaim {key}, which is in the way")
    state = attempt.state
    if state is not None and state.unavailable:
        taken = [state.claims[i].claim for i in sorted(state.unavailable)]
        users = tuple(dict.fromkeys(pod for claim in taken for pod in holders(claim)))
        what = "finish: it holds the claim on nodes where this pod does not fit"
        return ActsNext(who="pod" if users else "admin", names=users, what=what)
    if not attempt.cluster.nodes.all:
        return ActsNext(who="admin", what="add nodes: the cluster has none")
    reasons = {reason for s in attempt.steps.values() for g in s.groups for reason in [g.reason]}
    if reasons & {plugin.CANNOT_ALLOCATE, INVALID_POOLS}:
        return _change_devices(attempt)
    return ActsNext(who="admin", what="make a node fit (labels, taints), or change the pod")


def _change_devices(attempt: Attempt) -> ActsNext:
    """By the smallest change that helps; only a few situations of nodes are looked at."""
    allocator = attempt.state.allocator if attempt.state is not None else None
    answers = allocator.answers if allocator is not None else None
    hints = Examination(attempt.pod, attempt.cluster, attempt.now, answers).hints(SITUATIONS, TRIALS)
    if not hints:
        return ActsNext(who="admin", what="free, add or change devices, or ask for others: none of the nodes has them")
    return _as_advised(hints[0])


def _as_advised(hint: Hint) -> ActsNext:
    """The first thing that the pod's page advises: who does it."""
    if hint.kind in FACTS and not hint.verified:
        what = f"add devices, or change what is asked for: {hint.sentence}"
        return ActsNext(who="admin", names=hint.names, what=what)
    more = "" if hint.verified else ", which alone is not enough"
    match hint.kind:
        case "pool":
            mend = "correct the slices" if "is invalid" in hint.sentence else "publish all slices"
            return ActsNext(who="driver", names=hint.names, what=f"{mend}: {hint.sentence}{more}")
        case "free" | "together" if hint.pods:
            return ActsNext(who="pod", names=hint.pods, what=f"finish or give devices back: {hint.sentence}{more}")
        case "free":
            what = f"delete the claim, which no pod uses: {hint.sentence}{more}"
            return ActsNext(who="admin", names=hint.claims, what=what)
        case "together":
            return ActsNext(who="admin", names=hint.names, what=f"see to all of this: {hint.sentence}")
        case "tolerate":
            return ActsNext(who="admin", names=hint.names, what=f"remove the taint, or {hint.sentence}{more}")
        case _:
            return ActsNext(who="admin", names=hint.names, what=f"change what is asked for: {hint.sentence}{more}")
