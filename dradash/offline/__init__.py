"""Verdicts on a cluster that is not there: from files that somebody sent."""
