"""Writes what the API promises from now on: `python -m tests.contract.release_api`. Run it when something is added."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Final

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dradash.settings")

import django

PATH: Final = Path(__file__).parent / "data" / "api-v1.json"


def main() -> None:
    django.setup()
    from dradash.api import openapi  # noqa: PLC0415 - needs Django

    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(openapi.released(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    sys.stdout.write(f"{PATH}\n")


if __name__ == "__main__":
    main()
