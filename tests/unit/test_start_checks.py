"""What `up` refuses before anything is started: each refusal is one line that says what to do."""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dradash.supervisor import kubeconfig, listen
from dradash.supervisor.checkout import ROOT, refuse_installed
from dradash.supervisor.errors import StartError
from tests.patience import PATIENCE

NOWHERE = Path("/nonexistent")


def written(path: Path, current: str = "kind-dev", contexts: tuple[str, ...] = ("kind-dev", "prod")) -> Path:
    config = {"current-context": current, "contexts": [{"name": name, "context": {}} for name in contexts]}
    path.write_text(yaml.safe_dump(config))
    return path


def test_the_current_context_of_the_default_kubeconfig_is_watched(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube" / "config")
    assert kubeconfig.choose("", "", {"HOME": str(tmp_path)}) == kubeconfig.Target("", "", "kind-dev")


def test_a_named_file_and_context_win(tmp_path: Path) -> None:
    path = written(tmp_path / "mine")
    target = kubeconfig.choose(str(path), "prod", {"KUBECONFIG": "/elsewhere"})
    assert target == kubeconfig.Target(str(path), "prod", "prod")


def test_several_files_are_joined_and_the_first_current_context_wins(tmp_path: Path) -> None:
    one = written(tmp_path / "one", current="", contexts=("a",))
    two = written(tmp_path / "two", current="b", contexts=("b",))
    env = {"KUBECONFIG": f"{one}:{two}"}
    assert kubeconfig.choose("", "", env).name == "b"
    assert kubeconfig.choose("", "a", env).name == "a"


def test_a_pod_in_the_cluster_needs_no_kubeconfig(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch()
    env = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert kubeconfig.choose("", "", env, token).name == "in-cluster"


@pytest.mark.parametrize(
    ("content", "context", "says"),
    [
        (None, "", r"there is no kubeconfig .*--kubeconfig FILE.*--demo"),
        ("current-context: [", "", "not valid YAML"),
        ("", "", "empty or not a kubeconfig"),
        ("contexts: [{name: a}]", "", r"no current context: give one with --context \(a\)"),
        ("contexts: [{name: a}, {name: b}]", "c", r"has no context 'c': it has a, b"),
        ("contexts: 7\ncurrent-context: x", "", "has no context 'x': it has none"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path: Path, content: str | None, context: str, says: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StartError, match=says) as caught:
        kubeconfig.choose(str(path), context, {})
    assert "\n" not in str(caught.value)


def test_without_any_kubeconfig_the_line_names_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=str(tmp_path / ".kube/config")):
        kubeconfig.choose("", "", {"HOME": str(tmp_path)}, NOWHERE)


def test_a_taken_port_is_named_with_another_to_choose() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=f"port {port} on 127.0.0.1 is taken .*--port {port + 1}"):
            listen.listen("127.0.0.1", port)


def test_two_starts_cannot_take_the_same_port() -> None:
    with listen.listen("127.0.0.1", 0) as sock, pytest.raises(StartError):
        listen.listen("127.0.0.1", sock.getsockname()[1])


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(StartError, match=r"cannot listen on 192\.0\.2\.1 port"):
        listen.listen("192.0.2.1", 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "dradash.example"])
def test_other_machines_are_let_in_only_with_sign_in(host: str) -> None:
    with pytest.raises(StartError, match="DRADASH_AUTH=token"):
        listen.refuse_open_door(host, "none")
    listen.refuse_open_door(host, "token")
    listen.refuse_open_door(host, "proxy")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_this_machine_needs_no_sign_in(host: str) -> None:
    listen.refuse_open_door(host, "none")


def test_the_url_can_be_opened_from_this_machine() -> None:
    assert listen.url("127.0.0.1", 8000) == "http://127.0.0.1:8000/"
    assert listen.url("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert listen.url("::", 8000) == "http://[::1]:8000/"


def test_a_checkout_may_start_and_a_package_without_its_pages_may_not(tmp_path: Path) -> None:
    refuse_installed("up")
    (tmp_path / "manage.py").touch()
    with pytest.raises(StartError, match=r"`up` needs a checkout of dradash: .* has no templates, static\."):
        refuse_installed("up", tmp_path)


@pytest.mark.parametrize("arguments", [("up", "--demo"), ("up", "--help"), ("web",), ("parity", "one.jsonl.gz")])
def test_an_installed_dradash_says_what_needs_a_checkout(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shutil.copytree(ROOT / "dradash", tmp_path / "dradash", ignore=shutil.ignore_patterns("__pycache__"))
    with gzip.open(ROOT / "tests/parity/data/classic.jsonl.gz", "rb") as vectors:
        (tmp_path / "one.jsonl.gz").write_bytes(gzip.compress(vectors.readline()))
    line = [sys.executable, "-c", "from dradash.cli.main import run; run()", *arguments]
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)

    if arguments[0] == "parity":  # needs only its file
        assert (ended.stdout, ended.stderr) == ("1 passed, 0 failed\n", "")
    elif "--help" in arguments:
        assert "Needs a checkout" in " ".join(ended.stdout.split())
    else:
        assert ended.returncode == 1
        assert ended.stderr.startswith(f"{arguments[0]}: error: `{arguments[0]}` needs a checkout of dradash")
        assert ended.stderr.count("\n") == 1
