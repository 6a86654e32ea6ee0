"""Which dradash it is, in a checkout, a worktree and an image."""

from __future__ import annotations

import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from dradash.version import ROOT, commit, version

PYPROJECT = '[project]\nname = "dradash"\nversion = "7.8.9"\n'


def git(where: Path, *arguments: str) -> str:
    line = ["git", "-C", str(where), "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "pyproject.toml").write_text(PYPROJECT)
    git(root, "init", "-q", "-b", "a/branch")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    return root


def test_a_checkout_has_its_own_version_and_commit(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert version(checkout) == f"7.8.9, commit {head[:12]}"
    git(checkout, "commit", "-q", "--allow-empty", "-m", "two")
    assert version(checkout) != f"7.8.9, commit {head[:12]}"


@pytest.mark.parametrize("how", [("pack-refs", "--all"), ("checkout", "-q", "--detach")])
def test_packed_references_and_a_detached_head_are_read_too(checkout: Path, how: tuple[str, ...]) -> None:
    git(checkout, *how)
    assert commit(checkout) == git(checkout, "rev-parse", "HEAD")


def test_a_worktree_has_the_commit_of_its_own_branch(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    git(tmp_path / "tree", "commit", "-q", "--allow-empty", "-m", "two")
    assert commit(tmp_path / "tree") == git(tmp_path / "tree", "rev-parse", "HEAD") != commit(checkout)


def test_a_checkout_without_git_has_the_version_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    assert version(tmp_path) == "7.8.9"


@pytest.mark.parametrize(
    "head", ["", "ref: refs/heads/../../../pyproject.toml", "ref: refs/heads/none", "0" * 39, "\0"]
)
def test_a_head_that_cannot_be_read_names_no_commit(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    assert commit(tmp_path) == ""


def test_an_installed_package_has_the_version_that_pip_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: {"dradash": "1.2.3"}[name])
    assert version(tmp_path) == "1.2.3"


def test_this_is_the_version_that_pyproject_says() -> None:
    assert version().partition(",")[0] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
