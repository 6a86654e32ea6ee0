"""`manage.py explain`: the same as `dradash explain` (dradash/cli)."""

from __future__ import annotations

from dradash.management.ours import OurCommand


class Command(OurCommand):
    name = "explain"
