"""One look of the doctor over a large cluster: 5,000 nodes, 10,000 claims, 1,000 pending pods. Prints JSON.

quiet: nothing is idle for long enough yet; loud: 9,000 claims are allocated for nobody, and every negotiation is stale.
The first look makes every finding, the next ones keep those whose object is as it was.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.pipeline import objects
from dradash.scheduling.cluster import Cluster
from dradash.scheduling.doctor.diagnose import diagnose
from dradash.scheduling.doctor.exam import Exam, Memo, Observed
from dradash.scheduling.doctor.thresholds import Thresholds
from dradash.scheduling.evaluate import evaluate
from dradash.scheduling.verdict import Verdict
from dradash.store.model import SyncState
from tests import build


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
    }
    json.dump(report, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
