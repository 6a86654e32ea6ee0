"""Filter of pods with structured parameters over all nodes, beside the Go plugin's figures for the same work.

Each node has a pool of 8 devices of its own, half of them allocated. Four pods: (a) one device by class; (b) four
devices with a CEL selector and matchAttribute, which fits on half of the nodes; (c) a selector that matches nothing;
(d) five devices where four are free. "cold" is the first pod after everything was loaded; "ms" the median of the pods
after it, each with another uid; "after_a_slice_ms": a slice changed just before; "funnel_ms": the devices on the pod's
page; "new_selector_ms": selectors that nobody asked for before, counted over all devices. "of one device": each pod
with a selector of its own on an attribute that is another on every device: nothing that was found out for one pod helps
the next, and its Go figures are those of (c), where each device is asked as well. "partitions": nodes whose
seven devices share the counters of one card, half of them with half a card taken; there is no Go figure,
"times_faster_than_each_node" compares with asking each node. Single thread. The Go figures are from the vectors' README
(one thread on two cores, another machine): the ratio is a rough guide.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dradash.scheduling.cluster import Cluster
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.structured import matching, plugin
from dradash.scheduling.structured.claims import pod_claims
from dradash.scheduling.structured.devicereport import device_report
from dradash.scheduling.structured.listers import listed

DRIVER: Final = "gpu.example.com"
DEVICES: Final = 8
HALF: Final = tuple(f"gpu-{d}" for d in range(DEVICES // 2))
SIZES: Final = (1_000, 5_000)
GO_MS: Final = {
    "one device by class": {1_000: 22.0, 5_000: 73.0},
    "four devices, CEL and matchAttribute": {1_000: 86.0, 5_000: 431.0},
    "a selector that matches nothing": {1_000: 51.0, 5_000: 250.0},
    "five devices where four are free": {1_000: 54.0, 5_000: 267.0},
}
_BY_CLASS: Final = {"deviceClassName": "gpu", "allocationMode": "ExactCount"}


def _selector(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


CLAIMS: Final[dict[str, dict[str, Any]]] = {
    "one device by class": {"requests": [{"name": "r", "exactly": {**_BY_CLASS, "count": 1}}]},
    "four devices, CEL and matchAttribute": {
        "requests": [
            {
                "name": "r",
                "exactly": {
                    **_BY_CLASS,
                    "count": 4,
                    **_selector(f'device.attributes["{DRIVER}"].model == "h100"'),
                },
            }
        ],
        "constraints": [{"matchAttribute": f"{DRIVER}/numa"}],
    },
    "a selector that matches nothing": {
        "requests": [
            {
                "name": "r",
                "exactly": {**_BY_CLASS, "count": 1, **_selector(f'device.attributes["{DRIVER}"].model == "x"')},
            }
        ]
    },
    "five devices where four are free": {"requests": [{"name": "r", "exactly": {**_BY_CLASS, "count": 5}}]},
}


_PARTS: Final = {"whole": 80, "half-0": 40, "half-1": 40, **{f"quarter-{i}": 20 for i in range(4)}}
_QUARTER: Final = _selector(f'device.attributes["{DRIVER}"].profile == "quarter"')
PARTITIONS: Final[dict[str, dict[str, Any]]] = {
    "a quarter of a card": {
        "requests": [
            {
                "name": "r",
                "exactly": {
                    **_BY_CLASS,
                    "count": 1,
                    **_selector(f'device.attributes["{DRIVER}"].profile == "quarter"'),
                },
            }
        ]
    },
    "five quarters of a card": {"requests": [{"name": "r", "exactly": {**_BY_CLASS, "count": 5}}]},
}


def partitions(i: int, generation: int = 1) -> list[dict[str, Any]]:
    """The node's card in parts, and what they share, each in a slice of its own."""
    devices = [
        {
            "name": name,
            "attributes": {"profile": {"string": name.partition("-")[0]}, "uuid": {"string": f"{i}-{name}"}},
            "consumesCounters": [{"counterSet": "card", "counters": {"memory": {"value": f"{size}Gi"}}}],
        }
        for name, size in _PARTS.items()
    ]
    counters = [{"name": "card", "counters": {"memory": {"value": "80Gi"}}}]
    pool = {"name": f"node-{i}", "generation": generation, "resourceSliceCount": 2}
    spec = {"driver": DRIVER, "nodeName": f"node-{i}", "pool": pool}
    return [
        _object("ResourceSlice", f"slice-{i}", spec={**spec, "devices": devices}),
        _object("ResourceSlice", f"counters-{i}", spec={**spec, "sharedCounters": counters}),
    ]


def resource_slice(i: int, generation: int = 1) -> dict[str, Any]:
    """Every second node's free devices are of one NUMA node, the others' of two."""
    devices = [
        {
            "name": f"gpu-{d}",
            "attributes": {
                "model": {"string": "h100"},
                "numa": {"int": d % 2 if i % 2 else d // 4},
                "uuid": {"string": f"gpu-{i}-{d}"},
                "driverVersion": {"version": "550.1.0"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for d in range(DEVICES)
    ]
    pool = {"name": f"node-{i}", "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": f"node-{i}", "pool": pool, "devices": devices}
    return _object("ResourceSlice", f"slice-{i}", spec=spec)


def _object(kind: str, name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "uid": f"uid-{kind}-{name}"} | ({"namespace": namespace} if namespace else {})
    version = "v1" if kind in ("Pod", "Node") else "resource.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}


def holder(i: int, devices: Iterable[str] = HALF) -> dict[str, Any]:
    """A claim that holds devices of the node, half of them by default."""
    results = [{"request": "r", "driver": DRIVER, "pool": f"node-{i}", "device": name} for name in devices]
    return _object(
        "ResourceClaim",
        f"holder-{i}",
        "bench",
        spec={"devices": {"requests": [{"name": "r", "exactly": {**_BY_CLASS, "count": 4}}]}},
        status={"allocation": {"devices": {"results": results}}},
    )


def put(cluster: Cluster, kind: str, obj: dict[str, Any]) -> None:
    meta = obj["metadata"]
    key = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
    _, new = cluster.put(kind, key, msgspec.json.encode(obj))
    if new is None:
        raise SystemExit(f"{kind} {key}: {cluster.malformed[kind][key]}")


def _empty() -> Cluster:
    cluster = Cluster()
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    put(cluster, "deviceclasses", _object("DeviceClass", "gpu", spec={"selectors": selectors}))
    return cluster


def load_partitions(nodes: int) -> Cluster:
    cluster = _empty()
    for i in range(nodes):
        put(cluster, "nodes", _object("Node", f"node-{i}"))
        for item in partitions(i):
            put(cluster, "resourceslices", item)
        if i % 2:
            put(cluster, "resourceclaims", holder(i, ["half-0"]))
    return cluster


def load(nodes: int) -> Cluster:
    cluster = _empty()
    for i in range(nodes):
        put(cluster, "nodes", _object("Node", f"node-{i}"))
        put(cluster, "resourceslices", resource_slice(i))
        put(cluster, "resourceclaims", holder(i))
    return cluster


def pod(cluster: Cluster, what: dict[str, Any], number: int) -> str:
    name = f"pod-{number}"
    put(cluster, "resourceclaims", _object("ResourceClaim", name, "bench", spec={"devices": what}))
    spec = {"resourceClaims": [{"name": "c", "resourceClaimName": name}]}
    put(cluster, "pods", _object("Pod", name, "bench", spec=spec))
    return f"bench/{name}"


def timed(cluster: Cluster, key: str) -> tuple[float, int]:
    """Milliseconds of a whole verdict, and how many nodes fit."""
    started = time.perf_counter()
    verdict = evaluate(cluster.pods[key], cluster, 1).verdict
    return (time.perf_counter() - started) * 1e3, verdict.nodes_fit


def funnel_ms(cluster: Cluster, key: str) -> float:
    """Milliseconds of the funnel of devices that a pod's page shows, once the situations of nodes are known."""
    times = []
    for _ in range(9):
        started = time.perf_counter()
        device_report(cluster.pods[key], cluster, 0.0)
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def new_selector_ms(cluster: Cluster) -> list[float]:
    """Milliseconds until it is known how many devices a selector leaves: one on an attribute that nobody asked for
    before, and another one on the same attribute."""
    times = []
    for value in ("550.2.0", "550.0.0"):
        expression = f'device.attributes["{DRIVER}"].driverVersion.isLessThan(semver("{value}"))'
        started = time.perf_counter()
        matching.leaves(cluster.inventory, (expression,))
        times.append(round((time.perf_counter() - started) * 1e3, 2))
    return times


def measure_own_selectors(cluster: Cluster, nodes: int) -> dict[str, Any]:
    """Pods of which each asks for a device by its serial number, where there is one and where there is none."""
    found: dict[str, Any] = {}
    for what, place in (("a serial number that one device has", 7), ("a serial number that no device has", DEVICES)):
        times, after, fit = [], [], 0
        for i in range(10):
            expression = f'device.attributes["{DRIVER}"].uuid == "gpu-{nodes - 1 - i}-{place}"'
            request = {"name": "r", "exactly": {**_BY_CLASS, "count": 1, **_selector(expression)}}
            ms, fit = timed(cluster, pod(cluster, {"requests": [request]}, 1_000 + i))
            times.append(ms)
            put(cluster, "resourceslices", resource_slice(i, generation=1_000 + DEVICES * place + i))
            after.append(timed(cluster, f"bench/pod-{1_000 + i}")[0])
        go = GO_MS["a selector that matches nothing"][nodes]
        found[what] = compared(times[0], statistics.median(times[1:]), statistics.median(after), go) | {
            "nodes_fit": fit
        }
    return found


def compared(cold: float, ms: float, after: float, go: float) -> dict[str, float]:
    return {
        "cold_ms": round(cold, 2),
        "ms": round(ms, 2),
        "after_a_slice_ms": round(after, 2),
        "go_ms": go,
        "times_faster_than_go": round(go / ms, 1),
        "times_faster_than_go_after_a_slice": round(go / after, 1),
    }


def measure(nodes: int) -> dict[str, Any]:
    started = time.perf_counter()
    cluster = load(nodes)
    found: dict[str, Any] = {"nodes": nodes, "load_s": round(time.perf_counter() - started, 2)}
    number = 0
    for what in CLAIMS:
        cold, fit = timed(cluster, pod(cluster, CLAIMS[what], number))
        warm, after = [], []
        for i in range(9):
            number += 1
            warm.append(timed(cluster, pod(cluster, CLAIMS[what], number))[0])
            put(cluster, "resourceslices", resource_slice(i, generation=number + 1))
            after.append(timed(cluster, pod(cluster, CLAIMS[what], number))[0])
        funnel = funnel_ms(cluster, f"bench/pod-{number}")
        number += 1
        ms = statistics.median(warm)
        found[what] = compared(cold, ms, statistics.median(after), GO_MS[what][nodes]) | {
            "funnel_ms": round(funnel, 2),
            "nodes_fit": fit,
        }
    found["of one device"] = measure_own_selectors(cluster, nodes)
    found["new_selector_ms"] = new_selector_ms(cluster)
    return found


def each_node_ms(cluster: Cluster, key: str) -> float:
    """Milliseconds of Filter if each node is asked."""
    caches, of = listed(cluster), cluster.pods[key]
    state, _ = plugin.pre_filter(of, caches, pod_claims(of, caches.claims))
    started = time.perf_counter()
    for node in cluster.nodes.by_name.values():
        plugin.filter_node(state, node, 0.0)
    return (time.perf_counter() - started) * 1e3


def measure_partitions(nodes: int) -> dict[str, Any]:
    started = time.perf_counter()
    cluster = load_partitions(nodes)
    found: dict[str, Any] = {"nodes": nodes, "load_s": round(time.perf_counter() - started, 2)}
    number = 0
    for what, claim in PARTITIONS.items():
        cold, fit = timed(cluster, pod(cluster, claim, number))
        warm, after = [], []
        for i in range(9):
            number += 1
            warm.append(timed(cluster, pod(cluster, claim, number))[0])
            put(cluster, "resourceclaims", holder(i, ["half-1"]))
            after.append(timed(cluster, pod(cluster, claim, number))[0])
        each = each_node_ms(cluster, f"bench/pod-{number}")
        number += 1
        ms = statistics.median(warm)
        found[what] = {
            "cold_ms": round(cold, 2),
            "ms": round(ms, 2),
            "after_an_allocation_ms": round(statistics.median(after), 2),
            "each_node_ms": round(each, 2),
            "nodes_fit": fit,
            "times_faster_than_each_node": round(each / ms, 1),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", choices=SIZES, default=SIZES)
    sizes = parser.parse_args().nodes
    report = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "sizes": [measure(nodes) for nodes in sizes],
        "partitions": [measure_partitions(nodes) for nodes in sizes],
    }
    json.dump(report, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
