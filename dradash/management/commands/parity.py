"""`manage.py parity FILE...`: does our port answer as the real plugin did?"""

from __future__ import annotations

import gzip
import json
import zlib
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
        passed = failed = 0
        for path in files:
            for row in rows(path):
                mismatch = check(row)
                if mismatch is None:
                    passed += 1
                    continue
                failed += 1
                if failed <= show:
                    self._print(path, mismatch)
        self.stdout.write(f"{passed} passed, {failed} failed")
        if failed:
            raise SystemExit(1)

    def _print(self, path: Path, mismatch: Mismatch) -> None:
        self.stdout.write(f"{path.name} {mismatch.id}:\n{mismatch.diff}\n")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The file's JSON objects. Raises CommandError naming file and line."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") if _is_gzip(path) else path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(path, number, line)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise CommandError(f"cannot read {path}: {error}") from error


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CommandError(f"{path}:{number}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise CommandError(f"{path}:{number}: a vector is a JSON object with id, input and expected_any_of")
    return row


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
