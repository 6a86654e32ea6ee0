"""`manage.py up`: all of dradash for one cluster, on this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from dradash import bootstrap, lifecycle
from dradash.conf import BadSetting, Conf, from_environ
from dradash.informer.recording import BadRecording, quiet
from dradash.management import arguments
from dradash.management.filekind import RECORDING, WrongFile, expect
from dradash.sim import replay, scenarios
from dradash.supervisor import kubeconfig, listen
from dradash.supervisor.checkout import ROOT, refuse_installed
from dradash.supervisor.errors import StartError
from dradash.supervisor.output import Output, printable
from dradash.supervisor.plan import Options, plan
from dradash.supervisor.run import NAME, Supervisor
from dradash.supervisor.workdir import private_directory
from dradash.web.checks import problems


class Command(BaseCommand):
    help = (
        "Start everything for one cluster: Redis, the workers and the web server. Prints the URL; Ctrl-C stops it. "
        "Needs a checkout."
    )
    requires_system_checks: list[str] = []  # the web process makes them

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--demo", action="store_true", help="watch a simulated cluster")
        what.add_argument("--replay", metavar="RECORDING", help="watch a recording of a cluster")
        parser.add_argument("--scenario", default="", help=f"with --demo: what happens in it. {scenarios.HELP}")
        parser.add_argument("--seed", type=int, help="with --demo: another one, another course of events")
        parser.add_argument(
            "--speed", type=arguments.speed, help="of --demo or --replay: times as fast as life, or as recorded"
        )
        parser.add_argument("--kubeconfig", default="", metavar="FILE", help="default: as kubectl finds it")
        parser.add_argument("--context", default="", help="of the kubeconfig; default: its current one")
        parser.add_argument("--host", help="address to serve on (default 127.0.0.1)")
        parser.add_argument("--port", type=arguments.port, help="port to serve on (default 8000; 0: any free one)")
        parser.add_argument("--judges", type=_judges, default=2, help="processes that judge pods (default 2)")

    def handle(self, **options: Any) -> None:
        try:
            up(options)
        except (StartError, BadSetting) as error:
            print(f"{NAME}: error: {printable(str(error))}", file=sys.stderr, flush=True)  # noqa: T201 - its output
            sys.exit(1)
        lifecycle.end()


def _judges(raw: str) -> int:
    number = int(raw)
    if not 1 <= number <= 64:
        raise ArgumentTypeError("use 1 to 64 processes")
    return number


def up(options: dict[str, Any]) -> None:
    """Raises StartError, BadSetting."""
    refuse_installed("up")
    _refuse_contradictions(options)
    conf = from_environ()
    host = options["host"] or conf.host
    listen.refuse_open_door(host, conf.auth)
    if errors := [e for e in problems(dataclasses.replace(conf, host=host)) if e.is_serious()]:
        # The web server would refuse as well, but only after everything else was started.
        raise StartError(f"{errors[0].msg}. {errors[0].hint}")
    target = _target(options, conf)
    recording = _recording(options["replay"])
    if os.environ.get("REDIS_URL", "").strip() and (why := bootstrap.why_unavailable(conf)):
        raise StartError(why)
    port = conf.port if options["port"] is None else options["port"]
    with _listening(host, port) as (fd, bound), private_directory() as workdir:
        chosen = Options(
            host=host,
            port=bound,
            fd=fd,
            judges=options["judges"],
            demo=options["demo"],
            scenario=_scenario(options["scenario"] or scenarios.DEFAULT),
            seed=options["seed"] or 0,
            replay=recording,
            speed=options["speed"] or 1.0,
            target=target,
        )
        specs = plan(chosen, workdir, os.environ)
        output = Output(sys.stderr, [NAME, *(spec.name for spec in specs)], os.environ)

        def announce() -> None:
            print(f"dradash: {listen.url(host, bound)} (Ctrl-C stops it)", flush=True)  # noqa: T201 - its output

        asyncio.run(Supervisor(specs, output, ROOT).run(announce))


def _refuse_contradictions(options: dict[str, Any]) -> None:
    """An option that would be ignored is refused: it was meant for something."""
    for name, goes_with in (("scenario", ["demo"]), ("seed", ["demo"]), ("speed", ["demo", "replay"])):
        if options[name] not in ("", None) and not any(options[other] for other in goes_with):
            raise StartError(f"--{name} goes with --{' or --'.join(goes_with)}")
    for name in ("kubeconfig", "context"):
        if options[name] and (options["demo"] or options["replay"]):
            raise StartError(f"--{name} names a real cluster: leave out --demo and --replay, or --{name}")


def _target(options: dict[str, Any], conf: Conf) -> kubeconfig.Target | None:
    if options["demo"] or options["replay"]:
        return None
    return kubeconfig.choose(options["kubeconfig"] or conf.kubeconfig, options["context"] or conf.context, os.environ)


def _scenario(name: str) -> str:
    try:
        scenarios.check(name)
    except scenarios.UnknownScenario as error:
        raise StartError(str(error)) from error
    return name


def _recording(name: str | None) -> str:
    if not name:
        return ""
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise StartError(f"there is no recording {name}")
    try:
        expect(path, RECORDING)
        # To its end: a row that cannot be played must not end a cluster that people look at. The simulator, which
        # checks it too, is the one to say that it breaks off.
        replay.check(path, quiet)
    except (WrongFile, BadRecording, OSError) as error:
        raise StartError(str(error)) from error
    return str(path)


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[tuple[int, int]]:
    """The socket's file descriptor and its port."""
    with listen.listen(host, port) as sock:
        yield sock.fileno(), sock.getsockname()[1]
