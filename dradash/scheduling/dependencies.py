"""Which pods a change may concern, and what upstream's queueing hint says about it for each of them.

A pod's verdict depends on the pod, its claims and their templates and classes, its PodSchedulingContext, and nodes: on
labels that its selectors read, and, once it is in the queue, on which nodes there are and how they are tainted. With
structured parameters it depends on all devices and on what other claims take of them, as long as something is to be
allocated. All of it is found by reverse indices, so a change costs the pods that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dradash.kinds import deviceclaim
from dradash.kinds.meta import controller_uid
from dradash.kinds.node import Node
from dradash.kinds.pod import Pod
from dradash.kinds.selectors import NodeSelector
from dradash.scheduling import nodechecks
from dradash.scheduling.classic.claims import pod_claims
from dradash.scheduling.classic.hints import REGISTERED, Hint, claim_hint, context_hint
from dradash.scheduling.cluster import Cluster, Index
from dradash.scheduling.generation import Generation, generations_of
from dradash.scheduling.structured import claims as structured_claims
from dradash.scheduling.structured import hints as structured_hints
from dradash.scheduling.structured.extended import is_extended_resource, pod_requests
from dradash.scheduling.structured.listers import Claims
from dradash.scheduling.verdict import HintNote

_ANY_NODE: Final = "node"  # group of the pods that are in the queue
_LABEL: Final = "label:"
_DEVICES: Final = "devices"  # group of the pods for which devices are to be allocated
_EXTENDED: Final = "extended"  # group of the pods that ask for extended resources
# By a change of one of these a pod may depend on other things than before.
_REGROUPED: Final = frozenset(("pods", "resourceclaims", "resourceclasses", "resourceclaimtemplates", "deviceclasses"))


class Dependencies:
    """Follows a Cluster: call `affected` after each change was put into it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods = Index()
        for key in cluster.pods:
            self._update(key)

    def affected(self, kind: str, key: str, old: Any, new: Any) -> frozenset[str]:
        """Keys of the pods to judge again; they exist, though one may be malformed."""
        pods = self._concerned(kind, key, old, new)
        if kind in _REGROUPED:
            for pod in pods:
                self._update(pod)
        return frozenset(p for p in pods if p in self._cluster.raw["pods"])

    def _concerned(self, kind: str, key: str, old: Any, new: Any) -> frozenset[str]:
        cluster = self._cluster
        match kind:
            case "pods" | "podschedulingcontexts":
                return frozenset((key,))
            case "resourceclaims":
                return self._by_claim(key, old, new)
            case "deviceclasses":
                claims = cluster.claims_by_device_class.members(key)
                named = frozenset(p for c in claims for p in cluster.pods_by_claim.members(c))
                taints = self._pods.members(_DEVICES) if cluster.inventory.rules_by_class(key) else frozenset()
                return named | self._pods.members(_EXTENDED) | taints
            case "resourceslices" | "devicetaintrules":
                return self._pods.members(_DEVICES)
            case "resourceclaimtemplates":
                return cluster.pods_by_template.members(key)
            case "resourceclasses":
                claims = cluster.claims_by_class.members(key)
                return frozenset(p for c in claims for p in cluster.pods_by_claim.members(c))
            case "events":
                about = (new or old).about if (new or old) is not None else None
                return frozenset((f"{about.namespace}/{about.name}",)) if about and about.kind == "Pod" else frozenset()
            case "nodes":
                return self.affected_by_nodes([(old, new)])
            case _:
                return frozenset()

    def _by_claim(self, key: str, old: Any, new: Any) -> frozenset[str]:
        cluster = self._cluster
        pods = cluster.pods_by_claim.members(key)
        if not any(isinstance(c, deviceclaim.ResourceClaim) for c in (old, new)):
            return pods
        owners = (controller_uid(c.metadata) for c in (old, new) if c is not None)
        pods |= {cluster.pods_by_uid[uid] for uid in owners if uid in cluster.pods_by_uid}
        allocations = [c.status.allocation if isinstance(c, deviceclaim.ResourceClaim) else None for c in (old, new)]
        return pods if allocations[0] == allocations[1] else pods | self._pods.members(_DEVICES)

    def affected_by_nodes(self, changes: Iterable[tuple[Node | None, Node | None]]) -> frozenset[str]:
        """For many nodes at once (a list, a burst): pods are looked up once for each label key, not for each node."""
        groups: set[str] = set()
        for old, new in changes:
            if old is None or new is None or old.spec != new.spec:
                return self._pods.members(_ANY_NODE)
            changed = changed_labels(old, new)
            groups.update(_LABEL + key for key in changed)
            if changed & self._cluster.inventory.label_keys():
                groups.add(_DEVICES)
            if old.status.allocatable != new.status.allocatable:
                groups.add(_EXTENDED)
        return frozenset(pod for group in groups for pod in self._pods.members(group))

    def pending(self) -> frozenset[str]:
        """All pods that are in the scheduler's queue."""
        return self._pods.members(_ANY_NODE)

    def _update(self, pod_key: str) -> None:
        pod = self._cluster.pods.get(pod_key)
        self._pods.set(pod_key, _node_groups(pod, self._cluster) if pod else set())


def changed_labels(old: Node, new: Node) -> set[str]:
    before, after = old.metadata.labels, new.metadata.labels
    if before == after:
        return set()
    return {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}


def _node_groups(pod: Pod, cluster: Cluster) -> set[str]:
    if not pod.is_pending:
        return set()
    groups = _groups_of(pod, cluster)
    # Which generation judges a pod without claims may not be known before the DeviceClass is there that it waits for.
    if not pod.spec.resource_claims and any(is_extended_resource(name) for name in pod_requests(pod)):
        groups.add(_EXTENDED)
    return groups


def _groups_of(pod: Pod, cluster: Cluster) -> set[str]:
    if pod.spec.scheduling_gates:
        return set()  # as with a claim that PreEnqueue misses: stopped before the queue
    if Generation.STRUCTURED in generations_of(pod, cluster):
        return _device_groups(pod, cluster)
    lookup = pod_claims(pod, cluster)
    if lookup.error:
        return set()  # stopped before the queue: no node is looked at
    selectors: list[NodeSelector | None] = []
    for found in lookup.found:
        allocation = found.claim.status.allocation
        if allocation is not None:
            selectors.append(allocation.available_on_nodes)
        elif resource_class := cluster.classes.get(found.claim.spec.resource_class_name):
            selectors.append(resource_class.suitable_nodes)
    return {_ANY_NODE, *_label_groups(pod, selectors)}


def _device_groups(pod: Pod, cluster: Cluster) -> set[str]:
    lookup = structured_claims.pod_claims(pod, Claims(cluster))
    extended = any(is_extended_resource(name) for name in pod_requests(pod))
    if lookup.error:
        return set()
    allocations = [found.claim.status.allocation for found in lookup.found]
    groups = {_ANY_NODE, *_label_groups(pod, [a.node_selector for a in allocations if a is not None])}
    if extended or any(a is None for a in allocations):
        groups.add(_DEVICES)
    return groups


def _label_groups(pod: Pod, selectors: Iterable[NodeSelector | None]) -> set[str]:
    keys = {r.key for s in selectors if s for t in s.node_selector_terms for r in t.match_expressions}
    return {_LABEL + k for k in keys | nodechecks.label_keys(pod)}


def hint_for(pod: Pod, cluster: Cluster, kind: str, change_type: str, old: Any, new: Any) -> str:
    """Queue or QueueSkip by upstream's hint for an event that the plugin registers for, "" for any other change.

    `cluster` is as it is after the change.
    """
    if Generation.STRUCTURED in generations_of(pod, cluster):
        return structured_hints.hint_for(pod, Claims(cluster), kind, change_type, old, new)
    registered = REGISTERED.get(kind)
    if registered is None or new is None:
        return ""
    types, has_function = registered
    if change_type not in types or (kind == "nodes" and old is not None and not changed_labels(old, new)):
        return ""
    if not has_function:
        return str(Hint.QUEUE)
    if kind == "resourceclaims":
        return str(claim_hint(pod, cluster, old, new))
    return str(context_hint(pod, cluster, old, new))


def hint_note(pod: Pod, cluster: Cluster, kind: str, key: str, change_type: str, old: Any, new: Any) -> HintNote | None:
    """The hint for this change, to be kept with the pod's next verdict."""
    hint = hint_for(pod, cluster, kind, change_type, old, new)
    return HintNote(kind=kind, key=key, change=change_type, hint=hint) if hint else None
