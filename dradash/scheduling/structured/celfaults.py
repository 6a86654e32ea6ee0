"""What is wrong with a selector, for people: where it does not compile, and of which kind a failure on a device is."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dradash.scheduling.structured.celdevice import is_a_value
from dradash.scheduling.structured.celmacros import expanded

MOST: Final = 10
_PLACE: Final = re.compile(r"(?:ERROR: )?<input>:(\d+):(\d+): ")
_FRAME: Final = re.compile(r"^compilation failed: (?:[A-Z_]+: )?| \[[A-Z_]+\]\s*$")
_CARET: Final = re.compile(r"\n \| .*", re.DOTALL)


class Wrong(msgspec.Struct, frozen=True):
    """One error of a compiler. line, column: from 1, 0 where the place is not known; source: that line."""

    message: str
    line: int = 0
    column: int = 0
    source: str = ""


def wrongs(expression: str, text: str) -> tuple[Wrong, ...]:
    """The errors in the words of a CompileError about the expression; the first ten."""
    told = _FRAME.sub("", text)
    # The place is one in the text without the macros that are rewritten: then it is none in what was typed.
    known = expanded(expression) == expression and not is_a_value(expression)
    found = []
    places = list(_PLACE.finditer(told))
    ends = [place.start() for place in places[1:]] + [len(told)]
    for place, end in zip(places, ends, strict=False):
        message = told[place.end() : end]
        line, column = (int(place[1]), int(place[2])) if known else (0, 0)
        found.append(Wrong(_CARET.sub("", message).strip(), line, column, _line(expression, line)))
    return tuple(found[:MOST]) or (Wrong(told.strip()),)


def _line(expression: str, number: int) -> str:
    lines = expression.split("\n")
    return lines[number - 1] if 0 < number <= len(lines) else ""


MISSING_KEY: Final = "missing key"
WRONG_TYPE: Final = "wrong type"
COST: Final = "cost limit"
UNREADABLE: Final = "unreadable device"
OTHER: Final = "other"
KINDS: Final = (MISSING_KEY, WRONG_TYPE, COST, UNREADABLE, OTHER)

_KIND: Final = (
    (MISSING_KEY, re.compile(r"no such key")),
    (WRONG_TYPE, re.compile(r"no such overload|could not be converted to bool")),
    (COST, re.compile(r"cost limit exceeded")),
    (UNREADABLE, re.compile(r"^(?:attribute|capacity) .*: ")),
)


def kind_of(fault: str) -> str:
    """Of the words of a RuntimeFault."""
    return next((kind for kind, words in _KIND if words.search(fault)), OTHER)
