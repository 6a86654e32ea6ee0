"""The default scheduler's checks before DynamicResources: order, texts, tolerations, affinity."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dradash.kinds.node import Taint
from dradash.kinds.pod import Pod, Toleration
from dradash.scheduling import nodechecks
from dradash.scheduling.cluster import Cluster
from tests import build

TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def pod(**spec: Any) -> Pod:
    return msgspec.convert(build.pod(spec=spec), Pod)


def refused(one: Pod, cluster: Cluster) -> dict[str, list[str]]:
    status, shown = nodechecks.pre_filter(one, cluster.nodes)
    assert status.is_success
    out, _ = nodechecks.check_nodes(one, cluster.nodes, shown)
    return {r.status.message: cluster.nodes.names(r.nodes) for r in out}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def test_a_node_gets_the_reason_of_the_first_check_that_refuses_it() -> None:
    cluster = build.cluster(
        build.node("both", taints=[TAINT], unschedulable=True),
        build.node("tainted", taints=[TAINT], labels={"zone": "b"}),
        build.node("elsewhere", labels={"zone": "b"}),
        build.node("fits", labels={"zone": "a"}),
    )
    assert refused(pod(nodeSelector={"zone": "a"}), cluster) == {
        "node(s) were unschedulable": ["both"],
        "node(s) had untolerated taint {dedicated: gpu}": ["tainted"],
        "node(s) didn't match Pod's node affinity/selector": ["elsewhere"],
    }


def test_the_first_untolerated_taint_of_a_node_is_named() -> None:
    second = {"key": "second", "value": "", "effect": "NoExecute"}
    cluster = build.cluster(build.node("a", taints=[TAINT, second]), build.node("b", taints=[second]))
    tolerant = pod(tolerations=[{"key": "dedicated", "operator": "Exists"}])
    assert refused(tolerant, cluster) == {"node(s) had untolerated taint {second: }": ["a", "b"]}


def test_a_preferred_taint_keeps_nobody_away() -> None:
    cluster = build.cluster(build.node("a", taints=[{"key": "k", "effect": "PreferNoSchedule"}]))
    assert refused(pod(), cluster) == {}


def test_tolerating_the_unschedulable_taint_lets_a_cordoned_node_pass() -> None:
    cluster = build.cluster(build.node("a", unschedulable=True))
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    assert refused(pod(tolerations=[toleration]), cluster) == {}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(key="dedicated", value="gpu"), True),
        (Toleration(key="dedicated", operator="Equal", value="nic"), False),
        (Toleration(key="dedicated", operator="Exists", effect="NoExecute"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(key="dedicated", operator="Near", value="gpu"), False),
        (Toleration(key="other", operator="Exists"), False),
    ],
)
def test_a_toleration_covers_a_taint_as_upstream_says(toleration: Toleration, tolerated: bool) -> None:
    assert nodechecks.tolerates(toleration, Taint(key="dedicated", value="gpu", effect="NoSchedule")) is tolerated


def by_name(*names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [n]} for n in names]}


def test_affinity_to_named_nodes_filters_the_others_out_before_filter() -> None:
    cluster = build.cluster(*build.nodes(4))
    _, shown = nodechecks.pre_filter(pod(**required(by_name("node-1"), by_name("node-3"))), cluster.nodes)
    assert cluster.nodes.names(shown) == ["node-1", "node-3"]


def test_terms_that_name_two_nodes_at_once_conflict() -> None:
    cluster = build.cluster(*build.nodes(2))
    status, _ = nodechecks.pre_filter(pod(**required(by_name("node-0", "node-1"))), cluster.nodes)
    assert status == nodechecks.AFFINITY_CONFLICT


def test_one_term_without_a_name_shows_all_nodes_to_filter() -> None:
    cluster = build.cluster(*build.nodes(2))
    anywhere = {"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}
    _, shown = nodechecks.pre_filter(pod(**required(by_name("node-0"), anywhere)), cluster.nodes)
    assert shown == cluster.nodes.all


def test_a_broken_affinity_term_matches_nothing_and_the_others_still_count() -> None:
    cluster = build.cluster(build.node("a", labels={"zone": "a"}), build.node("b"))
    broken = {"matchExpressions": [{"key": "zone", "operator": "Gt", "values": ["x"]}]}
    good = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    assert refused(pod(**required(broken, good)), cluster) == {
        "node(s) didn't match Pod's node affinity/selector": ["b"]
    }
