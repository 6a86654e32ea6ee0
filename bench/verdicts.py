"""How long judging takes: 1,000 pending pods x 5,000 nodes, and how it grows from 500 to 50,000 nodes.

Prints JSON. "verdict" is evaluate (every extension point), encoding the verdict, and storing it with its node sets in
the in-memory store; "evaluate" is the first of these alone; "filter" is what the figure of the Go plugin is about:
PreFilter and Filter on all nodes, here with the sets made and kept; it runs first, with nothing compiled yet. Compare
ratios of one run; absolute times depend on the machine.
"""

from __future__ import annotations

import json
import platform
import random
import resource
import statistics
import sys
import time
from typing import Any

import msgspec

from dradash.kinds.registry import KINDS
from dradash.scheduling import nodechecks, nodeset
from dradash.scheduling.classic import plugin
from dradash.scheduling.classic.claims import pod_claims
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.dependencies import Dependencies
from dradash.scheduling.evaluate import evaluate
from dradash.store.memory import MemoryModel
from dradash.store.model import Write

DRA = "resource.k8s.io/v1alpha2"
PODS, CLASSES = 1_000, 12
SIZES = (500, 5_000, 50_000)
GO_FILTER_MS = (6.0, 10.0)  # the Go plugin's Filter for one pod on 5,000 nodes, as the issue gives it
ZONES, RACKS, MODELS = 6, 40, ("a100", "h100", "l4", "none")


def node(i: int, rng: random.Random) -> dict[str, Any]:
    labels = {
        "kubernetes.io/hostname": f"node-{i}",
        "topology.kubernetes.io/zone": f"zone-{i % ZONES}",
        "rack": str(rng.randrange(RACKS)),
        "accelerator": rng.choice(MODELS),
        "count": str(rng.randrange(9)),
    }
    return {"metadata": {"name": f"node-{i}", "uid": f"n{i}", "labels": labels}, "spec": {}}


def suitable(i: int) -> dict[str, Any]:
    """Twelve different filters: In, NotIn, Exists, Gt, Lt over four labels, one or two terms."""
    zone: dict[str, Any] = {
        "key": "topology.kubernetes.io/zone",
        "operator": "In",
        "values": [f"zone-{z}" for z in range(i % 3 + 2)],
    }
    model: dict[str, Any] = {"key": "accelerator", "operator": "NotIn", "values": [MODELS[i % 4]]}
    count: dict[str, Any] = {"key": "count", "operator": "Gt" if i % 2 else "Lt", "values": [str(i % 5 + 1)]}
    rack: dict[str, Any] = {"key": "rack", "operator": "Lt", "values": [str(RACKS // 2 + i)]}
    terms = [{"matchExpressions": [zone, model]}, {"matchExpressions": [count, rack]}]
    return {"nodeSelectorTerms": terms[: 1 + i % 2]}


def pod_with_claims(i: int, nodes: int, rng: random.Random) -> list[tuple[str, str, dict[str, Any]]]:
    names = [f"c{i}-{n}" for n in range(1 + i % 4)]
    meta: dict[str, Any] = {"name": f"pod-{i}", "namespace": "bench", "uid": f"p{i}"}
    entries = [{"name": f"e{n}", "source": {"resourceClaimName": c}} for n, c in enumerate(names)]
    made: list[tuple[str, str, dict[str, Any]]] = [
        (
            "pods",
            f"bench/pod-{i}",
            {"metadata": meta, "spec": {"resourceClaims": entries}, "status": {"phase": "Pending"}},
        )
    ]
    for n, c in enumerate(names):
        spec: dict[str, Any] = {
            "resourceClassName": f"class-{(i + n) % CLASSES}",
            "allocationMode": "WaitForFirstConsumer",
        }
        meta_of_claim = {"name": c, "namespace": "bench", "uid": c}
        obj: dict[str, Any] = {"apiVersion": DRA, "metadata": meta_of_claim, "spec": spec, "status": {}}
        made.append(("resourceclaims", f"bench/{c}", obj))
    if i % 2:
        potential = sorted(f"node-{rng.randrange(nodes)}" for _ in range(128))
        answers = [{"name": e["name"], "unsuitableNodes": rng.sample(potential, 32)} for e in entries]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
        obj = {
            "metadata": meta | {"uid": f"x{i}", "ownerReferences": [owner]},
            "spec": {"potentialNodes": potential},
            "status": {"resourceClaims": answers},
        }
        made.append(("podschedulingcontexts", f"bench/pod-{i}", obj))
    return made


def load(nodes: int, rng: random.Random) -> tuple[Cluster, MemoryModel, float]:
    objects: list[tuple[str, str, dict[str, Any]]] = [("nodes", f"node-{i}", node(i, rng)) for i in range(nodes)]
    for i in range(CLASSES):
        obj = {"metadata": {"name": f"class-{i}"}, "driverName": f"driver-{i}", "suitableNodes": suitable(i)}
        objects.append(("resourceclasses", f"class-{i}", obj))
    for i in range(PODS):
        objects += pod_with_claims(i, nodes, rng)
    raws = [(kind, key, msgspec.json.encode(obj)) for kind, key, obj in objects]
    model = MemoryModel()
    epoch = model.acquire("bench", 3600.0) or 0
    model.apply(epoch, [Write(kind, key, "ADDED", raw) for kind, key, raw in raws], (), time.time())
    cluster = Cluster()
    started = time.perf_counter()
    for kind, key, raw in raws:
        cluster.put(kind, key, raw)
    return cluster, model, time.perf_counter() - started


def judge(cluster: Cluster, model: MemoryModel, pods: list[str], revision: int) -> None:
    for key in pods:
        evaluation = evaluate(cluster.pods[key], cluster, revision)
        sets = {digest: nodeset.to_bytes(nodes) for digest, nodes in evaluation.node_sets.items()}
        model.put_verdict(key, revision, msgspec.json.encode(evaluation.verdict), sets, 0.0)


def measure(nodes: int) -> dict[str, Any]:
    rng = random.Random(7)
    cluster, model, loading = load(nodes, rng)
    dependencies = Dependencies(cluster)
    pods = sorted(cluster.pods)
    revision = model.revision()
    kept: dict[str, bytes] = {}
    cold = filter_all(cluster, pods, kept)
    started = time.perf_counter()
    judge(cluster, model, pods, revision)
    first = time.perf_counter() - started
    revision = bump(model)
    started = time.perf_counter()
    judge(cluster, model, pods, revision)
    again = time.perf_counter() - started
    started = time.perf_counter()
    for key in pods:
        evaluate(cluster.pods[key], cluster, revision)
    alone = time.perf_counter() - started
    return {
        "nodes": nodes,
        "filter_us_per_pod": round(cold / PODS * 1e6, 1),
        "filter_us_per_pod_known_selectors": round(filter_all(cluster, pods, kept) / PODS * 1e6, 1),
        "load_s": round(loading, 2),
        "all_verdicts_s": round(first, 3),
        "verdict_us_per_pod": round(first / PODS * 1e6, 1),
        "verdict_us_per_pod_known_selectors": round(again / PODS * 1e6, 1),
        "evaluate_us_per_pod": round(alone / PODS * 1e6, 1),
        "after_a_label_change": after_a_label_change(cluster, dependencies, model),
        "distinct_node_sets": len(distinct(cluster, revision)),
        "resident_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def filter_all(cluster: Cluster, pods: list[str], kept: dict[str, bytes]) -> float:
    """Seconds of PreFilter and Filter for all pods, their sets kept."""
    started = time.perf_counter()
    for key in pods:
        filter_only(cluster, key, kept)
    return time.perf_counter() - started


def filter_only(cluster: Cluster, key: str, kept: dict[str, bytes]) -> None:
    pod = cluster.pods[key]
    state, _ = plugin.pre_filter(pod, cluster, pod_claims(pod, cluster))
    refused, left = nodechecks.check_nodes(pod, cluster.nodes, cluster.nodes.all)
    answers = [(r.status, r.nodes) for r in refused] + plugin.filter_nodes(state, cluster.nodes, left)
    for _, nodes in answers:
        kept.setdefault(nodeset.digest(nodes), nodeset.to_bytes(nodes))


def bump(model: MemoryModel) -> int:
    """A later revision, so that verdicts are stored again."""
    epoch = model.acquire("bench", 3600.0) or 0
    obj = msgspec.json.encode({"metadata": {"name": f"ns-{model.revision()}"}})
    return model.apply(epoch, [Write("namespaces", f"ns-{model.revision()}", "ADDED", obj)], (), time.time())[
        0
    ].revision


def after_a_label_change(cluster: Cluster, dependencies: Dependencies, model: MemoryModel) -> dict[str, Any]:
    """One node's rack changes: adjust the sets, find the pods concerned, judge them."""
    adjusting, judging, concerned = [], [], 0
    for i in range(9):
        name = f"node-{i * 37}"
        changed = msgspec.json.decode(cluster.raw["nodes"][name])
        changed["metadata"]["labels"]["rack"] = str(RACKS + i)
        raw = msgspec.json.encode(changed)
        started = time.perf_counter()
        old, new = cluster.put("nodes", name, raw)
        pods = sorted(dependencies.affected("nodes", name, old, new))
        adjusting.append(time.perf_counter() - started)
        revision = bump(model)
        started = time.perf_counter()
        judge(cluster, model, pods, revision)
        judging.append(time.perf_counter() - started)
        concerned = len(pods)
    return {
        "adjust_and_find_us": round(statistics.median(adjusting) * 1e6, 1),
        "pods_concerned": concerned,
        "judge_them_ms": round(statistics.median(judging) * 1e3, 1),
    }


def distinct(cluster: Cluster, revision: int) -> set[str]:
    return {digest for pod in cluster.pods.values() for digest in evaluate(pod, cluster, revision).node_sets}


def main() -> None:
    figures = [measure(size) for size in SIZES]
    at_5000 = next(f for f in figures if f["nodes"] == 5_000)
    ratios = {
        what: [round(ms * 1000 / at_5000[f"{what}_us_per_pod"], 1) for ms in GO_FILTER_MS]
        for what in ("filter", "verdict")
    }
    report = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "pods": PODS,
        "classes": CLASSES,
        "kinds": sorted(KINDS),
        "sizes": figures,
        "times_faster_than_go_filter_on_5000_nodes": ratios,
    }
    json.dump(report, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
