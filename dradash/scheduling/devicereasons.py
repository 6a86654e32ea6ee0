"""The messages of Kubernetes 1.36's plugin: structured parameters. A part of the table in `reasons`."""

from __future__ import annotations

from typing import Final

from dradash.scheduling.reason import Reason, Table

_DRA: Final = "DynamicResources"
_FUNNEL: Final = "See the devices on the pod's page: it says which stage loses them, and what would make it fit."

TABLE: Final[Table] = (
    (
        r"cannot allocate all claims",
        Reason(
            "DevicesNotAllocatable",
            _DRA,
            "cannot allocate all claims",
            "No choice of the node's free devices satisfies all requests of the pod's claims.",
            _FUNNEL,
        ),
    ),
    (
        r"timed out trying to allocate devices",
        Reason(
            "AllocationTimedOut",
            _DRA,
            "timed out trying to allocate devices",
            "The search for devices took too long on the node; there may be a solution.",
            "Make the requests simpler: fewer alternatives and constraints, narrower selectors.",
        ),
    ),
    (
        r"invalid resource pools were encountered",
        Reason(
            "PoolsInvalid",
            _DRA,
            "invalid resource pools were encountered",
            "No solution was found on the node, and some of its pools are not valid.",
            "The driver must correct its ResourceSlices.",
        ),
    ),
    (
        r"claim .*: asks for all devices, but resource pool .* is currently (being updated|invalid)",
        Reason(
            "PoolNotUsable",
            _DRA,
            "claim ml/train, request gpu: asks for all devices, but resource pool gpu.example.com/a is currently "
            "being updated",
            "A request for all devices needs every pool of the node to be complete and valid.",
            "The driver must publish all slices of the pool's newest generation.",
        ),
    ),
    (
        r"request .*: device class .* does not exist|claim .*: could not retrieve device class .*",
        Reason(
            "DeviceClassMissing",
            _DRA,
            "request gpu: device class gpu does not exist",
            "A request names a DeviceClass that does not exist.",
            "Create the DeviceClass, or correct its name in the claim.",
        ),
    ),
    (
        r"(claim|class) .*selector #\d+: CEL .*",
        Reason(
            "SelectorError",
            _DRA,
            "claim ml/train: selector #0: CEL runtime error: no such key: model",
            "A CEL selector does not compile, or fails on a device that is free. It ends the whole attempt.",
            "Correct the selector that the message names, or what the driver publishes.",
        ),
    ),
    (
        r"resource claim .* is in the process of being allocated",
        Reason(
            "ClaimBeingAllocated",
            _DRA,
            "resource claim ml/train is in the process of being allocated",
            "The scheduler is just writing the claim's allocation for another pod.",
            "Nothing.",
        ),
    ),
    (
        r"claim .*: number of requested devices \d+ exceeds the claim limit of \d+",
        Reason(
            "TooManyDevices",
            _DRA,
            "claim ml/train: number of requested devices 40 exceeds the claim limit of 32",
            "The claim asks for more devices than one claim may have.",
            "Spread the requests over several claims.",
        ),
    ),
    (
        r"claim .*: cannot add device .* because a claim constraint would not be satisfied",
        Reason(
            "ConstraintNotSatisfied",
            _DRA,
            "claim ml/train, request gpu: cannot add device gpu.example.com/a/gpu-1 because a claim constraint would "
            "not be satisfied",
            "All devices are asked for, and they do not agree in what a constraint compares.",
            "Drop the constraint, or ask for fewer devices with a selector.",
        ),
    ),
    (
        r"(request|resource claim|claim) .*: (unsupported (request type|count mode).*|unknown request type|"
        r"missing device class name .*|empty constraint .*)",
        Reason(
            "RequestNotSupported",
            _DRA,
            "resource claim ml/train, request gpu: unknown request type",
            "The claim has a request or a constraint of a kind that this version does not know.",
            "Use what this version of Kubernetes knows.",
        ),
    ),
    (
        r"cannot fit resource|cannot schedule extended resource claim",
        Reason(
            "ExtendedResourceNotFitting",
            _DRA,
            "cannot fit resource",
            "The node offers an extended resource neither by a device plugin nor by a DeviceClass.",
            "Create a DeviceClass for the resource, or install the device plugin.",
        ),
    ),
    (
        r"(deallocation|deletion) of ResourceClaim completed",
        Reason(
            "ClaimFreed",
            _DRA,
            "deallocation of ResourceClaim completed",
            "PostFilter freed a claim that kept the pod away from nodes; the next attempt allocates it anew.",
            "Nothing.",
        ),
    ),
    (
        r"device binding timeout: .*|waiting for binding conditions for device on node .*",
        Reason(
            "BindingConditionsOpen",
            _DRA,
            "device binding timeout: claim=train",
            "Allocated devices have binding conditions that are not met, or were not in time.",
            "Whoever sets the conditions (mostly the driver's controller) must make the devices ready.",
        ),
    ),
    (
        r"device binding failed: .*",
        Reason(
            "BindingFailed",
            _DRA,
            'device binding failed: claim=train, reason=NoCable, message="gave up"',
            "An allocated device has a binding failure condition: it cannot be made ready.",
            "Nothing: the scheduler frees the claim and tries again. See the condition for what the device lacks.",
        ),
    ),
    (
        r"create NodeSelector for claim .*|gather pool information: .*|quantity .*",
        Reason(
            "SliceNotUnderstood",
            _DRA,
            "create NodeSelector for claim train: unsupported ResourceSlice.NodeSelector with 2 terms",
            "A ResourceSlice says where its devices are, or how much they have, in a way that cannot be used.",
            "The driver must correct its ResourceSlices.",
        ),
    ),
    (
        r"(add|get|remove|create|update|delete|unreserve|store|patch|process) .*claim.*|"
        r"nil or empty request mappings, .*|claim allocation not found for node|claim .* in the meantime|"
        r"Operation cannot be fulfilled on resourceclaims.*",
        Reason(
            "ClaimWriteRefused",
            _DRA,
            'add reservation to claim ml/train: ResourceClaim.resource.k8s.io "train" is invalid',
            "The API server refused what the scheduler writes to the claim, or the claim changed in between.",
            "Nothing, unless it lasts: then see what the message says of the claim.",
        ),
    ),
)
