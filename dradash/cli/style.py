"""Colours, and text from a cluster made safe for a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TextIO

from dradash.unseen import UNSEEN

_CODES: Final = {"good": "32", "warn": "33", "bad": "31", "busy": "36", "bold": "1", "dim": "2"}
TONES: Final = {
    "Schedulable": "good",
    "Bound": "good",
    "Waiting": "busy",
    "Unschedulable": "bad",
    "Blocked": "bad",
    "Error": "bad",
    "Gated": "warn",
    "Unknown": "warn",
    "error": "bad",
    "warning": "warn",
}
# Escape sequences and what turns the direction of writing: names in a cluster must not write on somebody's terminal.
_UNSAFE: Final = re.compile(f"[\r{UNSEEN}]")


def safe(text: str) -> str:
    return _UNSAFE.sub("?", text)


class Style:
    def __init__(self, colours: bool) -> None:
        self._colours = colours

    @classmethod
    def of(cls, out: TextIO, environ: Mapping[str, str]) -> Style:
        """Colours on a terminal that can, unless NO_COLOR is set (https://no-color.org)."""
        return cls(out.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")

    def __call__(self, tone: str, text: str) -> str:
        code = _CODES.get(tone)
        return f"\x1b[{code}m{text}\x1b[0m" if self._colours and code and text else text
