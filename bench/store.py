"""The store on a real Redis: a load of 10,000 claims and 5,000 nodes, single writes, verdicts, reading it all.

    python bench/store.py [--claims N] [--nodes N] [--singles N]

Prints one JSON object; times in milliseconds, sizes in bytes. Starts a Redis of its own on a unix socket.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

from dradash.scheduling import nodeset
from dradash.store import embedded
from dradash.store.model import DuePod, StoreUnavailable, Write
from dradash.store.redis_store import RedisModel

PODS = 1000


def metadata(name: str, n: int, **more: Any) -> dict[str, Any]:
    uid = f"{n * 2654435761 % 2**32:08x}-2e9a-4e0b-{n % 2**16:04x}-1d2c3b4a{n % 2**16:04x}"
    base = {"name": name, "uid": uid, "resourceVersion": str(1000 + n), "creationTimestamp": "2026-11-30T04:32:08Z"}
    return base | more


def claim(n: int, round_: int = 0) -> Write:
    body = {
        "metadata": metadata(
            f"team-{n % 40}-job-{n}-gpu",
            n + round_,
            namespace=f"team-{n % 40}",
            ownerReferences=[
                {"apiVersion": "v1", "kind": "Pod", "name": f"job-{n}", "uid": f"{n:08x}", "controller": True}
            ],
        ),
        "spec": {"resourceClassName": f"gpu-{n % 12}.example.com", "allocationMode": "WaitForFirstConsumer"},
        "status": {"driverName": "gpu.example.com", "reservedFor": [{"resource": "pods", "name": f"job-{n}"}]},
    }
    return Write("resourceclaims", f"team-{n % 40}/team-{n % 40}-job-{n}-gpu", "ADDED", json.dumps(body).encode())


def node(n: int) -> Write:
    labels = {
        "kubernetes.io/hostname": f"node-{n}",
        "topology.kubernetes.io/zone": f"zone-{n % 3}",
        "gpu": f"g{n % 12}",
    }
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": "2026-11-30T04:32:08Z"}
    size = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    body = {
        "metadata": metadata(f"node-{n}", n, labels=labels),
        "spec": {},
        "status": {"capacity": size, "allocatable": size, "conditions": [ready]},
    }
    return Write("nodes", f"node-{n}", "ADDED", json.dumps(body).encode())


def pod(n: int) -> Write:
    body = {"metadata": metadata(f"job-{n}", n, namespace="team-0"), "spec": {"resourceClaims": [{"name": "gpu"}]}}
    return Write("pods", f"team-0/job-{n}", "ADDED", json.dumps(body).encode())


def verdict(n: int, digests: list[str]) -> bytes:
    groups = [{"plugin": "DynamicResources", "code": "Unschedulable", "nodes": d, "count": 400 + n} for d in digests]
    steps = [{"point": point} for point in ("PreEnqueue", "PreFilter", "PostFilter", "Reserve", "PreBind")]
    sentence = f"0/5000 nodes are available: {n} resourceclaim not available on the node."
    steps.append({"point": "Filter", "groups": groups})  # type: ignore[dict-item]  # JSON, whatever its shape
    return json.dumps({"pod": f"team-0/job-{n}", "outcome": "Waiting", "sentence": sentence, "steps": steps}).encode()


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def spread(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100)
    return {"p50": round(cuts[49], 3), "p99": round(cuts[98], 3)}


def in_batches(model: RedisModel, epoch: int, writes: list[Write]) -> float:
    return timed(lambda: [model.apply(epoch, writes[i : i + 500], [], time.time()) for i in range(0, len(writes), 500)])


def measure(model: RedisModel, claims: int, nodes: int, singles: int) -> dict[str, Any]:
    epoch = model.acquire("bench", 600)
    assert epoch is not None  # noqa: S101  an empty Redis has no leader
    empty = model.memory()["objects"]
    claim_writes, node_writes = [claim(n) for n in range(claims)], [node(n) for n in range(nodes)]
    apply_claims = in_batches(model, epoch, claim_writes)
    claim_bytes = (model.memory()["objects"] - empty) / claims
    apply_nodes = in_batches(model, epoch, node_writes)
    same = in_batches(model, epoch, claim_writes)

    def one(n: int) -> float:
        write, due = claim(n % claims, 1 + n // claims), [DuePod(f"team-0/job-{n % PODS}", 0, b'[{"kind":"x"}]')]
        return timed(lambda: model.apply(epoch, [write], due, time.time()))

    single = [one(n) for n in range(singles)]
    in_batches(model, epoch, [pod(n) for n in range(PODS)])
    rng = random.Random(1)
    sets = {nodeset.digest(bits): nodeset.to_bytes(bits) for bits in (rng.getrandbits(nodes) for _ in range(40))}
    digests = list(sets)

    def judge(n: int) -> float:
        named = [digests[(n + k) % len(digests)] for k in range(4)]
        body, revision = verdict(n, named), model.revision()
        return timed(
            lambda: model.put_verdict(f"team-0/job-{n}", revision, body, {d: sets[d] for d in named}, time.time())
        )

    put = [judge(n) for n in range(PODS)]
    memory = model.memory()
    return {
        "claims": claims,
        "nodes": nodes,
        "apply_claims_in_batches_of_500_ms": round(apply_claims, 1),
        "apply_nodes_in_batches_of_500_ms": round(apply_nodes, 1),
        "apply_identical_claims_ms": round(same, 1),
        "apply_one_with_a_due_pod_ms": spread(single),
        "put_verdict_ms": spread(put),
        "take_due_500_ms": round(timed(lambda: model.take_due(time.time(), 500, 60)), 2),
        "load_ms": round(timed(model.load), 1),
        "housekeep_ms": round(timed(lambda: model.housekeep(epoch, time.time() + 1e6)), 1),
        "json_bytes_per_claim": round(sum(len(w.object) for w in claim_writes) / claims),
        "redis_bytes_per_claim": round(claim_bytes),
        "history_bytes_per_entry": round(memory["history"] / singles),
        "memory_before_housekeeping": memory,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--singles", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dradash-") as name:
        socket = Path(name) / "redis.sock"
        server = subprocess.Popen(embedded.command(Path(name), socket=socket), stdout=subprocess.DEVNULL)
        try:
            model = RedisModel(embedded.url(socket=socket), cluster="bench")
            wait_for(model)
            print(json.dumps(measure(model, options.claims, options.nodes, options.singles), indent=2))
            model.close()
        finally:
            server.terminate()
            server.wait(10)


def wait_for(model: RedisModel) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            model.revision()
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


if __name__ == "__main__":
    main()
