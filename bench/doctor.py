"""One look of the doctor over a large cluster: 5,000 nodes, 10,000 claims, 1,000 pending pods. Prints JSON.

quiet: nothing is idle for long enough yet; loud: 9,000 claims are allocated for nobody, and every negotiation is stale.
The first look makes every finding, the next ones keep those whose object is as it was.
devices: 5,000 nodes with 8 devices each, half allocated to 20,000 claims, and 1,000 pending pods with 75 different
requests, half of which match nothing; badPools: every second pool is incomplete besides; afterASlice: one look each
after a slice has changed.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.pipeline import objects
from bench.structured import DEVICES, DRIVER, resource_slice
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.diagnose import diagnose
from dradash.scheduling.doctor.exam import Exam, Memo, Observed
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.verdict import Outcome, Verdict
from dradash.store.model import SyncState
from tests import build, devicecases
from tests import builddevices as make


def looks(cluster: Cluster, verdicts: dict[str, Verdict], now: float, runs: int) -> dict[str, float]:
    sync = {kind: SyncState(kind, "synced") for kind in build.PLURALS.values()}
    memo: Memo = {}
    times, found = [], 0
    for _ in range(runs):
        started = time.process_time()
        found = len(diagnose(Exam(cluster, verdicts, sync, {}, Observed(), now, Thresholds(), memo)))
        times.append((time.process_time() - started) * 1000)
    return {
        "findings": found,
        "first_ms": round(times[0], 1),
        "next_ms": round(statistics.median(times[1:]), 1),
        "slowest_ms": round(max(times[1:]), 1),
    }


def device_objects(nodes: int, *, bad: bool) -> list[build.Obj]:
    slices = [resource_slice(i) for i in range(nodes)]
    for item in slices[1::2] if bad else ():
        item["spec"]["pool"]["resourceSliceCount"] = 2
    made: list[build.Obj] = [devicecases.CLASS, *slices]
    made += [devicecases.node(f"node-{i}", kubelet="v1.36.0") for i in range(nodes)]
    for item in slices:
        pool = item["spec"]["pool"]["name"]
        for d in range(0, DEVICES, 2):
            user = build.pod(f"{pool}-{d}", claims={"gpu": f"held-{pool}-{d}"})
            held = [make.result(f"gpu-{d}", pool=pool)]
            made.append(make.claim(f"held-{pool}-{d}", devices=held, reserved_for=[user]))
    for i in range(1000):
        wants = f'{devicecases.MODEL} == "x{i % 50}"' if i % 2 else f'device.attributes["{DRIVER}"].numa == {i % 50}'
        made += [devicecases.wanting(wants, name=f"wants-{i}"), build.pod(f"waits-{i}", claims={"gpu": f"wants-{i}"})]
    return made


def device_looks(runs: int, *, bad: bool) -> dict[str, object]:
    cluster = build.cluster(*device_objects(5_000, bad=bad))
    refused = {
        pod.key: msgspec.structs.replace(
            build.verdict(build.pod(pod.name, pod.namespace), Outcome.UNSCHEDULABLE), generation="structured"
        )
        for pod in cluster.pods.values()
    }
    found = looks(cluster, refused, build.NOW + 30, runs)
    after = []
    for i in range(3):
        cluster.put("resourceslices", f"slice-{i}", build.raw(resource_slice(i, 2)))
        after.append(looks(cluster, refused, build.NOW + 30, 2)["first_ms"])
    return {**found, "after_a_slice_ms": statistics.median(after)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12)
    runs = parser.parse_args().runs
    cluster = build.cluster(*objects(5_000, 10_000, 1_000))
    verdicts = {key: evaluate(pod, cluster, 1).verdict for key, pod in cluster.pods.items()}
    report = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "quiet": looks(cluster, verdicts, build.NOW + 10, runs),
        "loud": looks(cluster, verdicts, build.NOW + 3600, runs),
        "devices": device_looks(runs, bad=False),
        "badPools": device_looks(runs, bad=True),
    }
    json.dump(report, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
