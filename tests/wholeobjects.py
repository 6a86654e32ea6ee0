"""An object of each kind that the simulated API server serves, with every field that its code looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests import build
from tests import builddevices as make
from tests.build import Obj

GPU: Final = "gpu"
_SELECTOR: Final[Obj] = {
    "nodeSelectorTerms": [
        {
            "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-0"]}],
        }
    ]
}
_CONDITION: Final[Obj] = {
    "type": "Ready",
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": build.CREATED,
}
_TOLERATION: Final[Obj] = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
_RESOURCES: Final[Obj] = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
_OPAQUE: Final[Obj] = {"opaque": {"driver": make.DRIVER, "parameters": {"a": 1}}}


def _named(obj: Obj) -> Obj:
    """A new object: what the server gives it is left out; with labels, annotations, an owner and a finalizer."""
    metadata = {k: v for k, v in obj["metadata"].items() if k in ("name", "namespace")}
    metadata |= {"labels": {"app": "a"}, "annotations": {"note": "n"}, "finalizers": ["example.com/keep"]}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    return obj | {"metadata": metadata | {"ownerReferences": [owner]}}


def _container() -> Obj:
    return {
        "name": "main",
        "image": "registry.example.com/app:1",
        "resources": _RESOURCES | {"claims": [{"name": GPU}]},
        "ports": [{"containerPort": 80}],
        "env": [{"name": "A", "value": "b"}],
    }


def _pod(**entry: Any) -> Obj:
    spec = {
        "containers": [_container()],
        "initContainers": [_container()],
        "nodeSelector": {"zone": "a"},
        "tolerations": [_TOLERATION],
        "schedulingGates": [{"name": "example.com/gate"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _SELECTOR}},
        "readinessGates": [{"conditionType": "Ready"}],
        "priority": 5,
        "resourceClaims": [{"name": GPU, **entry}],
    }
    claim_status = {
        "resourceClaimName": "c",
        "requestMappings": [{"containerName": "main", "resourceName": "example.com/gpu", "requestName": "r"}],
    }
    status = {
        "phase": "Running",
        "conditions": [_CONDITION, _CONDITION | {"type": "PodScheduled"}],
        "containerStatuses": [{"ready": True, "restartCount": 1, "state": {"waiting": {"reason": "R"}}}],
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "startTime": build.CREATED,
        "resourceClaimStatuses": [{"name": GPU, "resourceClaimName": "c"}],
        "extendedResourceClaimStatus": claim_status,
    }
    made = build.pod("it", "default", spec=spec)
    return made | {"status": status}


def _node() -> Obj:
    status = {
        "conditions": [_CONDITION],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
        "nodeInfo": {"kubeletVersion": "v1.36.0"},
        "capacity": {"cpu": "8", "example.com/gpu": "4"},
        "allocatable": {"cpu": "8", "example.com/gpu": "4"},
    }
    return build.node("it", taints=[{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": build.CREATED}]) | {
        "status": status
    }


def _classic() -> dict[str, Obj]:
    parameters = {"apiGroup": "example.com", "kind": "P", "name": "p"}
    claim = build.claim("it", allocation=build.allocation("node-0", shareable=True))
    claim["status"]["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "u"}]
    claim["spec"]["parametersRef"] = parameters
    made = build.context(build.pod("it"), potential=["node-0"], selected="node-0", unsuitable={GPU: ["node-1"]})
    resource_class = build.resource_class("it", suitable=_SELECTOR) | {
        "parametersRef": parameters | {"namespace": "default"}
    }
    template = build.template("it")
    template["spec"]["spec"]["parametersRef"] = parameters
    return {
        "resourceclaims": claim,
        "resourceclaimtemplates": template,
        "resourceclasses": resource_class,
        "podschedulingcontexts": made,
    }


def _asked() -> Obj:
    return {
        **make.exactly(GPU, 2, ["true"]),
        "adminAccess": False,
        "tolerations": [_TOLERATION],
        "capacity": {"requests": {"memory": "1Gi"}},
    }


def _claim_spec() -> Obj:
    alternative = {k: v for k, v in _asked().items() if k != "adminAccess"}
    return {
        "requests": [
            {"name": "one", "exactly": _asked()},
            {"name": "two", "firstAvailable": [{"name": "sub", **alternative}]},
        ],
        "constraints": [{"requests": ["one"], "matchAttribute": "example.com/a"}],
        "config": [{"requests": ["one"], **_OPAQUE}],
    }


def _claim_status() -> Obj:
    result = make.result(
        "gpu-0",
        adminAccess=False,
        tolerations=[_TOLERATION],
        shareID="s",
        consumedCapacity={"memory": "1Gi"},
        bindingConditions=["B"],
    )
    devices = {"results": [result], "config": [{"source": "FromClaim", "requests": ["one"], **_OPAQUE}]}
    published = {
        "driver": make.DRIVER,
        "pool": "node-0",
        "device": "gpu-0",
        "conditions": [_CONDITION],
        "data": {"a": 1},
        "networkData": {"ips": ["10.0.0.1/8"]},
    }
    return {
        "allocation": {"devices": devices, "nodeSelector": _SELECTOR, "allocationTimestamp": build.CREATED},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "devices": [published],
    }


def _device() -> Obj:
    attributes = {"model": {"string": "a"}, "index": {"int": 1}, "on": {"bool": True}, "version": {"version": "1.0.0"}}
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi", "step": "1Gi"}}
    return {
        "name": "gpu-0",
        "attributes": attributes,
        "capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}},
        "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
        "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
        "allowMultipleAllocations": True,
        "bindingConditions": ["B"],
        "bindingFailureConditions": ["F"],
        "bindsToNode": True,
    }


def _devices() -> dict[str, Obj]:
    claim = make.claim("it", status=_claim_status())
    claim["spec"] = {"devices": _claim_spec()}
    template = {
        "apiVersion": make.V1,
        "kind": "ResourceClaimTemplate",
        "metadata": build.meta("it", "default"),
        "spec": {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": _claim_spec()}},
    }
    counters = [{"name": "s", "counters": {"c": {"value": "1"}}}]
    return {
        "resourceclaims": claim,
        "resourceclaimtemplates": template,
        "deviceclasses": make.device_class("it", "true", config=[_OPAQUE], extendedResourceName="example.com/gpu"),
        "resourceslices": make.resource_slice(_device(), name="it", sharedCounters=counters),
        "devicetaintrules": make.taint_rule("it", driver=make.DRIVER, pool="p", device="d"),
    }


def _in_v1beta1(plural: str, obj: Obj) -> Obj:
    obj = obj | {"apiVersion": "resource.k8s.io/v1beta1"}
    spec = obj["spec"]
    match plural:
        case "resourceclaims":
            return obj | {"spec": {"devices": _flat(spec["devices"])}}
        case "resourceclaimtemplates":
            return obj | {"spec": {"spec": {"devices": _flat(spec["spec"]["devices"])}}}
        case "resourceslices":
            devices = [
                {"name": d["name"], "basic": {k: v for k, v in d.items() if k != "name"}} for d in spec["devices"]
            ]
            return obj | {"spec": spec | {"devices": devices}}
    return obj


def _flat(devices: Obj) -> Obj:
    requests = [{k: v for k, v in r.items() if k != "exactly"} | r.get("exactly", {}) for r in devices["requests"]]
    return devices | {"requests": requests}


def whole(versions: tuple[str, ...]) -> Mapping[str, Obj]:
    """Plural -> a new object named "it", of what a cluster with these versions of DRA serves."""
    pod = _pod(source={"resourceClaimName": "c"}) if versions == ("v1alpha2",) else _pod(resourceClaimName="c")
    core = {
        "pods": pod,
        "nodes": _node(),
        "namespaces": build.namespace("it"),
        "events": build.event(pod, "words", name="it"),
    }
    core["events"] |= {"source": {"component": "c"}, "series": {"count": 1, "lastObservedTime": build.CREATED}}
    core["namespaces"] |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    if versions == ("v1alpha2",):
        return {k: _named(v) for k, v in (core | _classic()).items()}
    devices = _devices()
    if "v1beta2" not in versions:
        del devices["devicetaintrules"]
    version = f"resource.k8s.io/{versions[0]}"
    made = {k: v if k == "devicetaintrules" else v | {"apiVersion": version} for k, v in devices.items()}
    if versions[0] == "v1beta1":
        made = {k: _in_v1beta1(k, v) for k, v in made.items()}
    return {k: _named(v) for k, v in (core | made).items()}
