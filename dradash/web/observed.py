"""Moved to dradash.reader.observed: import it from there. This goes away with issue 4."""

from dradash.reader.observed import *  # noqa: F403
