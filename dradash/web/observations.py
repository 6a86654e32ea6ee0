"""Moved to dradash.reader.observations: import it from there. This goes away with issue 4."""

from dradash.reader.observations import *  # noqa: F403
