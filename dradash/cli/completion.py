"""Shell completion, written from the parser: what it does not know is not completed."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dradash.cli.remote import VALUES

HELP: Final = "print a completion script: source <(dradash completion bash), or zsh; dradash completion fish | source"
SHELLS: Final = ("bash", "zsh", "fish")


class Option(msgspec.Struct, frozen=True):
    """names: as typed; values: what may follow, () for anything; files: a path follows; takes: a value follows."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...]
    files: bool
    takes: bool


class Command(msgspec.Struct, frozen=True):
    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]  # choices of its first positional argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace, root: argparse.ArgumentParser, others: Mapping[str, str]) -> int:
    """others: further commands, of which only the name and a line of help are known."""
    commands = commands_of(root)
    names = tuple(c.name for c in commands)
    commands += [Command(name, text, (), ()) for name, text in others.items()]
    commands.append(Command("help", "tell the options of a command", (), (*names, *others)))
    sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands))
    return 0


def commands_of(root: argparse.ArgumentParser) -> list[Command]:
    subparsers = next(a for a in root._actions if isinstance(a, argparse._SubParsersAction))
    helps = {a.dest: a.help or "" for a in subparsers._choices_actions}
    return [Command(n, helps.get(n, ""), tuple(_options(p)), _words(p)) for n, p in subparsers.choices.items()]


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            yield Option(
                names=tuple(action.option_strings),
                help=action.help or "",
                values=tuple(map(str, action.choices or VALUES.get(action.dest, ()))),
                files=action.metavar == "FILE",
                takes=action.nargs != 0,
            )


def _words(parser: argparse.ArgumentParser) -> tuple[str, ...]:
    positional = next((a for a in parser._actions if not a.option_strings), None)
    return tuple(map(str, positional.choices or ())) if positional else ()


def bash(commands: list[Command]) -> str:
    cases, values = [], []
    for command in commands:
        words = _bash_values([*(n for o in command.options for n in o.names), *command.words])
        cases.append(f"    {command.name}) words={words} ;;")
        for option in command.options:
            if option.takes:
                pattern = "|".join(f"{command.name}:{n}" for n in option.names)
                answer = '-f -- "$cur"' if option.files else f'-W {_bash_values(option.values)} -- "$cur"{_BASH_QUOTED}'
                values.append(f"    {pattern}) COMPREPLY=($(compgen {answer})); return ;;")
    return "\n".join(
        (
            "# bash completion for dradash",
            "_dradash() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"',
            '  local command="${COMP_WORDS[1]}" words=""',
            "  local IFS=$'\\n'",
            "  COMPREPLY=()",
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f'    COMPREPLY=($(compgen -W {_bash_values(c.name for c in commands)} -- "$cur")); return',
            "  fi",
            '  case "$command:$prev" in',
            *values,
            "  esac",
            '  case "$command" in',
            *cases,
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
            "}",
            "complete -o default -F _dradash dradash",
            "",
        )
    )


_BASH_QUOTED: Final = r" | sed 's/ /\\ /g'"  # as it is to be typed; compgen compares without


def _bash_values(values: Iterable[str]) -> str:
    """For compgen -W, one a line (IFS)."""
    return shlex.quote("\n".join(values))


def zsh(commands: list[Command]) -> str:
    lines = ["#compdef dradash", "_dradash() {", "  local -a commands", "  commands=("]
    lines += [f"    {shlex.quote(f'{c.name}:{c.help}')}" for c in commands]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe command commands; return", "  fi"]
    lines += ['  case "$words[2]" in']
    for command in commands:
        specs = [_zsh_option(o, name) for o in command.options for name in o.names]
        if command.words:
            specs.append(shlex.quote(f"*: :({' '.join(command.words)})"))
        else:
            specs.append("'*:file:_files'")
        lines.append(f"    {command.name}) shift words; (( CURRENT-- )); _arguments {' '.join(specs)} ;;")
    lines += ["  esac", "}", "compdef _dradash dradash", ""]
    return "\n".join(lines)


def _zsh_option(option: Option, name: str) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
    spec = f"*{name}[{text}]"
    if option.takes:
        values = f"({' '.join(map(_escaped, option.values))})" if option.values else " "  # a space: anything may follow
        spec += ":file:_files" if option.files else f":value:{values}"
    return shlex.quote(spec)


def fish(commands: list[Command]) -> str:
    lines = ["# fish completion for dradash", "complete -c dradash -f"]
    for command in commands:
        here = f"-n '__fish_seen_subcommand_from {command.name}'"
        lines.append(f"complete -c dradash -n __fish_use_subcommand -a {command.name} -d {_fish(command.help)}")
        if command.words:
            lines.append(f"complete -c dradash {here} -a {_fish(' '.join(command.words))}")
        for option in command.options:
            parts = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
            if option.takes:
                parts.append("-r -F" if option.files else f"-x -a {_fish(' '.join(map(_escaped, option.values)))}")
            lines.append(f"complete -c dradash {here} {' '.join(parts)} -d {_fish(option.help)}")
    return "\n".join([*lines, ""])


def _escaped(value: str) -> str:
    return value.replace(" ", "\\ ")


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
