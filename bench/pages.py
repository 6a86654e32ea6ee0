"""Every page at the size of a large cluster: server time, bytes over the wire, and how soon a click is answered.

    python bench/pages.py [--nodes N] [--claims N] [--pods N] [--requests N] [--no-browser]

Prints one JSON object. 5,000 nodes, 10,000 claims and 1,000 pending pods are in a memory model that the real judge has
judged; something changes before each request, and no row is left from the one before, so that nothing is answered from
what was rendered already. pages: server time in ms, from the request to the whole answer, with every middleware
(cpu_p95: without waiting for a busy machine); bytes as they travel. click: Chromium has a page open of a real server in
this process while 200 changes a second are applied; ms from a mouse click until the next frame after its handler, and
the longest time that the page was busy.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # run from a checkout

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")

import django
from django.test import Client
from playwright.sync_api import sync_playwright

from dradash.pipeline.judge import Judge
from dradash.reader import current
from dradash.store.model import DuePod
from dradash.web.fragments import Renderer
from tests import build
from tests.browser.conftest import FLAGS, _Server, find_chromium
from tests.pages import PageLine, served
from tests.scene import Scene

RATE: Final = 200  # changes a second
CLICKS: Final = 20
SETTLE: Final = 1500  # ms until a page of 5,000 node cells has been laid out
GOAL_MS, GOAL_BYTES, GOAL_CLICK_MS = 100.0, 150_000, 100.0
CLASSES, NAMESPACES, DRIVERS = 12, 40, 4
# Objects of tests.pages' table and of this cluster: their pages are asked for under these names.
RENAMED: Final = {"/ns/ml/pods/train": "/ns/team-0/pods/job-0", "/ns/ml/claims/held": "/ns/team-0/claims/claim-0"}
# Lists and what is open longest: a pod, its nodes, its negotiation. Each of these changes four times a second.
CLICKED: Final = (
    *("/", "/pods", "/claims", "/negotiations", "/nodes", "/changes", "/doctor"),
    *("/ns/team-0/pods/job-0", "/ns/team-0/pods/job-0/nodes", "/ns/team-0/negotiations/job-0"),
)
MEASURE: Final = """() => {
  window.taken = []; window.longest = 0
  new PerformanceObserver(list => list.getEntries().forEach(e => { longest = Math.max(longest, e.duration) }))
    .observe({type: 'longtask'})
  document.addEventListener('click', event => {
    requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = () =>
      taken.push(performance.now() - event.timeStamp); c.port2.postMessage(0) })
  })
}"""


def cluster(nodes: int, claims: int, pods: int) -> Scene:
    rng = random.Random(7)
    classes = [
        build.resource_class(
            f"class-{i}",
            driver=f"driver-{i % DRIVERS}.example.com",
            suitable=build.with_labels(zone=f"z{i % 6}") if i % 2 else None,
        )
        for i in range(CLASSES)
    ]
    members = [
        build.node(f"node-{i}", labels={"zone": f"z{i % 6}", "rack": f"r{i % 40}", "instance": f"type-{i % 5}"})
        for i in range(nodes)
    ]
    waiting = [build.pod(f"job-{i}", f"team-{i % NAMESPACES}", claims={"gpu": f"claim-{i}"}) for i in range(pods)]
    made = [claim(i, pods, nodes, rng) for i in range(claims)]
    contexts = [
        build.context(p, potential=[f"node-{rng.randrange(nodes)}" for _ in range(128)], selected=f"node-{i}")
        for i, p in enumerate(waiting)
        if i % 2 == 0
    ]
    spaces = [build.namespace(f"team-{i}") for i in range(NAMESPACES)]
    scene = Scene()
    objects = [*members, *classes, *spaces, *made, *waiting, *contexts]
    scene.model.apply(scene.epoch, [build.write(o) for o in objects], [], scene.now)
    scene.judge()
    scene.look()
    return scene


def claim(i: int, pods: int, nodes: int, rng: random.Random) -> build.Obj:
    """The first ones are for the pending pods, a tenth of those allocated; the others are allocated."""
    is_free = i < pods and i % 10
    return build.claim(
        f"claim-{i}",
        f"team-{i % NAMESPACES}",
        resource_class=f"class-{i % CLASSES}",
        allocation=None if is_free else build.allocation(f"node-{rng.randrange(nodes)}"),
        driver="" if is_free else f"driver-{i % CLASSES % DRIVERS}.example.com",
    )


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[max(0, math.ceil(len(values) * part) - 1)]


def paths() -> list[tuple[str, PageLine]]:
    found = []
    for line in served():
        path = line.path
        for old, new in RENAMED.items():
            path = path.replace(old, new)
        path = path.replace("/classes/gpu", "/classes/class-1").replace("gpu.example.com", "driver-1.example.com")
        found.append((path.replace("q=train", "q=job-7"), line))
    return found


class Changes:
    """Changes pods, claims and contexts of the cluster one after the other, as a busy cluster does."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._judge = Judge(scene.model, clock=lambda: scene.now)
        self._number = 0

    def one(self) -> None:
        scene, i = self._scene, self._number
        self._number += 1
        scene.now = time.time()
        pod = build.pod(f"job-{i % 50}", f"team-{i % 50 % NAMESPACES}", claims={"gpu": f"claim-{i % 50}"})
        selected = f"node-{i}" if i % 3 else ""
        write = build.write(build.context(pod, potential=[f"node-{i + n}" for n in range(8)], selected=selected))
        scene.model.apply(scene.epoch, [write], [DuePod(f"team-{i % 50 % NAMESPACES}/job-{i % 50}", 0)], scene.now)
        self._judge.judge(scene.model.take_due(scene.now, 100, 1.0))

    @contextmanager
    def running(self) -> Iterator[None]:
        stopped = threading.Event()

        def run() -> None:
            due = time.monotonic()
            while not stopped.wait(max(0.0, due - time.monotonic())):
                self.one()
                due += 1 / RATE

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()


def server_times(scene: Scene, requests: int) -> dict[str, dict[str, float]]:
    client, changes = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1"), Changes(scene)
    result = {}
    for path, line in paths():
        taken: list[float] = []
        cpu: list[float] = []
        size = status = 0
        for _ in range(requests + 1):
            changes.one()
            scene.look()
            current.get().part(Renderer).forget()
            started, busy = time.perf_counter(), time.process_time()
            response = client.get(path, headers={"Accept-Encoding": "gzip"})
            taken.append(1000 * (time.perf_counter() - started))
            cpu.append(1000 * (time.process_time() - busy))
            size, status = len(response.content), response.status_code
        if status == 404:
            continue  # of the other generation, which this cluster does not have: bench/structured.py
        del taken[0], cpu[0]  # templates are compiled once
        figures = {
            "p50": statistics.median(taken),
            "p95": percentile(taken, 0.95),
            "cpu_p95": percentile(cpu, 0.95),
            "bytes": size,
        }
        figures["status"] = status
        good = status == 200 and figures["p95"] < GOAL_MS and (not line.is_list or size < GOAL_BYTES)
        result[path] = {name: round(value, 1) for name, value in figures.items()} | {"meets_goal": good}
    return result


def clicks(scene: Scene, paths: tuple[str, ...]) -> dict[str, Any]:
    server = _Server()
    scene.web.follower.start()
    server.start()
    try:
        return _clicks(scene, f"http://127.0.0.1:{server.port}", paths)
    finally:
        server.stop()
        scene.web.follower.stop()


def _clicks(scene: Scene, url: str, paths: tuple[str, ...]) -> dict[str, Any]:
    result = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        for path in paths:
            page = browser.new_page(viewport={"width": 1366, "height": 900})
            page.goto(url + path)
            page.wait_for_selector('#live-state[data-state="live"]')
            page.wait_for_timeout(SETTLE)
            page.evaluate(MEASURE)
            heading = page.locator("h1").first.bounding_box() or {"x": 0.0, "y": 0.0}  # a click there does nothing else
            with Changes(scene).running():
                for _ in range(CLICKS):
                    page.mouse.click(heading["x"] + 3, heading["y"] + 3)
                    page.wait_for_timeout(150)
            taken = page.evaluate("taken")
            worst = max(taken)
            result[path] = {
                "p50": round(statistics.median(taken), 1),
                "worst": round(worst, 1),
                "longest_task": round(page.evaluate("longest"), 1),
                "meets_goal": worst < GOAL_CLICK_MS,
            }
            page.close()
        browser.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("nodes", 5000), ("claims", 10_000), ("pods", 1000), ("requests", 20)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    django.setup()
    scene = cluster(options.nodes, options.claims, options.pods)
    current.use(scene.web)
    result: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "size": {"nodes": options.nodes, "claims": options.claims, "pods": options.pods},
        "pages": server_times(scene, options.requests),
    }
    if not options.no_browser:
        result["click"] = clicks(scene, CLICKED)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
