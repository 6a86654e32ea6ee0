"""Whatever changes in whatever order: judging only what a change concerns leaves no verdict behind the times."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.dependencies import Dependencies, hint_for
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.verdict import Outcome, Verdict
from tests import build
from tests import builddevices as make


def random_object(rng: random.Random, kind: str, number: int) -> build.Obj:
    """One of a few objects of the kind in one of many states; names are few, so that they meet each other."""
    pods = [build.pod(f"pod-{i}", uid=f"uid-{i}") for i in range(3)]
    match kind:
        case "pods":
            owns = {"a": f"claim-{rng.randrange(3)}"}
            templates = {"b": "tmpl"} if rng.random() < 0.5 else {}
            generated = {"b": f"claim-{rng.randrange(3)}"} if rng.random() < 0.7 else {}
            spec: build.Obj = {"nodeSelector": {"zone": rng.choice("ab")}} if rng.random() < 0.3 else {}
            if rng.random() < 0.15:
                spec |= {"schedulingGates": [{"name": "quota"}]}
            node = "node-0" if rng.random() < 0.1 else ""
            return build.pod(
                f"pod-{number}",
                uid=f"uid-{number}",
                claims=owns,
                templates=templates,
                generated=generated,
                node=node,
                spec=spec,
            )
        case "nodes":
            labels = {"zone": rng.choice("abc")} if rng.random() < 0.8 else {}
            taints = [{"key": "k", "effect": "NoSchedule"}] if rng.random() < 0.2 else []
            return build.node(f"node-{number}", labels=labels, taints=taints, unschedulable=rng.random() < 0.2)
        case "resourceclasses":
            suitable = build.with_labels(zone=rng.choice("ab")) if rng.random() < 0.6 else None
            return build.resource_class(f"class-{number}", suitable=suitable)
        case "resourceclaims":
            allocation = rng.choice(
                [None, None, build.allocation("node-0", "node-1"), build.allocation(shareable=True)]
            )
            more: build.Obj = {"ownerReferences": [build.owner(rng.choice(pods))]} if rng.random() < 0.6 else {}
            return build.claim(
                f"claim-{number}",
                resource_class=f"class-{rng.randrange(3)}",
                mode=rng.choice(["Immediate", "WaitForFirstConsumer", "WaitForFirstConsumer"]),
                allocation=allocation,
                reserved_for=[rng.choice(pods)] if allocation and rng.random() < 0.5 else [],
                deallocation_requested=rng.random() < 0.1,
                **more,
            )
        case "resourceclaimtemplates":
            return build.template("tmpl")
        case _:
            potential = [f"node-{i}" for i in range(3) if rng.random() < 0.7]
            selected = rng.choice(["", "node-0", "node-1"])
            unsuitable = rng.choice([None, {"a": ["node-0"]}, {"a": [], "b": ["node-1"]}])
            return build.context(pods[number], potential=potential, selected=selected, unsuitable=unsuitable)


KINDS = ("pods", "nodes", "resourceclasses", "resourceclaims", "resourceclaimtemplates", "podschedulingcontexts")


def judged(key: str, cluster: Cluster) -> Verdict:
    return evaluate(cluster.pods[key], cluster, 0).verdict


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 60))
def test_changes_one_by_one_give_the_verdicts_of_the_final_state(seed: int, length: int) -> None:
    rng = random.Random(seed)
    cluster = Cluster()
    dependencies = Dependencies(cluster)
    verdicts: dict[str, Verdict] = {}
    for _ in range(length):
        kind, number = rng.choice(KINDS), rng.randrange(3)
        obj = random_object(rng, kind, number)
        key = build.key(obj)
        if kind not in ("pods", "nodes") and rng.random() < 0.1:
            obj["metadata"]["labels"] = 7
        if rng.random() < 0.2:
            old, new = cluster.remove(kind, key), None
        else:
            old, new = cluster.put(kind, key, build.raw(obj))
        verdicts.pop(key, None) if kind == "pods" and new is None else None
        for pod in dependencies.affected(kind, key, old, new):
            verdicts[pod] = judged(pod, cluster)
    afresh = Cluster()
    for kind in ("nodes", *(k for k in KINDS if k != "nodes")):
        for key in sorted(cluster.raw[kind]):
            slot = next(s for s in range(99) if cluster.nodes.name(s) == key) if kind == "nodes" else None
            afresh.put(kind, key, cluster.raw[kind][key], slot)
    assert verdicts == {key: judged(key, afresh) for key in afresh.pods}


@pytest.fixture
def waiting() -> tuple[Cluster, Dependencies]:
    pod = build.pod("p", claims={"gpu": "claim"})
    filtered = build.resource_class("gpu", suitable=build.with_labels(zone="a"))
    cluster = build.cluster(pod, build.claim("claim"), filtered, build.node("node-0", labels={"zone": "a", "x": "1"}))
    return cluster, Dependencies(cluster)


def change(cluster: Cluster, obj: build.Obj) -> tuple[str, str, Any, Any]:
    old, new = cluster.put(build.plural(obj), build.key(obj), build.raw(obj))
    return build.plural(obj), build.key(obj), old, new


def test_a_label_that_no_selector_reads_concerns_nobody(waiting: tuple[Cluster, Dependencies]) -> None:
    cluster, dependencies = waiting
    assert not dependencies.affected(*change(cluster, build.node("node-0", labels={"zone": "a", "x": "2"})))


def test_a_label_that_the_class_reads_concerns_the_pod(waiting: tuple[Cluster, Dependencies]) -> None:
    cluster, dependencies = waiting
    assert dependencies.affected(*change(cluster, build.node("node-0", labels={"zone": "b"}))) == {"default/p"}


def test_a_heartbeat_of_a_node_concerns_nobody(waiting: tuple[Cluster, Dependencies]) -> None:
    cluster, dependencies = waiting
    beat = build.node("node-0", labels={"zone": "a", "x": "1"}) | {"status": {"conditions": [{"type": "Ready"}]}}
    assert not dependencies.affected(*change(cluster, beat))


def test_a_claim_of_another_pod_concerns_only_that_pod(waiting: tuple[Cluster, Dependencies]) -> None:
    cluster, dependencies = waiting
    dependencies.affected(*change(cluster, build.pod("q", claims={"gpu": "other"})))
    assert dependencies.affected(*change(cluster, build.claim("other"))) == {"default/q"}


def test_a_pod_that_becomes_malformed_is_judged_as_that(waiting: tuple[Cluster, Dependencies]) -> None:
    cluster, dependencies = waiting
    broken = build.pod("p") | {"spec": {"nodeName": 7}}
    assert dependencies.affected(*change(cluster, broken)) == {"default/p"}


def test_hints_follow_the_registered_events(waiting: tuple[Cluster, Dependencies]) -> None:
    cluster, _ = waiting
    pod = cluster.pods["default/p"]
    kind, _, old, new = change(cluster, build.claim("claim", allocation=build.allocation("node-0")))
    assert hint_for(pod, cluster, kind, "MODIFIED", old, new) == "Queue"
    assert hint_for(pod, cluster, kind, "DELETED", new, None) == ""
    kind, _, old, new = change(cluster, build.node("node-0", labels={"zone": "b"}))
    assert hint_for(pod, cluster, kind, "MODIFIED", old, new) == "Queue"
    kind, _, old, new = change(cluster, build.node("node-0", labels={"zone": "b"}, unschedulable=True))
    assert hint_for(pod, cluster, kind, "MODIFIED", old, new) == ""
    assert hint_for(pod, cluster, "pods", "MODIFIED", pod, pod) == ""


def test_a_malformed_object_does_not_exist_for_the_logic_but_is_told() -> None:
    cluster = build.cluster(build.pod("p", claims={"gpu": "claim"}), build.claim("claim"))
    old, new = cluster.put("resourceclaims", "default/claim", b'{"metadata": {"name": 7}}')
    assert old is not None
    assert new is None
    assert "default/claim" not in cluster.claims
    assert "metadata.name" in cluster.malformed["resourceclaims"]["default/claim"]
    assert cluster.raw["resourceclaims"]["default/claim"] == b'{"metadata": {"name": 7}}'
    mended = build.raw(build.claim("claim"))
    cluster.put("resourceclaims", "default/claim", mended)
    assert not cluster.malformed["resourceclaims"]
    assert msgspec.json.decode(cluster.raw["resourceclaims"]["default/claim"])["metadata"]["name"] == "claim"


def test_a_class_behind_an_extended_resource_concerns_the_pods_that_waited_for_it_before() -> None:
    """Nothing else tells which generation the cluster has."""
    asks = {"resourceClaims": [], "containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    cluster = Cluster()
    dependencies = Dependencies(cluster)
    for obj in (build.node("node-0"), build.pod("p", spec=asks), build.pod("q"), make.resource_slice(make.device("a"))):
        dependencies.affected(*change(cluster, obj))
    assert judged("default/p", cluster).claims == ()
    behind = make.device_class("gpu", extendedResourceName="example.com/gpu")
    assert dependencies.affected(*change(cluster, behind)) == {"default/p"}
    verdict = judged("default/p", cluster)
    assert (verdict.generation, verdict.outcome) == ("structured", Outcome.SCHEDULABLE)
    assert [(c.name, c.claim, c.resource_class, c.state) for c in verdict.claims] == [
        ("<extended-resources>", "", "gpu", "Pending")
    ]
    # It is grouped by what it waits for now: devices, and the class.
    assert dependencies.affected(*change(cluster, make.resource_slice(make.device("b"), name="more"))) == {"default/p"}
    old = cluster.remove("deviceclasses", "gpu")
    assert dependencies.affected("deviceclasses", "gpu", old, None) == {"default/p"}


def test_another_pod_of_the_same_name_takes_the_place_of_the_one_that_was_missed() -> None:
    # A list after a lost watch brings the new pod; that the old one was deleted is never told.
    first, second = (build.pod("p", "ml", claims={"gpu": "c"}, uid=uid) for uid in ("one", "two"))
    cluster = Cluster()
    for pod in (first, second):
        cluster.put("pods", "ml/p", build.raw(pod))
    assert cluster.pods_by_uid == {"two": "ml/p"}

    cluster.remove("pods", "ml/p")
    assert cluster.pods_by_uid == {}
