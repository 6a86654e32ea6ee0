"""A real Redis (Valkey) for tests: on a unix socket in a directory of its own, gone with the test."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from dradash.store import embedded
from tests.patience import PATIENCE


@contextmanager
def running_redis() -> Iterator[str]:
    """Its URL. The directory has a short name: a unix socket's path may have 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="dradash-") as name:
        directory = Path(name)  # mode 0700
        socket = directory / "redis.sock"
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(embedded.command(directory, socket=socket), stdout=log, stderr=log)
        try:
            _wait_until_it_answers(embedded.url(socket=socket), process, directory / "log")
            yield embedded.url(socket=socket)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    with redis.Redis.from_url(url) as client:
        while True:
            try:
                client.ping()
            except redis.exceptions.ConnectionError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the test's Redis did not start: {log.read_text()}") from None
                time.sleep(0.02)
            else:
                return
