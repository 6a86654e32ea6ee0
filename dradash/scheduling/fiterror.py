"""The sentences of a failed attempt, as kube-scheduler 1.30 writes them into event and condition.

Ports framework.FitError.Error, the texts of schedulePod's errors and DefaultPreemption's message for refusals that
preemption cannot help (all that we model).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dradash.kinds.pod import Pod
from dradash.scheduling.status import Status

NO_NODES: Final = "no nodes available to schedule pods"  # ErrNoNodesAvailable
PREEMPTION_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


def fit_error(all_nodes: int, reasons: Iterable[tuple[str, int]], *, post_filter: str = "") -> str:
    """After Filter: reasons with their number of nodes; equal reasons are added up, the texts sorted as strings."""
    counts: dict[str, int] = {}
    for reason, count in reasons:
        counts[reason] = counts.get(reason, 0) + count
    clauses = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items() if count))
    message = f"0/{all_nodes} nodes are available:" + (f" {clauses}." if clauses else "")
    return f"{message} {post_filter}" if post_filter else message


def pre_filter_error(all_nodes: int, message: str, *, post_filter: str = "") -> str:
    """After a PreFilter plugin refused: its message stands for all nodes and carries no count."""
    text = f"0/{all_nodes} nodes are available: {message}."
    return f"{text} {post_filter}" if post_filter else text


def post_filter_message(pod: Pod, all_nodes: int, status: Status) -> str:
    """What the PostFilter plugins add: DynamicResources, then DefaultPreemption unless the first one succeeded."""
    if status.is_success:
        return ""
    if not status.is_rejected:
        return status.message
    return ", ".join((*status.reasons, f"preemption: {_preemption(pod, all_nodes)}"))


def _preemption(pod: Pod, all_nodes: int) -> str:
    if pod.spec.preemption_policy == "Never":
        return "not eligible due to preemptionPolicy=Never."
    return fit_error(all_nodes, [(PREEMPTION_NOT_HELPFUL, all_nodes)])


def filter_error(plugin: str, message: str) -> str:
    return f'running "{plugin}" filter plugin: {message}'


def plugin_error(point: str, plugin: str, message: str) -> str:
    return f'running {point} plugin "{plugin}": {message}'


def assigned(pod: Pod, node: str) -> str:
    """The Scheduled event's message."""
    return f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
