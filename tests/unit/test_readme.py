"""What the README says to type exists and answers as it says."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def test_every_command_of_manage_py_exists() -> None:
    named = set(re.findall(r"manage\.py (\w+)", README))
    ours = {name for name, app in get_commands().items() if app == "dradash"}
    assert named
    assert named <= ours


def test_every_make_target_exists() -> None:
    for target in set(re.findall(r"`?make (\w+)", README)):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target


def test_every_linked_file_exists() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


EXAMPLES = re.findall(r"`\.venv/bin/python manage\.py ((?:parity|agreement) [^`]+)`[^`]*`([^`]+)`", README)


def test_there_are_two_examples() -> None:
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize(("command", "ends_with"), EXAMPLES)
def test_an_example_ends_as_the_readme_says(command: str, ends_with: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    name, *arguments = shlex.split(command)
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    assert out.getvalue().endswith(f"{ends_with}\n")
