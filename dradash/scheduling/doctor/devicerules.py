"""The codes about structured parameters: slices, pools, devices, and claims that have them."""

from __future__ import annotations

from typing import Final

from dradash.scheduling.doctor.finding import Severity
from dradash.scheduling.doctor.rule import Rule

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

DEVICE_RULES: Final = (
    Rule(
        "driver-publishes-nothing",
        "Driver publishes no slice",
        _WARNING,
        "A DeviceClass wants the devices of a driver (a selector, or a part of it that must be true, is "
        "device.driver == ...), or claims have such devices, and there is no ResourceSlice of it anywhere.",
        "See whether the driver is installed and its pods run on the nodes that have its devices, and what they log. "
        "Delete the class if the driver is gone for good.",
        "publish",
        ("deviceclasses", "resourceclaims", "resourceslices"),
    ),
    Rule(
        "node-without-slice",
        "Node lacks the slices that its like have",
        _WARNING,
        "A node is Ready and not cordoned, and no ResourceSlice of a driver names it, though at least two other Ready "
        "nodes with the same labels have such slices and it is alone without, or one of a tenth at most. Labels that "
        "say nothing of hardware (name, zone and region, role, system and architecture) do not count; nodes without "
        "other labels are not compared.",
        "See whether the driver's pod runs on the node and what it logs: kubectl get pods -A "
        "--field-selector spec.nodeName=NODE.",
        "publish",
        ("nodes", "resourceslices"),
    ),
    Rule(
        "pool-incomplete",
        "Pool of devices is incomplete",
        _WARNING,
        "Slices of a pool's newest generation are missing. The scheduler allocates none of its devices until all are "
        "there. The pods named are those that no node takes, and that selectors would let have a device of the pool on "
        "a node where they may run.",
        "Look at the driver's log on the nodes of the pool: it publishes the slices. Delete slices of a driver that is "
        "gone.",
        "missing",
        ("resourceslices",),
    ),
    Rule(
        "pool-invalid",
        "Pool of devices is invalid",
        _ERROR,
        "The slices of a pool contradict each other: a name is there twice, or a device takes of counters that there "
        "are not. The scheduler allocates none of its devices. The pods named are those that no node takes, and that "
        "selectors would let have a device of the pool on a node where they may run.",
        "It is a fault of the driver that publishes the slices.",
        "",
        ("resourceslices",),
    ),
    Rule(
        "selector-fails",
        "Selector of a class fails",
        _ERROR,
        "A selector of a DeviceClass is no valid expression, or cannot be evaluated for a device, mostly because the "
        "device lacks the attribute. That ends every attempt to schedule a pod that comes across the device.",
        "Correct the selector. Ask for a driver's attributes only behind device.driver == ..., and for one that not "
        "all devices have with has() or ?. first.",
        "",
        ("deviceclasses", "resourceslices"),
    ),
    Rule(
        "class-matches-no-device",
        "Class matches no device",
        _WARNING,
        "No device in a usable pool passes the selectors of a DeviceClass. Claims that ask for it cannot be allocated.",
        "Compare the selectors with what the devices have (their pages, /devices), or add such devices.",
        "",
        ("deviceclasses", "resourceslices"),
    ),
    Rule(
        "request-matches-no-device",
        "Request matches no device",
        _WARNING,
        "No device of the cluster, in whatever pool, passes the selectors of a claim's request and of its class, nor "
        "those of its alternatives. Requests of a namespace that ask for the same are one finding. Of requests that "
        "differ, the hundred of most claims are looked at.",
        "Compare the selector with the attributes of the devices (their pages, /devices); the pod's page tells how "
        "near each device comes. Correct the claim or its template, or add such devices.",
        "missing",
        ("deviceclasses", "resourceclaims", "resourceslices"),
    ),
    Rule(
        "request-selector-fails",
        "Selector of a request fails",
        _ERROR,
        "A selector in a claim's request is no valid expression, or cannot be evaluated for a device, mostly because "
        "the device lacks the attribute. That ends every attempt to schedule the claim's pods that comes across the "
        "device.",
        "Correct the selector in the claim or its template. Ask for a driver's attributes only behind "
        "device.driver == ..., and for one that not all devices have with has() or ?. first.",
        "missing",
        ("deviceclasses", "resourceclaims", "resourceslices"),
    ),
    Rule(
        "device-vanished",
        "Allocated device is not published any more",
        _ERROR,
        "A claim holds a device that no slice of its pool's newest generation has, and the pool is not incomplete. Its "
        "pods may not start, or may have lost the device.",
        "Look at the driver and the node of the pool. Delete the pods of the claim, so that it is allocated anew.",
        "missing",
        ("resourceclaims", "resourceslices"),
    ),
    Rule(
        "device-allocated-twice",
        "Device is in more than one allocation",
        _ERROR,
        "Several claims hold the same device, and one of them the whole of it: their pods get into each other's way.",
        "Look whether two schedulers run, or somebody wrote the status by hand. Delete the pods of all but one claim.",
        "",
        ("resourceclaims",),
    ),
    Rule(
        "reserved-for-full",
        "Claim is reserved for as many pods as it can be",
        _WARNING,
        "A claim is reserved for 256 pods, the most that the API allows. Further pods that use it stay unschedulable.",
        "Use a template, or spread the pods over several claims.",
        "",
        ("resourceclaims",),
    ),
    Rule(
        "taint-not-tolerated",
        "Allocated device has a taint that is not tolerated",
        _ERROR,
        "A device in use has a taint with effect NoExecute that its claim does not tolerate, or not any longer, as the "
        "allocation has the request's tolerations; only those with effect NoExecute count. The device taint eviction "
        "controller deletes the claim's pods; with the feature gate DRADeviceTaints off they go on with a device that "
        "is marked as bad.",
        "Let the pods be replaced. If they must stay, let the request tolerate the taint with effect NoExecute, or "
        "take the taint away.",
        "",
        ("resourceclaims", "resourceslices"),
    ),
    Rule(
        "binding-waits",
        "Binding conditions are not met",
        _WARNING,
        "A pod was given a device that must be made ready for its node first (bindingConditions), and the driver has "
        "not reported that. The scheduler gives up after ten minutes and tries again.",
        "Look at the driver's controller: it writes the conditions into the claim's status.devices.",
        "binding",
        ("pods", "resourceclaims"),
    ),
    Rule(
        "binding-failed",
        "Binding of a device failed",
        _ERROR,
        "A driver reports one of a device's bindingFailureConditions. The scheduler takes the allocation back and "
        "tries again, perhaps with the same device.",
        "Look at the driver's controller and at the device. Taint the device if it is broken, so that others are "
        "tried.",
        "",
        ("resourceclaims",),
    ),
    Rule(
        "admin-access-not-allowed",
        "Admin access in a namespace that does not allow it",
        _WARNING,
        "A claim or a template asks for admin access to devices in a namespace without the label "
        'resource.kubernetes.io/admin-access: "true" (of Kubernetes 1.33: resource.k8s.io/admin-access). The API '
        "server refuses new ones there; this one is from before the label was taken away.",
        "Label the namespace if its users may see devices that others hold, else delete the object.",
        "",
        ("namespaces", "resourceclaims"),
    ),
    Rule(
        "extended-resource-twice",
        "Extended resource from a device plugin and from DRA on one node",
        _WARNING,
        "A node's capacity has an extended resource of a device plugin, and the node has devices of a DeviceClass that "
        "backs the same resource (extendedResourceName). The scheduler takes the plugin's there: one piece of hardware "
        "may be given away twice, and the node's devices are not used for such pods.",
        "Run only one of the two on each node: remove the device plugin from nodes that the driver serves.",
        "",
        ("deviceclasses", "nodes", "resourceslices"),
    ),
    Rule(
        "version-beta",
        "Only a beta version of resource.k8s.io is served",
        _INFO,
        "The newest version of resource.k8s.io that the API server serves is v1beta1 or v1beta2. Drivers and manifests "
        "that need v1 fail, and fields of later versions are dropped.",
        "Upgrade to Kubernetes 1.34 or later, which serves v1 by default; until then use drivers made for this one.",
    ),
    Rule(
        "fields-dropped",
        "API server dropped fields of an object",
        _WARNING,
        "What kubectl apply sent has fields of structured parameters that the object does not have: the API server "
        "drops them without an error where their feature gate is off or its version does not know them.",
        "Turn on the feature gate that the sentence names in the API server (and in scheduler and kubelets), upgrade, "
        "or do without the fields.",
    ),
    Rule(
        "kubelet-too-old",
        "Kubelet is too old for what is served",
        _WARNING,
        "A kubelet is older than Kubernetes 1.32, which first had resource.k8s.io/v1beta1, or more than three minor "
        "versions older than the API server must be by what it serves and by the newest kubelet.",
        "Upgrade the nodes, or keep pods with claims off them.",
        "",
        ("nodes",),
    ),
)
