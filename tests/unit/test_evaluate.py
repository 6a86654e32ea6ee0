"""A pod is judged from end to end: outcome, sentence, steps, who acts next."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dradash.kinds.pod import Pod
from dradash.scheduling import nodeset
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.reasons import codes_of
from dradash.scheduling.status import Code
from dradash.scheduling.verdict import Evaluation, Outcome, StepState, Verdict
from tests import build, builddevices

NOT_HELPFUL = "preemption: 0/{n} nodes are available: {n} Preemption is not helpful for scheduling."


def judge(pod: build.Obj, *objects: build.Obj, **options: Any) -> Evaluation:
    cluster = build.cluster(pod, *objects)
    return evaluate(cluster.pods[build.key(pod)], cluster, 7, **options)


def verdict(pod: build.Obj, *objects: build.Obj, **options: Any) -> Verdict:
    return judge(pod, *objects, **options).verdict


POD = build.pod("p", claims={"gpu": "claim"})
CLAIM = build.claim("claim")
CLASS = build.resource_class("gpu", driver="gpu.example.com")
GATED = build.pod("p", claims={"gpu": "claim"}, spec={"schedulingGates": [{"name": "quota"}]})
THREE = build.nodes(3)


def test_every_step_is_there_in_order_reached_or_not() -> None:
    result = verdict(POD, *THREE)
    assert [s.point for s in result.steps] == [
        "PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Reserve", "PreBind", "PostBind", "Unreserve",
    ]  # fmt: skip
    assert result.step("PreEnqueue").code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert {s.state for s in result.steps[1:]} == {StepState.NOT_REACHED}


def test_of_a_pod_with_structured_claims_scores_are_prepared_before_they_are_given() -> None:
    result = verdict(POD, builddevices.claim("claim"), *THREE)
    assert [s.point for s in result.steps] == [
        "PreEnqueue", "PreFilter", "Filter", "PostFilter", "PreScore", "Score",
        "Reserve", "PreBind", "PostBind", "Unreserve",
    ]  # fmt: skip
    assert [s.point for s in result.steps if s.state is StepState.NOT_IN_VERSION] == ["PreScore", "PostBind"]


def test_an_absent_claim_blocks_before_the_queue_and_somebody_must_create_it() -> None:
    result = verdict(POD, CLASS, *THREE)
    assert result.outcome is Outcome.BLOCKED
    assert result.sentence == 'resourceclaim.resource.k8s.io "claim" not found'
    assert (result.acts_next.who, result.acts_next.names) == ("admin", ("default/claim",))


@pytest.mark.parametrize(("present", "who"), [((), "admin"), ((build.template("tmpl"),), "claim controller")])
def test_a_claim_not_created_from_its_template_waits_for_template_or_controller(
    present: tuple[build.Obj, ...], who: str
) -> None:
    result = verdict(build.pod("p", templates={"gpu": "tmpl"}), CLASS, *THREE, *present)
    assert result.sentence == 'pod "default/p": ResourceClaim not created yet'
    assert (result.acts_next.who, result.acts_next.names) == (who, ("default/tmpl",))


def test_a_claim_of_another_owner_is_refused() -> None:
    pod = build.pod("p", templates={"gpu": "t"}, generated={"gpu": "claim"})
    result = verdict(pod, CLAIM, CLASS, *THREE)
    assert result.sentence == "ResourceClaim default/claim was not created for pod default/p (pod is not owner)"


def test_a_claim_being_deleted_waits_for_its_users_then_for_its_driver() -> None:
    user = build.pod("user")
    held = build.claim(
        "claim", allocation=build.allocation("node-0"), reserved_for=[user], deletionTimestamp=build.CREATED
    )
    assert verdict(POD, held, CLASS).acts_next.names == ("default/user",)
    free = build.claim("claim", deletionTimestamp=build.CREATED)
    assert verdict(POD, free, CLASS).acts_next.names == ("gpu.example.com",)


def test_a_missing_class_is_the_sentence_for_all_nodes_without_a_count() -> None:
    result = verdict(POD, CLAIM, *THREE)
    assert result.outcome is Outcome.UNSCHEDULABLE
    assert result.sentence == (
        "0/3 nodes are available: resource class gpu does not exist. no new claims to deallocate, "
        + NOT_HELPFUL.format(n=3)
    )
    assert (result.acts_next.who, result.acts_next.names) == ("admin", ("gpu",))


def malformed(obj: build.Obj) -> build.Obj:
    return obj | {"metadata": obj["metadata"] | {"labels": 7}}


@pytest.mark.parametrize(
    ("pod", "objects", "wrong"),
    [
        (POD, (CLAIM, malformed(CLASS)), "ResourceClass gpu"),
        (POD, (malformed(CLAIM), CLASS), "ResourceClaim default/claim"),
        (
            build.pod("p", templates={"gpu": "tmpl"}, generated={"gpu": "claim"}),
            (malformed(CLAIM), CLASS),
            "ResourceClaim default/claim",
        ),
        (
            build.pod("p", templates={"gpu": "tmpl"}),
            (malformed(build.template("tmpl")), CLASS),
            "ResourceClaimTemplate default/tmpl",
        ),
        (POD, (CLAIM, CLASS, malformed(build.context(POD))), "PodSchedulingContext default/p"),
    ],
)
def test_what_is_malformed_is_not_told_as_absent(pod: build.Obj, objects: tuple[build.Obj, ...], wrong: str) -> None:
    result = verdict(pod, *objects, *THREE)
    assert result.outcome is Outcome.UNKNOWN
    assert result.sentence.startswith(f"cannot be judged: {wrong} cannot be read: ")
    assert codes_of(result) == ("ObjectMalformed",)
    assert result.acts_next.who == "admin"
    assert result.acts_next.names == (wrong.split()[1],)
    assert result.acts_next.what == f"correct the {wrong}: dradash cannot read it"
    expected = "Unreadable" if "ResourceClaim " in wrong else result.claims[0].state
    assert result.claims[0].state == expected


def test_what_is_malformed_and_not_asked_for_changes_no_verdict() -> None:
    allocated = build.claim("claim", allocation=build.allocation("node-0"), driver="gpu.example.com")
    assert verdict(POD, allocated, malformed(CLASS), *THREE).outcome is Outcome.SCHEDULABLE
    other = malformed(build.resource_class("other"))
    assert verdict(POD, CLAIM, CLASS, other, *THREE) == verdict(POD, CLAIM, CLASS, *THREE)
    for objects in ((CLAIM, malformed(CLASS)), (malformed(CLAIM), CLASS), (malformed(builddevices.claim("claim")),)):
        assert verdict(GATED, *objects, *THREE).outcome is Outcome.GATED


def test_a_claim_in_use_names_the_pods_that_hold_it() -> None:
    holder = build.pod("holder")
    used = build.claim("claim", allocation=build.allocation("node-0"), reserved_for=[holder])
    result = verdict(POD, used, CLASS, *THREE)
    assert "resourceclaim in use" in result.sentence
    assert (result.acts_next.who, result.acts_next.names) == ("pod", ("default/holder",))


def test_node_checks_and_the_plugin_share_one_sentence() -> None:
    only_zone_a = build.resource_class("gpu", suitable=build.with_labels(zone="a"))
    answered = build.context(POD, potential=["node-a"], unsuitable={"gpu": ["node-a"]})
    nodes = (
        build.node("cordoned", unschedulable=True),
        build.node("node-b", labels={"zone": "b"}),
        build.node("node-a", labels={"zone": "a"}),
    )
    result = verdict(POD, CLAIM, only_zone_a, answered, *nodes)
    assert result.sentence == (
        "0/3 nodes are available: 1 excluded by resource class node filter, 1 node(s) were unschedulable, "
        "1 resourceclaim cannot be allocated for the node (unsuitable). still not schedulable, "
        + NOT_HELPFUL.format(n=3)
    )
    assert [(g.plugin, g.count) for g in result.step("Filter").groups] == [
        ("NodeUnschedulable", 1),
        ("DynamicResources", 1),
        ("DynamicResources", 1),
    ]
    assert (result.acts_next.who, result.acts_next.names) == ("driver", ("gpu.example.com",))


def test_a_pod_that_never_preempts_says_so() -> None:
    pod = build.pod("p", claims={"gpu": "claim"}, spec={"preemptionPolicy": "Never"})
    result = verdict(pod, CLAIM, build.resource_class(suitable=build.with_labels(zone="x")), *THREE)
    assert result.sentence.endswith("still not schedulable, preemption: not eligible due to preemptionPolicy=Never.")


def test_conflicting_affinity_leaves_the_plugin_without_its_state() -> None:
    names = [{"key": "metadata.name", "operator": "In", "values": [n]} for n in ("node-0", "node-1")]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": names}]}}
    pod = build.pod("p", claims={"gpu": "claim"}, spec={"affinity": {"nodeAffinity": required}})
    result = verdict(pod, CLAIM, CLASS, *THREE)
    assert result.sentence == "0/3 nodes are available: pod affinity terms conflict. not found"
    assert result.step("PreFilter").plugin == "NodeAffinity"


def test_without_nodes_the_scheduler_has_its_own_sentence() -> None:
    assert verdict(POD, CLAIM, CLASS).sentence == "no nodes available to schedule pods"


DEVICE_CLASS = builddevices.device_class("gpu")


@pytest.mark.parametrize(
    "objects",
    [
        (CLASS,),
        (DEVICE_CLASS,),
        (CLAIM, CLASS),
        (build.claim("claim", deletionTimestamp=build.CREATED), CLASS),
        (builddevices.claim("claim"), DEVICE_CLASS),
    ],
)
def test_scheduling_gates_refuse_before_the_claims_are_asked_for(objects: tuple[build.Obj, ...]) -> None:
    gated = verdict(GATED, *objects, *THREE)
    assert (gated.outcome, gated.acts_next.names) == (Outcome.GATED, ("quota",))
    assert gated.sentence == "Scheduling is blocked due to non-empty scheduling gates"
    refused = gated.step("PreEnqueue")
    assert (refused.plugin, refused.code) == ("SchedulingGates", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
    assert {s.state for s in gated.steps[1:]} <= {StepState.NOT_REACHED, StepState.NOT_IN_VERSION}


def test_a_gated_pod_with_claims_of_two_versions_is_gated_first() -> None:
    pod = build.pod("p", claims={"a": "claim", "b": "other"}, spec={"schedulingGates": [{"name": "quota"}]})
    two = (CLAIM, builddevices.claim("other"))
    assert verdict(pod, *two, *THREE).outcome is Outcome.GATED


def test_an_invalid_class_filter_is_an_error_of_prefilter() -> None:
    broken = build.resource_class(
        "gpu", suitable={"nodeSelectorTerms": [{"matchFields": [{"key": "x", "operator": "Gt"}]}]}
    )
    result = verdict(POD, CLAIM, broken, *THREE)
    assert result.outcome is Outcome.ERROR
    assert result.sentence.startswith(
        'running PreFilter plugin "DynamicResources": nodeSelectorTerms[0].matchFields[0]'
    )


def test_a_context_of_an_earlier_pod_is_an_error_until_it_is_collected() -> None:
    other = build.context(build.pod("p", uid="earlier"), potential=["node-0"])
    result = verdict(POD, CLAIM, CLASS, other, *THREE)
    assert "is not owned by Pod default/p" in result.sentence
    assert result.acts_next.who == "garbage collector"


OWNER = build.owner(build.pod("other", uid="other"))


@pytest.mark.parametrize(
    ("owners", "why"),
    [
        ([], "it has no owner, so the garbage collector never deletes it"),
        ([OWNER], "it belongs to Pod other, and the garbage collector leaves it while its owner exists"),
        ([build.owner(build.pod("p", uid="earlier")), OWNER], "it belongs to Pod other, and the garbage"),
        (
            [build.owner(POD) | {"controller": False}],
            "it does not name this pod as its controller, and the garbage collector leaves it while the pod exists",
        ),
    ],
)
def test_a_context_that_the_garbage_collector_leaves_is_for_a_person_to_delete(
    owners: list[build.Obj], why: str
) -> None:
    context = build.context(POD, potential=["node-0"])
    context["metadata"]["ownerReferences"] = owners
    acts = verdict(POD, CLAIM, CLASS, context, *THREE).acts_next
    assert (acts.who, acts.names) == ("admin", ("default/p",))
    assert acts.what.startswith(f"delete the PodSchedulingContext default/p: {why}")


def test_an_unknown_allocation_mode_is_an_error_of_filter() -> None:
    result = verdict(POD, build.claim("claim", mode="Sometime"), CLASS, *THREE)
    assert result.outcome is Outcome.ERROR
    assert (
        result.sentence
        == 'running "DynamicResources" filter plugin: internal error, unexpected allocation mode Sometime'
    )


# --- the negotiation -------------------------------------------------------------------------------------------------


def test_at_first_the_scheduler_publishes_a_context() -> None:
    result = verdict(POD, CLAIM, CLASS, *THREE)
    assert (result.outcome, result.sentence) == (Outcome.WAITING, "waiting for resource driver")
    assert result.acts_next.who == "scheduler"
    (created,) = result.step("PreBind").effects
    assert created.verb == "create"
    assert created.body["spec"]["potentialNodes"] == ["node-0", "node-1", "node-2"]
    assert result.step("Reserve").choices[0].count == 3


def test_with_a_selected_node_the_driver_must_allocate() -> None:
    selected = build.context(POD, potential=["node-0", "node-1", "node-2"], selected="node-1")
    result = verdict(POD, CLAIM, CLASS, selected, *THREE)
    assert result.node == "node-1"
    assert result.sentence == "0/1 nodes are available: 1 waiting for resource driver to provide information."
    assert result.acts_next == msgspec.structs.replace(
        result.acts_next, who="driver", names=("gpu.example.com",), what="allocate for node node-1"
    )


def test_another_node_with_a_better_score_is_told_as_an_alternative() -> None:
    selected = build.context(POD, potential=["node-0", "node-1", "node-2"], selected="node-1")
    assert verdict(POD, CLAIM, CLASS, selected, *THREE).alternatives == ("waiting for resource driver",)


def test_with_two_claims_the_silent_driver_must_answer() -> None:
    pod = build.pod("p", claims={"gpu": "claim", "nic": "other"})
    nic = build.resource_class("nic", driver="nic.example.com")
    half = build.context(pod, potential=["node-0", "node-1", "node-2"], unsuitable={"gpu": []})
    result = verdict(pod, CLAIM, build.claim("other", resource_class="nic"), CLASS, nic, half, *THREE)
    assert result.outcome is Outcome.WAITING
    assert result.acts_next.names == ("nic.example.com",)


def test_an_allocated_claim_elsewhere_is_asked_to_be_given_back() -> None:
    stuck = build.claim("claim", allocation=build.allocation("node-9"))
    result = verdict(POD, stuck, CLASS, *THREE)
    assert result.sentence == "0/3 nodes are available: 3 resourceclaim not available on the node."
    (update,) = result.step("PostFilter").effects
    assert update.body["status"]["deallocationRequested"] is True
    assert result.acts_next.who == "scheduler"


def test_all_claims_that_may_be_given_back_are_listed_as_the_choice() -> None:
    pod = build.pod("p", claims={"a": "a", "b": "b"})
    claims = [build.claim(n, allocation=build.allocation("node-9")) for n in ("a", "b")]
    seen = {verdict(pod, *claims, CLASS, *THREE, seed=str(i)).step("PostFilter").choices[0].chosen for i in range(64)}
    assert seen == {("a",), ("b",)}
    assert verdict(pod, *claims, CLASS, *THREE).step("PostFilter").choices[0].options == ("a", "b")


def test_an_allocated_claim_that_fits_makes_the_pod_schedulable() -> None:
    ready = build.claim("claim", allocation=build.allocation("node-1"))
    result = verdict(POD, ready, CLASS, *THREE)
    assert (result.outcome, result.node, result.nodes_fit) == (Outcome.SCHEDULABLE, "node-1", 1)
    assert [e.verb for s in result.steps for e in s.effects] == ["patch", "delete"]


def many(count: int) -> Cluster:
    return build.cluster(POD, CLAIM, CLASS, *build.nodes(count))


def test_more_than_128_potential_nodes_are_cut_to_a_choice_of_the_seed() -> None:
    cluster = many(300)
    pod = cluster.pods["default/p"]
    picked = [evaluate(pod, cluster, 1, seed=s).verdict for s in ("one", "one", "two")]
    potential = [v.step("PreBind").effects[0].body["spec"]["potentialNodes"] for v in picked]
    assert [len(p) for p in potential] == [128, 128, 128]
    assert potential[0] == potential[1] != potential[2]
    assert potential[0] == sorted(set(potential[0]))
    choice = picked[0].step("PreScore").choices[0]
    assert (choice.count, choice.take) == (300, 128)


@pytest.mark.parametrize("count", [1, 7, 300])
def test_every_node_is_in_exactly_one_group(count: int) -> None:
    cluster = many(count)
    evaluation = evaluate(cluster.pods["default/p"], cluster, 1)
    sets = [evaluation.node_sets[g.nodes] for g in evaluation.verdict.step("Filter").groups]
    assert sum(s.bit_count() for s in sets) == count
    assert sum(sets) == cluster.nodes.all


# --- pods that the scheduler leaves alone ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pod", "outcome"),
    [
        (build.pod("p", node="node-1"), Outcome.BOUND),
        (build.pod("p", deletionTimestamp=build.CREATED), Outcome.TERMINATING),
        (build.pod("p", phase="Failed"), Outcome.TERMINATING),
    ],
)
def test_a_settled_pod_is_not_judged_further(pod: build.Obj, outcome: Outcome) -> None:
    assert verdict(pod, *THREE).outcome is outcome


def test_a_pod_of_another_scheduler_is_judged_and_marked() -> None:
    pod = build.pod("p", claims={"gpu": "claim"}, spec={"schedulerName": "kueue"})
    assert verdict(pod, CLAIM, CLASS, *THREE).not_modelled == ("scheduler kueue",)


def test_an_entry_that_runs_without_a_claim_shifts_the_names_behind_it() -> None:
    # resourceClaimStatuses without a claim name: the pod runs without that claim, and upstream then takes the wrong
    # entry's name for the claims behind it.
    pod = build.pod("p", templates={"skipped": "t"}, spec={})
    pod["spec"]["resourceClaims"].append({"name": "gpu", "source": {"resourceClaimName": "claim"}})
    pod["status"]["resourceClaimStatuses"] = [{"name": "skipped"}]
    by_right_name = build.context(pod, potential=["node-0"], unsuitable={"gpu": ["node-0"]})
    by_shifted_name = build.context(pod, potential=["node-0"], unsuitable={"skipped": ["node-0"]})
    assert verdict(pod, CLAIM, CLASS, by_right_name, *build.nodes(1)).nodes_fit == 1
    assert verdict(pod, CLAIM, CLASS, by_shifted_name, *build.nodes(1)).nodes_fit == 0


def test_a_verdict_survives_json() -> None:
    evaluation = judge(POD, CLAIM, CLASS, *THREE)
    raw = msgspec.json.encode(evaluation.verdict)
    assert msgspec.json.decode(raw, type=Verdict) == evaluation.verdict
    assert all(nodeset.digest(nodes) == digest for digest, nodes in evaluation.node_sets.items())


def test_pods_are_decoded_in_both_spellings_of_their_claims() -> None:
    flat = {
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]},
    }
    assert msgspec.convert(flat, Pod).spec.resource_claims[0].claim_name == "c"
