"""The simulated kube-scheduler: its queue, our port of its plugin, and its writes, events and conditions.

An attempt is what dradash.scheduling.evaluate says of the pod, carried out. So what the dashboard shows is also what
happens here, and a difference between the two is a bug that Replay finds.
"""

from __future__ import annotations

import contextlib
import logging
from typing import Any, ClassVar, Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.scheduling import fiterror
from dradash.scheduling.classic.claims import pod_claims
from dradash.scheduling.classic.plugin import STRATEGIC_MERGE_PATCH
from dradash.scheduling.classic.publish import CONTEXTS, apply_instead
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.dependencies import changed_labels, hint_for
from dradash.scheduling.effects import Effect
from dradash.scheduling.evaluate import DEFAULT_SCHEDULER, evaluate
from dradash.scheduling.generation import Generation, generations_of
from dradash.scheduling.structured import claims as structured_claims
from dradash.scheduling.structured.listers import Claims
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import FINISH_TIME, SeriesRecorder, reference
from dradash.sim.failure import PLUGIN, Failure, refusal
from dradash.sim.performing import CLAIMS, MANAGER, Writes, perform
from dradash.sim.schedulingqueue import FLUSH_INTERVAL, QueuedPod, SchedulingQueue, Strategy

log = logging.getLogger(__name__)

# Which changes of a node may help a pod that the plugin refused: EventsToRegister of the node checks.
NODE_EVENTS: Final[dict[str, frozenset[str]]] = {
    "NodeUnschedulable": frozenset(("add", "taints")),
    "NodeName": frozenset(("add",)),
    "TaintToleration": frozenset(("add", "taints")),
    "NodeAffinity": frozenset(("add", "labels")),
}


class Scheduler(Actor):
    """`hints`: queueing hints decide (the SchedulerQueueingHints gate); without, every event wakes every pod."""

    kinds: ClassVar[tuple[str, ...]] = (
        "nodes",
        "pods",
        "resourceclaims",
        "resourceclasses",
        "podschedulingcontexts",
        "deviceclasses",
        "resourceslices",
        "devicetaintrules",
    )

    def __init__(self, server: APIServer, clock: Clock, *, hints: bool = True, instance: str = "sim") -> None:
        super().__init__(server, clock)
        self._hints = hints
        self._cluster = Cluster()
        self._queue = SchedulingQueue(self._admits)
        self._events = SeriesRecorder(server, clock, DEFAULT_SCHEDULER, f"{DEFAULT_SCHEDULER}-{instance}")

    def on_start(self) -> None:
        self.later("flush", FLUSH_INTERVAL, self._flush)
        self.later("finish", FINISH_TIME, self._finish_series)

    def _flush(self) -> None:
        self._queue.flush(self.clock.seconds())
        self.later("flush", FLUSH_INTERVAL, self._flush)

    def _finish_series(self) -> None:
        self._events.finish()
        self.later("finish", FINISH_TIME, self._finish_series)

    # --- events -> queue -------------------------------------------------------------------------------------------

    def on_change(self, change: Change) -> None:
        kind, key = change.kind, change.key
        if change.type == "DELETED":
            old, new = self._cluster.remove(kind, key), None
        else:
            old, new = self._cluster.put(kind, key, change.raw)
        if kind == "pods":
            self._pod_changed(key, old, new)
        elif new is not None or kind == "devicetaintrules":  # no plugin registers for deletions; this changes slices
            self._move(change, old, new)

    def _pod_changed(self, key: str, old: Pod | None, new: Pod | None) -> None:
        queued = self._queue.find(key)
        if queued is not None and (new is None or new.uid != queued.uid or not _is_ours(new)):
            self._queue.delete(key)
            queued = None
        if new is None or not _is_ours(new):
            return
        now = self.clock.seconds()
        if queued is None:
            self._queue.add(QueuedPod(key, new.uid, new.spec.priority or 0), now)
        elif old is not None and _is_updated(old, new):
            self._queue.move([queued], lambda _: Strategy.AFTER_BACKOFF, now)
        if new.spec.scheduling_gates and new.status.condition("PodScheduled") is None:
            # On a real cluster the API server does this when the pod is created.
            self._set_condition(new, fiterror.GATED, "SchedulingGated")

    def _move(self, change: Change, old: Any, new: Any) -> None:
        self._queue.move(
            self._waiting(change, old), lambda pod: self._worth_requeuing(pod, change, old, new), self.clock.seconds()
        )

    def _waiting(self, change: Change, old: Any) -> list[QueuedPod]:
        """The waiting pods that the change can concern: the hints on claims and contexts skip all others."""
        waiting = self._queue.unschedulable
        if not self._hints:
            return list(waiting.values())
        if isinstance(old, deviceclaim.ResourceClaim) and old.status.allocation is not None:
            return list(waiting.values())  # its devices may have become free
        if change.kind == "resourceclaims":
            keys = self._cluster.pods_by_claim.members(change.key)
        elif change.kind == CONTEXTS:
            keys = frozenset((change.key,))
        else:
            return list(waiting.values())
        return [waiting[key] for key in sorted(keys) if key in waiting]

    def _worth_requeuing(self, queued: QueuedPod, change: Change, old: Any, new: Any) -> Strategy:
        """isPodWorthRequeuing."""
        pod = self._cluster.pods[queued.key]
        if not self._hints:
            return Strategy.AFTER_BACKOFF
        rejectors = queued.rejectors or frozenset((PLUGIN,))  # gated: by this plugin's PreEnqueue
        if PLUGIN in rejectors and hint_for(pod, self._cluster, change.kind, change.type, old, new) == "Queue":
            return Strategy.IMMEDIATELY if PLUGIN in queued.pending else Strategy.AFTER_BACKOFF
        if isinstance(new, Node):
            happened = _node_events(old, new)
            if any(NODE_EVENTS.get(name, frozenset()) & happened for name in rejectors):
                return Strategy.AFTER_BACKOFF
        return Strategy.SKIP

    def _admits(self, queued: QueuedPod) -> bool:
        pod = self._cluster.pods[queued.key]
        return not pod.spec.scheduling_gates and not self._lacks_claims(pod)

    def _lacks_claims(self, pod: Pod) -> bool:
        """PreEnqueue."""
        if Generation.STRUCTURED in generations_of(pod, self._cluster):
            return bool(structured_claims.pod_claims(pod, Claims(self._cluster)).error)
        return bool(pod_claims(pod, self._cluster).error)

    # --- attempts --------------------------------------------------------------------------------------------------

    def work(self) -> bool:
        """scheduleOne."""
        self._queue.end_backoffs(self.clock.seconds())
        queued = self._queue.pop()
        if queued is None:
            ends = self._queue.next_backoff()
            if ends is not None:
                self.later("backoff", ends - self.clock.seconds(), lambda: None)
            return False
        pod = self._cluster.pods[queued.key]
        queued.unschedulable = queued.pending = frozenset()
        try:
            failure = self._attempt(pod, f"{pod.uid}/{queued.attempts}")
        except Exception as error:  # a bug in judging one pod: it is retried, the others go on
            log.exception("scheduling %s", pod.key)
            failure = Failure(f"internal error: {error}", reason="SchedulerError")
        if failure is not None:
            queued.unschedulable, queued.pending = failure.unschedulable, failure.pending
            self._queue.put_back(queued, self.clock.seconds())
            if not failure.is_wait:
                self._report(pod, failure)
        return True

    def _attempt(self, pod: Pod, seed: str) -> Failure | None:
        now = self.clock.unix()
        verdict = evaluate(pod, self._cluster, self.server.revision, seed=seed, keep_selected=False, now=now).verdict
        if verdict.outcome is Outcome.SCHEDULABLE:
            return self._bind(pod, verdict)
        if not verdict.steps:
            return Failure(verdict.sentence, reason="SchedulerError")  # it rests on what cannot be read
        writes = Writes(self.server, self.clock.time())
        trouble = ""
        for point in ("PostFilter", "PreBind", "Unreserve"):
            try:
                for effect in verdict.step(point).effects:
                    self._perform(effect, writes, verdict)
            except ApiError as error:
                if point == "PreBind":
                    return Failure(fiterror.plugin_error(point, PLUGIN, error.message), reason="SchedulerError")
                if point == "PostFilter":
                    trouble = f" {error.message}"
                log.debug("%s of %s: %s", point, pod.key, error)  # Unreserve cannot fail: the next attempt publishes
        if verdict.outcome is Outcome.WAITING and verdict.generation == Generation.STRUCTURED:
            about = self._about(pod)
            self._events.record(about, "Normal", "BindingConditionsPending", "Scheduling", verdict.sentence)
            return Failure(verdict.sentence, is_wait=True)
        return refusal(verdict, trouble)

    def _bind(self, pod: Pod, verdict: Verdict) -> Failure | None:
        reserved: list[Effect] = []
        writes = Writes(self.server, self.clock.time())
        try:
            for effect in verdict.step("PreBind").effects:
                self._perform(effect, writes, verdict)
                reserved.append(effect)
        except ApiError as error:
            self._unreserve(pod, reserved, writes)
            return Failure(fiterror.plugin_error("PreBind", PLUGIN, error.message), reason="SchedulerError")
        try:
            self.server.bind(pod.name, pod.namespace, verdict.node, pod.uid)
        except ApiError as error:
            self._unreserve(pod, reserved, writes)
            message = f"binding rejected: {fiterror.plugin_error('Bind', 'DefaultBinder', error.message)}"
            return Failure(message, reason="SchedulerError")
        self._events.record(self._about(pod), "Normal", "Scheduled", "Binding", fiterror.assigned(pod, verdict.node))
        for effect in verdict.step("PostBind").effects:
            with contextlib.suppress(ApiError):  # it is deleted blindly, there may be none
                self._perform(effect, writes, verdict)
        return None

    def _unreserve(self, pod: Pod, reserved: list[Effect], writes: Writes) -> None:
        """Give back what this attempt has reserved."""
        entry = {"$patch": "delete", "uid": pod.uid}
        for effect in reserved:
            if effect.patch_type and effect.resource == CLAIMS:  # with structured parameters a claim is updated
                body = {**effect.body, "status": {"reservedFor": [entry]}}
                with contextlib.suppress(ApiError):
                    perform(self.server, msgspec.structs.replace(effect, body=body))
        for claim in writes.reserved:
            meta = claim["metadata"]
            body = {"metadata": {"uid": meta["uid"]}, "status": {"reservedFor": [entry]}}
            status = Effect("patch", CLAIMS, meta["namespace"], meta["name"], body, "status", STRATEGIC_MERGE_PATCH)
            with contextlib.suppress(ApiError):
                perform(self.server, status)

    def _perform(self, effect: Effect, writes: Writes, verdict: Verdict) -> None:
        """One write as upstream makes it: a context update that conflicts is followed by an apply. Raises ApiError."""
        if verdict.generation == Generation.STRUCTURED:
            writes.perform(effect)
            return
        try:
            perform(self.server, effect)
        except ApiError as error:
            if error.code != 409 or effect.verb != "update" or effect.resource != CONTEXTS:
                raise
            context = self._cluster.contexts.get(f"{effect.namespace}/{effect.name}")
            perform(self.server, apply_instead(effect, context.spec.potential_nodes if context else ()))

    # --- what it says ----------------------------------------------------------------------------------------------

    def _about(self, pod: Pod) -> dict[str, Any]:
        return reference(self._cluster.body("pods", pod.key), "Pod", "v1")

    def _report(self, pod: Pod, failure: Failure) -> None:
        """handleSchedulingFailure: the event, then the condition."""
        self._events.record(self._about(pod), "Warning", "FailedScheduling", "Scheduling", failure.message)
        self._set_condition(pod, failure.message, failure.reason)

    def _set_condition(self, pod: Pod, message: str, reason: str) -> None:
        """podutil.UpdatePodCondition: the transition time is that of the last change of the status."""
        old = pod.status.condition("PodScheduled")
        if old is not None and (old.status, old.reason, old.message) == ("False", reason, message):
            return
        since = old.last_transition_time if old is not None and old.status == "False" else self.clock.time()
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
        body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        with contextlib.suppress(ApiError):  # the pod may be gone
            self.server.patch(
                "pods",
                pod.name,
                body,
                STRATEGIC_MERGE_PATCH,
                pod.namespace,
                subresource="status",
                field_manager=MANAGER,
            )


def _is_ours(pod: Pod) -> bool:
    return pod.is_pending and pod.spec.scheduler_name == DEFAULT_SCHEDULER


def _is_updated(old: Pod, new: Pod) -> bool:
    """isPodUpdated of the queue: a change that may matter; of the status only the claims' names do."""
    return (
        old.spec != new.spec
        or old.status.resource_claim_statuses != new.status.resource_claim_statuses
        or (old.metadata.labels, old.metadata.annotations) != (new.metadata.labels, new.metadata.annotations)
    )


def _node_events(old: Node | None, new: Node) -> frozenset[str]:
    if old is None:
        return frozenset(("add",))
    events = {"labels"} if changed_labels(old, new) else set()
    return frozenset(events | ({"taints"} if old.spec != new.spec else set()))
