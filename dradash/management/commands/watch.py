"""`manage.py watch`: the same as `dradash watch` (dradash/cli)."""

from __future__ import annotations

from dradash.management.ours import OurCommand


class Command(OurCommand):
    name = "watch"
