"""Judging: due pods become verdicts. A pod that cannot be judged gets the verdict Error, and the others go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from dradash.kinds.pod import Pod
from dradash.pipeline.ingest import JUDGED_BY, READ
from dradash.scheduling import nodeset
from dradash.scheduling.agreement import agreement, last_words
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate, failed, malformed, unknown
from dradash.scheduling.generation import generations_of
from dradash.scheduling.verdict import Evaluation, HintNote, Verdict
from dradash.store.figures import Tally
from dradash.store.model import DuePod, Model
from dradash.store.replica import Replica

log = logging.getLogger(__name__)

CATCH_UP: Final = 1.0  # seconds to wait for a change that a due pod names but that has not arrived here


class Evaluate(Protocol):
    def __call__(self, pod: Pod, cluster: Cluster, revision: int, *, now: float) -> Evaluation: ...


class Judge:
    """One for each process and thread: it owns a replica, which is loaded at the first batch."""

    def __init__(self, model: Model, clock: Callable[[], float], evaluate: Evaluate = evaluate) -> None:
        self.model = model
        self._clock = clock
        self._evaluate_pod = evaluate
        self._replica = Replica(model)

    def judge(self, due: Sequence[DuePod]) -> None:
        """Judge these pods at one revision, and store the verdicts. Raises StoreUnavailable.

        A pod whose change has not arrived here yet is judged all the same: it stays due, because its verdict is older
        than what made it due.
        """
        replica = self._replica
        replica.catch_up()
        if any(pod.revision > replica.revision for pod in due):
            replica.catch_up(block=CATCH_UP)
        tally = Tally()
        for pod in due:
            started = time.perf_counter()
            self._judge_one(pod, tally)
            tally.judged(time.perf_counter() - started)
        self.model.add_figures(tally.figures)

    def _judge_one(self, due: DuePod, tally: Tally) -> None:
        now = self._clock()
        before = self._replica.verdicts.get(due.pod)
        try:
            verdict, node_sets = self._verdict(due, now)
        except Exception as fault:
            # One pod's fault, whatever it is, must not keep the others from being judged.
            log.exception("judging %s failed", due.pod)
            tally.failed()
            pod = self._replica.cluster.pods.get(due.pod)
            message = f"{type(fault).__name__}: {str(fault)[:500]}"
            evaluation = failed(due.pod, pod.uid if pod else "", self._replica.revision, message)
            verdict, node_sets = msgspec.structs.replace(evaluation.verdict, judged_at=now, since=now), {}
        sets = {digest: nodeset.to_bytes(nodes) for digest, nodes in node_sets.items()}
        stored = self.model.put_verdict(due.pod, verdict.revision, msgspec.json.encode(verdict), sets, now)
        if stored and (before is None or before.uid != verdict.uid or _gist(before) != _gist(verdict)):
            tally.changed(verdict.outcome)

    def _verdict(self, due: DuePod, now: float) -> tuple[Verdict, dict[str, int]]:
        evaluation = self._evaluate(due.pod)
        before = self._replica.verdicts.get(due.pod)
        if before is not None and before.uid != evaluation.verdict.uid:
            before = None  # another pod of the same name
        return _complete(self._with_agreement(evaluation.verdict, before), before, due, now), evaluation.node_sets

    def _evaluate(self, key: str) -> Evaluation:
        cluster, revision = self._replica.cluster, self._replica.revision
        pod = cluster.pods.get(key)
        if pod is None:
            return malformed(key, revision, cluster.malformed["pods"].get(key, "it is gone"))
        states = self._replica.sync
        kinds = sorted({kind for of in generations_of(pod, cluster) for kind in JUDGED_BY[of]})
        now = {kind: states[kind].state if kind in states else "unknown" for kind in kinds}
        missing = {kind: state for kind, state in now.items() if state not in READ}
        if missing:
            return unknown(key, pod.uid, revision, missing)
        return self._evaluate_pod(pod, cluster, revision, now=self._clock())

    def _with_agreement(self, verdict: Verdict, before: Verdict | None) -> Verdict:
        pod = self._replica.cluster.pods.get(verdict.pod)
        if pod is None or not verdict.steps:
            return verdict
        words = last_words(pod, self._replica.cluster.events_about("Pod", verdict.pod))
        return msgspec.structs.replace(verdict, agreement=agreement(words, verdict, before))


def _complete(verdict: Verdict, before: Verdict | None, due: DuePod, now: float) -> Verdict:
    """What the pure verdict cannot know: time, since when it says the same, and why it was judged again."""
    same = before is not None and _gist(before) == _gist(verdict)
    hints = msgspec.json.decode(due.hints, type=tuple[HintNote, ...])
    return msgspec.structs.replace(
        verdict,
        judged_at=now,
        since=before.since if same and before is not None else now,
        hints=tuple(msgspec.structs.replace(h, revision=due.revision) for h in hints),
    )


def _gist(verdict: Verdict) -> tuple[object, ...]:
    """What `since` is about: who owes the next move. A driver that stays silent while the scheduler selects one node
    after another has been silent all the time, though node and sentence change."""
    return verdict.outcome, verdict.acts_next.who, verdict.acts_next.names
