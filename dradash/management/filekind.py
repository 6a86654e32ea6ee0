"""Which of our files one is: who hands a command the wrong one is told what it wants and what it was given."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Final

RECORDING: Final = "a recording (by `record`)"
VECTORS: Final = "vectors (questions to the real plugin with its answers)"
DUMP: Final = "Kubernetes objects (`explain -f` reads them)"
_ROWS: Final = {RECORDING: {"t", "kind", "type", "object"}, VECTORS: {"id", "input", "expected_any_of"}}
_HEAD: Final = 1 << 16  # bytes that are looked at
_OBJECTS: Final = re.compile(r'^\s*"?(apiVersion|kind|items)"?\s*:', re.MULTILINE)
_JSON: Final = re.compile(r'[\[{]\s*(["\d\[{\]}-]|$)')


class WrongFile(ValueError):
    """One line for the user."""


def expect(path: Path, wanted: str) -> None:
    """Raises WrongFile when the file is of another kind than `wanted`, or cannot be read."""
    try:
        found = looks_like(path)
    except (OSError, EOFError, zlib.error) as error:
        raise WrongFile(f"cannot read {path}: {error}") from error
    if found != wanted:
        noun = wanted.partition(" (")[0]
        denied = f"is no {noun[2:]}" if noun.startswith("a ") else f"holds no {noun}"
        raise WrongFile(f"{path} {denied}: it looks like {found}; wanted is {wanted}, one JSON object a line")


def looks_like(path: Path) -> str:
    """By the first line that is not empty, of a plain or gzip file. Raises OSError, EOFError and zlib.error."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rb") if zipped else path.open("rb") as file:
        head = _head(file)
    if not head.strip():
        return "an empty file"
    if b"\0" in head:
        return "binary data"
    text = head.decode(errors="replace").lstrip()
    line = text.partition("\n")[0]
    keys = _keys(line)
    for kind, wanted in _ROWS.items():
        if wanted <= keys:
            return kind
    if _OBJECTS.search(text) or {"apiVersion", "kind"} & keys:
        return DUMP
    return "other JSON" if _JSON.match(line) else "text that is not JSON"


def _head(file: gzip.GzipFile | BufferedReader) -> bytes:
    """What is there of a file that breaks off, unless that is nothing."""
    head = b""
    try:
        while len(head) < _HEAD and (more := file.read1(_HEAD - len(head))):
            head += more
    except EOFError:
        if not head:
            raise
    return head


def _keys(line: str) -> set[str]:
    """The object's keys. Of one that is longer than what was read, or broken: all names that are found in it."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return set(re.findall(r'"(\w+)"\s*:', line)) if line.startswith("{") else set()
    return set(row) if isinstance(row, dict) else set()
