"""A private directory for sockets and files of one run, removed at its end, or by the next run after a kill -9."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PREFIX: Final = "dradash-up-"
LOCK: Final = "lock"


@contextlib.contextmanager
def private_directory() -> Iterator[Path]:
    """Yield a new directory that only this user can enter; holds a lock in it for as long as it is in use."""
    sweep(Path(tempfile.gettempdir()))
    # Unix socket paths end at 107 bytes: a long TMPDIR (macOS, pytest) would not leave room for one.
    base = tempfile.gettempdir() if len(tempfile.gettempdir()) < 60 else "/tmp"  # noqa: S108 - mkdtemp makes it 0700
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    lock = os.open(path / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def sweep(base: Path) -> None:
    """Remove what runs that were killed left behind: ours, and nobody holds the lock."""
    for path in base.glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
