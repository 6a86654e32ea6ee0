"""Which Redis is started when none is given, and with what."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dradash.store import embedded


def server_in(directory: Path, name: str) -> Path:
    path = directory / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["redis-server", "valkey-server"])
def test_a_server_on_the_path_is_taken(tmp_path: Path, name: str) -> None:
    assert embedded.find_server(str(tmp_path)) == embedded.find_server("") != tmp_path / name
    server = server_in(tmp_path, name)
    assert embedded.find_server(str(tmp_path)) == server


def test_without_one_the_packages_own_is_taken() -> None:
    server = embedded.find_server("")
    assert server.name == "valkey-server"
    assert os.access(server, os.X_OK)


def test_without_any_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(embedded.NoServer, match="Set REDIS_URL, or install redis-server"):
        embedded.find_server("")


def test_a_server_on_a_port_listens_on_loopback_and_keeps_nothing(tmp_path: Path) -> None:
    line = embedded.command(tmp_path, port=6400, server=Path("/r"))
    assert line[0] == "/r"
    assert embedded.url(port=6400) == "redis://127.0.0.1:6400/0"
    options = dict(zip(line[1::2], line[2::2], strict=True))
    assert options == {
        "--port": "6400",
        "--bind": "127.0.0.1",
        "--protected-mode": "yes",
        "--save": "",
        "--appendonly": "no",
        "--maxmemory": "0",
        "--maxmemory-policy": "noeviction",
        "--daemonize": "no",
        "--dir": str(tmp_path),
    }


def test_a_server_on_a_socket_has_no_port(tmp_path: Path) -> None:
    line = embedded.command(tmp_path, socket=tmp_path / "s", server=Path("/r"))
    assert line[1:7] == ["--port", "0", "--unixsocket", str(tmp_path / "s"), "--unixsocketperm", "700"]
    assert embedded.url(socket=tmp_path / "s") == f"unix://{tmp_path}/s"


def test_port_and_socket_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="either"):
        embedded.command(tmp_path)
    with pytest.raises(ValueError, match="either"):
        embedded.command(tmp_path, port=1, socket=tmp_path / "s")
