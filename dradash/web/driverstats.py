"""Moved to dradash.reader.driverstats: import it from there. This goes away with issue 4."""

from dradash.reader.driverstats import *  # noqa: F403
