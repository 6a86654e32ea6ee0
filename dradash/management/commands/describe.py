"""`manage.py describe`: the same as `dradash describe` (dradash/cli)."""

from __future__ import annotations

from dradash.management.ours import OurCommand


class Command(OurCommand):
    name = "describe"
