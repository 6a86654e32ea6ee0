"""Real processes for the tests: `manage.py up` with everything it starts, found again whatever becomes of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.patience import PATIENCE

ROOT: Final = Path(__file__).parents[2]
MARK: Final = "DRADASH_TEST_MARK"
URL: Final = re.compile(r"http://[\w.\[\]:-]+/")


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for other processes, which give no event to await. Raises AssertionError."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)


def marked(mark: str, directory: Path) -> dict[int, str]:
    """Processes that inherited the mark or name the directory: pid -> command line. Zombies do not count.

    Redis is found by its socket's path: it writes its title over its environment.
    """
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            inherited = f"{MARK}={mark}\0".encode() in (path / "environ").read_bytes() + b"\0"
            if inherited or str(directory) in command:
                found[int(path.name)] = command
        except OSError:
            continue
    return found


def is_free(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) != 0


class Lines:
    """What a pipe said so far; read by a thread of its own so that the writer never blocks."""

    def __init__(self, pipe: object) -> None:
        self._pipe = pipe
        self._lines: list[str] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._pipe:  # type: ignore[attr-defined]  # IO[str], which typeshed makes generic over Any
            self._lines.append(line.rstrip("\n"))

    def so_far(self) -> list[str]:
        return list(self._lines)

    def all(self) -> list[str]:
        self._thread.join(PATIENCE)
        return list(self._lines)


class Up:
    """One `manage.py up`. Use as a context manager: what is left of it at the end is killed."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None, command: tuple[str, ...] = ()) -> None:
        self.mark = uuid.uuid4().hex
        # A short name: unix sockets are made in it.
        self.tmpdir = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))
        clean = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "COVERAGE_PROCESS_START")}
        self.process = subprocess.Popen(
            [*(command or (sys.executable, "manage.py", "up")), *arguments],
            cwd=ROOT,
            env={**clean, MARK: self.mark, "TMPDIR": str(self.tmpdir), "HOME": str(self.tmpdir), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self.out = Lines(self.process.stdout)
        self.err = Lines(self.process.stderr)

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
        for pid in self.left():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                self.out.all()
                self.err.all()
                pipe.close()
        shutil.rmtree(self.tmpdir, ignore_errors=True)

    def url(self) -> str:
        """Wait until it says that everything is ready."""

        def said() -> bool:
            assert self.process.poll() is None, "ended before it was ready:\n" + "\n".join(self.err.all()[-40:])
            return bool(self.urls())

        until(said, "a URL; the log so far:\n" + "\n".join(self.err.so_far()[-40:]))
        return self.urls()[0]

    def urls(self) -> list[str]:
        return URL.findall("\n".join(self.out.so_far() + self.err.so_far()))

    @property
    def port(self) -> int:
        return int(self.url().rstrip("/").rpartition(":")[2])

    def pid_of(self, part: str) -> int:
        """The oldest process with `part` in its command line."""
        return min(pid for pid, command in self.left().items() if part in command)

    def left(self) -> dict[int, str]:
        """Its processes that are still there, without itself."""
        return {pid: command for pid, command in marked(self.mark, self.tmpdir).items() if pid != self.process.pid}

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def error(self) -> str:
        """Its only line of error, after it has ended."""
        lines = [line for line in self.err.all() if line.startswith("up: error: ")]
        assert len(lines) == 1, "\n".join(self.err.all()[-40:])
        return lines[0]
