"""Every code that a finding can have: what it means, how bad it is, what to do. docs/doctor.md is made from this."""

from __future__ import annotations

from typing import Final

from dradash.scheduling.doctor.devicerules import DEVICE_RULES
from dradash.scheduling.doctor.finding import Severity
from dradash.scheduling.doctor.rule import Rule

_ERROR, _WARNING, _INFO = Severity.ERROR, Severity.WARNING, Severity.INFO

_RULES: Final = (
    # --- named, but absent
    Rule(
        "claim-missing",
        "Claim does not exist",
        _ERROR,
        "A pending pod names a ResourceClaim, or one was generated for it, and there is none of that name. PreEnqueue "
        "keeps the pod out of the queue.",
        "Create the claim. One that was generated from a template is created anew by the claim controller: if it is "
        "not, look at kube-controller-manager.",
        "missing",
        ("pods", "resourceclaims"),
    ),
    Rule(
        "template-missing",
        "Template does not exist",
        _ERROR,
        "A pending pod names a ResourceClaimTemplate that does not exist, and its claim was not generated yet.",
        "Create the template in the pod's namespace, or correct the name in the pod.",
        "missing",
        ("pods", "resourceclaimtemplates"),
    ),
    Rule(
        "class-missing",
        "Class does not exist",
        _ERROR,
        "Claims that are not allocated, or templates, name a DeviceClass (v1alpha2: a ResourceClass) that does not "
        "exist. PreFilter refuses their pods.",
        "Create the class (drivers usually install it), or correct its name in the claim or template: deviceClassName, "
        "in v1alpha2 resourceClassName.",
        "missing",
        ("resourceclaims", "resourceclasses", "deviceclasses"),
    ),
    Rule(
        "reference-not-retried",
        "Exists by now, but was not retried",
        _WARNING,
        "What was missing exists by now, but whoever waited for it has not tried again: the claim controller backs off "
        "for up to 1000 s, the scheduler waits for an event or for its flush after 5 min.",
        "Wait for the next try, or cause one: touch the pod (an annotation), or delete and create it again.",
        "retry",
        ("pods", "resourceclaims", "resourceclaimtemplates", "resourceclasses", "deviceclasses"),
    ),
    # --- claims from templates
    Rule(
        "claim-not-created",
        "Claim not created from its template",
        _ERROR,
        "The template exists, but the claim controller has not created the pod's claim.",
        "Look at kube-controller-manager: is the resourceclaim controller on (feature gate DynamicResourceAllocation), "
        "and may it create claims (quota, admission)? Its events are on the pod.",
        "create",
        ("pods", "resourceclaimtemplates"),
    ),
    Rule(
        "claim-owned-by-other",
        "Generated claim belongs to somebody else",
        _ERROR,
        "The claim that the pod's status names for a template is not owned by this pod. The scheduler refuses it.",
        "Remove the foreign claim, or the stale entry: the claim controller then creates one for this pod.",
        "",
        ("pods", "resourceclaims"),
    ),
    # --- pods
    Rule(
        "scheduler-bypassed",
        "Pod got its node without the scheduler",
        _ERROR,
        "spec.nodeName was set before the pod's claims were allocated and reserved for it. The kubelet refuses to "
        "start such a pod.",
        "Let the scheduler place it: use a node selector instead of nodeName. The claim controller may still mend it "
        "with a PodSchedulingContext that selects the node.",
        "bypass",
        ("pods", "resourceclaims"),
    ),
    Rule(
        "blocked-silently",
        "Kept out of the queue, and no event says so",
        _WARNING,
        "PreEnqueue refuses the pod: the scheduler has not looked at it, and neither an event nor a condition tells.",
        "Mend what the sentence names. Nothing will appear in kubectl describe until then.",
        "blocked",
        ("pods", "events"),
    ),
    Rule(
        "fits-not-retried",
        "It is the scheduler's turn, and nothing happens",
        _WARNING,
        "By our verdict the scheduler's next attempt gets on (binds the pod, or writes the next step), but it has not "
        "come.",
        "See whether kube-scheduler runs and what its queue says. It flushes refused pods after 5 min; a restart "
        "makes it try everything again.",
        "retry",
        ("pods",),
    ),
    Rule(
        "words-disagree",
        "The scheduler says something else",
        _WARNING,
        "What the scheduler last said of the pod is not what our verdict says. It sees other objects (a stale cache), "
        "runs other plugins, or dradash is wrong.",
        "Compare the two on the pod's page. If the scheduler's state is stale, restarting it helps.",
        "disagree",
        ("pods",),
    ),
    Rule(
        "statuses-flapping",
        "resourceClaimStatuses goes back and forth",
        _WARNING,
        "The pod's status.resourceClaimStatuses changed often within the window: two controllers, or two versions of "
        "one, write it in turn.",
        "Find who writes it: kubectl get pod -o yaml --show-managed-fields tells.",
        "changes",
        ("pods",),
    ),
    # --- claims
    Rule(
        "immediate-unallocated",
        "Immediate claim is not allocated",
        _ERROR,
        "The driver allocates such a claim before any pod comes. PreFilter refuses every pod that uses it until then.",
        "See whether the driver's controller runs, and what it says about the claim.",
        "immediate",
        ("resourceclaims",),
    ),
    Rule(
        "deallocation-unanswered",
        "Deallocation was asked for, and not answered",
        _ERROR,
        "The scheduler asked for the allocation back, and the driver has not taken it back. PreFilter refuses every "
        "pod that uses the claim.",
        "See whether the driver's controller runs, and what it says about the claim.",
        "deallocate",
        ("resourceclaims",),
    ),
    Rule(
        "deletion-held",
        "Claim is being deleted and held",
        _WARNING,
        "The claim has a deletionTimestamp, but finalizers or a reservation hold it.",
        "The driver must deallocate the claim and then remove its finalizer; consumers must end first. Removing the "
        "finalizer by hand leaks what is allocated.",
        "deleting",
        ("resourceclaims",),
    ),
    Rule(
        "reserved-for-gone",
        "Reserved for a pod that is gone or finished",
        _ERROR,
        "status.reservedFor names a pod that does not exist any more, or has finished. A claim that is not shareable "
        "stays in use for nobody.",
        "The claim controller removes such entries: look at kube-controller-manager.",
        "released",
        ("pods", "resourceclaims"),
    ),
    Rule(
        "allocated-idle",
        "Allocated, but reserved for nobody",
        _INFO,
        "The claim holds a device that nothing uses. That is normal for a while: an Immediate claim before its first "
        "pod, or a claim kept for the next one.",
        "Delete the claim if nobody needs it any more.",
        "idle",
        ("resourceclaims",),
    ),
    Rule(
        "reserved-by-several",
        "Not shareable, but reserved by several",
        _ERROR,
        "The allocation is not shareable, and status.reservedFor has more than one entry.",
        "Find out who wrote the entries (managed fields); end all consumers but one.",
        "",
        ("resourceclaims",),
    ),
    # --- classes
    Rule(
        "class-matches-no-node",
        "Class filter leaves no node",
        _WARNING,
        "The class's suitableNodes match no node of the cluster: no claim of the class can be allocated.",
        "Label nodes (drivers or node feature discovery usually do), add such nodes, or correct the class.",
        "",
        ("nodes", "resourceclasses"),
    ),
    Rule(
        "class-filter-invalid",
        "Class filter is invalid",
        _ERROR,
        "The class's suitableNodes is no valid node selector: PreFilter ends with an error for every pod.",
        "Correct the selector in the class.",
        "",
        ("resourceclasses",),
    ),
    # --- negotiations
    Rule(
        "selected-not-potential",
        "Selected node was not proposed",
        _WARNING,
        "PodSchedulingContext spec.selectedNode is not in spec.potentialNodes: drivers were not asked about it.",
        "Something beside the scheduler writes the context, or the list moved on. If it stays, delete the context: the "
        "scheduler begins anew.",
        "",
        ("podschedulingcontexts",),
    ),
    Rule(
        "selected-unsuitable",
        "Selected node is unsuitable",
        _WARNING,
        "A driver has answered that the selected node is unsuitable for a claim; the scheduler must select another.",
        "Wait for the scheduler; if it does not move, see what the driver lacks on that node.",
        "retry",
        ("podschedulingcontexts",),
    ),
    Rule(
        "no-node-suits",
        "Driver finds every proposed node unsuitable",
        _WARNING,
        "A driver has answered that each of the potential nodes is unsuitable for a claim: nothing is left to select.",
        "See what the driver lacks (free devices, parameters that no device fits), or let other nodes be proposed.",
        "silent",
        ("podschedulingcontexts", "resourceclaims"),
    ),
    Rule(
        "potential-nodes-cut",
        "List of potential nodes is cut",
        _INFO,
        "potentialNodes holds its maximum of 128 nodes: if more fit, drivers were asked about a random part only.",
        "Narrow the choice by the class's suitableNodes or the pod's node selector.",
        "",
        ("podschedulingcontexts",),
    ),
    Rule(
        "context-owned-by-other",
        "PodSchedulingContext belongs to another pod",
        _ERROR,
        "The context with the pod's name is owned by another pod (an earlier one of the same name), or by none. "
        "PreFilter ends with an error.",
        "Delete the context. The garbage collector does so only where it names owners and all of them are gone.",
        "",
        ("pods", "podschedulingcontexts"),
    ),
    Rule(
        "node-refused-repeatedly",
        "The same node is selected and refused again and again",
        _WARNING,
        "A driver refused one node each time that the scheduler selected it.",
        "See why the driver finds that node unsuitable only once it is selected.",
        "",
        ("podschedulingcontexts",),
    ),
    Rule(
        "driver-silent",
        "Driver has not answered",
        _ERROR,
        "The scheduler proposed nodes, and the driver has not said which are unsuitable.",
        "See whether the driver's controller runs and watches PodSchedulingContexts.",
        "silent",
        ("podschedulingcontexts", "resourceclaims"),
    ),
    Rule(
        "selected-node-flapping",
        "selectedNode goes back and forth",
        _WARNING,
        "The context's spec.selectedNode changed often within the window: scheduler and drivers do not settle.",
        "Compare what the drivers answer for each node; two drivers may exclude each other's nodes.",
        "changes",
        ("podschedulingcontexts",),
    ),
    # --- devices
    *DEVICE_RULES,
    # --- what can be read
    Rule(
        "kind-not-served",
        "Kind is not served",
        _ERROR,
        "The API server does not serve this kind in a version that dradash reads.",
        "Turn on the API: Kubernetes 1.34 and later serve resource.k8s.io/v1 by default, before it is "
        "--runtime-config=resource.k8s.io/VERSION=true and the feature gate DynamicResourceAllocation.",
    ),
    Rule(
        "kind-forbidden",
        "Kind is forbidden",
        _ERROR,
        "The API server does not let dradash read this kind.",
        "Grant get, list and watch on it to dradash's account.",
    ),
    Rule(
        "kind-out-of-sync",
        "Kind is not up to date",
        _WARNING,
        "The kind was never listed completely, or cannot be read now: what is shown of it may be old or incomplete.",
        "See the error beside it, and the log of the watching worker.",
        "stale",
    ),
    Rule(
        "malformed-object",
        "Object cannot be read",
        _WARNING,
        "The object is not what its kind should be. For the verdicts it does not exist.",
        "Correct the field that the message names.",
    ),
)

RULES: Final = {rule.code: rule for rule in _RULES}
