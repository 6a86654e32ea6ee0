"""`dradash`: its own commands here, every other one (up, web, record, ...) is a management command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from dradash.cli import completion, explain, output, remote

Run = Callable[[argparse.Namespace], int]

# Management commands, with what `help` says of them: naming them here keeps Django out of `dradash help`.
MANAGEMENT: Final[dict[str, str]] = {
    "up": "start everything: Redis, workers, web server (in a checkout only)",
    "web": "serve the pages alone (in a checkout only)",
    "sim": "serve a simulated cluster",
    "record": "write a cluster's streams to a file (docs/support.md)",
    "agreement": "compare a recording's scheduler with our verdicts",
    "parity": "compare our answers with the real plugin's",
    "check": "say what is wrong with the settings",
}
# name -> what adds its arguments, what runs it, one line of help, the text of --help
_COMMANDS: Final[dict[str, tuple[Callable[[argparse.ArgumentParser], None], Run, str, str]]] = {
    "explain": (explain.add_arguments, explain.run, explain.HELP, explain.DESCRIPTION),
    "get": (remote.add_get, remote.get, remote.GET_HELP, remote.DESCRIPTION),
    "describe": (remote.add_describe, remote.describe, remote.DESCRIBE_HELP, remote.DESCRIPTION),
    "watch": (remote.add_watch, remote.watch, remote.WATCH_HELP, remote.DESCRIPTION),
    "completion": (
        completion.add_arguments,
        lambda args: completion.run(args, parser(), MANAGEMENT),
        completion.HELP,
        completion.HELP,
    ),
}


def parser() -> argparse.ArgumentParser:
    lines = [f"  {name:<12}{text}" for name, text in MANAGEMENT.items()]
    root = argparse.ArgumentParser(
        prog="dradash",
        description="Why is this pod that uses Dynamic Resource Allocation not scheduled, and who must act next?",
        epilog="on the machine that dradash runs on:\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (add, run, text, description) in _COMMANDS.items():
        command = commands.add_parser(
            name,
            help=text,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add(command)
        command.set_defaults(run=run)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status. argv: without the program's name."""
    args = list(sys.argv[1:] if argv is None else argv)
    return output.guarded(" ".join(["dradash", *args[:1]]), lambda: _run(args))


def _run(args: list[str]) -> int:
    if args and not args[0].startswith("-") and args[0] not in (*_COMMANDS, "help"):
        return _manage(args)
    if args[:1] == ["help"]:
        return _help(args[1:])
    parsed = parser().parse_args(args)
    run: Run = parsed.run
    try:
        return run(parsed)
    except KeyboardInterrupt:
        return 130


def _help(args: Sequence[str]) -> int:
    if args and args[0] not in _COMMANDS:
        return _manage(["help", *args])
    parser().parse_args([*args[:1], "--help"])
    return 0


def _manage(args: Sequence[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")
    from django.core.management import execute_from_command_line  # noqa: PLC0415 - slow, and only needed here

    from dradash.conf import BadSetting  # noqa: PLC0415

    try:
        execute_from_command_line(["dradash", *args])
    except BadSetting as error:
        sys.stderr.write(f"{args[0]}: error: {error}\n")
        return 1
    return 0


def run() -> None:
    """The installed script."""
    sys.exit(main())
