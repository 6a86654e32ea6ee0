"""A stable machine code for every message that a verdict can carry, with its meaning and what to do about it.

The scheduler's texts hold names and change between versions; a code never changes what it means once it was released.
codes.py lists them beside all other codes. Order matters: the first pattern that fits is the reason.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from dradash.scheduling.devicereasons import TABLE as OF_DEVICES
from dradash.scheduling.reason import Reason, Table
from dradash.scheduling.verdict import Outcome, Verdict

OTHER: Final = "Other"


_DRA: Final = "DynamicResources"
_OURS: Final = "dradash"
_NAMES: Final = "Correct the name in the pod, or create the object."
_AWAIT: Final = "Nothing, unless it lasts: then look at the driver's controller (is it running, what does it log?)."

# (pattern, whole text from its start; reason)
_TABLE: Final[Table] = (
    (
        r'pod ".*": ResourceClaim not created yet',
        Reason(
            "ClaimNotCreated",
            _DRA,
            'pod "ml/train": ResourceClaim not created yet',
            "The pod's claim comes from a ResourceClaimTemplate and has not been created.",
            "Check that the template exists and that kube-controller-manager's resourceclaim controller runs.",
        ),
    ),
    (
        r'pod ".*", spec\.resourceClaim .*: none of the supported fields are set',
        Reason(
            "ClaimSourceMissing",
            _DRA,
            'pod "ml/train", spec.resourceClaim "gpu": none of the supported fields are set',
            "An entry of spec.resourceClaims names neither a claim nor a template that this version knows.",
            "Give the entry a resourceClaimName or a resourceClaimTemplateName, in the form of this API version.",
        ),
    ),
    (
        r"resourceclaim\.resource\.k8s\.io .* not found|could not find ResourceClaim .*",
        Reason(
            "ClaimNotFound",
            _DRA,
            'resourceclaim.resource.k8s.io "gpu" not found',
            "The pod names a ResourceClaim that does not exist.",
            _NAMES,
        ),
    ),
    (
        r"resourceclaim .* is being deleted",
        Reason(
            "ClaimBeingDeleted",
            _DRA,
            'resourceclaim "gpu" is being deleted',
            "The claim has a deletion timestamp; pods cannot use it any more.",
            "Let its last users end and its driver deallocate it; then create it anew.",
        ),
    ),
    (
        r"ResourceClaim .* was not created for [pP]od .*",
        Reason(
            "ClaimNotOwned",
            _DRA,
            "ResourceClaim ml/train-gpu was not created for pod ml/train (pod is not owner)",
            "A claim has the name of the pod's generated claim, but belongs to another owner.",
            "Delete or rename that claim, so that the controller can create the pod's own.",
        ),
    ),
    (
        r"PodSchedulingContext object with UID .* is not owned by Pod .*",
        Reason(
            "ContextNotOwned",
            _DRA,
            "PodSchedulingContext object with UID 1f3c is not owned by Pod ml/train",
            "The PodSchedulingContext with the pod's name has another owner (an earlier pod of the name), or none.",
            "Delete it. The garbage collector does so only where it names owners and all of them are gone.",
        ),
    ),
    (
        r"resource class .* does not exist",
        Reason(
            "ClassNotFound",
            _DRA,
            "resource class gpu does not exist",
            "A claim that is not allocated names a ResourceClass that does not exist.",
            "Create the class (drivers usually install it), or correct resourceClassName.",
        ),
    ),
    (
        r"unallocated immediate resourceclaim",
        Reason(
            "ClaimNotAllocated",
            _DRA,
            "unallocated immediate resourceclaim",
            "The claim is to be allocated immediately, and its driver has not done so.",
            _AWAIT,
        ),
    ),
    (
        r"resourceclaim in use",
        Reason(
            "ClaimInUse",
            _DRA,
            "resourceclaim in use",
            "The claim is allocated, cannot be shared, and is reserved for somebody else.",
            "Wait until its user ends, or give the pod a claim of its own (a template).",
        ),
    ),
    (
        r"resourceclaim must be reallocated",
        Reason(
            "ClaimMustBeReallocated",
            _DRA,
            "resourceclaim must be reallocated",
            "Deallocation of the claim was asked for, and the driver has not deallocated it yet.",
            _AWAIT,
        ),
    ),
    (
        r"resourceclaim not available on the node",
        Reason(
            "ClaimNotAvailable",
            _DRA,
            "resourceclaim not available on the node",
            "The claim is allocated, and can be used on other nodes only.",
            "Make a node where it can be used fit the pod, or let the claim be deallocated.",
        ),
    ),
    (
        r"excluded by resource class node filter",
        Reason(
            "ClassFilterExcluded",
            _DRA,
            "excluded by resource class node filter",
            "The class's suitableNodes leaves the node out.",
            "Label nodes as the class asks, correct its suitableNodes, or use another class.",
        ),
    ),
    (
        r"resourceclaim cannot be allocated for the node \(unsuitable\)",
        Reason(
            "NodeUnsuitable",
            _DRA,
            "resourceclaim cannot be allocated for the node (unsuitable)",
            "The driver answered that it cannot allocate the claim for the node.",
            "Free devices on the node, add nodes, or ask the driver's log why.",
        ),
    ),
    (
        r"waiting for resource driver to provide information",
        Reason(
            "WaitingForInformation",
            _DRA,
            "waiting for resource driver to provide information",
            "A driver has not said yet which of the proposed nodes are unsuitable.",
            _AWAIT,
        ),
    ),
    (
        r"waiting for resource driver",
        Reason(
            "WaitingForDriver",
            _DRA,
            "waiting for resource driver",
            "The scheduler has published what it wants; a driver must answer or allocate.",
            _AWAIT,
        ),
    ),
    (
        r"no new claims to deallocate",
        Reason(
            "NothingToDeallocate",
            _DRA,
            "no new claims to deallocate",
            "PostFilter found nothing to free: no claim's allocation was in the way.",
            "See the reasons of the steps before.",
        ),
    ),
    (
        r"still not schedulable",
        Reason(
            "StillNotSchedulable",
            _DRA,
            "still not schedulable",
            "PostFilter found no claim that could be deallocated to help.",
            "See the reasons of the steps before.",
        ),
    ),
    (
        r"not found",
        Reason(
            "PreFilterStateMissing",
            _DRA,
            "not found",
            "PostFilter ran without the plugin's PreFilter: another plugin had refused the pod before.",
            "See the reasons of PreFilter.",
        ),
    ),
    (
        r"internal error, unexpected allocation mode.*",
        Reason(
            "UnexpectedAllocationMode",
            _DRA,
            "internal error, unexpected allocation mode Later",
            "The claim's allocationMode is neither Immediate nor WaitForFirstConsumer.",
            "Correct spec.allocationMode of the claim.",
        ),
    ),
    (
        r"\[?nodeSelectorTerms\[.*|\[?.*nodeSelectorTerms\[\d+\]\.match.*",
        Reason(
            "InvalidNodeSelector",
            _DRA,
            "nodeSelectorTerms[0].matchFields[0].operator: Unsupported value",
            "The node selector of a class or of an allocation is not valid, so no node can be compared with it.",
            "Correct the selector that the message names.",
        ),
    ),
    (
        r"node\(s\) were unschedulable",
        Reason(
            "NodeUnschedulable",
            "NodeUnschedulable",
            "node(s) were unschedulable",
            "The node is cordoned, and the pod does not tolerate that.",
            "Uncordon the node when its maintenance is over.",
        ),
    ),
    (
        r"node\(s\) didn't match the requested node name",
        Reason(
            "NodeNameMismatch",
            "NodeName",
            "node(s) didn't match the requested node name",
            "The pod asks for one node by name, and this is another one.",
            _NAMES,
        ),
    ),
    (
        r"node\(s\) had untolerated taint( \{.*\}|\(s\))",
        Reason(
            "TaintNotTolerated",
            "TaintToleration",
            "node(s) had untolerated taint {gpu: reserved}",
            "The node has a taint that the pod does not tolerate.",
            "Add the toleration to the pod, or remove the taint.",
        ),
    ),
    (
        r"node\(s\) didn't match Pod's node affinity/selector",
        Reason(
            "NodeAffinityMismatch",
            "NodeAffinity",
            "node(s) didn't match Pod's node affinity/selector",
            "The node does not have the labels that the pod's nodeSelector or required affinity asks for.",
            "Label nodes, or correct the pod.",
        ),
    ),
    (
        r"pod affinity terms conflict",
        Reason(
            "NodeAffinityConflict",
            "NodeAffinity",
            "pod affinity terms conflict",
            "The pod's required affinity names nodes in a way that no node can satisfy.",
            "Correct the pod's matchFields.",
        ),
    ),
    (
        r"node is filtered out by the prefilter result",
        Reason(
            "NodeNotNamed",
            "NodeAffinity",
            "node is filtered out by the prefilter result",
            "The pod's required affinity names other nodes by metadata.name.",
            "Correct the pod's matchFields if this node was meant.",
        ),
    ),
    (
        r"no nodes available to schedule pods",
        Reason(
            "NoNodes", "scheduler", "no nodes available to schedule pods", "The cluster has no nodes.", "Add nodes."
        ),
    ),
    (
        r"Scheduling is blocked due to non-empty scheduling gates",
        Reason(
            "SchedulingGated",
            "SchedulingGates",
            "Scheduling is blocked due to non-empty scheduling gates",
            "The pod has scheduling gates; the scheduler leaves it alone until they are removed.",
            "Whoever set spec.schedulingGates must remove them.",
        ),
    ),
    (
        r"(preemption: )?(0/\d+ nodes are available: \d+ )?Preemption is not helpful for scheduling\.?|"
        r"(preemption: )?not eligible due to preemptionPolicy=Never\.?",
        Reason(
            "PreemptionNotHelpful",
            "DefaultPreemption",
            "Preemption is not helpful for scheduling",
            "Evicting other pods would not make a node fit.",
            "See the reasons of the steps before.",
        ),
    ),
    (
        r"the pod is being deleted; .*|the pod has finished \(.*\) without a node",
        Reason(
            "PodTerminating",
            _OURS,
            "the pod is being deleted; the scheduler leaves it alone",
            "The pod ends, or has ended, without a node.",
            "Nothing.",
        ),
    ),
    (
        r"cannot be judged: \w+ \S+ cannot be read: .*",
        Reason(
            "ObjectMalformed",
            _OURS,
            "cannot be judged: ResourceClass gpu cannot be read: Expected `str`, got `int`",
            "A claim, class, template or PodSchedulingContext that the verdict rests on is malformed.",
            "Correct the object that the message names; it did not come from a usual API server.",
        ),
    ),
    (
        r"cannot be judged: .*",
        Reason(
            "NotKnown",
            _OURS,
            "cannot be judged: resourceclaims forbidden",
            "Kinds that the verdict depends on are not served, forbidden or not read yet.",
            "See the state of the watch (/api/v1/health, the overview); give dradash the role it needs.",
        ),
    ),
    (
        r"not a valid Pod: .*",
        Reason(
            "PodMalformed",
            _OURS,
            "not a valid Pod: Expected `str`, got `int`",
            "The object is no valid Pod.",
            "Correct the object; it did not come from a usual API server.",
        ),
    ),
    (
        r"dradash could not judge this pod: .*",
        Reason(
            "JudgingFailed",
            _OURS,
            "dradash could not judge this pod: KeyError",
            "A mistake in dradash: judging the pod raised an error.",
            "Report it with a recording (docs/support.md).",
        ),
    ),
    *OF_DEVICES,
)

_OTHER: Final = Reason(
    OTHER,
    "scheduler",
    "Insufficient cpu",
    "A message of a check that dradash does not model.",
    "See the message itself.",
)

REASONS: Final[dict[str, Reason]] = {r.code: r for _, r in _TABLE} | {OTHER: _OTHER}

_PATTERNS: Final = tuple((re.compile(pattern, re.DOTALL), reason.code) for pattern, reason in _TABLE)
# Errors are reported with the plugin and point in front.
_WRAPPED: Final = re.compile(r'running (?:"[^"]*" filter plugin|\w+ plugin "[^"]*"): ')


@lru_cache(maxsize=4096)
def code_of(text: str) -> str:
    """The code of one message, Other where no pattern fits."""
    bare = _WRAPPED.sub("", text, count=1) if text.startswith("running ") else text
    return next((code for pattern, code in _PATTERNS if pattern.fullmatch(bare)), OTHER)


_FREE: Final = frozenset({Outcome.BOUND, Outcome.SCHEDULABLE})


def codes_of(verdict: Verdict | None) -> tuple[str, ...]:
    """Codes of all reasons of a verdict, each once, in the order of the steps; () where nothing is refused."""
    if verdict is None:
        return ()
    texts = verdict.reason_texts
    if not texts and verdict.outcome not in _FREE:
        texts = (verdict.sentence,)
    return tuple(dict.fromkeys(code_of(t) for t in texts))
