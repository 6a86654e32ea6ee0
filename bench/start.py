"""How long `manage.py up --demo` takes until it prints its URL, and until nothing of it is left after SIGTERM.

    python bench/start.py [--runs N]

Prints JSON; seconds, one figure a run. The goals are 10 s for each, on a machine that does nothing else. Both are that
of the processes alone: how many pods there are does not matter for the start, and hardly for the end.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.acceptance.processes import Up

GOAL = 10.0


def run() -> tuple[float, float]:
    began = time.perf_counter()
    with Up("--demo", "--port", "0") as up:
        up.url()
        ready = time.perf_counter()
        up.stop()
        ended = time.perf_counter()
        if up.left():
            raise SystemExit(f"processes are left: {up.left()}")
    return ready - began, ended - ready


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    times = [run() for _ in range(parser.parse_args().runs)]
    starts, stops = ([round(t[place], 2) for t in times] for place in (0, 1))
    result = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "start_s": starts,
        "stop_s": stops,
        "goals": {"start": max(starts) < GOAL, "stop": max(stops) < GOAL},
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
