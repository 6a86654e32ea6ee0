"""What becomes of a command whose output cannot be written: one line, and a status of its own."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from typing import Final

FAILED: Final = 3
READER_GONE: Final = 128 + 13  # as a shell reports SIGPIPE: the status of what was to be told is not known
_OF_OUTPUT: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE})


def guarded(command: str, run: Callable[[], int]) -> int:
    """The exit status of `run`, once all that it wrote is written."""
    if sys.stdout is None:  # what Python makes of a descriptor that was closed before it began
        return _failed(command, "standard output is closed")
    try:
        status = run()
        sys.stdout.flush()
    except SystemExit as end:
        return _flushed(command, end)
    except OSError as error:
        if not of_output(error):
            raise
        return _unwritten(command, error)
    return status


def of_output(error: OSError) -> bool:
    """Whether it is of writing to what was open already; others name their file."""
    return error.filename is None and error.errno in _OF_OUTPUT


def _flushed(command: str, end: SystemExit) -> int:
    try:
        sys.stdout.flush()
    except OSError as error:
        status = _unwritten(command, error, quiet=bool(end.code))
        if not end.code:
            return status
    raise end


def _unwritten(command: str, error: OSError, *, quiet: bool = False) -> int:
    # What is still in the buffer would be tried once more at exit, and complained of.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return READER_GONE  # head and less have seen enough
    return FAILED if quiet else _failed(command, f"the output cannot be written: {error.strerror}")


def _failed(command: str, why: str) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"{command}: {why}\n")
    return FAILED
