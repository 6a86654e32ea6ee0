"""From a change at the API server to the fragment at a websocket, and the initial sync, with real processes.

Redis, watch worker, judges and web server run as `up` starts them; the simulated API server and the browsers' sockets
are in this process. Prints JSON.

latency: from the moment the API server has accepted the change until a socket of that pod's page has a fragment with
that change or a later one of the same pod. A page is sent at most one message in 200 ms, so a pod that changes more
often than that waits for its turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import re
import statistics
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from websockets.asyncio.client import connect
from websockets.typing import Origin

from dradash.kinds.registry import KINDS
from dradash.store.replica import Replica
from tests import build
from tests.acceptance.pipeline import Pipeline

RATES: Final = (1, 100, 500)  # changes per second
PROBE: Final = re.compile(r"probe-(\d+)")
NAMESPACE: Final = "bench"
CLASSES: Final = 12


def objects(nodes: int, claims: int, pods: int) -> list[build.Obj]:
    """Every pending pod has one claim and a negotiation under way; the other claims are allocated."""
    rng = random.Random(7)
    made = [build.node(f"node-{i}", labels={"zone": f"z{i % 6}", "rack": f"r{i % 40}"}) for i in range(nodes)]
    made += [build.namespace(NAMESPACE)]
    made += [
        build.resource_class(
            f"class-{i}", driver=f"driver-{i}.example.com", suitable=build.with_labels(zone=f"z{i % 6}")
        )
        for i in range(CLASSES)
    ]
    for i in range(claims):
        allocation = build.allocation(f"node-{rng.randrange(nodes)}") if i >= pods else None
        made.append(build.claim(f"claim-{i}", NAMESPACE, resource_class=f"class-{i % CLASSES}", allocation=allocation))
    for i in range(pods):
        pod = build.pod(f"pod-{i}", NAMESPACE, claims={"gpu": f"claim-{i}"})
        potential = [f"node-{n}" for n in range(64)]
        made += [pod, build.context(pod, potential=potential, unsuitable={"gpu": []})]
    return made


class Sockets:
    """Open pages of some pods, in an event loop of their own; notes when each probe was seen."""

    def __init__(self, address: str, pods: list[int]) -> None:
        self._address, self._pods = address, pods
        self.seen: dict[int, dict[int, float]] = {pod: {} for pod in pods}  # pod -> probe -> time
        self._ready = threading.Semaphore(0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sockets:
        self._thread.start()
        for _ in self._pods:
            if not self._ready.acquire(timeout=60):
                raise SystemExit("a page's socket does not answer")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self) -> None:
        for pod in self._pods:
            self._loop.create_task(self._follow(pod))
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.1))
        self._loop.close()

    async def _follow(self, pod: int) -> None:
        url = f"ws://{self._address}/live/ns/{NAMESPACE}/pods/pod-{pod}"
        async with connect(url, origin=Origin(f"http://{self._address}"), max_size=None) as socket:
            first = True
            async for message in socket:
                now = time.perf_counter()
                for probe in {int(n) for n in PROBE.findall(str(message))}:
                    self.seen[pod].setdefault(probe, now)
                if first:
                    self._ready.release()
                    first = False


def get(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def wait(condition: Any, seconds: float, what: str) -> float:
    """Seconds until it held."""
    started = time.perf_counter()
    while not condition():
        if time.perf_counter() - started > seconds:
            raise SystemExit(f"not within {seconds:g} s: {what}")
        time.sleep(0.02)
    return time.perf_counter() - started


def initial_sync(pipeline: Pipeline, address: str, pods: int) -> dict[str, float]:
    """From the start of the watch worker (with judges and web already up) to a page with every verdict in it."""
    started = time.perf_counter()
    pipeline.watch()
    up = time.perf_counter() - started
    replica = Replica(pipeline.model)

    def judged() -> bool:
        replica.catch_up()
        known = sum(v.outcome != "Unknown" for v in replica.verdicts.values())
        return known == pods and pipeline.model.count_due() == 0

    wait(judged, 120, "all pods are judged")
    all_judged = time.perf_counter() - started

    def complete() -> bool:
        status, text = get(address, "/pods")
        return status == 200 and str(pods) in text.replace(",", "")

    wait(complete, 60, "the page is complete")
    return {
        "worker_ready_s": round(up, 2),
        "all_judged_s": round(all_judged, 2),
        "complete_page_s": round(time.perf_counter() - started, 2),
    }


def change(pipeline: Pipeline, pod: int, probe: int) -> None:
    """The driver's answer changes: another node is unsuitable."""
    context = pipeline.api.get("podschedulingcontexts", f"pod-{pod}", NAMESPACE)
    context["status"] = {"resourceClaims": [{"name": "gpu", "unsuitableNodes": [f"probe-{probe}", "node-0"]}]}
    pipeline.api.update_status("podschedulingcontexts", context)


def latencies(pipeline: Pipeline, address: str, rate: int, pods: int, watched: int, first_probe: int) -> dict[str, Any]:
    count = max(20, rate * 30)
    watched_pods = list(range(watched))
    # Each pod in turn but in no order, so that the open pages' changes come among the others and not all at once.
    order = random.Random(rate).sample(range(pods), pods)
    sent: list[tuple[int, int, float]] = []
    with Sockets(address, watched_pods) as sockets:
        began = time.perf_counter()
        for n in range(count):
            delay = began + n / rate - time.perf_counter()
            if delay > 0:
                time.sleep(delay)
            pod = n % watched if rate == 1 else order[n % pods]
            change(pipeline, pod, first_probe + n)
            if pod < watched:
                sent.append((pod, first_probe + n, time.perf_counter()))
        took = time.perf_counter() - began
        last = {pod: max(p for q, p, _ in sent if q == pod) for pod in {pod for pod, _, _ in sent}}
        wait(lambda: all(last[p] in sockets.seen[p] for p in last), 60, "every page shows its last change")
        found = [first_seen(sockets.seen[pod], probe) - at for pod, probe, at in sent]
    found.sort()
    return {
        "asked_per_s": rate,
        "reached_per_s": round(count / took, 1),
        "changes": count,
        "measured": len(found),
        "p50_ms": round(statistics.median(found) * 1e3, 1),
        "p99_ms": round(found[min(len(found) - 1, int(len(found) * 0.99))] * 1e3, 1),
    }


def first_seen(seen: dict[int, float], probe: int) -> float:
    return min(at for p, at in seen.items() if p >= probe)


def memory(pipeline: Pipeline) -> dict[str, float]:
    """Resident MB by process; forked judges share pages with their parent, so they count more than they take."""
    found: dict[str, float] = {}
    for pid, command in pipeline.processes().items():
        status = Path(f"/proc/{pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", status)
        name = next((n for n in ("watch", "judge", "web", "valkey", "redis") if n in command), command[:40])
        if match:
            found[f"{name} {pid}"] = round(int(match[1]) / 1024, 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=1_000)
    parser.add_argument("--watched", type=int, default=20, help="pages open at the same time")
    args = parser.parse_args()
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "nodes": args.nodes,
        "claims": args.claims,
        "pods": args.pods,
        "kinds": len(KINDS),
    }
    with Pipeline() as pipeline:
        pipeline.api.load(objects(args.nodes, args.claims, args.pods))
        pipeline.judge(2)
        address = pipeline.web()
        report["initial_sync"] = initial_sync(pipeline, address, args.pods)
        report["latency"] = []
        probe = 1
        for rate in RATES:
            report["latency"].append(latencies(pipeline, address, rate, args.pods, args.watched, probe))
            probe += max(20, rate * 30)
        report["resident_mb"] = memory(pipeline)
    json.dump(report, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
