"""`manage.py sim`: the simulated cluster alone, for kubectl, for `up --demo`, and for trying things out."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from django.core.management.base import BaseCommand, CommandParser

from dradash import lifecycle, log
from dradash.informer.recording import BadRecording
from dradash.kinds.registry import CLASSIC
from dradash.management import arguments
from dradash.management.filekind import RECORDING, WrongFile, expect
from dradash.sim import replay, scenarios
from dradash.sim.apiserver import APIServer
from dradash.sim.listener import PortTaken
from dradash.sim.resources import served
from dradash.sim.simulation import living, recorded
from dradash.sim.standalone import Actors, fresh_revision, nobody, run

# Watch events kept for each resource: minutes of them, and some 100 MB at most when a scenario runs for days.
HISTORY: Final = 5000


class Command(BaseCommand):
    help = "Serve a simulated cluster on 127.0.0.1 and write a kubeconfig for it. Ctrl-C ends it."
    requires_system_checks: list[str] = []  # it serves no pages

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=arguments.port, default=0, help="port on 127.0.0.1 (default: any free one)")
        parser.add_argument("--kubeconfig", type=Path, default=Path("var/sim-kubeconfig"), metavar="FILE")
        parser.add_argument("--no-token", action="store_true", help="let in every program on this machine")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--scenario", default="", help=f"let things happen in it. {scenarios.HELP}")
        what.add_argument("--replay", metavar="RECORDING", type=Path, help="play a recording of a real cluster")
        parser.add_argument("--speed", type=arguments.speed, default=1.0, help="times as fast as life, or as recorded")
        parser.add_argument(
            "--await-watch",
            type=arguments.duration,
            default=0.0,
            metavar="SECONDS",
            help="with --replay: begin when everything is watched, at the latest after so long (default: at once)",
        )
        parser.add_argument("--seed", type=int, default=0, help="of names, UIDs and everything that is left to chance")

    def handle(self, **options: Any) -> None:
        stop = threading.Event()

        def end(_signal: int, _frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        log.configure(debug=options["verbosity"] > 1)
        config: Path = options["kubeconfig"]
        actors, versions = _actors(options)
        resources = served(versions=versions)
        server = APIServer(resources, first_revision=fresh_revision(), history=HISTORY, seed=options["seed"])

        def ready(url: str) -> None:
            # Not as a URL: under `up` the only URL is that of the page.
            say(f"simulated cluster on {url.removeprefix('http://')}")
            say(f"look at it with: kubectl --kubeconfig {config} get pods,resourceclaims -A")

        try:
            run(
                server,
                config=config,
                stop=stop,
                port=options["port"],
                with_token=not options["no_token"],
                actors=actors,
                ready=ready,
            )
        except (PortTaken, OSError) as error:
            _fail(error)
        lifecycle.end()


def _actors(options: dict[str, Any]) -> tuple[Actors, tuple[str, ...]]:
    """Who acts in the cluster, and the versions of resource.k8s.io that it serves.

    Ends the program for an unknown scenario and a broken recording.
    """
    name, path, speed, seed = options["scenario"], options["replay"], options["speed"], options["seed"]
    try:
        if path is not None:
            expect(path, RECORDING)
            replay.check(path)
            patience = options["await_watch"]
            return (lambda server: recorded(server, path, speed=speed, patience=patience)), replay.versions(path)
        if name:
            scenario = scenarios.build(name, seed)
            return (lambda server: living(server, scenario, speed=speed, seed=seed)), scenario.versions
    except (scenarios.UnknownScenario, WrongFile, BadRecording, OSError) as error:
        _fail(error)
    return nobody, (CLASSIC,)


def _fail(error: Exception) -> NoReturn:
    print(f"sim: error: {error}", file=sys.stderr)  # noqa: T201 - its output
    sys.exit(1)


def say(line: str) -> None:
    print(line + "\n", end="", flush=True)  # noqa: T201 - its output; in one piece, as others write there too
