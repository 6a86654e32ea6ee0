"""Moved to dradash.reader.topics: import it from there. This goes away with issue 4."""

from dradash.reader.topics import *  # noqa: F403
