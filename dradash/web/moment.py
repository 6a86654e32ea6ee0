"""Moved to dradash.reader.moment: import it from there. This goes away with issue 4."""

from dradash.reader.moment import *  # noqa: F403
