"""What `make` and CI stand on: pins that match pyproject.toml, scripts that find a browser or say what to install."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def canonical(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~ ;]", requirement.strip(), maxsplit=1)[0]).lower()


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    return {canonical(line): line.partition("==")[2] for line in lines if line}


def test_everything_that_is_declared_is_pinned() -> None:
    run, dev = pins("run"), pins("dev")
    assert {canonical(r) for r in PYPROJECT["project"]["dependencies"]} <= run.keys()
    assert {canonical(r) for r in PYPROJECT["project"]["optional-dependencies"]["dev"]} <= dev.keys()
    assert all(run.values())
    assert all(dev.values())


def test_tests_run_with_the_versions_that_users_get() -> None:
    dev = pins("dev")
    assert {name: dev.get(name) for name in pins("run")} == pins("run")


@pytest.mark.parametrize(
    "path", ["Makefile", "Dockerfile", "docker-compose.yml", ".ci", "requirements", "pyproject.toml"]
)
def test_no_file_of_the_build_names_a_host(path: str) -> None:
    """A mirror must do: which index and registry are used is the machine's business."""
    files = [ROOT / path] if (ROOT / path).is_file() else sorted((ROOT / path).iterdir())
    for file in files:
        hosts = re.findall(r"https?://([\w.-]+)", file.read_text())
        assert set(hosts) <= {"127.0.0.1", "localhost"}, file


def test_every_command_of_the_makefile_is_listed_by_its_help() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    help_text = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^make (\w+)", help_text, re.MULTILINE))
    assert listed == set(phony[1].split()) - {"help"}


def test_ci_ends_with_the_tests() -> None:
    commands = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert commands[-1].endswith("make --no-print-directory test")
    assert os.access(ROOT / ".ci/run", os.X_OK)


class Machine:
    """A directory with programs of our own, and nothing else that .ci/chromium would find."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bin = path / "bin"
        self.bin.mkdir()
        (path / ".venv/bin").mkdir(parents=True)
        self.program(".venv/bin/python", "exit 1")
        for name in ("bash", "env", "id", "ln", "true"):
            (self.bin / name).symlink_to(shutil.which(name) or f"no {name} on PATH")

    def program(self, name: str, script: str) -> Path:
        file = self.path / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    def chromium(self, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / ".ci/chromium"],
            cwd=self.path,
            env={"PATH": str(self.bin), **env},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_chromium_that_is_named_is_used(machine: Machine) -> None:
    machine.program("bin/chromium", "exit 0")
    assert machine.chromium(CHROMIUM="/my/own").stdout == "/my/own\n"


def test_a_chromium_on_path_is_found_and_a_broken_one_is_passed_over(machine: Machine) -> None:
    machine.program("bin/chromium", "exit 1")  # such as a snap's stub that asks to be installed
    works = machine.program("bin/google-chrome", "exit 0")
    assert machine.chromium().stdout == f"{works}\n"


def test_the_one_that_playwright_installed_is_found(machine: Machine) -> None:
    machine.program(".venv/bin/python", "echo /playwrights/chrome")
    assert machine.chromium().stdout == "/playwrights/chrome\n"


def test_the_systems_package_is_installed_when_there_is_none(machine: Machine) -> None:
    machine.program("bin/sudo", 'shift; exec "$@"')
    machine.program("bin/chromium.deb", "exit 0")
    machine.program("bin/apt-get", f'[ "$1" = update ] || ln -s {machine.bin}/chromium.deb {machine.bin}/chromium')
    found = machine.chromium()
    assert found.stdout == f"{machine.bin}/chromium\n"
    assert "installing chromium with apt-get" in found.stderr


def test_playwright_installs_one_where_the_package_manager_cannot(machine: Machine) -> None:
    machine.program("bin/apt-get", "exit 100")
    machine.program(
        ".venv/bin/python", 'if [ "$1" = -m ]; then : >installed; else [ -f installed ] && echo /its/chrome; fi'
    )
    assert machine.chromium().stdout == "/its/chrome\n"


def test_when_nothing_helps_it_says_what_to_install(machine: Machine) -> None:
    found = machine.chromium()
    assert found.returncode == 1
    assert found.stdout == ""
    assert "install the system's package 'chromium'" in found.stderr


def test_a_python_that_is_too_old_is_named(machine: Machine) -> None:
    machine.program("bin/python3", '[ "$1" = -V ] && echo Python 3.9.2; exit 1')
    made = subprocess.run(
        [ROOT / ".ci/venv", "python3", ".venv"],
        cwd=machine.path,
        env={"PATH": str(machine.bin)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 1
    assert "needs Python 3.11 or newer and python3 is Python 3.9.2" in made.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_of_the_tests_that_is_interrupted_leaves_none_of_them(number: signal.Signals, tmp_path: Path) -> None:
    python = tmp_path / "python"
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    python.write_text(
        f"#!{sys.executable}\nimport os, signal\n"
        f"with open({str(pids)!r}, 'w') as told:\n    print(os.getpid(), file=told)\nsignal.pause()\n"
    )
    python.chmod(0o755)
    tools = dict.fromkeys(("CHROMIUM", "KUBECTL", "PROMTOOL"), "/bin/true")
    run = subprocess.Popen(
        [ROOT / ".ci/tests", python],
        env={**os.environ, **tools},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    both: list[int] = []
    while len(both) < 2:
        both += [int(line) for line in pids.read_text().split()]
    os.killpg(run.pid, number)
    assert run.wait(timeout=PATIENCE) == 130
    for pid in both:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
