"""`manage.py completion`: the same as `dradash completion` (dradash/cli)."""

from __future__ import annotations

from dradash.management.ours import OurCommand


class Command(OurCommand):
    name = "completion"
