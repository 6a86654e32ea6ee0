"""Types of arguments that several commands take."""

from __future__ import annotations

from argparse import ArgumentTypeError


def port(raw: str) -> int:
    """0 means any free one."""
    number = int(raw)
    if not 0 <= number < 65536:
        raise ArgumentTypeError("use a port from 0 to 65535")
    return number


def speed(raw: str) -> float:
    number = float(raw)
    if not 0 < number <= 100_000:
        raise ArgumentTypeError("use a number above 0, at most 100000")
    return number


def duration(raw: str) -> float:
    """Seconds, an hour at most."""
    number = float(raw)
    if not 0 <= number <= 3600:
        raise ArgumentTypeError("use a number of seconds from 0 to 3600")
    return number
