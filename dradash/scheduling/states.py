"""The words that say in which state something is: what each means, and what to do. Rows for codes.py.

Each table must name its whole enumeration: tests/unit/test_reasons.py compares.
"""

from __future__ import annotations

from typing import Final

# Of each: its code, what it means, what to do.
Rows = tuple[tuple[str, str, str], ...]

NOTHING: Final = "Nothing."
_STEPS: Final = "See the reasons of the steps."
_LASTS: Final = "Nothing, unless it lasts: then see who must act next."

STATUSES: Final[Rows] = (
    ("Success", "The extension point lets the pod, or these nodes, pass.", NOTHING),
    ("Error", "The extension point could not decide; the attempt ends.", "Correct what the message names."),
    ("Unschedulable", "The pod is refused; evicting other pods might help.", "See the reason beside it."),
    (
        "UnschedulableAndUnresolvable",
        "The pod is refused, and evicting other pods would not help.",
        "See the reason beside it.",
    ),
    ("Wait", "The pod waits at Permit.", _LASTS),
    ("Skip", "The extension point has nothing to do for this pod.", NOTHING),
    ("Pending", "The attempt ends until somebody else (mostly a driver) has acted.", _LASTS),
)

OUTCOMES: Final[Rows] = (
    ("Error", "Judging raised an error, or an extension point answered Error.", _STEPS),
    ("Gated", "The pod has scheduling gates.", "Whoever set spec.schedulingGates must remove them."),
    ("Blocked", "PreEnqueue keeps the pod out of the scheduler's queue; no event says so.", _STEPS),
    ("Unschedulable", "No node passes, or PreFilter refuses the pod.", _STEPS),
    ("Waiting", "Scheduler and drivers negotiate about the pod's claims.", _LASTS),
    (
        "Schedulable",
        "The next attempt binds the pod.",
        "Nothing, unless it lasts: then see whether kube-scheduler runs.",
    ),
    ("Bound", "The pod has a node.", NOTHING),
    ("Unknown", "What the verdict depends on cannot be read.", "See the state of the watch (/api/v1/health)."),
    ("Terminating", "The pod is being deleted, or has finished, before it had a node.", NOTHING),
    ("NotJudged", "No verdict has been made yet.", "Nothing, unless it lasts: then look at the judge workers."),
)

STEPS: Final[Rows] = (
    ("Ran", "The extension point was asked.", NOTHING),
    ("NotReached", "A step before it ended the attempt.", "See the reasons of the steps before."),
    ("NotInVersion", "This version of DRA does nothing at this extension point.", NOTHING),
)

CLAIMS: Final[Rows] = (
    ("ImmediateUnallocated", "The claim is to be allocated before any pod is; its driver has not done so.", _LASTS),
    ("Pending", "The claim is not allocated: it waits for a pod that uses it.", NOTHING),
    ("Allocated", "The claim is allocated, and reserved for nobody.", NOTHING),
    ("Reserved", "The claim is allocated, and reserved for at least one pod.", NOTHING),
    ("DeallocationRequested", "The driver was asked to take the allocation back.", _LASTS),
    ("Deleting", "The claim has a deletion timestamp.", "See who holds it: its finalizers and its users."),
    ("Missing", "A pod names the claim, and it does not exist.", "Create it, or correct the name in the pod."),
    ("Unreadable", "The claim is malformed.", "Correct the object; it did not come from a usual API server."),
)

NEGOTIATIONS: Final[Rows] = (
    ("Answer", "A driver must say which of the proposed nodes are unsuitable.", _LASTS),
    ("Select", "All drivers have answered: the scheduler must select a node.", _LASTS),
    ("Reselect", "The selected node is unsuitable: the scheduler must select another one.", _LASTS),
    (
        "Room",
        "A driver refuses every proposed node: it must make room.",
        "Free devices, or let other nodes be proposed.",
    ),
    ("Allocate", "A driver must allocate the claim for the selected node.", _LASTS),
    ("Finish", "Every claim is allocated: the scheduler must reserve them and bind the pod.", _LASTS),
    ("Held", "Somebody else must act first (a claim is in use, or is being deleted).", "See who must act next."),
    ("Bound", "The pod has its node; the PodSchedulingContext is left over.", NOTHING),
    ("Ending", "The pod ends, or has ended, without a node.", NOTHING),
)

TURNS: Final[Rows] = (
    ("Proposed", "The scheduler wrote potentialNodes.", NOTHING),
    ("Answered", "A driver wrote which nodes are unsuitable for a claim.", NOTHING),
    ("Selected", "The scheduler wrote selectedNode.", NOTHING),
    ("Unselected", "The scheduler took selectedNode back.", NOTHING),
    ("Allocated", "The claim got its allocation.", NOTHING),
    ("Reserved", "The claim was reserved for a pod.", NOTHING),
    ("Released", "The claim is no longer reserved for a pod.", NOTHING),
    ("DeallocationRequested", "The scheduler asked the driver to take the allocation back.", NOTHING),
    ("Deallocated", "The allocation was taken back.", NOTHING),
    ("Created", "The object was created.", NOTHING),
    ("Deleting", "The object got its deletion timestamp.", NOTHING),
    ("Deleted", "The object is gone.", NOTHING),
    ("Reported", "A driver wrote a condition of an allocated device.", NOTHING),
)

DEVICE_STAGES: Final[Rows] = (
    ("seen", "Devices that the node sees.", "None seen: see whether the driver runs on the node and publishes slices."),
    ("usable pool", "Devices of pools that are whole and valid.", "The driver must publish or correct its slices."),
    ("class selectors", "Devices that the DeviceClass's selectors take.", "Correct the class, or use another one."),
    ("request selectors", "Devices that the request's own selectors take.", "Correct the selectors of the request."),
    (
        "tolerated taints",
        "Devices without a taint that the request does not tolerate.",
        "Remove the taint, or add the toleration.",
    ),
    (
        "not allocated",
        "Devices that are free, with the capacity and the counters they need.",
        "Wait for, or end, the pods that hold them.",
    ),
    (
        "constraints",
        "Devices that go together with those of the claim's other requests.",
        "Drop the constraint, or make devices that agree free.",
    ),
)

DEVICE_HINTS: Final[Rows] = (
    ("devices", "The cluster, or the node, has fewer devices than are asked for.", "Ask for fewer, or add devices."),
    ("class", "The DeviceClass does not exist.", "Create it, or correct its name in the claim."),
    ("pool", "Devices of a pool that is not complete or not valid would do.", "The driver must correct its slices."),
    ("free", "Devices that others hold would do.", "End or move the pods that the sentence names."),
    (
        "capacity",
        "No such device ever gives the amount of capacity that is asked for.",
        "Ask for what the sentence says, or correct the capacity's name.",
    ),
    ("tolerate", "Devices with a taint would do.", "Tolerate the taint in the request, or remove it."),
    ("constraint", "Without one of the claim's constraints it would fit.", "Drop or loosen the constraint."),
    ("selector", "Without a part of a selector it would fit.", "Correct that part of the selector."),
    (
        "together",
        "Each request finds enough devices, all together do not; or only several changes at once would do.",
        "See to all of what the sentence names; else free devices, or ask for fewer.",
    ),
    (
        "limit",
        "The claim asks for more devices than the API lets a claim have.",
        "Ask for fewer, or use several claims.",
    ),
)

ACTORS: Final[Rows] = (
    ("scheduler", "kube-scheduler must act.", "Nothing, unless it lasts: then see whether kube-scheduler runs."),
    ("driver", "A DRA driver must act.", "Nothing, unless it lasts: then look at the driver's controller."),
    (
        "claim controller",
        "kube-controller-manager's resourceclaim controller must act.",
        "Nothing, unless it lasts: then see whether kube-controller-manager runs.",
    ),
    (
        "garbage collector",
        "An object that is left over must be collected.",
        "Nothing, unless it lasts: then delete the object.",
    ),
    ("pod", "Another pod must give back what it holds.", "Wait for that pod, or end it."),
    ("admin", "A person must act.", "Do what the sentence beside it says."),
    ("nobody", "Nobody needs to act, or nobody is known who could.", NOTHING),
)

TAINT_FATES: Final[Rows] = (
    (
        "evicted",
        "A taint of effect NoExecute is not tolerated: the pods are deleted at once.",
        "Move the pods first, or tolerate the taint with effect NoExecute in the claim's request.",
    ),
    (
        "evicted later",
        "The allocation tolerates the taint for some seconds: then the pods are deleted.",
        "Move the pods in that time.",
    ),
    ("tolerated", "The allocation tolerates the taint for ever: the pods stay.", NOTHING),
    ("kept", "The taint's effect evicts nobody, or the pod is none that is evicted.", NOTHING),
)

QUEUEING_HINTS: Final[Rows] = (
    ("Queue", "The change makes the scheduler try the pod again.", NOTHING),
    ("QueueSkip", "The change does not make the scheduler try the pod again.", NOTHING),
)

WATCHES: Final[Rows] = (
    ("unknown", "Nothing is known of the kind yet.", "Nothing, unless it lasts: then look at the watch worker."),
    ("notServed", "The API server does not serve the kind.", "Nothing, unless the cluster should: see its version."),
    ("forbidden", "dradash may not read the kind.", "Compare the ClusterRole with deploy/kubernetes/rbac.yaml."),
    ("syncing", "The kind is being listed.", "Nothing, unless it lasts: then see the watch worker's log."),
    ("synced", "The kind is up to date.", NOTHING),
    ("stale", "The kind cannot be read now; it is shown as it was.", "See the error beside it."),
)
