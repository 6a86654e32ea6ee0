"""Which dradash this is: of a checkout its own pyproject.toml and commit, else what pip has noted."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_SHOWN: Final = 12  # characters of a commit
_REF: Final = re.compile(r"ref: (refs/[^\s:?*\\\[]+)")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def version(root: Path = ROOT) -> str:
    """As in `0.1.0, commit 0123456789ab`. root: where pyproject.toml would be, were this a checkout."""
    number = _of_pyproject(root) or _of_pip() or "unknown"
    found = commit(root)
    return f"{number}, commit {found[:_SHOWN]}" if found else number


def commit(root: Path) -> str:
    """The commit that is checked out, read from .git without running git; "" when there is none to be read."""
    try:
        place = root / ".git"
        if place.is_file():  # a worktree's or submodule's
            place = root / place.read_text().removeprefix("gitdir:").strip()
        head = (place / "HEAD").read_text().strip()
        if (ref := _REF.fullmatch(head)) and ".." not in ref[1]:
            common = place / "commondir"
            head = _of_ref(place / common.read_text().strip() if common.is_file() else place, ref[1])
    except (OSError, ValueError):
        return ""
    return head if _COMMIT.fullmatch(head) else ""


def _of_ref(place: Path, ref: str) -> str:
    if (place / ref).is_file():
        return (place / ref).read_text().strip()
    packed = (line.split(" ", 1) for line in (place / "packed-refs").read_text().splitlines() if " " in line)
    return next((found for found, name in packed if name == ref), "")


def _of_pyproject(root: Path) -> str:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
        return str(project["version"]) if project["name"] == "dradash" else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _of_pip() -> str:
    try:
        return metadata.version("dradash")
    except metadata.PackageNotFoundError:
        return ""
