"""The pods that have waited longest, and who must act next for each: what somebody who was paged looks for first."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Final

import msgspec

from dradash.kinds.pod import Pod
from dradash.reader.world import World
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.web.presenters.overview import is_known
from dradash.web.presenters.pods import SETTLED
from dradash.web.presenters.words import Actor, Chip, actor, cut, outcome_chip, pod_href

ROWS: Final = 10  # on the overview


class LongWaiting(msgspec.Struct, frozen=True):
    """created: RFC 3339, since when the pod waits. since: Unix seconds, since when the actor must act."""

    href: str
    namespace: str
    name: str
    chip: Chip
    sentence: str
    actor: Actor | None
    created: str
    since: float


class LongestView(msgspec.Struct, frozen=True):
    """more: pods that have no room. known: False while there may be pods that nobody knows of."""

    pods: tuple[LongWaiting, ...] = ()
    more: int = 0
    known: bool = True


def present(world: World) -> LongestView:
    if not is_known(world.sync.get("pods")):
        return LongestView(known=False)
    waiting = {key: pod for key, pod in world.cluster.pods.items() if pod.is_pending}
    pods, more = longest(waiting, {key: world.verdicts.get(key) for key in waiting}, ROWS)
    return LongestView(pods, more)


def longest(
    waiting: Mapping[str, Pod], verdicts: Mapping[str, Verdict | None], room: int
) -> tuple[tuple[LongWaiting, ...], int]:
    """The oldest pods first, as many as there is room for, and how many more wait.

    Not those that somebody holds back on purpose.
    """
    keys = [k for k, v in verdicts.items() if v is None or v.outcome not in (*SETTLED, Outcome.GATED)]
    # Of a thousand pods a few are shown: the others are neither sorted nor told.
    oldest = heapq.nsmallest(room, keys, key=lambda k: (waiting[k].metadata.creation_timestamp or "", k))
    return tuple(_pod(waiting[k], verdicts[k]) for k in oldest), len(keys) - len(oldest)


def _pod(pod: Pod, verdict: Verdict | None) -> LongWaiting:
    return LongWaiting(
        href=pod_href(pod.key),
        namespace=pod.namespace,
        name=pod.name,
        chip=outcome_chip(verdict.outcome if verdict else None),
        sentence=cut(verdict.sentence) if verdict else "",
        actor=actor(verdict.acts_next) if verdict else None,
        created=pod.metadata.creation_timestamp or "",
        since=verdict.since if verdict else 0.0,
    )
