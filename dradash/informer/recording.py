"""Recordings of a cluster's streams: one JSON object a line (t, kind, type, object), plain or gzip.

`t` is in seconds since the start, `kind` the resource's plural, `type` LIST (object is the whole list) or a watch
event's ADDED, MODIFIED, DELETED, BOOKMARK. The lists that begin a recording have t = 0 and come first; a later LIST
is a relist and replaces what the kind had. Kinds that we do not know are passed on.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import logging
import math
import os
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import msgspec

log = logging.getLogger(__name__)

TYPES: Final = frozenset({"LIST", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
STDOUT: Final = "-"
_GZIP_MAGIC: Final = b"\x1f\x8b"


class BadRecording(ValueError):
    """The file is no recording; the message names file and line."""


class Row(msgspec.Struct, frozen=True):
    """One line. object: the parsed JSON, for a LIST with its `items`."""

    t: float
    kind: str
    type: str
    object: dict[str, Any]


_ROW: Final = msgspec.json.Decoder(Row)


def quiet(_said: str) -> None:
    """For who reads a file again that somebody was warned of."""


def read(path: Path | str, warn: Callable[[str], None] = log.warning) -> Iterator[Row]:
    """The file's rows in order, read as they are asked for. Raises BadRecording and OSError (no such file).

    A recording may break off in its last line, when whoever made it was killed or the disk was full: `warn` is told,
    and what came before is used.
    """
    path = Path(path)
    with path.open("rb") as start:
        zipped = start.read(2) == _GZIP_MAGIC
    number = 0
    with gzip.open(path, "rb") if zipped else path.open("rb") as file:
        while True:
            number += 1
            try:
                line = file.readline()
            except EOFError:  # gzip data without their end: what could be unpacked ended in an earlier line
                warn(_breaks_off(path, number))
                return
            except (gzip.BadGzipFile, zlib.error) as error:
                raise BadRecording(f"{path}:{number}: the gzip data are broken: {error}") from error
            if not line:
                return
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if not line.strip():
                continue
            try:
                row = _row(line, f"{path}:{number}")
            except BadRecording:
                if number == 1 or not _is_cut(line):
                    raise
                warn(_breaks_off(path, number))
                return
            yield row


def _is_cut(line: bytes) -> bool:
    """Whether its end is missing: what was cut off before its last brace is never JSON."""
    if line.endswith(b"\n"):
        return False
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return False


def _breaks_off(path: Path, number: int) -> str:
    return f"{path}: the recording breaks off in line {number}; what came before is used"


def _row(line: bytes, where: str) -> Row:
    try:
        row = _ROW.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRecording(f"{where}: {error}") from error
    if row.type not in TYPES:
        raise BadRecording(f"{where}: type {row.type!r} is none of {', '.join(sorted(TYPES))}")
    if not (math.isfinite(row.t) and row.t >= 0):
        raise BadRecording(f"{where}: t is {row.t}, it must be 0 or more")
    if row.type == "LIST" and not isinstance(row.object.get("items") or [], list):
        raise BadRecording(f"{where}: a LIST whose items are no list")
    return row


class Writable(Protocol):
    def write(self, line: bytes, /) -> int: ...

    def flush(self) -> None: ...


class Writer:
    """Writes rows, the first lists of all `kinds` before anything else. Thread-safe; flushes line by line.

    What a watch brings before the last of the first lists is held back; `give_up` says of a kind that it has none.
    """

    def __init__(self, out: Writable, kinds: Iterable[str], clock: Callable[[], float]) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.written = 0  # rows that the output has taken
        self._out = out
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()
        self._unlisted = set(kinds)
        self._held: list[bytes] = []
        self._closed = False
        self.error: OSError | None = None  # why the output cannot be written any more

    def write(self, kind: str, type_: str, obj: msgspec.Raw) -> None:
        with self._lock:
            first = type_ == "LIST" and kind in self._unlisted
            t = 0.0 if first else round(max(0.0, self._clock() - self._started), 3)
            line = msgspec.json.encode({"t": t, "kind": kind, "type": type_, "object": obj}) + b"\n"
            self.counts[kind, type_] += 1
            if self._unlisted and not first:
                self._held.append(line)
            else:
                self._put(line)
            if first:
                self._is_listed(kind)

    def give_up(self, kind: str) -> None:
        """The kind is not served or forbidden: nobody waits for its list."""
        with self._lock:
            self._is_listed(kind)

    def finish(self) -> None:
        """Write what is still held back. Later rows are dropped: the file is about to be closed."""
        with self._lock:
            self._release()
            self._closed = True

    def _is_listed(self, kind: str) -> None:
        self._unlisted.discard(kind)
        if not self._unlisted:
            self._release()

    def _release(self) -> None:
        for line in self._held:
            self._put(line)
        self._held.clear()

    def _put(self, line: bytes) -> None:
        if self._closed or self.error is not None:
            return
        try:
            self._out.write(line)
            self._out.flush()
            self.written += 1
        except OSError as error:  # told to who waits for the recording, not to the reader that brought the line
            self.error = error


class Output:
    """A file that is opened at the first line: without one, an older recording stays and no empty one appears.

    When a line cannot be written to its end (a full disk), the file is cut back to the last whole line.
    """

    def __init__(self, open_now: Callable[[], BinaryIO], *, zipped: bool = False, path: Path | None = None) -> None:
        self._open = open_now
        self._zipped = zipped
        self._path = path  # None: a stream, from which nothing can be taken back
        self._raw: BinaryIO | None = None
        self._file: gzip.GzipFile | BinaryIO | None = None
        self._whole = 0  # bytes of the file that whole lines take

    def write(self, line: bytes, /) -> int:
        if self._file is None:
            self._raw = self._open()
            self._file = gzip.GzipFile(fileobj=self._raw, mode="wb") if self._zipped else self._raw
        with self._cut_on_failure():
            return self._file.write(line)

    def flush(self) -> None:
        if self._file is None or self._raw is None or self._raw.closed:
            return
        with self._cut_on_failure():
            self._file.flush()
            if self._path is not None:
                self._whole = self._raw.tell()

    @contextlib.contextmanager
    def _cut_on_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            if self._raw is not None:
                with contextlib.suppress(OSError):  # it tries to write once more what did not fit
                    self._raw.close()
            if self._path is not None:
                with contextlib.suppress(OSError):  # a device has no length
                    os.truncate(self._path, self._whole)
            raise

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._file is None or self._raw is None or self._raw.closed:
            return
        with self._cut_on_failure():
            self._file.close()
            self._raw.close()


def open_for_writing(name: str) -> Output:
    """`-` is standard output, a name that ends in .gz is compressed. Raises OSError for what cannot be written."""
    if name == STDOUT:
        return Output(lambda: os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    path = Path(name)
    # Found now and not at the first line, which may come after minutes.
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    return Output(lambda: path.open("wb"), zipped=name.endswith(".gz"), path=path)
