"""The log of several processes on one terminal: each line prefixed with the name of its process."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

COLOURS: Final = (36, 33, 35, 32, 34, 31)  # of the prefix only
# A log line quotes names and messages from the cluster; they must not drive the terminal.
CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


class Output:
    def __init__(self, stream: TextIO, names: Sequence[str], env: Mapping[str, str]) -> None:
        self._stream = stream
        self._width = max(map(len, names), default=0)
        self._colour = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(names)}
        self._coloured = stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"
        self._broken = False

    def line(self, name: str, text: str) -> None:
        prefix = name.ljust(self._width) + " |"
        if self._coloured:
            prefix = f"\x1b[{self._colour.get(name, 0)}m{prefix}\x1b[0m"
        if self._broken:
            return
        try:
            print(prefix, printable(text), file=self._stream, flush=True)
        except OSError:
            # `make demo | head`: whoever read the log is gone. Going on matters more than the log.
            self._broken = True


def printable(text: str) -> str:
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
