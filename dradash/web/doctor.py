"""Moved to dradash.reader.doctor: import it from there. This goes away with issue 4."""

from dradash.reader.doctor import *  # noqa: F403
