"""What is known of one message of a verdict."""

from __future__ import annotations

import msgspec


class Reason(msgspec.Struct, frozen=True):
    """source: the plugin or part that writes the text; example: such a text."""

    code: str
    source: str
    example: str
    meaning: str
    remedy: str


# (pattern of the whole text, reason)
Table = tuple[tuple[str, Reason], ...]
