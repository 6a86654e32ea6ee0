"""The inputs of `explain` as names with bytes: files, directories, archives of these, standard input.

The only file of this package that touches the file system. Archives are read, never unpacked; links are not followed.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Final

import msgspec

from dradash.offline.documents import SUFFIXES, BadInput

STDIN: Final = "-"
LARGEST: Final = 512 * 1024 * 1024  # bytes of one input, unpacked
_GZIP: Final = b"\x1f\x8b"
_TAR_AT, _TAR = 257, b"ustar"


class Input(msgspec.Struct, frozen=True):
    """named: somebody asked for this very file, so it must hold objects; others are left out with a note."""

    name: str
    text: bytes
    named: bool


def gather(paths: list[str], stdin: BinaryIO) -> Iterator[Input]:
    """Raises BadInput for what cannot be read at all."""
    for path in paths:
        try:
            yield from _one(path, stdin)
        except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise BadInput(f"{_shown(path)}: {reason}") from error


def _one(path: str, stdin: BinaryIO) -> Iterator[Input]:
    if path == STDIN:
        yield from _from_stream(_shown(path), stdin)
    elif os.path.isdir(path):
        yield from _from_directory(Path(path))
    else:
        with open(path, "rb") as file:
            yield from _from_stream(path, file)


def _shown(path: str) -> str:
    return "standard input" if path == STDIN else path


def _from_directory(root: Path) -> Iterator[Input]:
    found = False
    for folder, folders, names in os.walk(root):  # does not follow links to directories
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(SUFFIXES) and path.is_file() and not path.is_symlink():
                found = True
                with path.open("rb") as file:
                    yield Input(str(path), _bounded(file, str(path)), named=False)
    if not found:
        raise BadInput(f"{root}: no {', '.join(SUFFIXES)} file in this directory")


def _from_stream(name: str, file: BinaryIO) -> Iterator[Input]:
    text = _bounded(file, name)
    if text.startswith(_GZIP):
        with io.BufferedReader(gzip.GzipFile(fileobj=io.BytesIO(text))) as unpacked:
            text = _bounded(unpacked, name)
    if text[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        yield from _from_tar(name, text)
    else:
        yield Input(name, text, named=True)


def _from_tar(name: str, archive: bytes) -> Iterator[Input]:
    found, total = False, 0
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if not member.isfile() or not member.name.endswith(SUFFIXES):
                continue
            file = tar.extractfile(member)
            if file is None:
                continue
            found = True
            text = _bounded(file, f"{name}:{member.name}")
            total += len(text)
            if total > LARGEST:
                raise BadInput(f"{name}: more than {LARGEST} bytes")
            yield Input(f"{name}:{member.name}", text, named=False)
    if not found:
        raise BadInput(f"{name}: no {', '.join(SUFFIXES)} file in this archive")


def _bounded(file: IO[bytes], name: str) -> bytes:
    text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise BadInput(f"{name}: more than {LARGEST} bytes")
    return text
