"""The API at the size of a large cluster: server time of full lists, of unchanged answers, and bytes over the wire.

    python bench/api.py [--nodes N] [--claims N] [--pods N] [--requests N]

Prints one JSON object. The cluster is that of bench/pages.py; something changes before each full request. Server
time in ms, from the request to the whole answer, with every middleware; bytes as they travel (gzip). The goals: 1,000
rows of pods with verdicts p95 under 50 ms, an answer 304 under 5 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")

import django
from django.test import Client

from bench.pages import Changes, cluster, percentile
from dradash.reader import current
from tests.scene import Scene

GOAL_ROWS_MS, GOAL_304_MS = 50.0, 5.0
PODS: Final = "/api/v1/pods?limit=1000"
PATHS: Final = (
    PODS,
    "/api/v1/pods?limit=1000&fields=namespace,name,outcome,reasonCodes",
    "/api/v1/pods?reason=NodeUnsuitable",
    "/api/v1/pods/team-0/job-0",
    "/api/v1/pods/team-0/job-0/verdict",
    "/api/v1/pods/team-0/job-0/verdict/nodes?limit=1000",
    "/api/v1/claims?limit=1000",
    "/api/v1/negotiations?limit=1000",
    "/api/v1/nodes?limit=1000",
    "/api/v1/classes",
    "/api/v1/drivers",
    "/api/v1/findings?limit=1000",
    "/api/v1/changes?limit=1000",
    "/api/v1/stats",
    "/api/v1/lookup?namespace=team-0&pod=job-0",
    "/metrics",
)


def measure(client: Client, path: str, requests: int, change: Any, headers: dict[str, str]) -> dict[str, Any]:
    times, size, status = [], 0, 0
    for _ in range(requests):
        change()
        started = time.perf_counter()
        response = client.get(path, headers=headers)
        size, status = len(response.content), response.status_code
        times.append((time.perf_counter() - started) * 1000)
    return {
        "status": status,
        "p50_ms": round(percentile(times, 0.5), 2),
        "p95_ms": round(percentile(times, 0.95), 2),
        "bytes": size,
    }


def run(scene: Scene, requests: int) -> dict[str, Any]:
    changes = Changes(scene)
    client = Client(headers={"host": "127.0.0.1", "accept-encoding": "gzip"})

    def change() -> None:
        changes.one()
        scene.look()

    found: dict[str, Any] = {}
    for path in PATHS:
        client.get(path)
        found[path] = measure(client, path, requests, change, {})
    tag = client.get(PODS).headers["ETag"]
    unchanged = measure(client, PODS, requests, lambda: None, {"if-none-match": tag})
    return {
        "answers": found,
        "unchanged": unchanged,
        "goals": {
            "rows": {"ms": GOAL_ROWS_MS, "met": found[PODS]["p95_ms"] < GOAL_ROWS_MS},
            "304": {"ms": GOAL_304_MS, "met": unchanged["status"] == 304 and unchanged["p95_ms"] < GOAL_304_MS},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("nodes", 5000), ("claims", 10_000), ("pods", 1000), ("requests", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    django.setup()
    scene = cluster(options.nodes, options.claims, options.pods)
    scene.web.doctor.look()
    current.use(scene.web)
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "size": {"nodes": options.nodes, "claims": options.claims, "pods": options.pods},
        **run(scene, options.requests),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
