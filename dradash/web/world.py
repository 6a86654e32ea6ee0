"""Moved to dradash.reader.world: import it from there. This goes away with issue 4."""

from dradash.reader.world import *  # noqa: F403
