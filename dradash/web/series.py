"""Moved to dradash.reader.series: import it from there. This goes away with issue 4."""

from dradash.reader.series import *  # noqa: F403
