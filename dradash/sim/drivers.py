"""Control-plane DRA drivers: what k8s.io/dynamic-resource-allocation/controller of 1.30 does, with devices made up.

All drivers of a cluster share one thread and one view of it; each one's delays and moods are its own. As in the
recording of a real cluster, a driver answers first, then sets its finalizer, then allocates, and leaves the reservation
to the scheduler.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from dradash.kinds import deviceclaim
from dradash.kinds.claim import IMMEDIATE, WAIT_FOR_FIRST_CONSUMER, ResourceClaim
from dradash.kinds.meta import is_controlled_by
from dradash.kinds.pod import Pod
from dradash.kinds.schedulingcontext import NODE_LIST_MAX_SIZE, PodSchedulingContext
from dradash.scheduling.claimname import claim_name
from dradash.scheduling.classic.claims import is_for_pod
from dradash.scheduling.classic.publish import CONTEXTS, status_for_claim
from dradash.scheduling.cluster import Cluster
from dradash.sim.actors import Actor, Change, Clock
from dradash.sim.apierrors import ApiError
from dradash.sim.apiserver import APIServer
from dradash.sim.events import CountRecorder, reference

log = logging.getLogger(__name__)

Object = dict[str, Any]
CLAIMS: Final = "resourceclaims"
RECHECK: Final = 30.0  # simulated seconds; the library looks at every context again after so long
RETRY: Final = 1.0


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """One driver. Delays are ranges in simulated seconds, probabilities lie between 0 and 1.

    devices: on each node; per_node: on those nodes instead. shareable: what it allocates may be used by several pods.
    """

    driver: str
    devices: int = 8
    per_node: Mapping[str, int] = {}
    shareable: bool = False
    answers_after: tuple[float, float] = (0.3, 0.9)
    allocates_after: tuple[float, float] = (0.03, 0.3)
    recheck: float = RECHECK
    silent: bool = False  # never does anything
    refuses: bool = False  # finds every node unsuitable
    flaky: float = 0.0  # how likely a write fails, with a temporary error or a conflict
    moody: float = 0.0  # how likely a node is found unsuitable for no reason; found anew at each recheck
    keeps: bool = False  # never deallocates

    @property
    def finalizer(self) -> str:
        return f"{self.driver}/deletion-protection"


class Temporary(Exception):
    """A driver's own error; the library writes it into an event and tries again."""


class Drivers(Actor):
    kinds: ClassVar[tuple[str, ...]] = ("pods", CLAIMS, "resourceclasses", CONTEXTS)

    def __init__(self, server: APIServer, clock: Clock, behaviours: Iterable[Behaviour], seed: int = 0) -> None:
        super().__init__(server, clock)
        self._cluster = Cluster()
        self._behaviours = {b.driver: b for b in behaviours if not b.silent}
        self._random = random.Random(f"drivers/{seed}")
        self._events = {d: CountRecorder(server, clock, f"resource driver {d}") for d in self._behaviours}
        self._used: Counter[tuple[str, str]] = Counter()  # (driver, node) -> devices
        self._holds: dict[str, tuple[str, str]] = {}  # claim -> what it uses

    # --- what is to be done ----------------------------------------------------------------------------------------

    def on_change(self, change: Change) -> None:
        kind, key, cluster = change.kind, change.key, self._cluster
        new = None
        if change.type == "DELETED":
            cluster.remove(kind, key)
        else:
            _, new = cluster.put(kind, key, change.raw)
        match kind:
            case "podschedulingcontexts" | "pods" if new is not None:
                self._plan_answers(key)  # whichever comes last: a list is in the order of the last changes
            case "resourceclaims" if not isinstance(new, deviceclaim.ResourceClaim):  # those are the scheduler's
                self._note_use(key, new)
                if new is not None:
                    self._plan_claim(new)
                for pod in cluster.pods_by_claim.members(key):
                    self._plan_answers(pod)
            case "resourceclasses" if new is not None:
                for claim in sorted(cluster.claims_by_class.members(key)):
                    self._plan_claim(cluster.claims[claim])
                    for pod in cluster.pods_by_claim.members(claim):
                        self._plan_answers(pod)
            case _:
                pass

    def _note_use(self, key: str, claim: ResourceClaim | None) -> None:
        self._used.subtract([self._holds.pop(key)] if key in self._holds else [])
        if claim is not None and claim.status.allocation is not None:
            held = (claim.status.driver_name, _node_of(claim))
            self._holds[key] = held
            self._used[held] += 1

    def _plan_answers(self, key: str) -> None:
        context, pod = self._cluster.contexts.get(key), self._cluster.pods.get(key)
        if context is None or pod is None:
            return
        for behaviour in self._behaviours.values():
            if self._pending(behaviour, pod):
                self._plan(("answer", behaviour.driver, key), behaviour.answers_after, behaviour, self._answer, key)

    def _plan_claim(self, claim: ResourceClaim) -> None:
        for behaviour in self._behaviours.values():
            if self._is_to_free(behaviour, claim) or self._is_to_allocate_now(behaviour, claim):
                key = ("claim", behaviour.driver, claim.key)
                self._plan(key, behaviour.answers_after, behaviour, self._sync_claim, claim.key)

    def _plan(
        self,
        key: tuple[str, str, str],
        delay: tuple[float, float],
        behaviour: Behaviour,
        action: Callable[[Behaviour, str], None],
        what: str,
    ) -> None:
        def act() -> None:
            try:
                action(behaviour, what)
            except (ApiError, Temporary) as error:
                self._tell(behaviour, key[0], what, error)
                self._plan(key, (RETRY, 2 * RETRY), behaviour, action, what)

        self.later(key, self._random.uniform(*delay), act)

    def _tell(self, behaviour: Behaviour, how: str, what: str, error: Exception) -> None:
        log.debug("%s: %s: %s", behaviour.driver, what, error)
        kind, name = (CLAIMS, "ResourceClaim") if how == "claim" else (CONTEXTS, "PodSchedulingContext")
        if what in self._cluster.objects(kind) and not (isinstance(error, ApiError) and error.code in (404, 409)):
            about = reference(self._cluster.body(kind, what), name, "resource.k8s.io/v1alpha2")
            self._events[behaviour.driver].record(about, "Warning", "Failed", str(error))

    # --- contexts: syncPodSchedulingContexts -----------------------------------------------------------------------

    def _pending(self, behaviour: Behaviour, pod: Pod) -> list[tuple[str, ResourceClaim]]:
        """checkPodClaim for each entry: the pod's claims that this driver still has to allocate, by the pod's names."""
        found = []
        for entry in pod.spec.resource_claims:
            name = claim_name(pod, entry)
            claim = self._cluster.claim(pod.namespace, name.name) if name.name else None
            if claim is None or (name.must_check_owner and is_for_pod(pod, claim)):
                continue
            if claim.spec.allocation_mode != WAIT_FOR_FIRST_CONSUMER or claim.status.allocation is not None:
                continue
            if self._is_in_charge(behaviour, claim):
                found.append((entry.name, claim))
        return found

    def _is_in_charge(self, behaviour: Behaviour, claim: ResourceClaim) -> bool:
        resource_class = self._cluster.classes.get(claim.spec.resource_class_name)
        return resource_class is not None and resource_class.driver_name == behaviour.driver

    def _answer(self, behaviour: Behaviour, key: str) -> None:
        negotiation = self._negotiation(behaviour, key)
        if negotiation is None:
            return
        context, claims = negotiation
        spec = context.spec
        nodes = list(dict.fromkeys((*spec.potential_nodes, *((spec.selected_node,) if spec.selected_node else ()))))
        unsuitable = self._unsuitable(behaviour, key, nodes, len(claims))
        names = [name for name, _ in claims]
        self._write_answer(behaviour, context, names, _truncated(unsuitable, spec.selected_node))
        if spec.selected_node and spec.selected_node not in unsuitable:
            self._plan(
                ("allocate", behaviour.driver, key), behaviour.allocates_after, behaviour, self._allocate_for, key
            )
        recheck = (behaviour.recheck, behaviour.recheck)
        self._plan(("answer", behaviour.driver, key), recheck, behaviour, self._answer, key)

    def _negotiation(
        self, behaviour: Behaviour, key: str
    ) -> tuple[PodSchedulingContext, list[tuple[str, ResourceClaim]]] | None:
        context, pod = self._cluster.contexts.get(key), self._cluster.pods.get(key)
        if context is None or pod is None or not is_controlled_by(context.metadata, pod.metadata):
            return None
        if pod.metadata.deletion_timestamp or context.metadata.deletion_timestamp:
            return None
        if not context.spec.selected_node and not context.spec.potential_nodes:
            return None
        claims = self._pending(behaviour, pod)
        return (context, claims) if claims else None

    def _unsuitable(self, behaviour: Behaviour, key: str, nodes: Sequence[str], wanted: int) -> list[str]:
        if behaviour.refuses:
            return list(nodes)
        period = int(self.clock.seconds() / behaviour.recheck)

        def in_a_mood(node: str) -> bool:
            # The same until the next recheck: every write is a change, and every change makes the driver look again.
            return behaviour.moody > 0 and random.Random(f"{key}/{node}/{period}").random() < behaviour.moody

        return [node for node in nodes if self._free(behaviour, node) < wanted or in_a_mood(node)]

    def _free(self, behaviour: Behaviour, node: str) -> int:
        return behaviour.per_node.get(node, behaviour.devices) - self._used[behaviour.driver, node]

    def _write_answer(
        self, behaviour: Behaviour, context: PodSchedulingContext, names: Sequence[str], unsuitable: list[str]
    ) -> None:
        told = {name: status_for_claim(context, name) for name in names}
        if all(status is not None and list(status.unsuitable_nodes) == unsuitable for status in told.values()):
            return
        body = self._cluster.body(CONTEXTS, context.key)
        entries = [e for e in body.get("status", {}).get("resourceClaims", ()) if e["name"] not in told]
        nodes = {"unsuitableNodes": unsuitable} if unsuitable else {}
        entries += [{"name": name, **nodes} for name in names]
        entries.sort(key=lambda entry: _place(context, entry["name"]))
        body["status"] = {"resourceClaims": entries}
        self._update(behaviour, CONTEXTS, body, "status")

    def _allocate_for(self, behaviour: Behaviour, key: str) -> None:
        """allocateClaims for the node that the scheduler selected, if it still is that node."""
        negotiation = self._negotiation(behaviour, key)
        if negotiation is None:
            return
        context, claims = negotiation
        node = context.spec.selected_node
        if not node or self._free(behaviour, node) < len(claims) or behaviour.refuses:
            return
        for _, claim in claims:
            self._allocate(behaviour, claim, node)

    # --- claims: syncClaim -----------------------------------------------------------------------------------------

    def _is_to_free(self, behaviour: Behaviour, claim: ResourceClaim) -> bool:
        ends = claim.metadata.deletion_timestamp is not None or claim.status.deallocation_requested
        return (
            ends
            and behaviour.finalizer in claim.metadata.finalizers
            and not claim.status.reserved_for
            and not behaviour.keeps
        )

    def _is_to_allocate_now(self, behaviour: Behaviour, claim: ResourceClaim) -> bool:
        return (
            claim.spec.allocation_mode == IMMEDIATE
            and claim.status.allocation is None
            and claim.metadata.deletion_timestamp is None
            and not behaviour.refuses
            and self._is_in_charge(behaviour, claim)
        )

    def _sync_claim(self, behaviour: Behaviour, key: str) -> None:
        claim = self._cluster.claims.get(key)
        if claim is None:
            return
        if self._is_to_free(behaviour, claim):
            self._free_claim(behaviour, claim)
        elif self._is_to_allocate_now(behaviour, claim):
            self._allocate(behaviour, claim, "")

    def _free_claim(self, behaviour: Behaviour, claim: ResourceClaim) -> None:
        body = self._cluster.body(CLAIMS, claim.key)
        if claim.status.allocation is not None or claim.status.deallocation_requested:
            # In one write, unlike the library: a second one may fail and leave a claim that nobody looks at.
            body["status"] = {}
            body = self._update(behaviour, CLAIMS, body, "status")
        finalizers = [f for f in body["metadata"].get("finalizers", ()) if f != behaviour.finalizer]
        body["metadata"]["finalizers"] = finalizers
        self._update(behaviour, CLAIMS, body)

    def _allocate(self, behaviour: Behaviour, claim: ResourceClaim, node: str) -> None:
        """node "": available everywhere."""
        if claim.metadata.deletion_timestamp is not None or claim.status.deallocation_requested:
            return
        body = self._cluster.body(CLAIMS, claim.key)
        finalizers = body["metadata"].setdefault("finalizers", [])
        if behaviour.finalizer not in finalizers:
            finalizers.append(behaviour.finalizer)
            body = self._update(behaviour, CLAIMS, body)
        body["status"] = {"driverName": behaviour.driver, "allocation": allocation(behaviour, node)}
        self._update(behaviour, CLAIMS, body, "status")

    def _update(self, behaviour: Behaviour, kind: str, body: Object, subresource: str = "") -> Object:
        """Raises ApiError, Temporary."""
        if behaviour.flaky and self._random.random() < behaviour.flaky:
            if self._random.random() < 0.5:
                raise Temporary("the device manager does not answer, trying again")
            body = {**body, "metadata": {**body["metadata"], "resourceVersion": "1"}}  # the server answers 409
        namespace = body["metadata"]["namespace"]
        return self.server.update(kind, body, namespace, subresource=subresource, field_manager=behaviour.driver)


def allocation(behaviour: Behaviour, node: str) -> Object:
    """status.allocation for a device on the node, or for one that every node reaches ("")."""
    data = msgspec.json.encode({"node": node or None}).decode()
    result: Object = {"resourceHandles": [{"driverName": behaviour.driver, "data": data}]}
    if node:
        requirement = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        result["availableOnNodes"] = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    return {**result, "shareable": True} if behaviour.shareable else result


def _node_of(claim: ResourceClaim) -> str:
    """The node whose device an allocation uses; "" when it is everywhere, or not one of ours."""
    allocated = claim.status.allocation
    terms = allocated.available_on_nodes.node_selector_terms if allocated and allocated.available_on_nodes else ()
    for term in terms:
        for requirement in term.match_expressions:
            if requirement.key == "kubernetes.io/hostname" and len(requirement.values) == 1:
                return requirement.values[0]
    return ""


def _truncated(nodes: list[str], selected: str) -> list[str]:
    """truncateNodes: as many as the API allows, the selected node among them."""
    if len(nodes) <= NODE_LIST_MAX_SIZE:
        return nodes
    kept = nodes[:NODE_LIST_MAX_SIZE]
    return [*kept[:-1], selected] if selected in nodes and selected not in kept else kept


def _place(context: PodSchedulingContext, name: str) -> int:
    """Entries stay where they are, new ones come last."""
    names = [status.name for status in context.status.resource_claims]
    return names.index(name) if name in names else len(names)
