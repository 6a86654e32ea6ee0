"""What is known of a code: what it means, how bad it is, what to do."""

from __future__ import annotations

import msgspec

from dradash.scheduling.doctor.finding import Severity


class Rule(msgspec.Struct, frozen=True):
    """threshold: the name in Thresholds, "" where there is none. needs: kinds without which it is not asked."""

    code: str
    title: str
    severity: Severity
    meaning: str
    remedy: str
    threshold: str = ""
    needs: tuple[str, ...] = ()
