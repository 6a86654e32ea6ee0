"""Moved to dradash.reader.follower: import it from there. This goes away with issue 4."""

from dradash.reader.follower import *  # noqa: F403
