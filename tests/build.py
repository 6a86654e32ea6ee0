"""Objects for tests, built in one line each.

The Kubernetes builders give dicts as the API server sends them, with apiVersion and kind. `struct`, `cluster`, `write`
and `fill` take such dicts further; `verdict` and its parts give Verdicts where no evaluator runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dradash.kinds.meta import KubeObject
from dradash.kinds.registry import KINDS, read_object
from dradash.scheduling import nodeset
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.effects import Effect
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import (
    POINTS,
    ActsNext,
    Agreement,
    ClaimRef,
    HintNote,
    NodeGroup,
    Outcome,
    Step,
    StepState,
    Verdict,
)
from dradash.store.model import DuePod, Model, Write

Obj = dict[str, Any]

DRA: Final = "resource.k8s.io/v1alpha2"
CREATED: Final = "2026-11-30T04:00:00Z"
NOW: Final = 1_796_011_200.0  # 2026-11-30T04:00:00Z, in Unix seconds
PLURALS: Final = {k.kind: k.plural for k in KINDS.values()}


# --- Kubernetes objects ----------------------------------------------------------------------------------------------


def meta(name: str, namespace: str = "", *, uid: str = "", created: str = CREATED, **more: Any) -> Obj:
    """ObjectMeta; `more` in the API's own spelling: labels, deletionTimestamp, ownerReferences ..."""
    parts: Obj = {"name": name, "uid": uid or f"uid-{namespace}-{name}", "resourceVersion": "1"}
    if namespace:
        parts["namespace"] = namespace
    return parts | {"creationTimestamp": created} | more


def node(name: str, *, labels: Mapping[str, str] = {}, taints: Sequence[Obj] = (), unschedulable: bool = False) -> Obj:
    spec: Obj = {"taints": list(taints)} if taints else {}
    if unschedulable:
        spec["unschedulable"] = True
    labels = {"kubernetes.io/hostname": name} | dict(labels)
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, labels=labels), "spec": spec}


def nodes(count: int, **more: Any) -> list[Obj]:
    """node-0, node-1, ..."""
    return [node(f"node-{i}", **more) for i in range(count)]


def namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name)}


def pod(
    name: str = "pod",
    ns: str = "default",
    *,
    claims: Mapping[str, str] = {},
    templates: Mapping[str, str] = {},
    generated: Mapping[str, str] = {},
    node: str = "",
    phase: str = "Pending",
    conditions: Sequence[Obj] = (),
    spec: Mapping[str, Any] = {},
    **metadata: Any,
) -> Obj:
    """A pod. claims: the pod's name for the claim -> ResourceClaim; templates: -> ResourceClaimTemplate;
    generated: -> the ResourceClaim made from the template (status.resourceClaimStatuses)."""
    entries: list[Obj] = [{"name": n, "source": {"resourceClaimName": c}} for n, c in claims.items()]
    entries += [{"name": n, "source": {"resourceClaimTemplateName": t}} for n, t in templates.items()]
    body: Obj = {"schedulerName": "default-scheduler", "resourceClaims": entries} | dict(spec)
    if node:
        body["nodeName"] = node
    status: Obj = {"phase": phase}
    if conditions:
        status["conditions"] = list(conditions)
    if generated:
        status["resourceClaimStatuses"] = [{"name": n, "resourceClaimName": c} for n, c in generated.items()]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, ns, **metadata),
        "spec": body,
        "status": status,
    }


def unschedulable(message: str, at: str = CREATED) -> Obj:
    """The PodScheduled condition that kube-scheduler writes."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": at,
    }


def resource_class(name: str = "gpu", *, driver: str = "gpu.example.com", suitable: Obj | None = None) -> Obj:
    body: Obj = {"apiVersion": DRA, "kind": "ResourceClass", "metadata": meta(name), "driverName": driver}
    return body | ({"suitableNodes": suitable} if suitable else {})


def claim(
    name: str = "claim",
    ns: str = "default",
    *,
    resource_class: str = "gpu",
    mode: str = "WaitForFirstConsumer",
    allocation: Obj | None = None,
    reserved_for: Iterable[Obj] = (),
    deallocation_requested: bool = False,
    driver: str = "",
    **metadata: Any,
) -> Obj:
    """A claim. reserved_for: pods (dicts of `pod`)."""
    status: Obj = {}
    if allocation is not None:
        status |= {"allocation": allocation, "driverName": driver or "gpu.example.com"}
    reserved = [consumer(p) for p in reserved_for]
    if reserved:
        status["reservedFor"] = reserved
    if deallocation_requested:
        status["deallocationRequested"] = True
    return {
        "apiVersion": DRA,
        "kind": "ResourceClaim",
        "metadata": meta(name, ns, **metadata),
        "spec": {"resourceClassName": resource_class, "allocationMode": mode},
        "status": status,
    }


def allocation(*node_names: str, shareable: bool = False, driver: str = "gpu.example.com", data: str = "") -> Obj:
    """An AllocationResult on these nodes; without a name it is available on all."""
    result: Obj = {"resourceHandles": [{"driverName": driver, "data": data}], "shareable": shareable}
    return result | ({"availableOnNodes": on_nodes(*node_names)} if node_names else {})


def on_nodes(*names: str) -> Obj:
    """A node selector for these nodes by name: one term each."""
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [n]}]} for n in names]
    return {"nodeSelectorTerms": terms}


def with_labels(**labels: str) -> Obj:
    """A node selector with one term that asks for all these labels."""
    expressions = [{"key": k, "operator": "In", "values": [v]} for k, v in labels.items()]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}


def consumer(of: Obj) -> Obj:
    return {"resource": "pods", "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}


def owner(of: Obj) -> Obj:
    """The controlling ownerReference to an object."""
    return {
        "apiVersion": of["apiVersion"],
        "kind": of["kind"],
        "name": of["metadata"]["name"],
        "uid": of["metadata"]["uid"],
        "controller": True,
    }


def template(name: str = "template", ns: str = "default", *, resource_class: str = "gpu") -> Obj:
    spec = {"spec": {"resourceClassName": resource_class, "allocationMode": "WaitForFirstConsumer"}}
    return {"apiVersion": DRA, "kind": "ResourceClaimTemplate", "metadata": meta(name, ns), "spec": spec}


def context(
    of: Obj,
    *,
    potential: Sequence[str] = (),
    selected: str = "",
    unsuitable: Mapping[str, Sequence[str]] | None = None,
    **metadata: Any,
) -> Obj:
    """The PodSchedulingContext of a pod. unsuitable: the pod's name for the claim -> nodes; None: no answer yet."""
    spec: Obj = {}
    if potential:
        spec["potentialNodes"] = list(potential)
    if selected:
        spec["selectedNode"] = selected
    answers = [{"name": n, "unsuitableNodes": list(nodes)} for n, nodes in (unsuitable or {}).items()]
    return {
        "apiVersion": DRA,
        "kind": "PodSchedulingContext",
        "metadata": meta(of["metadata"]["name"], of["metadata"]["namespace"], ownerReferences=[owner(of)], **metadata),
        "spec": spec,
        "status": {"resourceClaims": answers} if answers else {},
    }


def event(
    about: Obj,
    message: str,
    *,
    name: str = "",
    reason: str = "FailedScheduling",
    reporter: str = "default-scheduler",
    at: str = CREATED,
    count: int = 1,
) -> Obj:
    of = about["metadata"]
    ns = of.get("namespace", "default")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta(name or f"{of['name']}.{reason.lower()}", ns),
        "type": "Warning",
        "reason": reason,
        "message": message,
        "involvedObject": {"kind": about["kind"], "namespace": ns, "name": of["name"], "uid": of["uid"]},
        "reportingComponent": reporter,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": count,
    }


# --- from dicts to what the code takes -------------------------------------------------------------------------------


def plural(obj: Obj) -> str:
    return PLURALS[obj["kind"]]


def key(obj: Obj) -> str:
    of = obj["metadata"]
    return f"{of['namespace']}/{of['name']}" if of.get("namespace") else str(of["name"])


def raw(obj: Obj) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def struct(obj: Obj) -> KubeObject:
    return read_object(KINDS[plural(obj)], raw(obj))


def cluster(*objects: Obj) -> Cluster:
    built = Cluster()
    for obj in objects:
        built.put(plural(obj), key(obj), raw(obj))
    return built


def write(obj: Obj, type_: str = "ADDED") -> Write:
    return Write(plural(obj), key(obj), type_, raw(obj))


def fill(model: Model, *objects: Obj, at: float = NOW, epoch: int | None = None, due: Sequence[DuePod] = ()) -> int:
    """Apply objects to a model as its leader "test"; the epoch, for further writes."""
    if epoch is None:
        epoch = model.acquire("test", 3600.0)
        assert epoch is not None, "somebody else leads"
    model.apply(epoch, [write(o) for o in objects], due, at)
    return epoch


# --- verdicts --------------------------------------------------------------------------------------------------------

TRIES_AGAIN: Final = ActsNext(who="scheduler", what="Tries again when something changes.")
SAID_NOTHING: Final = Agreement()


def group(cluster: Cluster, names: Iterable[str], reason: str = "", *, plugin: str = "DynamicResources") -> NodeGroup:
    """The Filter group of these existing nodes; without a reason they passed."""
    members = cluster.nodes.named(names)
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if reason else Code.SUCCESS
    return NodeGroup(plugin=plugin, code=code, reason=reason, nodes=nodeset.digest(members), count=members.bit_count())


def steps(*ran: Step) -> tuple[Step, ...]:
    """All extension points in order; those not given were not reached."""
    given = {s.point: s for s in ran}
    return tuple(given.get(p, Step(point=p, state=StepState.NOT_REACHED)) for p in POINTS)


def verdict(
    of: Obj,
    outcome: Outcome = Outcome.UNSCHEDULABLE,
    sentence: str = "0/0 nodes are available: .",
    *,
    ran: Sequence[Step] = (),
    revision: int = 1,
    claims: Sequence[ClaimRef] = (),
    acts_next: ActsNext = TRIES_AGAIN,
    agreement: Agreement = SAID_NOTHING,
    hints: Sequence[HintNote] = (),
    nodes_fit: int = 0,
    nodes_total: int = 0,
    node: str = "",
    at: float = NOW,
) -> Verdict:
    return Verdict(
        pod=key(of),
        uid=of["metadata"]["uid"],
        revision=revision,
        outcome=outcome,
        sentence=sentence,
        steps=steps(*ran),
        claims=tuple(claims),
        nodes_fit=nodes_fit,
        nodes_total=nodes_total,
        node=node,
        acts_next=acts_next,
        agreement=agreement,
        hints=tuple(hints),
        judged_at=at,
        since=at,
    )


def effect(of: Obj, verb: str = "update", subresource: str = "") -> Effect:
    """A write of this object by the scheduler."""
    return Effect(
        verb=verb,
        resource=plural(of),
        namespace=of["metadata"].get("namespace", ""),
        name=of["metadata"]["name"],
        body=of,
        subresource=subresource,
    )
