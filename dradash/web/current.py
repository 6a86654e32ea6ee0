"""Moved to dradash.reader.current: import it from there. This goes away with issue 4."""

from dradash.reader.current import *  # noqa: F403
