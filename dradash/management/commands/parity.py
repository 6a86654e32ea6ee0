"""`manage.py parity FILE...`: does our port answer as the real plugin did?"""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError

from dradash.management.filekind import VECTORS, WrongFile, expect
from dradash.scheduling.parity import Mismatch, check


class Command(BaseCommand):
    help = "Run vector files (plain or gzip) against the port; exit 1 if any answer differs, 2 if a file holds none."
    requires_system_checks: list[str] = []  # reads a file only: no Redis, no web server

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="vectors, one JSON object a line")
        parser.add_argument(
            "--show", type=int, default=5, metavar="N", help="mismatches to print (default: %(default)s)"
        )

    def handle(self, *_args: Any, files: list[Path], show: int, **_options: Any) -> None:
        try:
            for path in files:
                expect(path, VECTORS)
        except WrongFile as error:
            raise CommandError(str(error), returncode=2) from error
        passed = failed = broken = 0
        for path in files:
            for row in rows(path):
                found = row if isinstance(row, Broken) else check(row)
                if found is None:
                    passed += 1
                    continue
                failed += 1
                if isinstance(found, Broken):
                    broken += 1
                    if broken <= max(show, 1):
                        self.stdout.write(found.told)
                elif failed - broken <= show:
                    self._print(path, found)
        self.stdout.write(f"{passed} passed, {failed} failed")
        if failed:
            raise SystemExit(1)

    def _print(self, path: Path, mismatch: Mismatch) -> None:
        self.stdout.write(f"{path.name} {mismatch.id}:\n{mismatch.diff}\n")


class Broken(NamedTuple):
    """A line that is no vector, or where the file breaks off. told: one line that names file and line."""

    told: str


def rows(path: Path) -> Iterator[dict[str, Any] | Broken]:
    """The file's JSON objects. What cannot be read is told in its place, and what was read before it counts."""
    number = 0
    try:
        with gzip.open(path, "rb") if _is_gzip(path) else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if text.strip():
                    yield _row(path, number, text)
    except (OSError, EOFError, zlib.error) as error:
        yield Broken(f"{path}:{number + 1}: cannot read it from here on: {error}")


def _row(path: Path, number: int, line: bytes) -> dict[str, Any] | Broken:
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return Broken(f"{path}:{number}: not JSON: {error}")
    if not isinstance(row, dict):
        return Broken(f"{path}:{number}: a vector is a JSON object with id, input and expected_any_of")
    return row


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
