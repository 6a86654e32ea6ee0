"""Publishing the PodSchedulingContext: podSchedulingState.init and publish of the plugin, and statusForClaim."""

from __future__ import annotations

from typing import Any, Final

from dradash.kinds.meta import is_controlled_by
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import ClaimSchedulingStatus, PodSchedulingContext
from dradash.scheduling import marshal
from dradash.scheduling.classic.cycle import CycleState
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.effects import Effect

CONTEXTS: Final = "podschedulingcontexts"
API_VERSION: Final = "resource.k8s.io/v1alpha2"
FIELD_MANAGER: Final = "kube-scheduler"
APPLY_PATCH: Final = "application/apply-patch+yaml"


def context_of(pod: Pod, cluster: Cluster) -> tuple[PodSchedulingContext | None, str]:
    """podSchedulingState.init: the pod's context (None when there is none), or an error when it is another pod's."""
    context = cluster.context_of(pod)
    if context is None or is_controlled_by(context.metadata, pod.metadata):
        return context, ""
    return None, (f"PodSchedulingContext object with UID {context.uid} is not owned by Pod {pod.namespace}/{pod.name}")


def status_for_claim(context: PodSchedulingContext | None, pod_claim_name: str) -> ClaimSchedulingStatus | None:
    if context is None:
        return None
    for status in context.status.resource_claims:
        if status.name == pod_claim_name:
            return status
    return None


def publish(state: CycleState, cluster: Cluster, *, conflict: bool = False) -> tuple[Effect, ...]:
    """Create or update the context if something is to be published, and remember that it was.

    conflict: the update is answered 409; it is then followed by a server-side apply of the same fields.
    """
    if not state.is_dirty:
        return ()
    if state.context is None:
        effects: tuple[Effect, ...] = (_create(state),)
    else:
        effects = (_update(state, cluster), _apply(state, state.context)) if conflict else (_update(state, cluster),)
    state.selected_node = state.potential_nodes = None
    return effects


def apply_instead(update: Effect, old_potential_nodes: tuple[str, ...]) -> Effect:
    """The apply that follows when the API server answers an update effect with 409 (for the simulated scheduler).

    An update does not tell whether a field was set by this attempt; the fields it does not carry are the old ones, so
    sending all of its spec means the same, but for an empty selectedNode, which is only sent when it was cleared.
    """
    spec = update.body.get("spec", {})
    body_spec = {
        "selectedNode": spec.get("selectedNode", ""),
        "potentialNodes": spec.get("potentialNodes", list(old_potential_nodes)),
    }
    return _apply_effect(update.namespace, update.name, body_spec)


def _create(state: CycleState) -> Effect:
    pod = state.pod
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    body: dict[str, Any] = {"metadata": {"name": pod.name, "namespace": pod.namespace, "ownerReferences": [owner]}}
    if spec := _changed_spec(state):
        body["spec"] = spec
    return Effect("create", CONTEXTS, pod.namespace, pod.name, body)


def _changed_spec(state: CycleState) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    if state.selected_node:
        spec["selectedNode"] = state.selected_node
    if state.potential_nodes:
        spec["potentialNodes"] = list(state.potential_nodes)
    return spec


def _update(state: CycleState, cluster: Cluster) -> Effect:
    pod = state.pod
    body = cluster.body(CONTEXTS, pod.key)
    spec = dict(body.get("spec") or {})
    if state.selected_node is not None:
        spec["selectedNode"] = state.selected_node
    if state.potential_nodes is not None:
        spec["potentialNodes"] = list(state.potential_nodes)
    body["spec"] = spec
    return Effect("update", CONTEXTS, pod.namespace, pod.name, marshal.scheduling_context(body))


def _apply(state: CycleState, context: PodSchedulingContext) -> Effect:
    spec: dict[str, Any] = {}
    if state.selected_node is not None:
        spec["selectedNode"] = state.selected_node
    # An apply states the whole intent: a list that is left out would be cleared.
    potential = state.potential_nodes if state.potential_nodes is not None else context.spec.potential_nodes
    if potential:
        spec["potentialNodes"] = list(potential)
    return _apply_effect(state.pod.namespace, state.pod.name, spec)


def _apply_effect(namespace: str, name: str, spec: dict[str, Any]) -> Effect:
    body = {
        "apiVersion": API_VERSION,
        "kind": "PodSchedulingContext",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    return Effect(
        "apply", CONTEXTS, namespace, name, body, patch_type=APPLY_PATCH, field_manager=FIELD_MANAGER, force=True
    )
