"""`manage.py get`: the same as `dradash get` (dradash/cli)."""

from __future__ import annotations

from dradash.management.ours import OurCommand


class Command(OurCommand):
    name = "get"
