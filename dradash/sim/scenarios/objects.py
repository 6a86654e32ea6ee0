"""Objects of the scenarios, as somebody would create them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dradash.sim.drivers import Behaviour, allocation

Object = dict[str, Any]

DRA: Final = "resource.k8s.io/v1alpha2"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def node(
    name: str, zone: str, labels: Mapping[str, str] = {}, *, taint: str = "", unschedulable: bool = False
) -> Object:
    """taint: `key=value:effect`."""
    spec: Object = {"unschedulable": True} if unschedulable else {}
    if taint:
        left, effect = taint.rsplit(":", 1)
        key, _, value = left.partition("=")
        spec["taints"] = [{"key": key, "value": value, "effect": effect}]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, HOSTNAME: name, ZONE: zone}},
        "spec": spec,
        "status": {"capacity": {"cpu": "64", "memory": "512Gi", "pods": "110"}, "conditions": [ready]},
    }


def selector(key: str, *values: str) -> Object:
    """A node selector: the label has one of the values; without values, it is there."""
    requirement: Object = {"key": key, "operator": "In", "values": list(values)}
    if not values:
        requirement = {"key": key, "operator": "Exists"}
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}


def resource_class(name: str, driver: str, suitable: Object | None = None) -> Object:
    body: Object = {"apiVersion": DRA, "kind": "ResourceClass", "metadata": {"name": name}, "driverName": driver}
    return {**body, "suitableNodes": suitable} if suitable else body


def claim(ns: str, name: str, class_name: str, *, immediate: bool = False) -> Object:
    mode = "Immediate" if immediate else "WaitForFirstConsumer"
    spec = {"resourceClassName": class_name, "allocationMode": mode}
    return {"apiVersion": DRA, "kind": "ResourceClaim", "metadata": {"name": name, "namespace": ns}, "spec": spec}


def allocated(made: Object, behaviour: Behaviour, node_name: str) -> Object:
    """The claim as its driver has left it after an allocation in the past."""
    metadata = {**made["metadata"], "finalizers": [behaviour.finalizer]}
    status = {"driverName": behaviour.driver, "allocation": allocation(behaviour, node_name)}
    return {**made, "metadata": metadata, "status": status}


def asked_back(made: Object) -> Object:
    """An allocated claim whose deallocation somebody requested."""
    return {**made, "status": {**made["status"], "deallocationRequested": True}}


def template(ns: str, name: str, class_name: str) -> Object:
    spec = {"spec": {"resourceClassName": class_name, "allocationMode": "WaitForFirstConsumer"}}
    metadata = {"name": name, "namespace": ns}
    return {"apiVersion": DRA, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def pod(
    ns: str,
    name: str,
    *,
    claims: Mapping[str, str] = {},
    templates: Mapping[str, str] = {},
    selects: Mapping[str, str] = {},
    tolerates: Sequence[str] = (),
    gates: Sequence[str] = (),
    labels: Mapping[str, str] = {},
) -> Object:
    """claims, templates: the pod's name for the claim -> its ResourceClaim or template. tolerates: taint keys."""
    entries: list[Object] = [{"name": n, "source": {"resourceClaimName": c}} for n, c in claims.items()]
    entries += [{"name": n, "source": {"resourceClaimTemplateName": t}} for n, t in templates.items()]
    resources: Object = {"requests": {"cpu": "100m"}, "claims": [{"name": e["name"]} for e in entries]}
    spec: Object = {
        "containers": [{"name": "main", "image": "registry.invalid/app:1", "resources": resources}],
        "resourceClaims": entries,
        "restartPolicy": "Never",
    }
    if selects:
        spec["nodeSelector"] = dict(selects)
    if tolerates:
        spec["tolerations"] = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in tolerates]
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    metadata: Object = {"name": name, "namespace": ns}
    if labels:
        metadata["labels"] = dict(labels)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
