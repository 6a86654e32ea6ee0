"""The pages need more than the package: templates/ and static/ lie beside it, in a checkout only."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dradash.supervisor.errors import StartError

ROOT: Final = Path(__file__).resolve().parents[2]  # holds manage.py, templates and static
_NEEDED: Final = ("manage.py", "templates", "static")


def refuse_installed(command: str, root: Path = ROOT) -> None:
    """Raises StartError when the package was installed without its checkout."""
    if missing := [name for name in _NEEDED if not (root / name).exists()]:
        raise StartError(
            f"`{command}` needs a checkout of dradash: the installed package has no {', '.join(missing)}. "
            f"In a checkout type `make up` or `.venv/bin/python manage.py {command}`. Installed work explain, get, "
            "describe, watch, completion, record, sim, parity and agreement"
        )
